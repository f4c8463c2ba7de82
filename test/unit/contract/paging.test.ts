import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseNext } from '../../../src/contract/contract.ts';
import type { PageResponse } from '../../../src/contract/page-signs.ts';
import { decideNext, formatStep, type PagingRule, type Progress } from '../../../src/contract/paging.ts';

const FIRST: Progress = { items: 2, pages: 1, emptyPages: 0, step: undefined };
const LIST: PagingRule = { next: { kind: 'auto' }, extent: 'list', takesMessage: false };

interface Given {
  readonly page?: Partial<PageResponse>;
  readonly progress?: Partial<Progress>;
  readonly rule?: Partial<PagingRule>;
}

/** Decides about the first page of a list, with two items, of which the last one is `s2`. */
function decide(body: unknown, { page, progress, rule }: Given = {}) {
  const response: PageResponse = { body, headers: {}, itemCount: 2, nextLink: undefined, ...page };
  return decideNext(response, { ...FIRST, ...progress }, { ...LIST, ...rule }, 's2');
}

/** The requests for the next page, or the verdict if there are none. */
function read(body: unknown, given?: Given): unknown {
  const verdict = decide(body, given);
  if (verdict.kind === 'next')
    return verdict.steps.map((step) => `${formatStep(step)}=${step.value}${verdict.isCertain ? '' : '?'}`);
  return verdict.kind === 'whole' ? 'whole' : verdict.signs;
}

describe('a page', () => {
  it.each([
    [{ _links: { next: { href: '?page=2' }, self: { href: '?page=1' } } }, ['link:_links.next=?page=2']],
    [{ meta: { next_cursor: 'c' } }, ['token:meta.next_cursor:cursor=c', 'token:meta.next_cursor:after=c']],
    [{ has_more: true, last_id: 'c' }, ['token:last_id:after_id=c', 'token:last_id:after=c']],
    [{ page: { number: 0, size: 2, totalElements: 5 } }, ['page:page=1']],
  ])('leads to the next one by what it says: %j', (body, steps) => {
    expect(read(body)).toEqual(steps);
  });

  it('that announces an integer beyond those of JavaScript is followed exactly', () => {
    expect(read({ next_cursor: 9_007_199_254_740_993n })).toContain('token:next_cursor:cursor=9007199254740993');
  });

  it.each([
    [{ has_more: true }, ['has_more']],
    [{ pages: 2, results: 4 }, ['results: 4, and 2 read', 'pages: 2, and 1 read']],
  ])('that announces more, but not how to request it, is not explained: %j', (body, signs) => {
    expect(decide(body)).toMatchObject({ kind: 'unexplained', signs });
  });

  it.each([
    [{}],
    [{ pageInfo: { hasNextPage: false, hasPreviousPage: true, endCursor: 'abc' } }],
    [{ prev_cursor: 'x', previous: '?page=1', first: '?page=1', links: { next: {} } }],
    [{ next_run_at: '2026-01-01T00:00:00Z', started_at: 1_700_000_000, account: { last_name: 'Doe' }, discount: 10 }],
  ])('of which nothing speaks of more is the whole list: %j', (body) => {
    expect(read(body)).toBe('whole');
  });

  it.each([
    [{ 'x-pagination': '{"HasNext":true,"CurrentPage":1}' }, ['page:Page=2', 'page:page=2']],
    [{ 'x-ratelimit-limit': '2', 'x-rate-limit-remaining': '9', 'x-token': 'abc', 'content-length': '12' }, 'whole'],
  ])('is also judged by its headers: %j', (headers, expected) => {
    expect(read([], { page: { headers } })).toEqual(expected);
    expect(read([], { page: { nextLink: '?page=2' } })).toEqual(['header:link=?page=2']);
  });
});

describe('a page of a session', () => {
  const session = { extent: 'session', takesMessage: true } as const;
  const rest = { rule: { extent: 'rest of a session' } } as const;

  it('that begins after a message is not measured by the size of the session', () => {
    expect(read({ total: 9, has_previous: true }, rest)).toBe('whole');
    expect(read({ page: 1, pages: 2 }, rest)).toEqual(['page:page=2?']);
  });

  it('is read on after its last message, too, if more is announced', () => {
    expect(read({ page: 1, has_more: true }, { rule: session })).toEqual(['page:page=2', 'auto=s2']);
    expect(read({ next: '?page=2' }, { rule: session })).toEqual(['link:next=?page=2']);
    const empty = { page: { itemCount: 0 }, progress: { emptyPages: 4 }, rule: session };
    expect(read({ next_cursor: 'c' }, empty)).toBe('whole');
  });
});

describe('a contract that says how the next page is requested', () => {
  const by = (value: string): Given => ({ rule: { next: parseNext(value) } });

  it('is followed where the page has something there', () => {
    expect(read({ paging: { next: { href: '?b' } } }, by('link:paging.next'))).toEqual(['link:paging.next=?b']);
  });

  it.each([
    ['page:p', ['page:p=1?', 'page:p=2?']],
    ['after:since', ['after:since=s2?']],
  ])('is followed, though the page announces nothing: %s', (value, expected) => {
    expect(read({ empty: '' }, by(value))).toEqual(expected);
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
    expect(read({ ...harmless, ...body })).not.toBe('whole');
  });
  fc.assert(property);
});
