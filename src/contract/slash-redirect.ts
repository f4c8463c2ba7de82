/** The parts of a response that tell where it redirects. */
interface Redirect {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
}

const REDIRECTS = new Set([301, 302, 307, 308]);

/**
 * Returns the trailing slash that a response asks for: `always` or `never` if it redirects to the same address with or
 * without one, and undefined otherwise.
 * @param url the address of the request
 */
export function readSlashRedirect({ status, headers }: Redirect, url: string): 'always' | 'never' | undefined {
  const { location } = headers;
  if (!REDIRECTS.has(status) || location === undefined || !URL.canParse(location, url)) return undefined;
  const [from, to] = [new URL(url), new URL(location, url)];
  if (from.origin !== to.origin || (to.search !== '' && to.search !== from.search)) return undefined;
  if (to.pathname === `${from.pathname}/`) return 'always';
  return from.pathname === `${to.pathname}/` ? 'never' : undefined;
}

/**
 * Whether a response proves that a write did nothing because of its address: it is not known, or it redirects to the same
 * address with or without a trailing slash. A 302 proves nothing: services also redirect to a list after they have created.
 */
export function isPathRefused(response: Redirect, url: string): boolean {
  const { status } = response;
  return status === 404 || status === 405 || (status !== 302 && readSlashRedirect(response, url) !== undefined);
}

/** Returns a path and query with the trailing slash that the path must have. */
export function withTrailingSlash(pathAndQuery: string, slash: 'always' | 'never'): string {
  const [path = '', ...query] = pathAndQuery.split('?');
  const bare = path.replace(/\/$/, '');
  return [slash === 'always' ? `${bare}/` : bare, ...query].join('?');
}
