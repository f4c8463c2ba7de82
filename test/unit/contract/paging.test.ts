import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { checkLeafValue, parseNext } from '../../../src/contract/leaf-value.ts';
import type { PageResponse } from '../../../src/contract/page-signs.ts';
import { formatStep, type Progress } from '../../../src/contract/page-steps.ts';
import { decideNext, isEnd, type PagingRule, type Verdict } from '../../../src/contract/paging.ts';

const FIRST: Progress = { items: 2, pages: 1, emptyPages: 0, step: undefined };
const LIST: PagingRule = { next: { kind: 'auto' }, isOverride: false, extent: 'list', takesMessage: false };

/** The first page of a list, with two items. */
function page(body: unknown, more: Partial<PageResponse> = {}): PageResponse {
  return { body, headers: {}, status: 200, itemCount: 2, nextLink: undefined, ...more };
}

/** The requests for the next page, or the verdict if there are none. */
function say(verdict: Verdict): unknown {
  if (verdict.kind === 'next')
    return verdict.steps.map((step) => `${formatStep(step)}=${step.value}${verdict.isCertain ? '' : '?'}`);
  return verdict.kind === 'whole' ? 'whole' : verdict.signs;
}

/** Reads a page whose last item has the id `s2`. */
const decide = (
  body: unknown,
  more: Partial<PageResponse> = {},
  progress: Partial<Progress> = {},
  rule: Partial<PagingRule> = {},
): Verdict => decideNext(page(body, more), { ...FIRST, ...progress }, { ...LIST, ...rule }, 's2');

const read = (...given: Parameters<typeof decide>): unknown => say(decide(...given));

