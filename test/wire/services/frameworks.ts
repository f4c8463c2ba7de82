import { numbers, uuids } from '../facts.ts';
import { byOffset, byPage, byToken, type Service, UPLOADS_ACCEPTED } from '../service.ts';

/* Web frameworks and the libraries that they are usually paged with, as they respond by default. */

const DJANGO: readonly Service[] = [
  {
    name: 'drf-page-number',
    ids: numbers,
    id: 'id',
    paging: byPage(),
    list: ({ total, next, items }) => ({ count: total, next, previous: null, results: items }),
  },
  {
    name: 'drf-limit-offset',
    ids: numbers,
    id: 'pk',
    fields: { 'cron_job.agent_id': 'agent', 'message.source_id': 'source', 'message.session_id': 'session' },
    paging: byOffset(),
    list: ({ total, next, items }) => ({ count: total, next, previous: null, results: items }),
    error: ({ sentence }) => ({ non_field_errors: [sentence] }),
  },
  {
    name: 'drf-cursor',
    ids: uuids,
    id: 'uuid',
    fields: { 'message.created_at': 'created' },
    paging: byToken('cursor'),
    list: ({ next, items }) => ({ next, previous: null, results: items }),
    history: { order: 'newest first' },
    error: ({ sentence }) => [sentence],
  },
];

const PYTHON: readonly Service[] = [
  {
    // A bare array: only a full page hints at another one.
    name: 'fastapi-offset-limit',
    ids: uuids,
    id: 'id',
    paging: byOffset(),
    size: 10,
    list: ({ items }) => items,
    error: ({ status, sentence }) =>
      status === 400
        ? { detail: [{ type: 'missing', loc: ['query'], msg: sentence, input: null }] }
        : { detail: sentence },
    slash: 'redirects',
  },
  {
    name: 'flask-smorest',
    ids: numbers,
    id: 'id',
    paging: byPage(),
    list: ({ items }) => items,
    headers: ({ total, pages, number, hasNext }) => ({
      'x-pagination': JSON.stringify({
        total,
        total_pages: pages,
        first_page: 1,
        last_page: pages,
        page: number,
        ...(hasNext && { next_page: number + 1 }),
      }),
    }),
    error: ({ status, sentence }) => ({ code: status, status: 'Not Found', message: sentence }),
  },
];

const RAILS: readonly Service[] = [
  {
    name: 'rails-link-header',
    ids: numbers,
    id: 'id',
    paging: byPage(),
    list: ({ items }) => items,
    headers: ({ total, size, next }) => ({
      total: String(total),
      'per-page': String(size),
      ...(next && { link: `<${next.replace(/page=\d+/, 'page=9')}>; rel="last", <${next}>; rel="next"` }),
    }),
    error: ({ status, sentence }) => ({ status, error: sentence }),
    slash: 'either',
  },
  {
    name: 'rails-jbuilder-kaminari',
    ids: numbers,
    id: 'id',
    fields: { 'message.text': 'body' },
    author: ['sender_type', 'Contact', 'AgentBot'],
    untold: { fact: 'which author is the agent', operations: ['chat tail'] },
    one: (fields, resource) => ({ [resource]: fields }),
    paging: byPage(),
    list: ({ key, items, number, nextValue, pages, total }) => ({
      [key]: items,
      meta: { current_page: number, next_page: nextValue, prev_page: null, total_pages: pages, total_count: total },
    }),
    error: ({ sentence }) => ({ errors: [sentence] }),
    slash: 'either',
  },
];

const LARAVEL: readonly Service[] = [
  {
    name: 'laravel-resource',
    ids: numbers,
    id: 'id',
    one: (fields) => ({ data: fields }),
    paging: byPage(),
    list: ({ items, number, pages, next, from, size, total, url }) => ({
      data: items,
      links: { first: url, last: url, prev: null, next },
      meta: { current_page: number, from: from + 1, last_page: pages, per_page: size, to: from + items.length, total },
    }),
    error: ({ code, sentence }) => ({ message: sentence, errors: { [code]: [sentence] } }),
  },
  {
    name: 'laravel-cursor-paginate',
    ids: uuids,
    id: 'uuid',
    paging: byToken('cursor'),
    list: ({ items, size, nextValue, next, url }) => ({
      data: items,
      path: url.replace(/\?.*/, ''),
      per_page: size,
      next_cursor: nextValue,
      next_page_url: next,
      prev_cursor: null,
      prev_page_url: null,
    }),
    error: ({ sentence }) => ({ message: sentence }),
  },
];

