/**
 * What a fault means to the program, from which the exit codes follow:
 *
 * - `harmless`: the response arrives, in an unusual way.
 * - `unsent`: the request cannot have been sent.
 * - `lost`: no complete response, and another attempt may help.
 * - `undone`: as `lost`, and the service did nothing, which nobody can know.
 * - `outage`: no complete response to any request from then on.
 * - `late`: no complete response until the deadline.
 * - `unreadable`: a response that cannot be understood; another attempt may help.
 * - `stale`: what was written is not listed yet.
 * - the others: the answer of the service itself.
 */
export type Meaning =
  | 'harmless'
  | 'unsent'
  | 'lost'
  | 'undone'
  | 'outage'
  | 'late'
  | 'unreadable'
  | 'stale'
  | 'redirect'
  | 'denied'
  | 'forbidden'
  | 'balance'
  | 'not found'
  | 'limited';

/** Where a request is among those of its command. */
export type Role = 'first read' | 'later read' | 'write' | 'read after the writes';

/** Exit codes that differ from those of any other command. */
export type Exceptions = Partial<Record<Role, Partial<Record<Meaning, number>>>>;

export interface RequestLine {
  readonly method: string;
  readonly path: string;
}

/** Requests that must not be repeated once they may have been sent. */
const ONCE = /\/(partner-cron-jobs|documents|file-attachments)\//;

const CODES: Readonly<Record<Meaning, { readonly repeatable: number; readonly once: number }>> = {
  harmless: { repeatable: 0, once: 0 },
  unsent: { repeatable: 8, once: 8 },
  lost: { repeatable: 0, once: 9 },
  undone: { repeatable: 0, once: 9 },
  outage: { repeatable: 8, once: 9 },
  late: { repeatable: 8, once: 9 },
  // What a write has done is looked up, where there is a list.
  unreadable: { repeatable: 0, once: 9 },
  stale: { repeatable: 0, once: 9 },
  redirect: { repeatable: 8, once: 9 },
  denied: { repeatable: 3, once: 3 },
  forbidden: { repeatable: 3, once: 3 },
  balance: { repeatable: 6, once: 6 },
  'not found': { repeatable: 4, once: 4 },
  limited: { repeatable: 0, once: 7 },
};

/** Nothing shows what an unreadable response to these was. */
const UNLISTED = /\/api-chat\/$/;

/** The role of one of these requests. */
export function roleOf(request: RequestLine, requests: readonly RequestLine[]): Role {
  const isRead = ({ method }: RequestLine): boolean => method === 'GET';
  if (!isRead(request)) return 'write';
  const at = requests.indexOf(request);
  if (requests.some((each) => !isRead(each)) && requests.slice(at).every(isRead)) return 'read after the writes';
  return at === 0 ? 'first read' : 'later read';
}

/** The exit codes that are right for a command whose request has a fault of this meaning. */
export function rightCodes(
  { exceptions, hasItems }: { readonly exceptions?: Exceptions; readonly hasItems?: boolean },
  meaning: Meaning,
  { path }: RequestLine,
  role: Role,
): readonly number[] {
  if (meaning === 'unreadable' && UNLISTED.test(path)) return hasItems ? [8, 10] : [8];
  const code =
    exceptions?.[role]?.[meaning] ?? CODES[meaning][role === 'write' && ONCE.test(path) ? 'once' : 'repeatable'];
  return hasItems && code !== 0 ? [code, 10] : [code];
}
