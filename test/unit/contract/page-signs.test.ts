import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseNext } from '../../../src/contract/leaf-value.ts';
import { formatStrategy, proposeSteps, tokenParameters } from '../../../src/contract/next-page.ts';
import { PageProgress } from '../../../src/contract/page-progress.ts';
import { type PageResponse, type PageSigns, readSigns, valueAt } from '../../../src/contract/page-signs.ts';
import { spellingOf, toWords } from '../../../src/contract/paging-names.ts';

function answer(body: unknown, more: Partial<PageResponse> = {}): PageResponse {
  return { body, headers: {}, status: 200, itemCount: 2, headerLinks: {}, ...more };
}

/** What remains after the first page of two items: certain, or only possible. */
function outlookOf(given: PageResponse): { certain: readonly string[]; possible: readonly string[] } {
  const signs = readSigns(given);
  const progress = new PageProgress();
  progress.add(['a', 'b'], 0, signs);
  const { certain, possible } = progress.outlook(signs, given.itemCount);
  return { certain, possible };
}

/** The kind of each sign, without its spelling. */
function kindsOf(signs: PageSigns): Record<string, unknown> {
  const named = Object.entries(signs).filter(([, list]) => list.length > 0);
  return Object.fromEntries(
    named.map(([kind, list]) => [
      kind,
      list.map((sign: string | { path: string }) => (typeof sign === 'string' ? sign : sign.path)),
    ]),
  );
}