const NODE: readonly Service[] = [
  {
    name: 'nestjs-paginate',
    ids: uuids,
    id: 'id',
    casing: 'camel',
    paging: byPage(),
    list: ({ items, number, pages, total, size, next, url }) => ({
      data: items,
      meta: { itemsPerPage: size, totalItems: total, currentPage: number, totalPages: pages, sortBy: [['id', 'ASC']] },
      links: { current: url, ...(next && { next }) },
    }),
    history: { parameters: { source: 'sourceId', session: 'sessionId', after: 'afterMessageId' } },
    error: ({ status, sentence }) => ({ statusCode: status, message: [sentence], error: 'Bad Request' }),
    isStrict: true,
    slash: 'either',
  },
  {
    name: 'strapi',
    ids: numbers,
    id: 'id',
    casing: 'camel',
    under: 'attributes',
    one: (fields, resource) => (resource === 'file_attachment' ? [fields] : { data: fields, meta: {} }),
    paging: byPage('pagination[page]'),
    list: ({ items, number, size, pages, total }) => ({
      data: items,
      meta: { pagination: { page: number, pageSize: size, pageCount: pages, total } },
    }),
    error: ({ status, sentence }) => ({ data: null, error: { status, name: 'NotFoundError', message: sentence } }),
    created: 200,
    fileField: 'files',
  },
];

const JVM_AND_NET: readonly Service[] = [
  {
    name: 'spring-page',
    ids: uuids,
    id: 'id',
    casing: 'camel',
    paging: byPage('page', 0),
    list: ({ items, from, number, pages, total, size, hasNext }) => ({
      content: items,
      pageable: { pageNumber: number, pageSize: size, offset: from, paged: true, unpaged: false },
      last: !hasNext,
      totalElements: total,
      totalPages: pages,
      size,
      number,
      first: from === 0,
      numberOfElements: items.length,
      empty: items.length === 0,
    }),
    error: ({ status, sentence }) => ({ timestamp: '2026-03-02T09:00:00Z', status, error: 'Error', message: sentence }),
    slash: 'never',
  },
  {
    name: 'spring-hal',
    ids: numbers,
    id: 'id',
    casing: 'camel',
    paging: byPage('page', 0),
    list: ({ key, items, number, pages, total, size, next, url }) => ({
      _embedded: { [key]: items },
      _links: { self: { href: url }, ...(next && { next: { href: next } }) },
      page: { size, totalElements: total, totalPages: pages, number },
    }),
    locationOnly: ['cron_job'],
  },
  {
    name: 'aspnet-odata',
    ids: numbers,
    id: 'Id',
    casing: 'pascal',
    paging: byOffset('$skip'),
    list: ({ items, total, next }) => ({
      '@odata.context': 'https://api.example.com/$metadata#Things',
      '@odata.count': total,
      value: items,
      ...(next && { '@odata.nextLink': next }),
    }),
    error: ({ code, sentence }) => ({ error: { code, message: sentence, details: [] } }),
  },
];

const GO: readonly Service[] = [
  {
    name: 'go-cursor',
    id: 'id',
    author: ['author.kind', 'human', 'agent'],
    created: 202,
    impossible: UPLOADS_ACCEPTED,
    paging: byToken('cursor'),
    list: ({ items, nextValue }) => ({ data: items.length > 0 ? items : null, next_cursor: nextValue ?? '' }),
    error: ({ sentence }) => ({ err: sentence }),
  },
];

export const FRAMEWORKS: readonly Service[] = [
  ...DJANGO,
  ...PYTHON,
  ...RAILS,
  ...LARAVEL,
  ...NODE,
  ...JVM_AND_NET,
  ...GO,
];
