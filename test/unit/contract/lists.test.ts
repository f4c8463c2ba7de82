import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { UnknownShape } from '../../../src/contract/assumptions.ts';
import { findUnfollowableKey, readList, readNext, readStatedExtent } from '../../../src/contract/lists.ts';

const ITEMS = [{ space_id: 'a' }, { space_id: 'b' }];

describe('the envelope of a list', () => {
  it.each([
    ['a bare array', ITEMS],
    ['results', { results: ITEMS, count: 2 }],
    ['data', { data: ITEMS }],
    ['items', { items: ITEMS }],
    ['its own name', { spaces: ITEMS }],
    ['data.spaces', { data: { spaces: ITEMS } }],
    ['data.items', { data: { items: ITEMS } }],
    ['spaces.results', { spaces: { results: ITEMS } }],
    ['the one key with an array of objects', { workspaces: ITEMS, tags: ['x'], total: 2 }],
  ])('is read: %s', (_, body) => {
    expect(readList(body, 'spaces')).toEqual(ITEMS);
  });

  it.each([
    ['a bare array', []],
    ['results', { results: [] }],
    ['its own name', { spaces: [] }],
    ['one level down', { data: { spaces: [] } }],
  ])('may be empty: %s', (_, body) => {
    expect(readList(body, 'spaces')).toEqual([]);
  });

  it.each([
    ['null', null],
    ['a text', 'spaces'],
    ['a number', 4],
    ['an empty object', {}],
    ['an error', { error: { message: 'no' } }],
    ['errors in an answer that claims success', { errors: [{ message: 'no' }] }],
    ['an unknown name with nothing in it', { workspaces: [] }],
    ['two candidates', { mine: ITEMS, theirs: ITEMS }],
    ['a map by id', { spaces: { a: {}, b: {} } }],
    ['an array of texts', ['a', 'b']],
    ['an array of arrays', [[{ space_id: 'a' }]]],
    ['an array with a hole', { results: [{ space_id: 'a' }, null] }],
  ])('is an error that describes the body: %s', (_, body) => {
    expect(() => readList(body, 'spaces')).toThrow(expect.objectContaining({ seen: expect.stringMatching(/./) }));
  });

  it('property: an empty list is only returned for an empty array in a known place', () => {
    const places = ['results', 'data', 'items', 'spaces'];
    fc.assert(
      fc.property(fc.jsonValue(), (body) => {
        let items: readonly unknown[];
        try {
          items = readList(body, 'spaces');
        } catch (error) {
          expect(error).toBeInstanceOf(UnknownShape);
          return;
        }
        if (items.length > 0) return;
        const top = body as Record<string, unknown>;
        const candidates = [body, ...places.map((key) => top[key])];
        const inner = candidates.flatMap((value) =>
          typeof value === 'object' && value !== null
            ? places.map((key) => (value as Record<string, unknown>)[key])
            : [],
        );
        expect([...candidates, ...inner].some((value) => Array.isArray(value) && value.length === 0)).toBe(true);
      }),
    );
  });

  it('property: every item is returned in order from every envelope', () => {
    const items = fc.array(fc.record({ space_id: fc.string() }, { noNullPrototype: true }), { minLength: 1 });
    const wrap = fc.constantFrom(
      (list: unknown) => list,
      (list: unknown) => ({ results: list, next: null }),
      (list: unknown) => ({ data: { spaces: list } }),
      (list: unknown) => ({ anything: list, count: 1 }),
    );
    fc.assert(
      fc.property(items, wrap, (list, wrapped) => {
        expect(readList(wrapped(list), 'spaces')).toEqual(list);
      }),
    );
  });
});

