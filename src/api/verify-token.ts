import { isJsonObject } from '../contract/json.ts';
import { OPERATIONS, type Operation } from '../contract/operations.ts';
import { rejectErrorInBody } from '../contract/unknown-shape.ts';
import { PartnerctlError } from '../errors.ts';
import type { Http } from './http.ts';

/**
 * What the service makes of the token. `forbidden`: it knows the token, but allows none of the reads that were tried (a
 * scope is missing, or the caller's address is not allowed). `unknown`: the service cannot be reached, or does not say.
 */
type TokenStatus = 'accepted' | 'rejected' | 'forbidden' | 'unknown';

interface TokenCheck {
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

/**
 * Calls a list once, to find out whether the service accepts the token. Does not need to understand the list.
 * @throws PartnerctlError; ShapeError for a response that is not JSON or reports an error
 */
export async function tryToken(http: Http, operation: Operation = OPERATIONS.listSpaces): Promise<void> {
  const response = await http.call(operation);
  response.read((body) => rejectErrorInBody(body, isJsonObject(body) ? [body] : []));
}

/**
 * Finds out by a read whether the service accepts the token: the list of spaces, and where that is forbidden (403), the
 * list of scheduled jobs.
 */
export async function verifyToken(http: Http): Promise<TokenCheck> {
  const first = await check(http, OPERATIONS.listSpaces);
  if (first.status !== 'forbidden') return first;
  const second = await check(http, OPERATIONS.listCronJobs);
  return second.status === 'accepted' ? second : first;
}

async function check(http: Http, operation: Operation): Promise<TokenCheck> {
  const verified_by = describeCall(http, operation);
  try {
    await tryToken(http, operation);
    return { status: 'accepted', verified_by, error: undefined };
  } catch (error) {
    if (!(error instanceof PartnerctlError)) throw error;
    const { status } = error.info;
    return { status: status === 401 ? 'rejected' : status === 403 ? 'forbidden' : 'unknown', verified_by, error };
  }
}