describe('the paging signs of a response', () => {
  it.each([
    ['the last item leads on', { id: 'm1' }, ['before']],
    ['another item leads back', { id: 'm3' }, undefined],
  ])('include a value to read before if it is that of %s', (_, lastItem, tokens) => {
    const signs = readSigns(answer({ entries: [], before: 'm1', has_more: true }, { lastItem }));
    expect(kindsOf(signs).tokens).toEqual(tokens);
  });

  it.each([
    [{ next: 'https://api.test/v1/spaces/?page=2' }, { links: ['next'] }],
    [{ next_page_url: '/v1/spaces/?page=2' }, { links: ['next_page_url'] }],
    [{ links: { next: '?page=2', prev: '?page=0', last: '?page=9', self: '?page=1' } }, { links: ['links.next'] }],
    [{ _links: { next: { href: '?page=2' } } }, { links: ['_links.next'] }],
    [
      {
        links: [
          { rel: 'next', href: '?a' },
          { rel: 'prev', href: '?b' },
        ],
      },
      { links: ['links.next'] },
    ],
    [{ links: { pages: { next: '?page=2' } } }, { links: ['links.pages.next'] }],
    [{ '@odata.nextLink': 'spaces?$skiptoken=x' }, { links: ['@odata.nextLink'] }],
    [{ nextUrl: 'abc' }, { links: ['nextUrl'] }],
    [{ next: 'ftp://api.test/' }, { unknown: ['next'] }],
    [{ meta: { next_cursor: 'abc' } }, { tokens: ['meta.next_cursor'] }],
    [{ nextPageToken: 'abc' }, { tokens: ['nextPageToken'] }],
    [{ nextpagetoken: 'abc' }, { tokens: ['nextpagetoken'] }],
    [{ next: { cursor: 'abc' } }, { tokens: ['next.cursor'] }],
    [{ paging: { cursors: { before: 'x', after: 'y' } } }, { tokens: ['paging.cursors.after'] }],
    [{ next: 2 }, { tokens: ['next'] }],
    [{ LastEvaluatedKey: { id: { S: 'x' } } }, { unknown: ['LastEvaluatedKey'] }],
    [{ link: { href: '/v1/x?page=2', rel: 'next', method: 'GET' } }, { links: ['link'] }],
    [{ length: 5 }, { totals: ['length'] }],
    [{ length: 2 }, { counts: ['length'] }],
    [{ start: 0, length: 25 }, { offsets: ['start'] }],
    [{ total_ms: 12 }, {}],
    [{ next: { pages: [2] } }, { unknown: ['next.pages'] }],
    [{ next: ['?page=2'] }, { unknown: ['next'] }],
    [{ has_more: true }, { flags: ['has_more'] }],
    [{ page_info: { hasNextPage: true, startCursor: 'a' } }, { flags: ['page_info.hasNextPage'] }],
    [{ is_truncated: 'true' }, { flags: ['is_truncated'] }],
    [{ last: false }, { flags: ['last'] }],
    [{ next: null }, { ends: ['next'] }],
    [{ next_cursor: '' }, { ends: ['next_cursor'] }],
    [{ _links: { next: { href: null } } }, { ends: ['_links.next'] }],
    [{ next_page: -1 }, { ends: ['next_page'] }],
    [
      { page: 1, per_page: 2, total_pages: 3 },
      { pages: ['page'], sizes: ['per_page'], pageTotals: ['total_pages'] },
    ],
    [
      { page: { number: 0, size: 2, totalElements: 5, totalPages: 3 } },
      { pages: ['page.number'], sizes: ['page.size'], totals: ['page.totalElements'], pageTotals: ['page.totalPages'] },
    ],
    [
      { offset: 0, limit: 2, total: '5' },
      { offsets: ['offset'], sizes: ['limit'], totals: ['total'] },
    ],
    [
      { startIndex: 1, totalResults: 5 },
      { offsets: ['startIndex'], totals: ['totalResults'] },
    ],
    [
      { QueryResponse: { startPosition: 1, totalCount: 5 } },
      { offsets: ['QueryResponse.startPosition'], totals: ['QueryResponse.totalCount'] },
    ],
    [{ hits: { total: { value: 5, relation: 'eq' } } }, { totals: ['hits.total.value'] }],
    [{ recordsTotal: 5 }, { totals: ['recordsTotal'] }],
    [{ message_count: 40 }, { totals: ['message_count'] }],
    [{ count: 2 }, { counts: ['count'] }],
    [{ skipCount: 0 }, { offsets: ['skipCount'] }],
    [{ position: 'a1' }, { tokens: ['position'] }],
    [{ start: 't1', end: 't2' }, { tokens: ['end'] }],
    [{ end: '2026-01-01T00:00:00Z' }, {}],
    [{ exceededTransferLimit: true }, { flags: ['exceededTransferLimit'] }],
    [{ nextForwardToken: 'f', nextBackwardToken: 'b' }, { tokens: ['nextForwardToken'] }],
    [{ total: -1 }, {}],
    [{ nextSyncToken: 'x', sync_token: 'x', access_token: 'x', csrfToken: 'x' }, {}],
    [{ last_login: '2026-01-01T00:00:00Z', next_run_at: '2026-01-01T00:00:00Z', started_at: 1_700_000_000 }, {}],
    [{ account: { last_name: 'Doe', homepage: 'https://acme.test/?page=2' }, country: 'CH', discount: 10 }, {}],
    [{ meta: { rate_limit: { limit: 100, remaining: 99 } }, filters: { page: 3 } }, {}],
    [{ errors: [], included: [{ next: '?page=2' }], took: 3, _shards: { total: 5 } }, {}],
    [{ first: '?page=1', previous: '?page=1', prev_cursor: 'x', has_previous_page: true }, {}],
  ])('are read from the body: %j', (body, expected) => {
    expect(kindsOf(readSigns(answer(body)))).toEqual(expected);
  });

  it('are read from the last item, if it has its own cursor or a flag', () => {
    const signsOf = (lastItem: { readonly [key: string]: unknown }) => kindsOf(readSigns({ ...answer([]), lastItem }));
    expect(signsOf({ cursor: 'c2', space: { id: 's2' } })).toEqual({ tokens: ['$last.cursor'] });
    expect(signsOf({ id: 's2', _more_spaces: true })).toEqual({ flags: ['$last._more_spaces'] });
    expect(signsOf({ id: 's2', cursor: 'pointer', more: true })).toEqual({});
  });

  it.each([
    [{ 'x-total-count': '5' }, { totals: ['header.x-total-count'] }],
    [
      { 'x-next-page': '2', 'x-page': '1', 'x-per-page': '2' },
      { tokens: ['header.x-next-page'], pages: ['header.x-page'], sizes: ['header.x-per-page'] },
    ],
    [{ 'x-next-page': '' }, { ends: ['header.x-next-page'] }],
    [{ 'x-ms-continuation': 'abc' }, { tokens: ['header.x-ms-continuation'] }],
    [{ 'x-nomad-nexttoken': 'abc', 'x-nomad-index': '129' }, { tokens: ['header.x-nomad-nexttoken'] }],
    [{ 'content-range': '0-1/*' }, { offsets: ['header.content-range'], partial: ['header.content-range'] }],
    [
      { 'x-wp-total': '5', 'x-wp-totalpages': '3' },
      { totals: ['header.x-wp-total'], pageTotals: ['header.x-wp-totalpages'] },
    ],
    [{ 'content-range': 'items 0-1/5' }, { offsets: ['header.content-range'], totals: ['header.content-range'] }],
    [{ 'x-pagination': '{"HasNext":true}' }, { flags: ['header.x-pagination.HasNext'] }],
    [
      {
        'x-ratelimit-limit': '100',
        'x-rate-limit-remaining': '9',
        'x-request-id': 'next',
        'content-length': '12',
        'last-modified': 'Mon, 01 Jan 2026 00:00:00 GMT',
        'x-token': 'abc',
        'x-envoy-attempt-count': '9',
        'x-b3-traceid': '1',
      },
      {},
    ],
  ])('are read from the headers: %j', (headers, expected) => {
    expect(kindsOf(readSigns(answer([], { headers })))).toEqual(expected);
  });

  it('are read from the status and the Link header', () => {
    expect(outlookOf(answer([], { status: 206 })).possible).toEqual(['status 206']);
    expect(outlookOf(answer([], { headerLinks: { next: '?page=2' } })).certain).toEqual(['header.link']);
    expect(outlookOf(answer([], { headerLinks: { first: '?page=1', last: '?page=3' } })).certain).toEqual([
      'header.link',
    ]);
    expect(outlookOf(answer([], { headerLinks: { first: '?page=1', last: '?page=1' } })).certain).toEqual([]);
  });

  it.each([
    [{ has_more: false, next_cursor: 'abc' }],
    [{ pageInfo: { hasNextPage: false, endCursor: 'abc' } }],
    [{ next: null, cursor: 'abc' }],
    [{ cursor: 'abc', total: 2 }],
    [{ page: 1, page_size: 50, total: 2 }],
    [{ page: 1, page_size: 50 }],
    [{ offset: 0, limit: 2, total: 2 }],
    [{ page: 0, totalPages: 1, size: 2 }],
    [{ size: 2 }],
    [{ count: 2 }],
  ])('say that the list ends: %j', (body) => {
    expect(outlookOf(answer(body))).toEqual({ certain: [], possible: [] });
  });

  it.each([
    [{ limit: 2 }, 'limit'],
    [{ page: 1, size: 2 }, 'size'],
    [{ cursor: 'abc' }, 'cursor'],
    [{ last_id: 'b' }, 'last_id'],
  ])('say that there may be a next page: %j', (body, sign) => {
    expect(outlookOf(answer(body))).toEqual({ certain: [], possible: [sign] });
  });

  it('property: miss no sign of more pages among other keys, at any depth in an envelope', () => {
    const sign = fc.constantFrom(
      { next_cursor: 'abc' },
      { hasMore: true },
      { total_count: 7 },
      { TotalPages: 4 },
      { 'next-page': '/v1/spaces/?page=2' },
    );
    const place = fc.array(fc.constantFrom('meta', 'data', 'pagination', 'response_metadata', 'Result', 'paging'), {
      maxLength: 4,
    });
    fc.assert(
      fc.property(sign, place, fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 1 })), (said, keys, others) => {
        const { next, ...harmless } = others;
        const body = keys.reduceRight<unknown>((inner, key) => ({ [key]: inner }), said);
        expect(outlookOf(answer({ ...harmless, ...(body as object) })).certain.length).toBeGreaterThan(0);
      }),
    );
  });

  it('property: exist for any body, and every proposal is a value of the leaf that finds its source again', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (body) => {
        const given = answer(body);
        for (const { strategy } of proposeSteps(readSigns(given), 2)) {
          const value = formatStrategy(strategy);
          if (!value.includes('..') && !/[.:]$|^\w+:[.:]/.test(value)) expect(() => parseNext(value)).not.toThrow();
          if ('source' in strategy) expect(valueAt(strategy.source, given)).toBeDefined();
        }
      }),
    );
  });
});