describe('a page', () => {
  it.each([
    ['a link', { next: '/v1/spaces/?page=2' }, 'link:next=/v1/spaces/?page=2'],
    ['a link of any name', { next_page_url: '?page=2' }, 'link:next_page_url=?page=2'],
    ['a link of OData', { '@odata.nextLink': 'spaces?$skiptoken=x' }, 'link:@odata.nextLink=spaces?$skiptoken=x'],
    ['a link object', { _links: { next: { href: '?page=2' }, self: { href: '?page=1' } } }, 'link:_links.next=?page=2'],
    [
      'one of a list of links',
      {
        links: [
          { rel: 'next', href: '?a' },
          { rel: 'prev', href: '?b' },
        ],
      },
      'link:links.next=?a',
    ],
  ])('leads to the next one by %s', (_, body, step) => {
    expect(read(body)).toEqual([step]);
  });

  it.each([
    ['meta.next_cursor', { meta: { next_cursor: 'c' } }, ['cursor', 'after']],
    ['nextPageToken', { nextPageToken: 'c' }, ['pageToken', 'cursor']],
    ['next_page_token', { next_page_token: 'c' }, ['page_token', 'cursor']],
    ['NextToken', { NextToken: 'c' }, ['NextToken', 'Token']],
    ['NextMarker', { IsTruncated: true, NextMarker: 'c' }, ['Marker', 'marker']],
    ['continuationToken', { continuationToken: 'c' }, ['continuationToken', 'cursor']],
    ['paging.next.after', { paging: { next: { after: 'c' } } }, ['after', 'cursor']],
    ['next', { next: 'c' }, ['next', 'cursor']],
    ['next_page', { next_page: 2 }, ['page']],
    ['next_offset', { next_offset: 2 }, ['offset']],
    ['pageInfo.endCursor', { pageInfo: { hasNextPage: true, endCursor: 'c' } }, ['after', 'cursor']],
    ['last_id', { has_more: true, last_id: 'c' }, ['after_id', 'after']],
    ['offset', { offset: 'tok', has_more: true }, ['offset', 'cursor']],
  ])('leads to the next one by the token %s, under its own name and one conventional one', (path, body, parameters) => {
    const steps = parameters.map((parameter) => expect.stringMatching(new RegExp(`^token:${path}:${parameter}=`)));
    expect(read(body)).toEqual(steps);
  });

  it.each([
    [{ page: 1, total_pages: 3 }, ['page:page=2']],
    [{ meta: { current_page: 1, last_page: 3, per_page: 2, total: 5 } }, ['page:page=2']],
    [{ pageable: { pageNumber: 0 }, last: false, number: 0 }, ['page:pageNumber=1', 'page:page=1']],
    [{ page: { number: 0, size: 2, totalElements: 5 } }, ['page:page=1']],
    [{ offset: 0, limit: 2, total: 5 }, ['offset:offset=2']],
    [{ startAt: 0, isLast: false }, ['offset:startAt=2', 'offset:offset=2']],
    [{ totalResults: 5, startIndex: 1 }, ['offset:startIndex=3', 'offset:offset=3']],
    [{ offset: 2, 'has-more': true }, ['offset:offset=2']],
    [{ page: 1, page_size: 2 }, ['page:page=2?']],
    [{ offset: 0, limit: 2 }, ['offset:offset=2?']],
    [{ cursor: 'c' }, ['token:cursor:cursor=c?', 'token:cursor:after=c?']],
    [{ meta: { page: { after: 'c' } } }, ['token:meta.page.after:after=c?', 'token:meta.page.after:cursor=c?']],
    [{ num_pages: 2, page: 1, results: [] }, ['page:page=2']],
  ])('leads to the next one by the number that it states: %j', (body, steps) => {
    expect(read(body)).toEqual(steps);
  });

  it.each([
    [{ has_more: true }, ['has_more']],
    [{ is_truncated: 'true' }, ['is_truncated']],
    [{ last: false }, ['last']],
    [{ nextPage: true }, ['nextPage']],
    [{ items_remaining: 3 }, ['items_remaining']],
    [{ exceededTransferLimit: true }, ['exceededTransferLimit']],
    [{ meta: { total: 5 } }, ['meta.total: 5, and 2 read']],
    [{ hits: { total: { value: 5 } } }, ['hits.total.value: 5, and 2 read']],
    [{ message_count: 40 }, ['message_count: 40, and 2 read']],
    [{ recordsTotal: '5' }, ['recordsTotal: 5, and 2 read']],
    [{ total_pages: 3 }, ['total_pages: 3, and 1 page read']],
    [{ num_pages: 2 }, ['num_pages: 2, and 1 page read']],
    [{ pages: 2, results: 4 }, ['results: 4, and 2 read', 'pages: 2, and 1 page read']],
    [{ nbHits: 4, nbPages: 2, hitsPerPage: 2 }, ['nbHits: 4, and 2 read', 'nbPages: 2, and 1 page read']],
    [{ num_results: 3, objects: [] }, ['num_results: 3, and 2 read']],
    [{ total_items: 4, _links: [{ rel: 'self', href: '?' }] }, ['total_items: 4, and 2 read']],
    [{ LastEvaluatedKey: { id: { S: 'x' } } }, ['LastEvaluatedKey']],
    [{ next: { pages: [2] } }, ['next.pages']],
    [{ next: ['?page=2'] }, ['next']],
    [{ total: 1 }, ['total: 1, and 2 read']],
  ])('that announces more, but not how to request it, is not explained: %j', (body, signs) => {
    expect(decide(body)).toMatchObject({ kind: 'unexplained', signs });
  });

  it.each([
    [{}],
    [{ next: null, cursor: 'abc' }],
    [{ has_more: false, next_cursor: 'abc' }],
    [{ pageInfo: { hasNextPage: false, endCursor: 'abc' } }],
    [{ pageInfo: { hasPreviousPage: false } }],
    [{ page: 1, price: { max: 2 } }],
    [{ cursor: 'abc', total: 2 }],
    [{ next_cursor: 'abc', total: 2 }],
    [{ page: 1, page_size: 50, total: 2 }],
    [{ page: 1, page_size: 50 }],
    [{ page: 0, totalPages: 1, size: 2 }],
    [{ number: 0, size: 20, first: true, last: true, numberOfElements: 2, empty: false }],
    [{ count: 2 }],
    [{ size: 2 }],
    [{ links: { next: {} } }],
    [{ prev_cursor: 'x', previous: '?page=1', first: '?page=1', has_previous: false }],
    [{ nextSyncToken: 'x', sync_token: 'x', access_token: 'x', csrfToken: 'x' }],
    [{ last_login: '2026-01-01T00:00:00Z', next_run_at: '2026-01-01T00:00:00Z', started_at: 1_700_000_000 }],
    [{ account: { last_name: 'Doe', homepage: 'https://acme.test/?page=2' }, country: 'CH', discount: 10 }],
    [{ meta: { rate_limit: { limit: 100, remaining: 99 } }, filters: { page: 3 } }],
    [{ errors: [], included: [{ next: '?page=2' }], took: 3, _shards: { total: 5 } }],
    [{ total_ms: 12, total: -1 }],
    [{ nextForwardToken: null, nextBackwardToken: 'b' }],
  ])('of which nothing speaks of more is the whole list: %j', (body) => {
    expect(read(body)).toBe('whole');
  });

  it.each([
    [{ 'x-total-count': '5' }, ['header.x-total-count: 5, and 2 read']],
    [{ 'x-next-page': '2', 'x-page': '1', 'x-per-page': '2' }, ['token:header.x-next-page:page=2']],
    [{ 'x-wp-total': '5' }, ['header.x-wp-total: 5, and 2 read']],
    [{ 'x-next-page': '' }, 'whole'],
    [
      { 'x-ms-continuation': 'abc' },
      [expect.stringContaining('continuation=abc'), expect.stringContaining('cursor=abc')],
    ],
    [{ 'x-pagination': '{"HasNext":true,"CurrentPage":1}' }, ['page:Page=2', 'page:page=2']],
    [{ 'content-range': 'items 0-1/5' }, ['header.content-range: 5, and 2 read']],
    [{ 'content-range': 'items 0-1/2' }, 'whole'],
    [{ 'content-range': '0-1/*' }, ['header.content-range']],
    [
      { 'x-ratelimit-limit': '2', 'x-rate-limit-remaining': '9', 'x-request-id': 'next', 'content-length': '12' },
      'whole',
    ],
    [{ 'last-modified': 'Mon, 01 Jan 2026 00:00:00 GMT', 'x-token': 'abc', 'x-envoy-attempt-count': '9' }, 'whole'],
  ])('is also judged by its headers: %j', (headers, expected) => {
    expect(read([], { headers })).toEqual(expected);
  });

  it('is also judged by its status and its Link header', () => {
    expect(read([], { status: 206 })).toEqual(['status 206']);
    expect(read([], { status: 206, headers: { 'content-range': 'items 0-1/2' } })).toBe('whole');
    expect(read([], { nextLink: '?page=2' })).toEqual(['header:link=?page=2']);
  });

  it('without items has no page number after it, but a token', () => {
    expect(read({ page: 1, total_pages: 3 }, { itemCount: 0 }, { items: 0 })).toEqual([
      'total_pages: 3, and 1 page read',
    ]);
    expect(read({ next_cursor: 'c' }, { itemCount: 0 }, { items: 0 })).toHaveLength(2);
  });
});

