import { Contract } from '../contract/contract.ts';
import type { HttpMethod, RawOperation, Safety } from '../contract/operations.ts';
import { OutcomeUnknownError, UsageError, withHint } from '../errors.ts';
import type { Http } from './http.ts';

/** Headers that the client sets. Another value would break the request, or leak the token. */
const OWN_HEADERS =
  /^(?:(?:proxy-)?authorization|host|content-length|transfer-encoding|connection|keep-alive|upgrade|expect|te|trailer|x-request-id)$/;

/** Whether a call may change something at the service. */
export function isWrite(method: HttpMethod): boolean {
  return !['GET', 'HEAD', 'OPTIONS'].includes(method);
}

/** Returns how a typed call may be repeated. @param isIdempotent whether the service recognizes a repeat */
export function safetyOf(method: HttpMethod, isIdempotent: boolean): Safety {
  if (!isWrite(method)) return 'safe';
  return isIdempotent ? 'idempotent' : 'once';
}

/** Checks a call that only reads. @throws UsageError for a body, and for --idempotent */
export function checkRead(method: HttpMethod, data: string | undefined, idempotent: boolean): void {
  if (data !== undefined)
    throw new UsageError(`A ${method} request has no body. Put the values into the query: /path/?name=value`);
  if (idempotent) throw new UsageError('--idempotent is only for writes: reads are retried.');
}

/** Parses lines such as `Accept: text/csv`. @returns the values by name in lower case @throws UsageError */
export function parseHeaders(lines: readonly string[]): Readonly<Record<string, string>> {
  const headers = lines.map((line) => {
    const [, name = '', value = ''] = /^([\w!#$%&'*+.^`|~-]+):[ \t]*([\t\x20-\x7e]*)$/.exec(line) ?? [];
    if (name === '') {
      throw new UsageError('--header takes a name and a value in printable ASCII.', { hint: "-H 'Accept: text/csv'" });
    }
    if (OWN_HEADERS.test(name.toLowerCase())) {
      throw new UsageError(`--header cannot set ${name}: partnerctl sets this header itself.`);
    }
    return [name.toLowerCase(), value.trim()] as const;
  });
  return Object.fromEntries(headers);
}

/** Makes a call. @returns its body, parsed if it is JSON, and why it failed @throws as `call` without a response */
export async function callRaw(http: Http, operation: RawOperation) {
  const { response, error } = await http.exchange(operation);
  const hint = 'Read what the service has before you send it again: nothing keeps it from being done twice.';
  const failure = error instanceof OutcomeUnknownError ? withHint(error, { hint }) : error;
  if (!response) throw failure;
  const { bytes } = response;
  try {
    return { bytes, json: { value: response.json() }, failure };
  } catch {
    return { bytes, json: undefined, failure };
  }
}

/** Returns the path and query of a typed path or address. @throws UsageError unless it is below the base URL */
export function resolveTypedPath(typed: string, { baseUrl, basePath }: Pick<Http, 'baseUrl' | 'basePath'>): string {
  const isAddress = /^[a-z][a-z0-9+.-]*:/i.test(typed);
  const text = isAddress ? typed : `${baseUrl}/${typed.replace(/^\//, '')}`;
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const { origin } = new URL(baseUrl);
  const isBelow = url?.origin === origin && url.username === '' && url.pathname.startsWith(`${basePath}/`);
  // A server that decodes the path once more, or takes `\` for `/`, would leave the base path for these.
  const climbs = /(?:^|\/|%2f|%5c)(?:\.|%2e){2}(?:$|\/|%2f|%5c)/i.test(url?.pathname ?? '');
  const isDoubled = typed.startsWith(`${basePath}/`);
  if (url === undefined || !isBelow || climbs || isDoubled || /^$|^\/\/|[\p{Cc}\\#]/u.test(typed)) {
    throw new UsageError(`The path ${JSON.stringify(typed)} is not below ${baseUrl}.`, {
      why: 'Nothing was sent.',
      hint: 'Give a path below the base URL, without the path of the base URL itself, such as /automation/spaces/',
    });
  }
  return url.pathname + url.search;
}

/** Whether a path, which starts with the base path, is the one that creates scheduled jobs. */
export function isJobCreationPath(path: string, basePath: string, contract: Contract): boolean {
  const segmentsOf = (each: string) => each.replace(/\?.*/s, '').toLowerCase().split('/').filter(Boolean);
  const given = segmentsOf(path.slice(basePath.length));
  return [contract, new Contract()].some((each) => {
    const wanted = segmentsOf(each.operation('cron_jobs.create')?.path ?? '');
    const isSame = wanted.every((segment, index) => segment.startsWith('{') || segment === given[index]);
    return isSame && wanted.length === given.length;
  });
}
