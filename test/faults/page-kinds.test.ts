import { describe, expect, it } from 'vitest';
import type { Http } from '../../src/api/http.ts';
import { listAll } from '../../src/api/list.ts';
import { Contract } from '../../src/contract/contract.ts';
import type { JsonObject } from '../../src/contract/json.ts';
import { OPERATIONS } from '../../src/contract/operations.ts';
import { numberIn, type PagedService, spaceIds, startPagedService } from '../support/paged-service.ts';
import { partnerctl } from '../support/run.ts';
import { client } from './http-client.ts';

const LIST = ['spaces', 'list', '-o', 'json', '--retries', '0'];

const byPage =
  (name: string, first = 1) =>
  (query: URLSearchParams) =>
    (numberIn(query, name, first) - first) * 2;
const byToken = (name: string) => (query: URLSearchParams) => Number((query.get(name) ?? 'tok-0').slice(4));
const byOffset = (name: string) => (query: URLSearchParams) => numberIn(query, name);
const byLast = (name: string) => (query: URLSearchParams) => Number((query.get(name) ?? 's0').slice(1));
const token = (end: number, hasMore: boolean) => (hasMore ? `tok-${end}` : null);

/** Every supported kind of paging: the value of the leaf that records it, and the service. */
const KINDS: Readonly<Record<string, readonly [string, PagedService]>> = {
  'a token one level down': [
    'token:response_metadata.next_cursor:cursor',
    {
      start: byToken('cursor'),
      serve: ({ items, end, hasMore }) => ({
        body: { ok: true, spaces: items, response_metadata: { next_cursor: hasMore ? `tok-${end}` : '' } },
      }),
    },
  ],
  'a token with has_more': [
    'token:next_cursor:start_cursor',
    {
      start: byToken('start_cursor'),
      serve: ({ items, end, hasMore }) => ({
        body: { object: 'list', results: items, has_more: hasMore, next_cursor: token(end, hasMore) },
      }),
    },
  ],
  'a page token in camel case': [
    'token:nextPageToken:pageToken',
    {
      start: byToken('pageToken'),
      serve: ({ items, end, hasMore }) => ({
        body: { spaces: items, ...(hasMore && { nextPageToken: `tok-${end}` }) },
      }),
    },
  ],
  'a page token in snake case': [
    'token:next_page_token:page_token',
    {
      start: byToken('page_token'),
      serve: ({ items, end, hasMore }) => ({ body: { spaces: items, next_page_token: hasMore ? `tok-${end}` : '' } }),
    },
  ],
  'a token in Pascal case': [
    'token:NextToken:NextToken',
    {
      start: byToken('NextToken'),
      serve: ({ items, end, hasMore }) => ({ body: { Spaces: items, ...(hasMore && { NextToken: `tok-${end}` }) } }),
    },
  ],
  'a continuation token in a header': [
    'token:header.x-continuation-token:continuationToken',
    {
      start: byToken('continuationToken'),
      serve: ({ items, end, hasMore }) => ({
        body: { value: items, count: items.length },
        headers: hasMore ? { 'x-continuation-token': `tok-${end}` } : {},
      }),
    },
  ],
  'a truncated list with a marker': [
    'token:NextMarker:marker',
    {
      start: byToken('marker'),
      serve: ({ items, end, hasMore }) => ({
        body: { IsTruncated: hasMore, Contents: items, ...(hasMore && { NextMarker: `tok-${end}` }) },
      }),
    },
  ],
  'an opaque offset': [
    'token:offset:offset',
    {
      start: byToken('offset'),
      serve: ({ items, end, hasMore }) => ({ body: { records: items, ...(hasMore && { offset: `tok-${end}` }) } }),
    },
  ],
  'a next page as an object with a token': [
    'token:paging.next.after:after',
    {
      start: byToken('after'),
      serve: ({ items, end, hasMore }) => ({
        body: { results: items, ...(hasMore && { paging: { next: { after: `tok-${end}` } } }) },
      }),
    },
  ],
  'a page info': [
    'token:data.spaces.pageInfo.endCursor:after',
    {
      start: byToken('after'),
      serve: ({ items, end, hasMore }) => ({
        body: {
          data: {
            spaces: {
              edges: items.map((node) => ({ node, cursor: node.space_id })),
              pageInfo: { hasNextPage: hasMore, endCursor: `tok-${end}` },
            },
          },
        },
      }),
    },
  ],
  'a link in another key': [
    'link:next_page_uri',
    {
      start: byToken('PageToken'),
      serve: ({ items, end, hasMore, page }) => ({
        body: {
          spaces: items,
          page,
          page_size: 2,
          next_page_uri: hasMore ? `/v1/automation/spaces/?PageToken=tok-${end}` : null,
        },
      }),
    },
  ],
  'a link of OData': [
    'link:@odata.nextLink',
    {
      start: byOffset('$skip'),
      serve: ({ items, end, hasMore }) => ({
        body: {
          '@odata.context': '#spaces',
          value: items,
          ...(hasMore && { '@odata.nextLink': `https://other.test/v1/automation/spaces/?%24skip=${end}` }),
        },
      }),
    },
  ],
  'a list of links': [
    'link:links.next',
    {
      start: byPage('page'),
      serve: ({ items, page, hasMore }) => ({
        body: {
          items,
          links: [
            { rel: 'self', href: `?page=${page + 1}` },
            ...(hasMore ? [{ rel: 'next', href: `?page=${page + 2}` }] : []),
          ],
        },
      }),
    },
  ],
  'an embedded list with links': [
    'link:_links.next',
    {
      start: byPage('page', 0),
      serve: ({ items, page, pages, total, hasMore }) => ({
        body: {
          _embedded: { spaces: items },
          _links: { self: { href: `?page=${page}` }, ...(hasMore && { next: { href: `?page=${page + 1}` } }) },
          page: { size: 2, totalElements: total, totalPages: pages, number: page },
        },
      }),
    },
  ],
  'a Link header with a total': [
    'header:link',
    {
      start: byPage('page'),
      serve: ({ items, page, pages, total, hasMore }) => ({
        body: items,
        headers: {
          'x-total': String(total),
          'x-total-pages': String(pages),
          'x-page': String(page + 1),
          'x-per-page': '2',
          'x-next-page': hasMore ? String(page + 2) : '',
          link: `${hasMore ? `<?page=${page + 2}>; rel="next", ` : '<?page=1>; rel="prev", '}<?page=1>; rel="first", <?page=${pages}>; rel="last"`,
        },
      }),
    },
  ],
  'the next page number in a header': [
    'token:header.x-next-page:page',
    {
      start: byPage('page'),
      serve: ({ items, page, hasMore }) => ({
        body: items,
        headers: { 'x-next-page': hasMore ? String(page + 2) : '' },
      }),
    },
  ],
  'page numbers': [
    'page:page',
    {
      start: byPage('page'),
      serve: ({ items, page, pages, total }) => ({
        body: { data: items, meta: { current_page: page + 1, last_page: pages, per_page: 2, total } },
      }),
    },
  ],
  'page numbers from 0': [
    'page:page:0',
    {
      start: byPage('page', 0),
      serve: ({ items, page, pages, total, hasMore }) => ({
        body: {
          content: items,
          pageable: { pageNumber: page, pageSize: 2, offset: page * 2, paged: true },
          last: !hasMore,
          first: page === 0,
          totalPages: pages,
          totalElements: total,
          size: 2,
          number: page,
          numberOfElements: items.length,
          empty: false,
        },
      }),
    },
  ],
  'pages of which only the number is stated': [
    'page:page',
    { start: byPage('page'), serve: ({ items, pages }) => ({ body: { items, total_pages: pages } }) },
  ],
  'pages from 0 of which only the number is stated': [
    'page:page:0',
    { start: byPage('page', 0), serve: ({ items, pages }) => ({ body: { items, pages } }) },
  ],
  'page numbers without a total': [
    'page:page',
    { start: byPage('page'), serve: ({ items, page }) => ({ body: { items, page: page + 1, page_size: 2 } }) },
  ],
  'page numbers in a header of JSON': [
    'page:pageNumber',
    {
      start: byPage('pageNumber'),
      serve: ({ items, page, pages, total, hasMore }) => ({
        body: items,
        headers: {
          'x-pagination': JSON.stringify({
            TotalCount: total,
            PageSize: 2,
            CurrentPage: page + 1,
            TotalPages: pages,
            HasNext: hasMore,
            HasPrevious: page > 0,
          }),
        },
      }),
    },
  ],
  'an offset': [
    'offset:offset',
    {
      start: byOffset('offset'),
      serve: ({ items, start, total }) => ({ body: { items, offset: start, limit: 2, total } }),
    },
  ],
  'an offset without a total': [
    'offset:offset',
    { start: byOffset('offset'), serve: ({ items, start }) => ({ body: { items, offset: start, limit: 2 } }) },
  ],
  'a start index from 1': [
    'offset:startIndex',
    {
      start: (query) => numberIn(query, 'startIndex', 1) - 1,
      serve: ({ items, start, total }) => ({
        body: { totalResults: total, startIndex: start + 1, itemsPerPage: items.length, Resources: items },
      }),
    },
  ],
  'startAt and isLast': [
    'offset:startAt',
    {
      start: byOffset('startAt'),
      serve: ({ items, start, hasMore }) => ({
        body: { startAt: start, maxResults: 2, isLast: !hasMore, values: items },
      }),
    },
  ],
  'a total in the body': [
    'offset:offset',
    { start: byOffset('offset'), serve: ({ items, total }) => ({ body: { results: items, count: total } }) },
  ],
  'a total in a header': [
    'page:page',
    {
      start: byPage('page'),
      serve: ({ items, total }) => ({ body: items, headers: { 'x-total-count': String(total) } }),
    },
  ],
  'a range': [
    'offset:offset',
    {
      start: byOffset('offset'),
      serve: ({ items, start, end, total }) => ({
        body: items,
        headers: { 'content-range': `items ${start}-${end - 1}/${total}` },
      }),
    },
  ],
  'a partial content with an open range': [
    'offset:offset',
    {
      start: byOffset('offset'),
      serve: ({ items, start, end }) => ({
        status: items.length === 0 ? 200 : 206,
        body: items,
        headers: items.length === 0 ? {} : { 'content-range': `${start}-${end - 1}/*` },
      }),
    },
  ],
  'has_more with the last id': [
    'after:starting_after',
    {
      start: byLast('starting_after'),
      serve: ({ items, hasMore }) => ({ body: { object: 'list', data: items, has_more: hasMore } }),
    },
  ],
  'has_more with a stated last id': [
    'token:last_id:after_id',
    {
      start: byLast('after_id'),
      serve: ({ items, hasMore, last }) => ({
        body: { data: items, first_id: items[0]?.space_id, last_id: last, has_more: hasMore },
      }),
    },
  ],
  'has_older on the way back, where has_newer is about what was read before': [
    'after:starting_after',
    {
      start: byLast('starting_after'),
      serve: ({ items, hasMore, start }) => ({ body: { data: items, has_older: hasMore, has_newer: start > 0 } }),
    },
  ],
  'has_more with page numbers': [
    'page:page',
    {
      start: byPage('page'),
      serve: ({ items, hasMore, page }) => ({ body: { data: items, page: page + 1, has_more: hasMore } }),
    },
  ],
  'only has_more, with an offset': [
    'offset:offset',
    { start: byOffset('offset'), serve: ({ items, hasMore }) => ({ body: { data: items, hasMore } }) },
  ],
  'an inclusive start': [
    'token:next_key:start_key',
    {
      start: (query) => Number((query.get('start_key') ?? 's1').slice(1)) - 1,
      serve: ({ items, hasMore, last }) => ({ body: { data: items, next_key: hasMore ? last : null } }),
    },
  ],
  'a next page number in the body': [
    'token:next_page:page',
    {
      start: byPage('page'),
      serve: ({ items, hasMore, page }) => ({ body: { items, next_page: hasMore ? page + 2 : null } }),
    },
  ],
  'a next offset': [
    'token:next_offset:offset',
    {
      start: byOffset('offset'),
      serve: ({ items, hasMore, end }) => ({ body: { items, next_offset: hasMore ? end : null } }),
    },
  ],
};