describe('a list that says nothing about pages', () => {
  it.each([10, 20, 25, 50, 100, 200, 250, 500, 1_000])('may continue after %i items', (count) => {
    const more = { itemCount: count };
    expect(decide([], more, { items: count })).toMatchObject({ kind: 'whole', mayContinue: true });
    expect(decide({ pageInfo: {} }, more, { items: count })).toMatchObject({ kind: 'whole', mayContinue: true });
    expect(decide({ next: null }, more, { items: count })).toMatchObject({ kind: 'whole', mayContinue: false });
    expect(decide([], { itemCount: count + 1 }, { items: count + 1 })).toMatchObject({ mayContinue: false });
  });
});

describe('a further page', () => {
  it('is counted on from the one before it, under the parameter that worked', () => {
    const step = { kind: 'page', parameter: 'page', value: 2 } as const;
    expect(read({ total: 5 }, {}, { step, pages: 2, items: 4 })).toEqual(['page:page=3']);
    const offset = { kind: 'offset', parameter: 'start', value: 2 } as const;
    expect(read({ total: 5 }, {}, { step: offset, pages: 2, items: 4 })).toEqual(['offset:start=4']);
  });

  it('has its token under the parameter that worked', () => {
    const step = { kind: 'token', path: 'next_cursor', parameter: 'after', value: 'a' } as const;
    expect(read({ next_cursor: 'b' }, {}, { step, pages: 2, items: 4 })).toEqual(['token:next_cursor:after=b']);
  });

  it('may say that others come before it', () => {
    const step = { kind: 'link', path: 'next', value: '?page=2' } as const;
    expect(read({ has_previous: true, next: null }, {}, { step, pages: 2, items: 4 })).toBe('whole');
  });
});

describe('a page of a session', () => {
  it('that begins with its first message may say that others come before, and they cannot be requested', () => {
    for (const body of [{ has_older: true }, { has_previous: true }])
      expect(decide(body, {}, {}, { extent: 'session' })).toMatchObject({ kind: 'unexplained', isEarlier: true });
  });

  it('that begins after a message is not measured by the size of the session', () => {
    const extent = 'rest of a session';
    expect(read({ total: 9, has_previous: true, has_older: true }, {}, {}, { extent })).toBe('whole');
    expect(read({ total: 9, next_cursor: 'c' }, {}, {}, { extent })).toHaveLength(2);
  });

  it('is read on after its last message, too, if more is announced', () => {
    const rule = { extent: 'session', takesMessage: true } as const;
    expect(read({ has_more: true }, {}, {}, rule)).toEqual(['auto=s2']);
    expect(read({ page: 1, has_more: true }, {}, {}, rule)).toEqual(['page:page=2', 'auto=s2']);
    expect(read({ next: '?page=2' }, {}, {}, rule)).toEqual(['link:next=?page=2']);
    expect(read({ has_more: false }, {}, {}, rule)).toBe('whole');
    expect(read({ next_cursor: 'c' }, { itemCount: 0 }, { emptyPages: 4 }, rule)).toBe('whole');
  });

  it('that begins after a message is read on by its page number, as the service may send the whole session', () => {
    const extent = 'rest of a session';
    expect(read({ page: 1, pages: 2 }, {}, {}, { extent })).toEqual(['page:page=2?']);
    expect(read({ page: 1, pages: 1 }, {}, {}, { extent })).toBe('whole');
  });
});

