import { numbers, objectIds, prefixed, uuids } from '../ids.ts';
import { byLastId, byNumber, byOffset, byToken, paging, tokenOf, unpaged } from '../paging.ts';
import type { Service } from '../service.ts';

/** How teams that write Go or Node.js would implement the specification, each in its own product. */

const iso = (ms: number): string => new Date(ms).toISOString();
/** Go's time.RFC3339Nano. */
const nano = (ms: number): string => `${iso(ms).slice(0, 19)}.000000001Z`;
/** An id with a prefix and letters that increase with time. */
const ksuids = (number: number, resource: string): string =>
  `${resource.replace('_', '').slice(0, 4)}_01HR${number.toString(32).toUpperCase().padStart(6, '0')}Q7ZK`;

export const GO_NODE: readonly Service[] = [
  {
    name: 'team-go-chi-cursor',
    like: 'Go and chi: data, and pagination with next_cursor that is empty at the end; nanoseconds',
    ids: ksuids,
    names: {
      id: 'id',
      author: (author) => ({ role: author === 'user' ? 'human' : 'bot' }),
      time: (ms) => ({ created_at: nano(ms), deleted_at: null }),
    },
    one: (_resource, fields) => ({ data: fields }),
    paging: paging(byToken('cursor'), (page) => ({
      data: page.items,
      pagination: { next_cursor: tokenOf(page) ?? '', has_more: page.hasNext, limit: page.size },
    })),
    error: ({ code, sentence }) => ({ error: { code, message: sentence, fields: {} } }),
  },
  {
    name: 'team-go-null-slices',
    like: 'Go: null for an empty list, zero times, exported names as they are; limit, offset, total',
    ids: numbers,
    names: {
      id: 'ID',
      paths: {
        'space.external_space_id': 'ExternalSpaceID',
        'agent.space_id': 'SpaceID',
        'cron_job.agent_id': 'AgentID',
        'message.source_id': 'SourceID',
        'message.session_id': 'SessionID',
        'message.external_message_id': 'ExternalMessageID',
        'source.agent_id': 'AgentID',
      },
      letterCase: 'pascal',
      text: (text) => ({ Body: text }),
      author: (author) => ({ FromAgent: author === 'assistant' }),
      time: (ms) => ({ CreatedAt: nano(ms), DeletedAt: '0001-01-01T00:00:00Z' }),
    },
    paging: paging(byOffset(), ({ items, total, from, size }) => ({
      Items: items.length > 0 ? items : null,
      Total: total,
      Limit: size,
      Offset: from,
    })),
    error: ({ sentence }) => ({ Error: sentence }),
  },
  {
    name: 'team-go-grpc-gateway',
    like: 'grpc-gateway: camel case, int64 as text, enums with prefixes, nextPageToken that is empty at the end',
    ids: (number) => String(7_000_000 + number),
    created: 200,
    names: {
      id: 'id',
      letterCase: 'camel',
      author: (author) => ({ senderKind: author === 'user' ? 'SENDER_KIND_CUSTOMER' : 'SENDER_KIND_AGENT' }),
      time: (ms) => ({ createTime: nano(ms) }),
    },
    one: (resource, fields) => ({ [resource.replace(/_(.)/, (_m, letter: string) => letter.toUpperCase())]: fields }),
    paging: paging(byToken('pageToken'), (page) => ({
      [page.key]: page.items,
      nextPageToken: tokenOf(page) ?? '',
      totalSize: page.total,
    })),
    error: ({ sentence }) => ({ code: 3, message: sentence, details: [] }),
  },
  {
    name: 'team-go-echo-system',
    like: 'Go and echo: entries of the history have a type, and some are events of the system; data with a meta',
    ids: prefixed,
    more: { messages: [['system', 'Billing joined.']] },
    announce: (text) => `Received: ${text}`,
    names: {
      id: 'id',
      author: (author) => ({
        type: author === 'system' ? 'event' : 'message',
        author_type: { user: 'customer', assistant: 'agent', system: 'system' }[author],
      }),
      text: (text) => ({ text, blocks: [{ type: 'paragraph', text }] }),
      time: (ms) => ({ created_at: iso(ms) }),
    },
    paging: paging(byNumber(), ({ items, number, pages, total }) => ({
      data: items,
      meta: { page: number, per_page: 2, total, total_pages: pages, request_id: 'req_1' },
    })),
    error: ({ sentence }) => ({ message: sentence }),
  },
  {
    name: 'team-go-headers',
    like: 'Go behind Kong: bare lists, X-Page, X-Per-Page, X-Total-Pages; ids as k-sortable text; request ids everywhere',
    ids: ksuids,
    headers: {
      'x-kong-request-id': 'a1',
      'x-kong-upstream-latency': '12',
      'x-kong-proxy-latency': '1',
      via: '1.1 kong/3.6',
    },
    names: {
      id: 'id',
      author: (author) => ({ sender: { kind: author === 'user' ? 'contact' : 'agent', id: 'c1', name: 'Anna' } }),
    },
    paging: paging(byNumber(), ({ items }) => items, {
      headers: ({ number, size, pages }) => ({
        'x-page': String(number),
        'x-per-page': String(size),
        'x-total-pages': String(pages),
      }),
    }),
    error: ({ sentence }) => ({ message: sentence, request_id: 'a1' }),
  },
  {
    name: 'team-express-mongoose',
    like: 'Express and mongoose-paginate: docs, totalDocs, hasNextPage, nextPage; _id and __v',
    ids: objectIds,
    names: {
      id: '_id',
      letterCase: 'camel',
      author: (author) => ({ sender: author === 'user' ? 'visitor' : 'assistant' }),
      wrap: (_resource, fields) => ({ ...fields, __v: 0, isDeleted: false }),
    },
    paging: paging(byNumber(), ({ items, number, pages, total, size, hasNext }) => ({
      docs: items,
      totalDocs: total,
      limit: size,
      totalPages: pages,
      page: number,
      pagingCounter: (number - 1) * size + 1,
      hasPrevPage: number > 1,
      hasNextPage: hasNext,
      prevPage: number > 1 ? number - 1 : null,
      nextPage: hasNext ? number + 1 : null,
    })),
    error: ({ sentence }) => ({ success: false, message: sentence, errors: [{ path: 'x', msg: sentence }] }),
  },
  {
    name: 'team-nest-meta-links',
    like: 'NestJS with nestjs-typeorm-paginate: items, meta, links that are empty text at the end; statusCode in errors',
    ids: uuids,
    names: {
      id: 'id',
      letterCase: 'camel',
      text: (content) => ({ content, contentType: 'text' }),
      author: (author) => ({ authorType: author === 'user' ? 'user' : 'ai_agent' }),
      time: (ms) => ({ createdAt: iso(ms) }),
    },
    paging: paging(byNumber(), ({ items, number, pages, total, size, hasNext, path }) => ({
      items,
      meta: { totalItems: total, itemCount: items.length, itemsPerPage: size, totalPages: pages, currentPage: number },
      links: {
        first: path({ limit: size }),
        previous: '',
        next: hasNext ? path({ page: number + 1, limit: size }) : '',
        last: path({ page: pages, limit: size }),
      },
    })),
    error: ({ status, sentence }) => ({ statusCode: status, message: [sentence], error: 'Bad Request' }),
  },
  {
    name: 'team-nest-cursor-page',
    like: 'NestJS and Prisma: data, and pageInfo with endCursor and hasNextPage; the cursor is the id of the last item',
    ids: (number, resource) => `cl${number.toString(36).padStart(6, '0')}${resource.slice(0, 2)}0000qwerty`,
    names: {
      id: 'id',
      letterCase: 'camel',
      author: (author) => ({ author: { type: author === 'user' ? 'CUSTOMER' : 'BOT' } }),
      wrap: (resource, fields) =>
        resource === 'agent' ? { ...fields, space: { id: 'cl0', name: 'Elsewhere' }, archivedAt: null } : fields,
    },
    one: (_resource, fields) => ({ data: fields, meta: { requestId: 'r' } }),
    paging: paging(byLastId('cursor'), ({ items, hasNext, lastId }) => ({
      data: items,
      pageInfo: { endCursor: lastId, hasNextPage: hasNext },
    })),
    error: ({ status, sentence }) => ({ statusCode: status, message: sentence, error: 'Bad Request' }),
  },
  {
    name: 'team-fastify-overlap',
    like: 'Fastify: the next page begins with the last item of the page before, as its cursor is inclusive',
    ids: uuids,
    pageSize: 3,
    names: { id: 'id', author: (author) => ({ from: author === 'user' ? 'customer' : 'agent' }) },
    paging: paging(
      {
        kind: 'after',
        parameters: ['from_id'],
        from: ({ url, ids }) => Math.max(0, ids.indexOf(url.searchParams.get('from_id') ?? '')),
      },
      ({ items, hasNext, lastId }) => ({ items, next_from_id: hasNext ? lastId : null }),
    ),
    error: ({ status, sentence }) => ({
      statusCode: status,
      code: 'FST_ERR_VALIDATION',
      error: 'Bad Request',
      message: sentence,
    }),
  },
  {
    name: 'team-hapi-count-only',
    like: 'Hapi: rows and count, limit and page that nobody announces; the history is complete; roles inbound and outbound',
    ids: numbers,
    names: {
      id: 'id',
      letterCase: 'camel',
      author: (author) => ({ type: author === 'user' ? 'inbound' : 'outbound' }),
      text: (text) => ({ body: text, subject: null }),
      time: (ms) => ({ sent: iso(ms) }),
    },
    paging: paging(byNumber(), ({ items, total }) => ({ rows: items, count: total })),
    history: { paging: unpaged(({ items, total }) => ({ rows: items, count: total })) },
    error: ({ status, sentence }) => ({
      statusCode: status,
      error: 'Bad Request',
      message: sentence,
      validation: { keys: [] },
    }),
  },
];
