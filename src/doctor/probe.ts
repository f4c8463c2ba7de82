import type { ApiResponse } from '../api/api-response.ts';
import { probeSession, type SessionProbe } from '../api/history.ts';
import type { Http } from '../api/http.ts';
import { listItems } from '../api/list.ts';
import type { JsonObject } from '../contract/json.ts';
import { type ListOperation, OPERATIONS } from '../contract/operations.ts';
import { readAgent, readSpace } from '../contract/resources.ts';
import { NoOperationError, PartnerctlError, ShapeError } from '../errors.ts';
import type { Clock } from '../platform/clock.ts';

/** No retries: a check reports the current state. */
const LIMITS = { retries: 0, timeoutMs: 10_000 };

/** Enough to check the shape of the items and, usually, of the second page. */
const MAX_ITEMS = 50;

/** A list that was read to check the token's scopes and the contract. */
export interface ListRead {
  /** `the list of spaces` */
  readonly what: string;
  readonly scope: string;
  readonly items: readonly JsonObject[];
  readonly error: PartnerctlError | undefined;
}

/** What the service answered: to a first call, and to those after it. */
export interface Probe {
  /** The HTTP status; undefined if there was no response. */
  readonly status: number | undefined;
  readonly headers: Readonly<Record<string, string>>;
  readonly error: PartnerctlError | undefined;
  /** The local time when the response arrived, in milliseconds since the epoch. */
  readonly at: number;
  /** How long the response took, in milliseconds. */
  readonly ms: number;
  /** None if the first call failed for a reason that applies to every call. */
  readonly lists: readonly ListRead[];
  /** Whether the history depends on the session; undefined if no agent shows its source. */
  readonly session: SessionProbe | undefined;
}

async function errorOf(read: () => Promise<void>): Promise<PartnerctlError | undefined> {
  try {
    await read();
    return undefined;
  } catch (error) {
    if (error instanceof PartnerctlError) return error;
    throw error;
  }
}

/** Reads the first page of a list that the service has, to see whether and how it responds. */
async function readFirst(http: Http, clock: Clock): Promise<Omit<Probe, 'lists' | 'session'>> {
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
  return { status: response?.status, headers: response?.headers ?? {}, error, at, ms: at - started };
}

async function readList(http: Http, list: ListOperation, values = {}): Promise<ListRead> {
  const items: JsonObject[] = [];
  const error = await errorOf(async () => {
    const all = listItems(http, list, { ...LIMITS, values });
    for await (const item of all) if (items.push(item) >= MAX_ITEMS) break;
  });
  return { what: list.what, scope: list.scope, items, error };
}

/** The first value that an item shows. What cannot be decoded is skipped: the check of the contract reports it. */
function firstOf(list: ListRead | undefined, decode: (item: JsonObject) => string | null | undefined) {
  for (const item of list?.items ?? []) {
    try {
      const value = decode(item);
      if (typeof value === 'string') return value;
    } catch {}
  }
  return undefined;
}

/**
 * Calls the service once to see whether it answers, then reads each list: the spaces, the agents of one space, and the scheduled
 * jobs. If an agent shows its source, also asks for the history of a session that does not exist. Sends only reads.
 */
export async function probeService(http: Http, clock: Clock): Promise<Probe> {
  const first = await readFirst(http, clock);
  const { status, error } = first;
  const allWouldFail = error !== undefined && status !== 403 && !(error instanceof ShapeError);
  if (status === undefined || allWouldFail) return { ...first, lists: [], session: undefined };
  const spaces = await readList(http, OPERATIONS.listSpaces);
  const space_id = firstOf(spaces, (item) => readSpace(item, http.contract).space_id);
  const agents = space_id === undefined ? undefined : await readList(http, OPERATIONS.listAgents, { space_id });
  const jobs = await readList(http, OPERATIONS.listCronJobs);
  const source = firstOf(agents, (item) => readAgent(item, http.contract).source_id);
  return {
    ...first,
    lists: [spaces, ...(agents ? [agents] : []), jobs].filter((list) => !(list.error instanceof NoOperationError)),
    session: source === undefined ? undefined : await probeSession(http, source),
  };
}