describe('a contract that says how the next page is requested', () => {
  const by = (value: string, isOverride = false): Partial<PagingRule> => ({ next: parseNext(value), isOverride });

  it.each([
    ['header:link', ['header:link=?page=2']],
    ['link:paging.next', ['link:paging.next=?b']],
    ['token:meta.cursor:from', ['token:meta.cursor:from=c']],
    ['token:header.x-next:from', ['token:header.x-next:from=h']],
  ])('is followed where the page has something there: %s', (value, expected) => {
    const body = { meta: { cursor: 'c' }, paging: { next: { href: '?b' } } };
    expect(read(body, { headers: { 'x-next': 'h' }, nextLink: '?page=2' }, {}, by(value))).toEqual(expected);
  });

  it.each([
    ['page:p', ['page:p=1?', 'page:p=2?']],
    ['page:p:0', ['page:p=1?']],
    ['offset:skip', ['offset:skip=2?']],
    ['after:since', ['after:since=s2?']],
    ['token:nothing:from', 'whole'],
    ['link:empty', 'whole'],
    ['none', 'whole'],
  ])('is followed, though the page announces nothing: %s', (value, expected) => {
    expect(read({ empty: '' }, {}, {}, by(value))).toEqual(expected);
  });

  it('counts on from the number that the page states, and from the page before', () => {
    expect(read({ page: 0 }, {}, {}, by('page:p'))).toEqual(['page:p=1?']);
    const step = { kind: 'page', parameter: 'p', value: 4 } as const;
    expect(read({}, {}, { step, pages: 4 }, by('page:p'))).toEqual(['page:p=5?']);
  });

  it('does not make up for a page that announces more, and has nothing there', () => {
    expect(read({ has_more: true }, {}, {}, by('link:paging.next'))).toEqual(['has_more']);
  });
});

describe('a list after whose last page nothing new came', () => {
  const next = { kind: 'next', steps: [], signs: [] } as const;
  const step = { kind: 'page', parameter: 'page', value: 2 } as const;

  it.each([
    ['nothing announced more, and an earlier page was found in the same way', false, ['repeated'], step, {}, true],
    ['nothing announced more, and the next page is empty', false, ['empty'], undefined, {}, true],
    ['nothing announced more, and the next page repeats the first', false, ['repeated'], undefined, {}, false],
    ['more was announced', true, ['empty'], step, {}, false],
    [
      'more was announced, and the user said how pages are requested',
      true,
      ['empty'],
      step,
      { isOverride: true },
      true,
    ],
    ['more was announced, and the document said how pages are requested', true, ['empty'], step, {}, false],
  ] as const)('is whole or not: %s', (name, isCertain, failures, step, more, expected) => {
    const rule = { ...LIST, ...(name.includes('said') && { next: parseNext('page:page') }), ...more };
    expect(isEnd({ ...next, isCertain }, failures, { ...FIRST, step }, rule)).toBe(expected);
  });
});

describe('property:', () => {
  const announced = fc.constantFrom(
    { next_cursor: 'abc' },
    { hasMore: true },
    { total_count: 7 },
    { TotalPages: 4 },
    { 'next-page': '/v1/spaces/?page=2' },
    { nextPageToken: 'x' },
    { isLast: false },
    { continuation: { of: 'kin' } },
  );
  const place = fc.array(fc.constantFrom('meta', 'data', 'pagination', 'response_metadata', 'Result', 'paging'), {
    maxLength: 4,
  });

  it('a page that announces more among other keys, at any depth in an envelope, is never the whole list', () => {
    fc.assert(
      fc.property(announced, place, fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 1 })), (said, keys, others) => {
        const { next, ...harmless } = others;
        const body = keys.reduceRight<unknown>((inner, key) => ({ [key]: inner }), said);
        expect(read({ ...harmless, ...(body as object) })).not.toBe('whole');
      }),
    );
  });

  it('any body has a verdict, with two requests at most, each of which is a value of the leaf', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (body) => {
        const verdict = decide(body);
        if (verdict.kind !== 'next') return;
        expect(verdict.steps.length).toBeLessThanOrEqual(2);
        for (const step of verdict.steps) {
          const value = formatStep(step);
          if (/^[\w:.]+\w$/.test(value) && !value.includes('..') && !value.includes(':.'))
            checkLeafValue('next', value);
        }
      }),
    );
  });
});