async function readAll(http: Http): Promise<readonly JsonObject[]> {
  const items: JsonObject[] = [];
  for await (const item of listAll(http, OPERATIONS.listSpaces, 'spaces')) items.push(item);
  return items;
}

/** The kinds that a page does not explain, so that the contract must. */
const UNEXPLAINED: readonly string[] = [
  'a token with has_more',
  'a continuation token in a header',
  'pages of which only the number is stated',
  'pages from 0 of which only the number is stated',
  'page numbers in a header of JSON',
  'a total in the body',
  'a total in a header',
  'a range',
  'a partial content with an open range',
  'has_more with the last id',
  'has_older on the way back, where has_newer is about what was read before',
  'only has_more, with an offset',
  'an inclusive start',
];

describe('a paginated list', () => {
  it.each(Object.entries(KINDS))(
    'is complete, or refused with the command that settles it: %s',
    async (name, [, kind]) => {
      const service = await startPagedService(kind);
      const isUnexplained = UNEXPLAINED.includes(name);
      const reading = readAll(client(service.baseUrl).http);
      if (isUnexplained) {
        const hint = expect.stringContaining('partnerctl contract set spaces.list.next ');
        await expect(reading).rejects.toMatchObject({ exitCode: 8, info: { hint } });
      } else expect(await reading).toEqual(spaceIds(5));
      // The three pages, and one try under the wrong name.
      expect(service.requests.length).toBeLessThanOrEqual(isUnexplained ? 3 : 4);
    },
  );

  it.each(Object.entries(KINDS))('is complete if the contract says how it is paged: %s', async (_, [leaf, kind]) => {
    const service = await startPagedService(kind);
    for (const source of ['override', 'imported']) {
      const contract = new Contract({ [source]: { 'spaces.list.next': leaf } });
      expect(await readAll(client(service.baseUrl, { contract }).http)).toEqual(spaceIds(5));
    }
  });

  it.each(Object.entries(KINDS))('takes one request if it has one page: %s', async (name, [, kind]) => {
    const service = await startPagedService({ ...kind, count: 1 });
    const { http } = client(service.baseUrl);
    if (!name.includes('partial')) {
      expect(await readAll(http)).toEqual(spaceIds(1));
      expect(service.requests.length).toBe(1);
    } else await expect(readAll(http)).rejects.toThrow('nothing says how its next page is requested');
  });
});

