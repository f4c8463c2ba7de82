import type { ApiResponse } from '../api/api-response.ts';
import type { Http } from '../api/http.ts';
import { OPERATIONS } from '../contract/operations.ts';
import { type PartnerctlError, ShapeError } from '../errors.ts';
import type { Clock } from '../platform/clock.ts';
import { errorOf, readService, type ServiceRead } from './read-service.ts';

/** No retries: a check reports the current state. Enough items to check their shape and, usually, that of the second page. */
const LIMITS = { retries: 0, timeoutMs: 10_000, maxItems: 50 };

/** What the service answered: to a first call, and to those after it. */
export interface Probe extends ServiceRead {
  /** The HTTP status; undefined if there was no response. */
  readonly status: number | undefined;
  readonly headers: Readonly<Record<string, string>>;
  readonly error: PartnerctlError | undefined;
  /** The local time when the response arrived, in milliseconds since the epoch. */
  readonly at: number;
  /** How long the response took, in milliseconds. */
  readonly ms: number;
}

/**
 * Requests the first page of a list that the service has, to see whether and how it responds, then reads the service,
 * unless that failed for a reason that applies to every call.
 * @throws as `readService`
 */
export async function probeService(http: Http, clock: Clock): Promise<Probe> {
  const lists = [OPERATIONS.listSpaces, OPERATIONS.listCronJobs];
  const operation = lists.find(({ leaf }) => http.contract.operation(leaf) !== undefined) ?? OPERATIONS.listSpaces;
  const started = clock.now();
  let response: ApiResponse | undefined;
  const error = await errorOf(async () => {
    const outcome = await http.exchange(operation, LIMITS);
    response = outcome.response;
    if (outcome.error) throw outcome.error;
    outcome.response.json();
  });
  const at = clock.now();
  const first = { status: response?.status, headers: response?.headers ?? {}, error, at, ms: at - started };
  const allWouldFail = error !== undefined && first.status !== 403 && !(error instanceof ShapeError);
  const isUseless = first.status === undefined || allWouldFail;
  return { ...first, ...(isUseless ? { lists: [], session: undefined } : await readService(http, LIMITS)) };
}