describe('the link to the next page', () => {
  it.each([
    ['an address', { results: [], next: 'https://api.test/v1/spaces/?page=2' }, 'https://api.test/v1/spaces/?page=2'],
    ['a path', { next: '/v1/spaces/?page=2' }, '/v1/spaces/?page=2'],
    ['a query', { next: '?page=2' }, '?page=2'],
    ['links.next', { links: { next: '?page=2' } }, '?page=2'],
    ['links.next.href', { _links: { next: { href: '?page=2' } } }, '?page=2'],
    ['meta.next', { meta: { next: '?page=2' } }, '?page=2'],
    ['paging.next', { paging: { next: '?page=2' } }, '?page=2'],
    ['beside the list one level down', { data: { items: [], next: '?page=2' } }, '?page=2'],
    ['in the paging of the level below', { data: { items: [], pagination: { next: '?page=2' } } }, '?page=2'],
    ['under the own name', { spaces: { results: [], next: '?page=2' } }, '?page=2'],
    ['behind a null in another place', { next: null, links: { next: '?page=2' } }, '?page=2'],
  ])('is found: %s', (_, body, expected) => {
    expect(readNext(body, 'spaces')).toBe(expected);
  });

  it.each([
    ['a bare array', []],
    ['no next', { results: [] }],
    ['null', { next: null }],
    ['an empty text', { next: '' }],
    ['false', { next: false }],
    ['a link without an address', { links: { next: { href: null } } }],
  ])('is absent on the last page: %s', (_, body) => {
    expect(readNext(body, 'spaces')).toBeUndefined();
  });

  it.each([
    ['a page number', { next: 2 }],
    ['a bare cursor', { next: 'eyJpZCI6MX0' }],
    ['true', { next: true }],
    ['a list', { next: ['?page=2'] }],
    ['an object with a cursor', { next: { cursor: 'abc' } }],
    ['another scheme', { next: 'ftp://api.test/v1/' }],
  ])('is an error if it cannot be followed: %s', (_, body) => {
    expect(() => readNext(body, 'spaces')).toThrow(UnknownShape);
  });

  it.each([
    ['has_more', { has_more: true }],
    ['next_cursor', { meta: { next_cursor: 'abc' } }],
    ['nextPageToken', { nextPageToken: 'abc' }],
    ['has_more', { data: { items: [], has_more: true } }],
    ['next_page_url', { data: [], next_page_url: 'https://api.test/v1/?page=2' }],
    ['has_next', { page: { has_next: true } }],
  ])('is missing but another sign of a further page is named: %s', (sign, body) => {
    expect(findUnfollowableKey(body, 'spaces')).toBe(sign);
  });

  it.each([
    [{ has_more: false }],
    [{ next_cursor: null }],
    [{ next_page: '' }],
    [[]],
    [{ results: [{ has_more: true }] }],
  ])('is missing without another sign in %j', (body) => {
    expect(findUnfollowableKey(body, 'spaces')).toBeUndefined();
  });

  it('property: any body yields a link, none, or an UnknownShape', () => {
    const keys = fc.constantFrom('next', 'links', 'meta', 'data', 'results', 'href', 'url', 'has_more', 'spaces', 'x');
    const { tree } = fc.letrec((tie) => ({
      tree: fc.oneof({ depthSize: 'small' }, fc.jsonValue({ maxDepth: 1 }), fc.dictionary(keys, tie('tree'))),
    }));
    fc.assert(
      fc.property(tree, (body) => {
        try {
          const next = readNext(body, 'spaces');
          if (next !== undefined) expect(next).toMatch(/^(https?:\/\/|\/|\?)/i);
          findUnfollowableKey(body, 'spaces');
        } catch (error) {
          expect(error).toBeInstanceOf(UnknownShape);
        }
      }),
    );
  });
});

describe('the stated extent of a list', () => {
  it.each([
    [[], { ends: false }],
    [{ results: [] }, { ends: false }],
    [{ results: [], next: null }, { ends: true }],
    [{ results: [], links: { next: {} } }, { ends: true }],
    [{ results: [], next: '/v1/x' }, { ends: false }],
    [
      { results: [], meta: { has_more: false, total: 7 } },
      { ends: true, total: 7 },
    ],
    [
      { results: [], count: 0 },
      { ends: false, total: 0 },
    ],
    [{ results: [], total: '7' }, { ends: false }],
  ])('%j: %j', (body, extent) => {
    expect(readStatedExtent(body, 'messages')).toEqual(extent);
  });
});