describe('a paginated list that cannot be followed', () => {
  const ignoring = (body: Record<string, unknown>): PagedService => ({
    start: () => 0,
    serve: ({ items }) => ({ body: { items, ...body } }),
  });

  it.each([
    ['has_more', { has_more: true }],
    ['paging.has_older', { paging: { has_older: true } }],
    ['next_cursor', { next_cursor: 'abc' }],
    ['meta.total', { meta: { total: 5 } }],
    ['total_pages', { total_pages: 3 }],
    ['page_size', { page: 1, page_size: 2 }],
    ['next', { next: { of: 'kin' } }],
    ['pagination.pages', { pagination: { page: 1, pages: 3 } }],
    ['nextPage', { nextPage: true }],
    ['isLast', { isLast: false }],
    ['items_remaining', { items_remaining: 3 }],
  ])('is rejected with the name of the field: %s', async (name, body) => {
    const service = await startPagedService(ignoring(body));
    const ran = await partnerctl(service.baseUrl, LIST);
    expect(ran.code).toBe(8);
    expect(ran.error().type).toBe('unexpected_shape');
    expect(ran.stderr).toContain(name);
    expect(ran.stderr).toContain('partnerctl contract set spaces.list.next none');
    expect(service.requests.every(({ method }) => method === 'GET')).toBe(true);
    expect(service.requests.length).toBeLessThanOrEqual(3);
  });

  it('is rejected if the service rejects every parameter', async () => {
    const service = await startPagedService({
      start: (query) => (query.size > 0 ? { status: 400, body: { detail: 'unknown parameter' } } : 0),
      serve: ({ items }) => ({ body: { items, total: 5 } }),
    });
    const ran = await partnerctl(service.baseUrl, LIST);
    expect(ran.code).toBe(8);
    expect(ran.stderr).toContain('total: 5, and 2 read');
  });

  it.each([
    ['fewer', 7],
    ['more', 3],
  ])('is rejected if the service sends %s items than it states', async (_, total) => {
    const service = await startPagedService({
      start: byOffset('offset'),
      serve: ({ items, start }) => ({ body: { items, offset: start, total } }),
    });
    const ran = await partnerctl(service.baseUrl, LIST);
    expect(ran.code).toBe(8);
    expect(ran.stderr).toContain('run the command again');
  });

  it('is rejected if the parameter skips a page, because the count does not add up', async () => {
    const service = await startPagedService({
      start: (query) => numberIn(query, 'offset') * 2,
      serve: ({ items, start }) => ({ body: { items, offset: start / 2, total: 9 } }),
      count: 9,
    });
    expect((await partnerctl(service.baseUrl, LIST)).code).toBe(8);
  });

  it('ends after its first page if the contract says that there are no more', async () => {
    const service = await startPagedService(ignoring({ message_count: 40 }));
    const contract = new Contract({ override: { 'spaces.list.next': 'none' } });
    expect(await readAll(client(service.baseUrl, { contract }).http)).toEqual(spaceIds(2));
  });
});
