import fc from 'fast-check';
import { bigNumbers, digits, numbers, objectIds, prefixed, snowflakes, uuids } from './facts.ts';
import {
  byLastId,
  byOffset,
  byPage,
  byToken,
  type ListStyle,
  type Page,
  type Paging,
  type Service,
  type Wire,
} from './service.ts';

/* Services as a partner may have put them together: customary parts, and at most one that no tool can guess. */

/** Where a list is in a body, from a page and what is said about the next one. */
type Envelope = (page: Page, signs: Wire) => unknown;

const ENVELOPES: Readonly<Record<string, Envelope>> = {
  results: ({ items }, signs) => ({ ...signs, results: items }),
  data: ({ items }, signs) => ({ data: items, ...signs }),
  items: ({ items }, signs) => ({ items, ...signs }),
  key: ({ key, items }, signs) => ({ [key]: items, ...signs }),
  meta: ({ items }, signs) => ({ data: items, meta: signs }),
  pagination: ({ key, items }, signs) => ({ status: 'ok', [key]: items, pagination: signs }),
  nested: ({ key, items }, signs) => ({ data: { [key]: items, ...signs } }),
  hal: ({ key, items }, signs) => ({ _embedded: { [key]: items }, ...signs }),
  value: ({ items }, signs) => ({ value: items, ...signs }),
};

/** How a service pages, and what its bodies and headers say about the next page. */
interface PagingStyle {
  readonly paging: Paging | undefined;
  readonly signs: (page: Page) => Wire;
  readonly headers?: Service['headers'];
}

const PAGE_SIGNS: Readonly<Record<string, PagingStyle['signs']>> = {
  pages: ({ number, pages }) => ({ page: number, pages }),
  total: ({ number, size, total }) => ({ page: number, per_page: size, total }),
  'total pages': ({ number, pages, total }) => ({ current_page: number, total_pages: pages, total_count: total }),
  'next page': ({ nextValue }) => ({ next_page: nextValue }),
  'next link': ({ next, total }) => ({ count: total, next, previous: null }),
  'has more': ({ number, hasNext }) => ({ page: number, has_more: hasNext }),
};
const OFFSET_SIGNS: Readonly<Record<string, PagingStyle['signs']>> = {
  total: ({ from, size, total }) => ({ offset: from, limit: size, total }),
  count: ({ total }) => ({ count: total }),
  'next link': ({ next }) => ({ next }),
  'has more': ({ from, size, hasNext }) => ({ offset: from, limit: size, has_more: hasNext }),
};

const bySigns = (parameters: readonly Paging[], signs: Readonly<Record<string, PagingStyle['signs']>>) =>
  fc.record({ paging: fc.constantFrom(...parameters), signs: fc.constantFrom(...Object.values(signs)) });

const byTokens = fc
  .record({
    parameter: fc.constantFrom('cursor', 'page_token', 'after', 'next_token'),
    prefix: fc.constantFrom('next_', ''),
    isFlagged: fc.boolean(),
  })
  .map(({ parameter, prefix, isFlagged }) => ({
    paging: byToken(parameter),
    signs: ({ nextValue, hasNext }: Page): Wire => ({
      [`${prefix}${parameter}`.replace('next_next', 'next')]: nextValue,
      ...(isFlagged && { has_more: hasNext }),
    }),
  }));

const noSigns = (): Wire => ({});

const pagingStyles: fc.Arbitrary<PagingStyle> = fc.oneof(
  fc.constant({ paging: undefined, signs: noSigns }),
  fc.constant({ paging: undefined, signs: ({ total }: Page): Wire => ({ total }) }),
  bySigns([byPage(), byPage('page', 0), byPage('page_number'), byPage('p'), byPage('page[number]')], PAGE_SIGNS),
  bySigns([byOffset(), byOffset('skip'), byOffset('start')], OFFSET_SIGNS),
  byTokens,
  fc.constantFrom('starting_after', 'after', 'after_id').map((parameter) => ({
    paging: byLastId(parameter),
    signs: ({ hasNext, lastId }: Page): Wire => ({ has_more: hasNext, last_id: lastId }),
  })),
  fc.constantFrom(byPage(), byOffset(), byToken('cursor')).map((paging) => ({
    paging,
    signs: noSigns,
    headers: ({ next }: Page): Record<string, string> => (next ? { link: `<${next}>; rel="next"` } : {}),
  })),
);

