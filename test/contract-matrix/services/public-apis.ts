import { numbers, uuids } from '../ids.ts';
import { byLastId, byNumber, byOffset, byToken, paging, tokenOf } from '../paging.ts';
import type { Service } from '../service.ts';

/** The conventions of well-known public APIs. */

export const PUBLIC_APIS: readonly Service[] = [
  {
    name: 'stripe',
    like: 'Stripe: has_more and starting_after',
    names: { id: 'id', wrap: (resource, fields) => ({ object: resource, livemode: false, ...fields }) },
    paging: paging(byLastId('starting_after'), ({ items, hasNext, url }) => ({
      object: 'list',
      url: url.pathname,
      has_more: hasNext,
      data: items,
    })),
    created: 200,
    error: ({ code, sentence }) => ({ error: { type: 'invalid_request_error', code, message: sentence, param: null } }),
  },
  {
    name: 'github',
    like: 'GitHub: a bare array, and a Link header',
    ids: numbers,
    names: {
      id: 'id',
      text: (body) => ({ body }),
      author: (author) => ({
        user: author === 'user' ? { login: 'anna', type: 'User' } : { login: 'partner[bot]', type: 'Bot' },
      }),
    },
    paging: paging(byNumber(), ({ items }) => items, {
      headers: ({ number, pages, hasNext, link }): Record<string, string> =>
        hasNext ? { link: `<${link({ page: number + 1 })}>; rel="next", <${link({ page: pages })}>; rel="last"` } : {},
    }),
    error: ({ sentence }) => ({ message: sentence, documentation_url: 'https://docs.example.com/rest' }),
  },
  {
    name: 'slack',
    like: 'Slack: ok, response_metadata.next_cursor, failures with status 200',
    names: {
      id: 'id',
      paths: { 'message.message_id': 'ts' },
      author: (author) => (author === 'user' ? { user: 'U12' } : { bot_id: 'B34', user: 'U99' }),
      time: (ms) => ({ created: ms / 1000 }),
    },
    one: (resource, fields) => ({ ok: true, [resource]: fields }),
    paging: paging(byToken('cursor'), (page) => ({
      ok: true,
      [page.key]: page.items,
      response_metadata: { next_cursor: tokenOf(page) ?? '' },
    })),
    created: 200,
    errorStatus: 200,
    error: ({ code, sentence }) => ({ ok: false, error: code, response_metadata: { messages: [sentence] } }),
    history: { order: 'newest first', cursor: 'exclusive' },
  },
  {
    name: 'kubernetes',
    like: 'Kubernetes: metadata, spec, and metadata.continue',
    ids: uuids,
    names: {
      id: 'uid',
      letterCase: 'camel',
      wrap: (resource, { uid, ...spec }) => ({ kind: resource, apiVersion: 'v1', metadata: { uid }, spec }),
    },
    paging: paging(byToken('continue'), (page) => ({
      kind: 'List',
      apiVersion: 'v1',
      metadata: {
        resourceVersion: '10245',
        continue: tokenOf(page) ?? '',
        ...(page.hasNext && { remainingItemCount: page.total - page.from - page.items.length }),
      },
      items: page.items,
    })),
    error: ({ status, sentence }) => ({
      kind: 'Status',
      status: 'Failure',
      message: sentence,
      reason: 'Invalid',
      code: status,
    }),
    documented: {
      'space.name': 'spec.name',
      'space.external_space_id': 'spec.externalSpaceId',
      'agent.name': 'spec.name',
    },
  },
  {
    name: 'notion',
    like: 'Notion: next_cursor, has_more, start_cursor; rich text',
    ids: uuids,
    names: {
      id: 'id',
      text: (text) => ({ rich_text: [{ type: 'text', text: { content: text }, plain_text: text }] }),
      author: (author) => ({ created_by: { object: 'user', type: author === 'user' ? 'person' : 'bot' } }),
      time: (ms) => ({ created_time: new Date(ms).toISOString() }),
      wrap: (resource, fields) => ({ object: resource, ...fields }),
    },
    created: 200,
    paging: paging(byToken('start_cursor'), (page) => ({
      object: 'list',
      results: page.items,
      next_cursor: tokenOf(page),
      has_more: page.hasNext,
      type: page.resource,
    })),
    error: ({ status, code, sentence }) => ({ object: 'error', status, code, message: sentence }),
  },
  {
    name: 'contentful',
    like: 'Contentful: sys and fields, skip and total',
    names: {
      id: 'id',
      letterCase: 'camel',
      wrap: (resource, { id, ...fields }) => ({ sys: { type: resource, id }, fields }),
    },
    paging: paging(byOffset('skip'), ({ items, from, size, total }) => ({
      sys: { type: 'Array' },
      total,
      skip: from,
      limit: size,
      items,
    })),
    error: ({ code, sentence }) => ({ sys: { type: 'Error', id: code }, message: sentence, requestId: 'r-1' }),
    documented: { 'space.id': 'sys.id', 'space.name': 'fields.name' },
  },
];
