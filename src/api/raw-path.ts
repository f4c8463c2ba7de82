import type { Contract } from '../contract/contract.ts';
import { UsageError } from '../errors.ts';

/** The parts of a base URL that a request must stay within. */
interface Base {
  readonly baseUrl: string;
  /** The path of the base URL, usually `/v1`. */
  readonly basePath: string;
}

function refuse(why: string, { baseUrl }: Base): UsageError {
  return new UsageError(`The path ${why}.`, {
    why: 'Nothing was sent.',
    hint: `Give a path below ${baseUrl}, such as /automation/spaces/`,
  });
}

/** Whether a path has a segment `..` for a server that decodes it once more, or that takes `\` for `/`. */
function climbs(pathname: string): boolean {
  try {
    return decodeURIComponent(pathname)
      .split(/[/\\]/)
      .some((segment) => segment === '..' || /^(?:%2e|\.){2}$/i.test(segment));
  } catch {
    return false;
  }
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
  if (!isBelow || climbs(url.pathname)) throw refuse(`leaves ${basePath}`, base);
  return url.pathname + url.search;
}

function segmentsOf(path: string): readonly string[] {
  const [pathname = ''] = path.split('?');
  let decoded = pathname;
  try {
    decoded = decodeURIComponent(pathname);
  } catch {
    // As it is: no path of an operation has such escapes.
  }
  return decoded.split('/').filter((segment) => segment !== '');
}

/**
 * Whether a path is the one on which the service creates scheduled jobs, however it is spelled.
 * @param path path and query, starting with the base path
 */
export function isJobCreationPath(path: string, basePath: string, contract: Contract): boolean {
  const own = contract.operation('cron_jobs.create')?.path ?? '';
  const given = segmentsOf(path.slice(basePath.length)).map((segment) => segment.toLowerCase());
  return [own, '/automation/partner-cron-jobs/'].some((known) => {
    const wanted = segmentsOf(known);
    const isSame = (segment: string, index: number) =>
      /^\{\w+\}$/.test(segment) || segment.toLowerCase() === given[index];
    return wanted.length > 0 && wanted.length === given.length && wanted.every(isSame);
  });
}
