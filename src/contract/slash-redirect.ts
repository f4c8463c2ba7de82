/** The parts of a response that matter for a redirect. */
interface Redirect {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
}

const REDIRECTS = new Set([301, 302, 307, 308]);

/**
 * Returns which trailing slash a response asks for: `always` or `never` if it redirects to the same URL with or without one;
 * otherwise undefined.
 * @param url of the request
 */
export function readSlashRedirect({ status, headers }: Redirect, url: string): 'always' | 'never' | undefined {
  const { location } = headers;
  if (!REDIRECTS.has(status) || location === undefined || !URL.canParse(location, url)) return undefined;
  const [from, to] = [new URL(url), new URL(location, url)];
  if (from.origin !== to.origin || (to.search !== '' && to.search !== from.search)) return undefined;
  if (to.pathname === `${from.pathname}/`) return 'always';
  return from.pathname === `${to.pathname}/` ? 'never' : undefined;
}

/** Adds or removes the trailing slash of the path in a path and query. */
export function withTrailingSlash(pathAndQuery: string, slash: 'always' | 'never'): string {
  const [path = '', ...query] = pathAndQuery.split('?');
  const bare = path.replace(/\/$/, '');
  return [slash === 'always' ? `${bare}/` : bare, ...query].join('?');
}
