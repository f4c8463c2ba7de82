import type { PageResponse } from '../contract/page-signs.ts';
import type { ApiResponse } from './api-response.ts';

/**
 * Reads the Link header (RFC 8288) of a list.
 * @returns the URLs of the next page and, if this is not it, of the last one; undefined if a header that mentions a next page
 *   cannot be parsed
 */
export async function readLinkHeader({
  headers,
  path,
}: Pick<ApiResponse, 'headers' | 'path'>): Promise<PageResponse['headerLinks'] | undefined> {
  const header = headers.link;
  if (header === undefined) return {};
  const { default: LinkHeader } = await import('http-link-header');
  try {
    const links = LinkHeader.parse(header);
    // Some services link a next page from the last one, marked `results="false"`.
    const find = (relation: string) => links.rel(relation).find(({ results }) => results !== 'false')?.uri;
    const [next, first, last] = [find('next'), find('first'), find('last')];
    const isLast = last === undefined || last === first || queryOf(last) === queryOf(path);
    return { ...(next !== undefined && { next }), ...(!isLast && { last }) };
  } catch {
    return /\bnext\b/i.test(header) ? undefined : {};
  }
}

function queryOf(address: string): string {
  return URL.canParse(address, 'http://service') ? new URL(address, 'http://service').search : address;
}