describe('the requests for the second page', () => {
  const strategiesOf = (body: unknown) =>
    proposeSteps(readSigns(answer(body)), 2).map(({ strategy }) => formatStrategy(strategy));

  it.each([
    [
      'where an offset with a flag is already that of the next page',
      { offset: 2, 'has-more': true },
      'token:offset:offset',
    ],
    ['by a cursor that counts from 0', { cursor: 0, remaining: 3 }, 'offset:cursor'],
    ['by an offset that is spelled as the total', { TotalCount: 5 }, 'offset:Offset'],
    ['by a parameter in one word, as the token is', { next_startkey: 'x' }, 'token:next_startkey:startkey'],
  ])('include that %s', (_, body, expected) => {
    expect(strategiesOf(body)).toContain(expected);
  });

  it('do not read an offset of 0 as that of the next page', () => {
    expect(strategiesOf({ offset: 0, has_more: true })).not.toContain('token:offset:offset');
  });

  it('are required if a header of any vendor has a total', () => {
    expect(outlookOf(answer([], { headers: { 'x-pw-total': '5' } })).certain).toEqual([
      'header.x-pw-total: 5, and 2 read',
    ]);
    expect(outlookOf(answer([], { headers: { 'x-ratelimit-total': '5', 'x-pw-total': '2' } })).certain).toEqual([]);
  });
});

describe('the parameters that may accept a token', () => {
  it.each([
    ['next_cursor', ['cursor', 'next_cursor', 'after', 'start_cursor', 'page_token']],
    ['nextPageToken', ['pageToken', 'nextPageToken']],
    ['next_page_token', ['page_token', 'next_page_token']],
    ['NextToken', ['Token', 'NextToken']],
    ['continuationToken', ['continuationToken']],
    ['next', ['next']],
    ['after', ['after', 'starting_after', 'cursor']],
    ['marker', ['marker']],
    ['next_startkey', ['start_key', 'next_start_key', 'start', 'offset', 'exclusive_start_key', 'after', 'startKey']],
    ['offset', ['offset']],
    ['last_id', ['after_id', 'starting_after', 'after', 'start_after', 'last_id']],
  ])('begin with variants of %s', (name, expected) => {
    expect(tokenParameters(toWords(name), spellingOf(name)).slice(0, expected.length)).toEqual(expected);
  });
});