const lists: fc.Arbitrary<ListStyle> = fc
  .record({ envelope: fc.option(fc.constantFrom(...Object.values(ENVELOPES))), style: pagingStyles })
  // A bare array cannot say anything in its body.
  .filter(({ envelope, style }) => envelope !== null || style.paging === undefined || style.headers !== undefined)
  .map(({ envelope, style: { paging, signs, headers } }) => ({
    paging,
    headers,
    list: (page: Page): unknown => envelope?.(page, signs(page)) ?? page.items,
  }));

type Naming = Pick<Service, 'ids' | 'id' | 'casing' | 'under' | 'time' | 'author'> & {
  readonly text: string | undefined;
};

const names = fc.record<Naming>({
  ids: fc.constantFrom(prefixed, numbers, digits, snowflakes, bigNumbers, uuids, objectIds),
  id: fc.constantFrom(undefined, 'id', 'uuid', '_id', 'pk'),
  casing: fc.constantFrom(undefined, 'camel', 'pascal', 'kebab'),
  under: fc.option(fc.constant('attributes'), { freq: 5, nil: undefined }),
  time: fc.constantFrom(
    undefined,
    (ms: number) => ms,
    (ms: number) => ms / 1000,
  ),
  author: fc.constantFrom<Service['author']>(
    undefined,
    ['author', 'user', 'assistant'],
    ['sender', 'customer', 'bot'],
    ['direction', 'inbound', 'outbound'],
    ['is_bot', false, true],
    ['sender.type', 'user', 'agent'],
  ),
  text: fc.constantFrom(undefined, 'body', 'content', 'message', 'content.text'),
});

type History = Pick<NonNullable<Service['history']>, 'order' | 'cursor'> & { readonly own: ListStyle | undefined };

const histories = fc.record<History>({
  order: fc.constantFrom(undefined, 'newest first'),
  cursor: fc.constantFrom(undefined, 'ignored', 'inclusive'),
  own: fc.option(lists, { nil: undefined }),
});

/** Something of which only the documentation tells. */
const UNCOMMON: readonly Partial<Service>[] = [
  { author: ['author', 'contact', 'automation'] },
  { paging: byPage('seite'), list: ({ items, total }) => ({ items, total }), headers: undefined },
  { list: ({ items }) => ({ reply: { found: items } }), paging: undefined, headers: undefined },
  { list: ({ items }) => ({ current: items, archived: [{ id: 'x' }] }), paging: undefined, headers: undefined },
  { also: { '*.uuid': 'a5c1b2d3' }, id: 'id' },
  { history: { parameters: { session: 'conversation' } } },
  { history: { parameters: { source: 'sourceId', session: 'sessionId' } } },
  { history: { method: 'POST' } },
  { slash: 'redirects' },
  { fileField: 'upload' },
  { fields: { 'space.name': 'caption', 'agent.name': 'caption', 'cron_job.name': 'caption' } },
  { fields: { 'message.text': 'message_body' } },
  { slash: 'never' },
];

/** Generates services: an envelope, names, a paging, a history, and at times something uncommon. */
export const services: fc.Arbitrary<Service> = fc
  .record({
    list: lists,
    names,
    history: histories,
    uncommon: fc.option(fc.constantFrom(...UNCOMMON), { freq: 3, nil: undefined }),
  })
  .map(({ list, names: { text, ...given }, history: { own, ...history }, uncommon }) => ({
    name: 'generated',
    ...given,
    ...list,
    ...(text !== undefined && { fields: { 'message.text': text } }),
    ...uncommon,
    history: { ...history, ...own, ...uncommon?.history },
  }));
