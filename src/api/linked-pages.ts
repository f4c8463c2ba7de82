import { normalizeName } from '../contract/field-names.ts';
import { RefusedError } from '../errors.ts';
import { type FetchedPage, fetchPage, type PagedList } from './fetch-page.ts';
import type { Http } from './http.ts';
import type { CallOptions } from './http-options.ts';

const BASE = 'http://service';

/** Returns a link with the query of the first page, as far as it leaves that out. @param first path and query */
function withQueryOf(first: string, link: string): string {
  const [start, target] = [new URL(first, BASE), new URL(link, BASE)];
  const isSameList = start.pathname.replace(/\/$/, '') === target.pathname.replace(/\/$/, '');
  const named = new Set([...target.searchParams.keys()].map(normalizeName));
  const missing = [...start.searchParams].filter(([name]) => !named.has(normalizeName(name)));
  if (!isSameList || missing.length === 0) return link;
  // The link's own query may be signed: it stays as it is.
  return `${link}${target.search === '' ? '?' : '&'}${new URLSearchParams(missing)}`;
}

/**
 * Requests the further pages of a list. Some services forget the query of the first page in their links, and would answer
 * with pages of another list: without the filter, or of another size. Others refuse it there, because the link has a token.
 */
export class LinkedPages {
  private readonly http: Http;
  private readonly list: PagedList;
  private refusesQuery = false;

  constructor(http: Http, list: PagedList) {
    this.http = http;
    this.list = list;
  }

  /** @param first the path and query of the first page */
  async fetch(first: string, options: CallOptions & { readonly link: string }): Promise<FetchedPage> {
    const { http, list } = this;
    const link = this.refusesQuery ? options.link : withQueryOf(first, options.link);
    if (link === options.link) return fetchPage(http, list, options);
    try {
      return await fetchPage(http, list, { ...options, link });
    } catch (error) {
      if (!(error instanceof RefusedError) || error.info.fromGateway) throw error;
      const page = await fetchPage(http, list, options);
      this.refusesQuery = true;
      return page;
    }
  }
}
