import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseNext } from '../../../src/contract/leaf-values.ts';
import { type PageResponse, readSigns } from '../../../src/contract/page-signs.ts';
import {
  addPage,
  type Extent,
  formatStep,
  moreSigns,
  nextSteps,
  type Progress,
  statedEnd,
} from '../../../src/contract/paging.ts';

interface Given {
  readonly page?: Partial<PageResponse>;
  readonly next?: string;
  readonly extent?: Extent;
}

/** Reads the first page of a list, with two items, of which the last one is `s2`. */
function read(body: unknown, { page, next = 'auto', extent = 'list' }: Given = {}) {
  const response: PageResponse = { body, headers: {}, itemCount: 2, nextLink: undefined, ...page };
  const signs = readSigns(response);
  const progress = addPage(undefined, { signs, items: response.itemCount, added: response.itemCount, step: undefined });
  const of = { page: response, signs, progress, lastId: 's2' };
  const steps = nextSteps(parseNext(next), of, extent).map((step) => `${formatStep(step)}=${step.value}`);
  return { steps, more: moreSigns(of, extent, false), end: statedEnd(of, extent) };
}

const stepsOf = (body: unknown, given?: Given) => read(body, given).steps;

describe('a page', () => {
  it.each([
    [{ _links: { next: { href: '?page=2' }, self: { href: '?page=1' } } }, ['link:_links.next=?page=2']],
    [{ meta: { next_cursor: 'c' } }, ['token:meta.next_cursor:cursor=c']],
    [{ NextToken: 'c' }, ['token:NextToken:NextToken=c']],
    [{ paging: { next: { after: 'c' } } }, ['token:paging.next.after:after=c']],
    [{ current_page: 1, total_pages: 3 }, ['page:page=2']],
    [{ page: { number: 0, totalPages: 3 } }, ['page:page=1']],
    [{ page: { number: 0, totalElements: 5 } }, ['page:page=1', 'offset:offset=2', 'offset:skip=2', 'offset:$skip=2']],
    [{ total: 5 }, ['offset:offset=2', 'offset:skip=2', 'offset:$skip=2', 'page:page=1', 'page:page=2']],
    [
      { total: 5, skip: 0, limit: 2 },
      ['offset:skip=2', 'offset:offset=2', 'offset:$skip=2', 'page:page=1', 'page:page=2'],
    ],
  ])('leads to the next one by what it says: %j', (body, steps) => {
    expect(stepsOf(body)).toEqual(steps);
  });

  it.each([
    [{ page: 1, has_more: true }, ['has_more']],
    [{ has_more: true, last_id: 'c' }, ['has_more']],
    [{ pages: 2, results: 2 }, ['pages: 2, and 1 read']],
    [{ total: 1 }, ['total: 1, and 2 read']],
  ])('that announces more is not whole: %j', (body, signs) => {
    expect(read(body)).toMatchObject({ more: signs, end: undefined });
  });

  it('that announces an integer beyond those of JavaScript is followed exactly', () => {
    expect(stepsOf({ next_cursor: 9_007_199_254_740_993n })).toEqual(['token:next_cursor:cursor=9007199254740993']);
  });

  it.each([
    [{}, undefined],
    [{ pageInfo: { hasNextPage: false, hasPreviousPage: true, endCursor: 'abc' } }, 'stated'],
    [{ prev_cursor: 'x', previous: '?page=1', first: '?page=1', links: { next: {} } }, 'stated'],
    [{ next_run_at: '2026-01-01T00:00:00Z', started_at: 1_700_000_000, account: { last_name: 'Doe' } }, undefined],
    [{ total: 2, next_cursor: 'of the next poll' }, 'added up'],
    [{ meta: { first: 1, last: 2 } }, undefined],
  ])('of which nothing speaks of more is the whole list: %j', (body, end) => {
    expect(read(body)).toEqual({ steps: [], more: [], end });
  });

  it.each<[Partial<PageResponse>, object]>([
    [{ headers: { 'x-ratelimit-limit': '2', 'x-rate-limit-remaining': '9', 'x-token': 'abc' } }, { more: [] }],
    [{ nextLink: '?page=2' }, { steps: ['header:link=?page=2'] }],
    [{ headers: { 'x-pagination': '{"HasNext":true,"CurrentPage":1}' } }, { more: ['header.x-pagination.HasNext'] }],
    [{ headers: { 'content-range': 'items 0-1/*' }, status: 206 }, { more: ['status 206'] }],
  ])('is also judged by its headers and its status: %j', (page, expected) => {
    expect(read([], { page })).toMatchObject(expected);
  });
});

it('the rest of a session is not measured by the size of the session', () => {
  const rest: Given = { extent: 'rest of a session' };
  expect(read({ total: 9, has_previous: true }, rest)).toEqual({ steps: [], more: [], end: undefined });
  expect(read({ page: 1, pages: 2 }, rest).more).toEqual([]);
});

it.each([
  ['a session whose last page states fewer messages than its first', { total: 0 }],
  ['a session whose last page states no total any more', { next: null }],
])('%s is not whole: nobody takes a message back', (_, body) => {
  const pageOf = (said: object, itemCount: number, before?: Progress) => {
    const page: PageResponse = { body: said, headers: {}, itemCount, nextLink: undefined };
    const signs = readSigns(page);
    const progress = addPage(before, { signs, items: itemCount, added: itemCount, step: undefined });
    return { page, signs, progress, lastId: undefined };
  };
  const last = pageOf(body, 0, pageOf({ total: 5 }, 3).progress);
  expect(moreSigns(last, 'session', false)).toEqual(['total: 5, and 3 read']);
  expect(statedEnd(last, 'session')).toBeUndefined();
});

describe('a contract that says how the next page is requested', () => {
  it('is followed where the page has something there', () => {
    expect(stepsOf({ paging: { next: { href: '?b' } } }, { next: 'link:paging.next' })).toEqual([
      'link:paging.next=?b',
    ]);
  });

  it.each([
    ['page:p', ['page:p=1', 'page:p=2']],
    ['offset:o', ['offset:o=2']],
    ['after:since', ['after:since=s2']],
  ])('is followed, though the page announces nothing: %s', (next, expected) => {
    expect(stepsOf({ empty: '' }, { next })).toEqual(expected);
  });

  it('is not followed once a stated total adds up', () => {
    expect(read({ total: 2 }, { next: 'page:p' })).toEqual({ steps: [], more: [], end: 'added up' });
  });
});

it('property: a page that announces more among other keys, at any depth in an envelope, is never the whole list', () => {
  const announced = fc.constantFrom<object>(
    { next_cursor: 'abc' },
    { hasMore: true },
    { total_count: 7 },
    { continuation: { of: 'kin' } },
  );
  const place = fc.array(fc.constantFrom('meta', 'data', 'pagination', 'Result', 'paging'), { maxLength: 4 });
  const others = fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 1 }));
  const property = fc.property(announced, place, others, (said, keys, { next, ...harmless }) => {
    const body = keys.reduceRight<object>((inner, key) => ({ [key]: inner }), said);
    expect(read({ ...harmless, ...body }).more).not.toEqual([]);
  });
  fc.assert(property);
});
