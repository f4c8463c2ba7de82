import { digits, numbers, prefixed, uuids } from '../ids.ts';
import { byLastId, byNumber, byOffset, byToken, emptyAs204, newestFirst, paging, tokenOf, unpaged } from '../paging.ts';
import type { Service } from '../service.ts';

/** How teams that write PHP, or that sit behind a gateway, would implement the specification, each in its own product. */

const iso = (ms: number): string => new Date(ms).toISOString();
const mysql = (ms: number): string => iso(ms).slice(0, 19).replace('T', ' ');
const GATEWAY_404 =
  '<!DOCTYPE html>\n<html><head><title>404 Not Found</title></head><body><center><h1>404 Not Found</h1></center><hr><center>nginx</center></body></html>';

export const PHP_GATEWAYS: readonly Service[] = [
  {
    name: 'team-laravel-resources',
    like: 'Laravel API resources: data, links, meta with links of its own; MySQL times; validation errors by field',
    ids: numbers,
    names: {
      id: 'id',
      text: (text) => ({ body: text, attachments: [] }),
      author: (author) => ({ sender_type: author === 'user' ? 'contact' : 'agent', sender: { id: 3, name: 'Jo' } }),
      time: (ms) => ({ created_at: mysql(ms), updated_at: mysql(ms) }),
    },
    one: (_resource, fields) => ({ data: fields }),
    paging: paging(byNumber(), ({ items, number, pages, total, size, hasNext, link, from }) => ({
      data: items,
      links: {
        first: link({ page: 1 }),
        last: link({ page: pages }),
        prev: null,
        next: hasNext ? link({ page: number + 1 }) : null,
      },
      meta: {
        current_page: number,
        from: from + 1,
        last_page: pages,
        links: [{ url: null, label: '&laquo; Previous', active: false }],
        path: link({}),
        per_page: size,
        to: from + items.length,
        total,
      },
    })),
    error: ({ sentence }) => ({ message: 'The given data was invalid.', errors: { x: [sentence] } }),
  },
  {
    name: 'team-laravel-simple-paginate',
    like: 'Laravel simplePaginate without resources: next_page_url and no total; jobs by cursorPaginate',
    ids: uuids,
    names: {
      id: 'uuid',
      author: (author) => ({ is_bot: author === 'assistant' ? 1 : 0 }),
      time: (ms) => ({ created_at: `${iso(ms).slice(0, 23)}000Z` }),
    },
    paging: paging(byNumber(), ({ items, number, size, hasNext, link, from }) => ({
      current_page: number,
      data: items,
      first_page_url: link({ page: 1 }),
      from: from + 1,
      next_page_url: hasNext ? link({ page: number + 1 }) : null,
      path: link({}),
      per_page: size,
      prev_page_url: null,
      to: from + items.length,
    })),
    pagings: {
      cron_job: paging(byToken('cursor'), (page) => ({
        data: page.items,
        path: page.link({}),
        per_page: page.size,
        next_cursor: tokenOf(page),
        next_page_url: page.hasNext ? page.link({ cursor: tokenOf(page) ?? '' }) : null,
        prev_cursor: null,
        prev_page_url: null,
      })),
    },
    error: ({ sentence }) => ({ message: sentence, exception: 'HttpException' }),
  },
  {
    name: 'team-symfony-api-platform',
    like: 'API Platform without the hydra prefix: member, totalItems, view with next; @id and @type beside the id',
    ids: uuids,
    mediaType: 'application/ld+json; charset=utf-8',
    names: {
      id: 'id',
      letterCase: 'camel',
      author: (author) => ({ authorRole: author === 'user' ? 'customer' : 'agent' }),
      time: (ms) => ({ createdAt: iso(ms).replace('.000Z', '+00:00') }),
      wrap: (resource, fields, id) => ({ '@id': `/api/${resource}s/${id}`, '@type': resource, ...fields }),
    },
    paging: paging(byNumber(), ({ items, number, total, pages, hasNext, path, resource }) => ({
      '@context': `/api/contexts/${resource}`,
      '@id': `/api/${resource}s`,
      '@type': 'Collection',
      totalItems: total,
      member: items,
      view: {
        '@id': path({ page: number }),
        '@type': 'PartialCollectionView',
        first: path({ page: 1 }),
        last: path({ page: pages }),
        ...(hasNext && { next: path({ page: number + 1 }) }),
      },
    })),
    error: ({ status, sentence }) => ({ '@type': 'Error', title: 'An error occurred', detail: sentence, status }),
  },
  {
    name: 'team-symfony-handmade',
    like: 'Symfony by hand: result and pager, numbers as text, booleans as 0 and 1, times in seconds as text',
    ids: digits,
    names: {
      id: 'id',
      author: (author) => ({ incoming: author === 'user' ? '1' : '0' }),
      text: (text) => ({ message: text, message_html: `<p>${text}</p>` }),
      time: (ms) => ({ created: String(ms / 1000) }),
    },
    one: (_resource, fields) => ({ result: fields, success: true }),
    paging: paging(byNumber(), ({ items, number, pages, total }) => ({
      success: true,
      result: items,
      pager: { page: String(number), pages: String(pages), total: String(total) },
    })),
    error: ({ sentence }) => ({ success: false, error: sentence }),
  },
  {
    name: 'team-codeigniter-objects',
    like: 'PHP: lists as objects with numbers as keys after a filter; an empty list is []; status and messages',
    ids: numbers,
    names: {
      id: 'id',
      author: (author) => ({ user_type: author === 'user' ? 'client' : 'agent' }),
      time: (ms) => ({ date_created: mysql(ms) }),
    },
    one: (_resource, fields) => ({ status: true, data: fields }),
    paging: unpaged(({ items }) => ({ status: true, data: items.length > 0 ? { ...items } : [] })),
    history: { paging: unpaged(({ items }) => ({ status: true, data: items })) },
    error: ({ sentence }) => ({ status: false, messages: { error: sentence } }),
  },
  {
    name: 'team-apigee-facade',
    like: 'Apigee in front: faults, correlation ids, links of the target; offset lists under payload',
    ids: uuids,
    headers: { 'x-correlation-id': 'rrt-1', 'x-apigee-target-latency': '31' },
    names: {
      id: 'id',
      letterCase: 'camel',
      author: (author) => ({ senderRole: author === 'user' ? 'requester' : 'agent' }),
      time: (ms) => ({ createdAt: iso(ms) }),
    },
    one: (_resource, payload) => ({ correlationId: 'rrt-1', payload }),
    paging: paging(byOffset(), ({ items, from, size, total }) => ({
      correlationId: 'rrt-1',
      payload: items,
      paging: { offset: from, limit: size, totalResults: total },
    })),
    error: ({ code, sentence }) => ({ fault: { faultstring: sentence, detail: { errorcode: `policies.${code}` } } }),
  },
  {
    name: 'team-nginx-404',
    like: 'nginx answers what is not routed with its own page; the API itself answers JSON; POST for the history',
    ids: prefixed,
    names: { id: 'id', author: (author) => ({ author: author === 'user' ? 'customer' : 'assistant' }) },
    paging: paging(byLastId('starting_after'), ({ items, hasNext }) => ({
      object: 'list',
      data: items,
      has_more: hasNext,
    })),
    history: { method: 'POST', otherMethod: 404 },
    error: ({ status, code, sentence }) =>
      status === 404 ? GATEWAY_404 : { error: { type: code, message: sentence } },
  },
  {
    name: 'team-cloudflare-worker',
    like: 'A worker: success, errors, messages, result, and result_info with a cursor; jobs can not be listed',
    ids: uuids,
    headers: { 'cf-ray': '8f1', 'cf-cache-status': 'DYNAMIC', server: 'cloudflare' },
    names: { id: 'id', author: (author) => ({ role: author === 'user' ? 'user' : 'agent' }) },
    one: (_resource, result) => ({ success: true, errors: [], messages: [], result }),
    paging: paging(byToken('cursor'), (page) => ({
      success: true,
      errors: [],
      messages: [],
      result: page.items,
      result_info: { count: page.items.length, cursor: tokenOf(page) ?? '', per_page: page.size },
    })),
    jobsStatus: 405,
    error: ({ sentence }) => ({
      success: false,
      errors: [{ code: 10_001, message: sentence }],
      messages: [],
      result: null,
    }),
  },
  {
    name: 'team-vendor-json',
    like: 'Versions in the media type; deprecations and warnings in headers; newest first everywhere; 204 for what is empty',
    ids: uuids,
    mediaType: 'application/vnd.deskly.v1+json; charset=UTF-8',
    headers: {
      deprecation: '@1767225600',
      sunset: 'Thu, 31 Dec 2026 23:59:59 GMT',
      link: '<https://docs.example.com/deprecations>; rel="deprecation"',
      date: 'Mon, 02 Mar 2026 08:54:00 GMT',
    },
    names: { id: 'id', author: (author) => ({ sender_role: author === 'user' ? 'customer' : 'agent' }) },
    paging: newestFirst(
      paging(byNumber(), ({ key, items, number, hasNext }) => ({ [key]: items, page: number, more: hasNext })),
    ),
    history: {
      paging: emptyAs204(newestFirst(unpaged(({ items }) => ({ messages: items, more: false })))),
    },
    error: ({ sentence }) => ({ error: sentence }),
  },
  {
    name: 'team-link-header-only',
    like: 'Link headers with addresses of another host behind the gateway, relative ones on agents',
    ids: numbers,
    names: { id: 'id', author: (author) => ({ kind: author === 'user' ? 'user_message' : 'agent_message' }) },
    paging: paging(byNumber(), ({ items }) => items, {
      headers: ({ hasNext, number, path }): Record<string, string> =>
        hasNext ? { link: `<http://api.internal:8080${path({ page: number + 1 })}>; rel="next"` } : {},
    }),
    pagings: {
      agent: paging(byNumber(), ({ items }) => items, {
        headers: ({ hasNext, number, path }): Record<string, string> =>
          hasNext ? { link: `<${path({ page: number + 1 })}>; rel=next` } : {},
      }),
    },
    history: { paging: unpaged(({ items }) => items) },
    error: ({ sentence }) => ({ errors: [sentence] }),
  },
];
