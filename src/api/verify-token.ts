import { isJsonObject } from '../contract/json.ts';
import { OPERATIONS, type Operation } from '../contract/operations.ts';
import { rejectErrorInBody } from '../contract/unknown-shape.ts';
import { PartnerctlError } from '../errors.ts';
import type { Http } from './http.ts';

interface TokenCheck {
  /** `forbidden`: the service knows the token, but allows no read. `unknown`: it cannot be reached, or does not say. */
  readonly status: 'accepted' | 'rejected' | 'forbidden' | 'unknown';
  /** The call that decided: `GET https://api.example.com/v1/automation/spaces/`. */
  readonly verified_by: string;
  /** Why the status is not `accepted`. */
  readonly error: PartnerctlError | undefined;
}

/** Tells whether the service accepts the token, by its list of spaces, or if that is forbidden (403), that of jobs. */
export async function verifyToken(http: Http): Promise<TokenCheck> {
  const first = await check(http, OPERATIONS.listSpaces);
  if (first.status !== 'forbidden') return first;
  const second = await check(http, OPERATIONS.listCronJobs);
  return second.status === 'accepted' ? second : first;
}

async function check(http: Http, operation: Operation): Promise<TokenCheck> {
  const [method, path] = http.contract.leaf(operation.leaf).value.split(' ');
  const verified_by = `${method} ${http.baseUrl}${path}`;
  try {
    const response = await http.call(operation);
    response.read((body) => rejectErrorInBody(body, isJsonObject(body) ? [body] : []));
    return { status: 'accepted', verified_by, error: undefined };
  } catch (error) {
    if (!(error instanceof PartnerctlError)) throw error;
    const { status } = error.info;
    if (status === 401) return { status: 'rejected', verified_by, error };
    return { status: status === 403 ? 'forbidden' : 'unknown', verified_by, error };
  }
}
