/** In place of the next link in a header that cannot be parsed. It is no address, and so refused. */
const UNREADABLE = 'unreadable:';

/** Returns the next page of a Link header (RFC 8288). */
export async function readNextLink(header: string | undefined): Promise<string | undefined> {
  if (header === undefined) return undefined;
  const { default: LinkHeader } = await import('http-link-header');
  try {
    // Sentry links a next page from the last one, marked `results="false"`.
    const links = LinkHeader.parse(header).rel('next');
    return links.find(({ results }) => results !== 'false')?.uri;
  } catch {
    return /\bnext\b/i.test(header) ? UNREADABLE : undefined;
  }
}

/**
 * Returns the path and query of a link to the next page, without its origin: the request always goes to the configured one.
 * Undefined for a link outside the base path, which would send the token to another application on that host.
 */
export function pathOfLink(basePath: string, current: string, link: string): string | undefined {
  const from = new URL(current);
  if (!URL.canParse(link, from.href)) return undefined;
  const target = new URL(link, from);
  // Behind a proxy that adds the base path, a service may link the path that it sees itself.
  if (basePath + target.pathname === from.pathname) target.pathname = from.pathname;
  const isBelow = target.pathname === from.pathname || target.pathname.startsWith(`${basePath}/`);
  if (!/^https?:$/.test(target.protocol) || !isBelow) return undefined;
  // Laravel leaves out the parameters of the request beside the number of the page.
  const missing = [...from.searchParams].filter(([name]) => !target.searchParams.has(name));
  for (const [name, value] of missing) target.searchParams.append(name, value);
  return target.pathname + target.search;
}
