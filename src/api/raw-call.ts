import type { Contract } from '../contract/contract.ts';
import { parseJson } from '../contract/json.ts';
import type { RawOperation } from '../contract/operations.ts';
import { OutcomeUnknownError, PartnerctlError, UsageError, withHint } from '../errors.ts';
import type { Http } from './http.ts';
import type { StreamedBody } from './streamed-body.ts';
import type { HttpResponse } from './transport.ts';

/** The response to a call that the user typed. */
export interface RawResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** The undecoded body; empty if it could not be read. */
  readonly bytes: Uint8Array;
  /** The parsed body; undefined if it is not JSON. */
  readonly json: { readonly value: unknown } | undefined;
  /** Why the call failed, although there is a response. */
  readonly error: PartnerctlError | undefined;
}

function parseBody(bytes: Uint8Array): RawResponse['json'] {
  try {
    return { value: parseJson(new TextDecoder('utf-8', { fatal: true }).decode(bytes)) };
  } catch {
    return undefined;
  }
}

/** Adds a hint if the call may have taken effect. */
function withOutcomeHint(error: PartnerctlError): PartnerctlError {
  if (!(error instanceof OutcomeUnknownError)) return error;
  return withHint(error, {
    hint: 'Read what the service has before you send it again: nothing keeps it from being done twice.',
  });
}

/**
 * Makes one call as the user typed it.
 * @param body replaces the text of the request
 * @throws PartnerctlError if there is no response; see `Http.call`
 */
export async function callRaw(http: Http, operation: RawOperation, body?: StreamedBody): Promise<RawResponse> {
  let refusal: HttpResponse | undefined;
  const onRefusal = (response: HttpResponse): void => {
    refusal = response;
  };
  try {
    const { status, headers, bytes } = await http.call(operation, { ...(body && { body }), onRefusal });
    return { status, headers, bytes, json: parseBody(bytes), error: undefined };
  } catch (error) {
    if (!(error instanceof PartnerctlError)) throw error;
    if (!refusal) throw withOutcomeHint(error);
    const { status, headers, bytes } = refusal;
    return { status, headers, bytes, json: parseBody(bytes), error: withOutcomeHint(error) };
  }
}

type Base = Pick<Http, 'baseUrl' | 'basePath'>;

function refuse(why: string, { baseUrl }: Base): UsageError {
  return new UsageError(`The path ${why}.`, {
    why: 'Nothing was sent.',
    hint: `Give a path below ${baseUrl}, such as /automation/spaces/`,
  });
}

/** Returns the segments of a path for a server that decodes it once more, or that takes `\` for `/`. */
function segmentsOf(pathname: string): readonly string[] {
  let decoded = pathname;
  try {
    decoded = decodeURIComponent(pathname);
  } catch {
    // As it is: no path of an operation has such escapes.
  }
  return decoded.split(/[/\\]/).filter((segment) => segment !== '');
}

/**
 * Returns the path and query of a typed path, which is relative to the base URL.
 * @param typed `/automation/spaces/?page=2`, or its whole address
 * @throws UsageError unless the request stays on the origin and below the path of the base URL
 */
export function resolveTypedPath(typed: string, base: Base): string {
  const { baseUrl, basePath } = base;
  const { origin } = new URL(baseUrl);
  if (/[\p{Cc}\\#]/u.test(typed) || !typed.isWellFormed() || typed.trim() !== typed || typed === '') {
    throw refuse(
      'is empty, or has a character that no path has (a control character, \\, #, or a blank at an end)',
      base,
    );
  }
  if (typed.startsWith('//')) throw refuse('leads to another host', base);
  const isAddress = /^[a-z][a-z0-9+.-]*:/i.test(typed);
  if (!isAddress && (typed === basePath || typed.startsWith(`${basePath}/`))) {
    throw new UsageError(`The path is relative to ${baseUrl}, and begins with ${basePath} again.`, {
      why: 'Nothing was sent.',
      hint: `Use ${typed.slice(basePath.length) || '/'}`,
    });
  }
  const text = isAddress ? typed : `${baseUrl}/${typed.replace(/^\//, '')}`;
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url?.origin !== origin || url.username !== '' || url.password !== '') {
    throw refuse('leads to another host', base);
  }
  const isBelow = url.pathname === basePath || url.pathname.startsWith(`${basePath}/`);
  const climbs = segmentsOf(url.pathname).some((segment) => /^(?:%2e|\.){2}$/i.test(segment));
  if (!isBelow || climbs) throw refuse(`leaves ${basePath}`, base);
  return url.pathname + url.search;
}

/**
 * Whether a path is the one on which the service creates scheduled jobs, however it is spelled.
 * @param path path and query, starting with the base path
 */
export function isJobCreationPath(path: string, basePath: string, contract: Contract): boolean {
  const own = contract.operation('cron_jobs.create')?.path ?? '';
  const [pathname = ''] = path.slice(basePath.length).split('?');
  const given = segmentsOf(pathname).map((segment) => segment.toLowerCase());
  return [own, '/automation/partner-cron-jobs/'].some((known) => {
    const wanted = segmentsOf(known);
    const isSame = (segment: string, index: number) =>
      /^\{\w+\}$/.test(segment) || segment.toLowerCase() === given[index];
    return wanted.length > 0 && wanted.length === given.length && wanted.every(isSame);
  });
}
