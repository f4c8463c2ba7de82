import { isJsonObject } from '../contract/json.ts';
import { OPERATIONS, type Operation } from '../contract/operations.ts';
import { rejectErrorInBody } from '../contract/unknown-shape.ts';
import { PartnerctlError } from '../errors.ts';
import type { Http } from './http.ts';

/**
 * What the service makes of the token. `forbidden`: it knows the token, but allows none of the reads that were tried (a
 * scope is missing, or the caller's address is not allowed). `unknown`: the service cannot be reached, or does not say.
 */
export type TokenStatus = 'accepted' | 'rejected' | 'forbidden' | 'unknown';

export interface TokenCheck {
  readonly status: TokenStatus;
  /** The call that decided: `GET https://api.example.com/v1/automation/spaces/`. */
  readonly verified_by: string;
  /** Why the status is not `accepted`. */
  readonly error: PartnerctlError | undefined;
}

/** Returns the method and the address of an operation that needs no parameters. */
export function describeCall({ contract, baseUrl }: Http, { leaf }: Operation): string {
  const [method, path] = contract.leaf(leaf).value.split(' ');
  return `${method} ${baseUrl}${path}`;
}

async function catchFailure(attempt: Promise<unknown>): Promise<PartnerctlError | undefined> {
  try {
    await attempt;
    return undefined;
  } catch (error) {
    if (error instanceof PartnerctlError) return error;
    throw error;
  }
}

function statusOf({ info }: PartnerctlError): TokenStatus {
  if (info.status === 401) return 'rejected';
  return info.status === 403 ? 'forbidden' : 'unknown';
}

/**
 * Calls the list of spaces once, to find out whether the service accepts the token. Does not need to understand the list.
 * @throws PartnerctlError; ShapeError for a response that is not JSON or reports an error
 */
export async function tryToken(http: Http): Promise<void> {
  const response = await http.call(OPERATIONS.listSpaces);
  response.read((body) => rejectErrorInBody(body, isJsonObject(body) ? [body] : []));
}

/**
 * Finds out by a read whether the service accepts the token: the list of spaces, and where that is forbidden (403), the
 * list of scheduled jobs.
 * @throws what is no PartnerctlError
 */
export async function verifyToken(http: Http): Promise<TokenCheck> {
  const error = await catchFailure(tryToken(http));
  const verified_by = describeCall(http, OPERATIONS.listSpaces);
  if (error === undefined) return { status: 'accepted', verified_by, error };
  const status = statusOf(error);
  if (status !== 'forbidden') return { status, verified_by, error };
  const second = await catchFailure(http.call(OPERATIONS.listCronJobs));
  if (second !== undefined) return { status, verified_by, error };
  return { status: 'accepted', verified_by: describeCall(http, OPERATIONS.listCronJobs), error: undefined };
}
