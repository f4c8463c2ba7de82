import { digits, numbers, objectIds, uuids } from '../ids.ts';
import { byNumber, byOffset, byToken, emptyAs204, ending, newestFirst, paging, tokenOf, unpaged } from '../paging.ts';
import type { Service } from '../service.ts';
import type { Wire } from '../wire.ts';

/** Web frameworks and their libraries, with conventions that were not used to develop the client. */

const iso = (ms: number): string => new Date(ms).toISOString();

const PHP: readonly Service[] = [
  {
    name: 'laravel-paginate-flat',
    like: 'Laravel paginate() returned as it is: data beside links, an array of labels; redirects closing slashes',
    ids: numbers,
    names: {
      id: 'id',
      paths: { 'message.session_id': null, 'message.external_message_id': 'external_id' },
      author: (author) => ({ sender: author === 'user' ? 'user' : 'assistant' }),
    },
    paging: paging(byNumber(), ({ items, number, pages, link, from, size, total, hasNext, url }) => ({
      current_page: number,
      data: items,
      first_page_url: link({ page: 1 }),
      from: items.length > 0 ? from + 1 : null,
      last_page: pages,
      last_page_url: link({ page: pages }),
      links: [
        { url: null, label: '&laquo; Previous', active: false },
        ...Array.from({ length: pages }, (_each, index) => ({
          url: link({ page: index + 1 }),
          label: String(index + 1),
          active: index + 1 === number,
        })),
        { url: hasNext ? link({ page: number + 1 }) : null, label: 'Next &raquo;', active: false },
      ],
      next_page_url: hasNext ? link({ page: number + 1 }) : null,
      path: `${url.origin}${url.pathname}`,
      per_page: size,
      prev_page_url: number > 1 ? link({ page: number - 1 }) : null,
      to: items.length > 0 ? from + items.length : null,
      total,
    })),
    error: ({ code, sentence }) => ({ message: sentence, errors: { [code]: [sentence] } }),
    slash: { read: 301, write: 301 },
    documented: { 'paths.trailing_slash': 'never' },
  },
  {
    name: 'laravel-simple-resource',
    like: 'Laravel API resources with simplePaginate: last is null, meta without a total',
    ids: uuids,
    names: {
      id: 'id',
      text: (body) => ({ body }),
      time: (ms) => ({ created_at: iso(ms).replace('.000Z', '.000000Z') }),
    },
    one: (_resource, fields) => ({ data: fields }),
    paging: paging(byNumber(), ({ items, number, link, from, size, hasNext, url }) => ({
      data: items,
      links: {
        first: link({ page: 1 }),
        last: null,
        prev: number > 1 ? link({ page: number - 1 }) : null,
        next: hasNext ? link({ page: number + 1 }) : null,
      },
      meta: {
        current_page: number,
        from: from + 1,
        path: `${url.origin}${url.pathname}`,
        per_page: size,
        to: from + 2,
      },
    })),
    error: ({ sentence }) => ({ message: sentence }),
    headers: { 'x-ratelimit-limit': '60', 'x-ratelimit-remaining': '59' },
  },
  {
    name: 'api-platform-4',
    like: 'API Platform 4: member, totalItems, view, without prefixes; references are IRIs',
    ids: uuids,
    names: {
      id: 'id',
      letterCase: 'camel',
      wrap: (resource, { agentId, spaceId, ...fields }, id) => ({
        '@id': `/v1/${resource}s/${id}`,
        '@type': resource,
        ...fields,
        ...(agentId !== undefined && { agentId, agent: `/v1/agents/${agentId}` }),
        ...(spaceId !== undefined && { space: `/v1/spaces/${spaceId}` }),
      }),
    },
    paging: paging(ending(byNumber()), ({ resource, items, total, number, pages, hasNext, path, url }) => ({
      '@context': `/v1/contexts/${resource}`,
      '@id': url.pathname,
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
    mediaType: 'application/ld+json; charset=utf-8',
    error: ({ status, sentence }) => ({
      '@type': 'Error',
      title: 'An error occurred',
      detail: sentence,
      status,
      type: `/errors/${status}`,
    }),
    errorType: 'application/problem+json; charset=utf-8',
  },
];

const RUBY: readonly Service[] = [
  {
    name: 'rails-pagy-headers',
    like: 'Rails with pagy: bare arrays; Current-Page, Page-Items, Total-Pages, Total-Count',
    ids: numbers,
    names: {
      id: 'id',
      author: (author) => ({ role: author === 'user' ? 'customer' : 'assistant' }),
      paths: { 'message.source_id': null, 'message.session_id': null },
      wrap: (_resource, fields) => ({ ...fields, updated_at: '2026-03-02T09:00:00.000Z', deleted_at: null }),
    },
    paging: paging(byNumber(), ({ items }) => items, {
      headers: ({ number, size, pages, total }) => ({
        'current-page': String(number),
        'page-items': String(size),
        'total-pages': String(pages),
        'total-count': String(total),
      }),
    }),
    error: ({ sentence }) => ({ errors: { base: [sentence] } }),
    headers: { 'x-request-id': 'f4c3', 'x-runtime': '0.01', etag: 'W/"ab12"' },
  },
  {
    name: 'rails-will-paginate',
    like: 'Rails with will_paginate: entries with a root each, total_entries',
    ids: numbers,
    names: { id: 'id', wrap: (resource, fields) => ({ [resource]: fields }) },
    paging: paging(byNumber(), ({ items, number, size, total }) => ({
      current_page: number,
      per_page: size,
      total_entries: total,
      entries: items,
    })),
    error: ({ status, sentence }) => ({ status, error: sentence }),
  },
  {
    name: 'grape-headers',
    like: 'Grape: a root key; X-Total, X-Total-Pages, X-Page, X-Next-Page, which is empty at the end',
    ids: uuids,
    names: { id: 'id', text: (content) => ({ content }), time: (ms) => ({ sent_at: Math.round(ms / 1000) }) },
    one: (resource, fields) => ({ [resource]: fields }),
    paging: paging(byNumber(), ({ key, items }) => ({ [key]: items }), {
      headers: ({ total, pages, size, number, hasNext }) => ({
        'x-total': String(total),
        'x-total-pages': String(pages),
        'x-per-page': String(size),
        'x-page': String(number),
        'x-next-page': hasNext ? String(number + 1) : '',
        'x-prev-page': '',
      }),
    }),
    error: ({ sentence }) => ({ error: sentence }),
  },
  {
    name: 'rails-jsonapi-serializer',
    like: 'Rails with jsonapi-serializer: JSON:API with relationships, meta.total, and links in the history only',
    ids: digits,
    names: {
      id: 'id',
      wrap: (type, { id, agent_id, ...attributes }) => ({
        id,
        type,
        attributes,
        ...(agent_id !== undefined && { relationships: { agent: { data: { id: agent_id, type: 'agent' } } } }),
      }),
    },
    one: (_resource, fields) => ({ data: fields }),
    paging: paging(byNumber('page[number]'), ({ items, total, number, pages }) => ({
      data: items,
      meta: { total, page: number, pages },
    })),
    history: {
      paging: paging(byNumber('page[number]'), ({ items, number, hasNext, link }) => ({
        data: items,
        links: { self: link({}), ...(hasNext && { next: link({ 'page[number]': number + 1 }) }) },
      })),
    },
    mediaType: 'application/vnd.api+json',
    error: ({ status, code, sentence }) => ({
      errors: [{ status: String(status), code, title: 'Invalid', detail: sentence }],
    }),
  },
];

const PYTHON: readonly Service[] = [
  {
    name: 'tastypie',
    like: 'Tastypie: meta with a path to the next page, objects; creations answer with a Location only',
    ids: numbers,
    names: {
      id: 'id',
      wrap: (resource, fields, id) => ({ ...fields, resource_uri: `/v1/${resource}/${id}/` }),
      time: (ms) => ({ created: iso(ms).slice(0, 19) }),
    },
    paging: paging(byOffset(), ({ items, total, size, from, hasNext, path }) => ({
      meta: {
        limit: size,
        next: hasNext ? path({ limit: size, offset: from + size }) : null,
        offset: from,
        previous: null,
        total_count: total,
      },
      objects: items,
    })),
    bodiless: { 'create job': 'location', upload: 'location' },
    error: ({ sentence }) => ({ error_message: sentence }),
  },
  {
    name: 'eve',
    like: 'Eve: _items, _links.next.href relative to the base address, _meta; _id, dates of RFC 1123',
    ids: objectIds,
    names: {
      id: '_id',
      time: (ms) => ({ _created: new Date(ms).toUTCString() }),
      wrap: (_resource, fields) => ({ ...fields, _etag: 'f0b1', _status: 'OK' }),
    },
    paging: paging(byNumber(), ({ items, number, size, total, hasNext, path, url }) => ({
      _items: items,
      _links: {
        self: { title: 'list', href: url.pathname.slice('/v1/'.length) },
        parent: { title: 'home', href: '/' },
        ...(hasNext && { next: { title: 'next page', href: path({ page: number + 1 }).slice('/v1/'.length) } }),
      },
      _meta: { page: number, max_results: size, total },
    })),
    error: ({ status, sentence }) => ({ _status: 'ERR', _error: { code: status, message: sentence } }),
  },
  {
    name: 'flask-restless',
    like: 'Flask-Restless: num_results, objects, page, total_pages',
    ids: numbers,
    names: { id: 'id', author: (author) => ({ is_bot: author === 'assistant' }) },
    paging: paging(byNumber(), ({ items, number, total, pages }) => ({
      num_results: total,
      objects: items,
      page: number,
      total_pages: pages,
    })),
    error: ({ sentence }) => ({ message: sentence }),
  },
  {
    name: 'drf-json-api',
    like: 'Django REST framework JSON API: meta.pagination, links, attributes; 404 past the last page',
    ids: digits,
    names: {
      id: 'id',
      wrap: (type, { id, ...attributes }) => ({ type: `${type}s`, id: String(id), attributes }),
    },
    one: (_resource, fields) => ({ data: fields }),
    paging: paging(ending(byNumber('page[number]')), ({ items, number, pages, total, link, hasNext }) => ({
      links: {
        first: link({ 'page[number]': 1 }),
        last: link({ 'page[number]': pages }),
        next: hasNext ? link({ 'page[number]': number + 1 }) : null,
        prev: null,
      },
      data: items,
      meta: { pagination: { page: number, pages, count: total } },
    })),
    mediaType: 'application/vnd.api+json',
    error: ({ status, code, sentence }) => ({
      errors: [{ detail: sentence, status: String(status), source: { pointer: '/data' }, code }],
    }),
  },
  {
    name: 'drf-camel-newest-first',
    like: 'Django REST framework in camel case, limit and offset, all lists newest first; titles',
    ids: uuids,
    names: {
      id: 'id',
      letterCase: 'camel',
      paths: { 'space.name': 'title', 'agent.name': 'title', 'cron_job.name': 'title' },
      author: (author) => ({ authorType: author === 'user' ? 'USER' : 'AGENT' }),
    },
    paging: newestFirst(
      paging(byOffset(), ({ total, hasNext, from, size, link, items }) => ({
        count: total,
        next: hasNext ? link({ limit: size, offset: from + size }) : null,
        previous: from > 0 ? link({ limit: size, offset: 0 }) : null,
        results: items,
      })),
    ),
    history: { paging: unpaged(({ items }) => ({ results: items, count: items.length, next: null })) },
    headers: { vary: 'Accept, Origin', allow: 'GET, POST, HEAD, OPTIONS' },
  },
  {
    name: 'fastapi-has-next',
    like: 'FastAPI by hand: items, has_next, page; validation errors as lists; enabled flags; 202 for messages',
    ids: uuids,
    names: {
      id: 'id',
      text: (content) => ({ content }),
      time: (ms) => ({ timestamp: iso(ms).replace('Z', '+00:00') }),
      wrap: (_resource, fields) => ({ ...fields, enabled: true, is_deleted: false }),
    },
    paging: paging(byNumber(), ({ items, number, size, hasNext }) => ({
      items,
      page: number,
      page_size: size,
      has_next: hasNext,
      has_previous: number > 1,
    })),
    created: 202,
    slash: { read: 307, write: 307 },
    error: ({ status, code, sentence }) => ({
      detail: status === 400 ? [{ loc: ['body', code], msg: sentence, type: 'value_error' }] : sentence,
    }),
    documented: { 'paths.trailing_slash': 'never' },
  },
  {
    name: 'aiohttp-next-offset',
    like: 'A Python service by hand: ok, items, next_offset, which is null at the end; history under messages',
    ids: numbers,
    names: {
      id: 'id',
      author: (author) => ({ from: { type: author === 'user' ? 'user' : 'agent', name: 'X' } }),
      paths: { 'message.source_id': null, 'message.session_id': null, 'message.external_message_id': null },
    },
    one: (resource, fields) => ({ ok: true, [resource]: fields }),
    paging: paging(byOffset(), ({ items, from, size, hasNext }) => ({
      ok: true,
      items,
      next_offset: hasNext ? from + size : null,
    })),
    history: {
      paging: unpaged(({ items, url }) => ({
        ok: true,
        session_id: url.searchParams.get('session_id'),
        messages: items,
      })),
    },
    error: ({ code, sentence }) => ({ ok: false, error: { code, description: sentence } }),
  },
];

const NODE: readonly Service[] = [
  {
    name: 'nestjsx-crud',
    like: 'NestJS crud: data, count of the page, total, page, pageCount',
    ids: uuids,
    names: { id: 'id', letterCase: 'camel' },
    paging: paging(byNumber(), ({ items, total, number, pages }) => ({
      data: items,
      count: items.length,
      total,
      page: number,
      pageCount: pages,
    })),
    error: ({ status, sentence }) => ({ statusCode: status, message: sentence, error: 'Bad Request' }),
  },
  {
    name: 'loopback-4',
    like: 'LoopBack 4: bare arrays with everything, camel case; 200 for creations',
    ids: uuids,
    names: {
      id: 'id',
      letterCase: 'camel',
      author: (author) => ({ author: author === 'user' ? 'human' : 'assistant' }),
    },
    paging: unpaged(({ items }) => items),
    created: 200,
    error: ({ status, code, sentence }) => ({
      error: { statusCode: status, name: 'BadRequestError', message: sentence, code },
    }),
  },
  {
    name: 'sails',
    like: 'Sails: bare arrays, times in milliseconds, flags; problems as a list',
    ids: numbers,
    names: {
      id: 'id',
      letterCase: 'camel',
      author: (author) => ({ isBot: author === 'assistant' }),
      time: (ms) => ({ createdAt: ms, updatedAt: ms + 5 }),
    },
    paging: unpaged(({ items }) => items),
    created: 200,
    error: ({ sentence }) => ({
      code: 'E_MISSING_OR_INVALID_PARAMS',
      problems: [sentence],
      message: 'The request is invalid.',
    }),
  },
  {
    name: 'strapi-5',
    like: 'Strapi 5: flat items with a number under id and the id of paths under documentId',
    // The paths of uploaded files have their number.
    ids: (number, resource) =>
      resource === 'file_attachment' ? number : `${resource.slice(0, 3)}z7m9k2p4w6q8r1t3v5${number}`,
    names: {
      id: 'documentId',
      paths: { 'file_attachment.file_attachment_id': 'id' },
      letterCase: 'camel',
      wrap: (resource, fields, id) => ({
        ...(resource === 'file_attachment'
          ? { documentId: `filz7m9k2p4w6q8r1t3v5${id}` }
          : { id: Number(String(id).slice(-2)) }),
        ...fields,
        locale: null,
        publishedAt: null,
      }),
    },
    one: (resource, fields) => (resource === 'file_attachment' ? [fields] : { data: fields, meta: {} }),
    paging: paging(byNumber('pagination[page]'), ({ items, number, size, pages, total }) => ({
      data: items,
      meta: { pagination: { page: number, pageSize: size, pageCount: pages, total } },
    })),
    error: ({ status, sentence }) => ({
      data: null,
      error: { status, name: 'ValidationError', message: sentence, details: {} },
    }),
  },
  {
    name: 'mongo-extended-json',
    like: 'A service that passes on extended JSON of MongoDB: _id.$oid, $date; page and pages',
    ids: objectIds,
    names: {
      paths: {
        'space.space_id': '_id.$oid',
        'agent.agent_id': '_id.$oid',
        'source.source_id': '_id.$oid',
        'message.message_id': '_id.$oid',
        'cron_job.cron_job_id': '_id.$oid',
        'document.document_id': '_id.$oid',
        'file_attachment.file_attachment_id': '_id.$oid',
        'agent.space_id': 'space_id.$oid',
        'source.agent_id': 'agent_id.$oid',
        'message.source_id': 'source_id.$oid',
        'cron_job.agent_id': 'agent_id.$oid',
      },
      time: (ms) => ({ created_at: { $date: iso(ms) } }),
    },
    paging: paging(byNumber(), ({ items, number, pages, total }) => ({ results: items, page: number, pages, total })),
  },
  {
    name: 'parse-server',
    like: 'Parse Server: results with objectId; pointers; creations answer with the id and the time alone',
    ids: (number) => `xWMyZ4YE${number}`,
    names: {
      id: 'objectId',
      letterCase: 'camel',
      paths: { 'cron_job.agent_id': 'agent.objectId', 'message.source_id': 'source.objectId' },
      time: (ms) => ({ createdAt: iso(ms) }),
    },
    one: (resource, fields): Wire =>
      resource === 'message'
        ? fields
        : {
            objectId: fields.objectId,
            createdAt: '2026-03-02T09:00:00.000Z',
            ...(fields.agents !== undefined && { agents: fields.agents }),
          },
    paging: unpaged(({ items }) => ({ results: items })),
    error: ({ sentence }) => ({ code: 101, error: sentence }),
  },
  {
    name: 'appwrite',
    like: 'Appwrite: total and documents; $id, $createdAt',
    ids: (number, resource) => `65f0c${resource.slice(0, 2)}${number}9a`,
    names: { id: '$id', letterCase: 'camel', time: (ms) => ({ $createdAt: iso(ms).replace('Z', '+00:00') }) },
    paging: paging(byOffset(), ({ items, total }) => ({ total, documents: items })),
    error: ({ status, code, sentence }) => ({ message: sentence, code: status, type: code, version: '1.5.0' }),
  },
  {
    name: 'pocketbase',
    like: 'PocketBase: page, perPage, totalItems, totalPages, items; times with a space; 200 for creations',
    ids: (number, resource) => `${resource.slice(0, 3)}k2m4p6q8r1t${number}`,
    names: {
      id: 'id',
      time: (ms) => ({ created: iso(ms).replace('T', ' '), updated: iso(ms + 60_000).replace('T', ' ') }),
      wrap: (resource, fields) => ({ collectionId: 'a98f514eb05f454', collectionName: `${resource}s`, ...fields }),
    },
    paging: paging(byNumber(), ({ items, number, size, total, pages }) => ({
      page: number,
      perPage: size,
      totalItems: total,
      totalPages: pages,
      items,
    })),
    created: 200,
    error: ({ status, sentence }) => ({ code: status, message: sentence, data: {} }),
  },
  {
    name: 'payload-cms',
    like: 'Payload: docs, hasNextPage, nextPage; creations answer with doc and a message',
    ids: objectIds,
    names: {
      id: 'id',
      letterCase: 'camel',
      author: (author) => ({ senderType: author === 'user' ? 'visitor' : 'bot' }),
    },
    one: (_resource, doc) => ({ doc, message: 'Successfully created.' }),
    paging: paging(byNumber(), ({ items, total, size, number, pages, hasNext }) => ({
      docs: items,
      totalDocs: total,
      limit: size,
      page: number,
      totalPages: pages,
      hasNextPage: hasNext,
      hasPrevPage: number > 1,
      nextPage: hasNext ? number + 1 : null,
      prevPage: null,
      pagingCounter: 1,
    })),
    error: ({ sentence }) => ({ errors: [{ name: 'ValidationError', message: sentence, data: [] }] }),
  },
  {
    name: 'fastify-cursor-204',
    like: 'Fastify by hand: data and nextCursor, which is left out at the end; 204 for an empty list',
    ids: uuids,
    names: { id: 'id', letterCase: 'camel', text: (text) => ({ content: { type: 'text', text } }) },
    one: (_resource, fields) => ({ data: fields }),
    paging: emptyAs204(
      paging(byToken('cursor'), (page) => ({ data: page.items, ...(page.hasNext && { nextCursor: tokenOf(page) }) })),
    ),
    error: ({ status, code, sentence }) => ({
      statusCode: status,
      code: code.toUpperCase(),
      error: 'Bad Request',
      message: sentence,
    }),
  },
];

const JVM_NET: readonly Service[] = [
  {
    name: 'spring-paged-model',
    like: 'Spring Data PagedModel: content, and page with number, size, totalElements, totalPages',
    ids: uuids,
    names: {
      id: 'id',
      letterCase: 'camel',
      author: (author) => ({ author: author === 'user' ? 'USER' : 'ASSISTANT' }),
    },
    paging: paging(byNumber('page', 0), ({ items, size, number, total, pages }) => ({
      content: items,
      page: { size, number: number - 1, totalElements: total, totalPages: pages },
    })),
    error: ({ status, sentence, path }) => ({
      type: 'about:blank',
      title: 'Bad Request',
      status,
      detail: sentence,
      instance: path,
    }),
    errorType: 'application/problem+json',
    slash: { read: 404, write: 404 },
    documented: { 'paths.trailing_slash': 'never' },
  },
  {
    name: 'micronaut-data',
    like: 'Micronaut Data: content, pageable, totalSize; pages from 0',
    ids: numbers,
    names: { id: 'id', letterCase: 'camel', time: (ms) => ({ dateCreated: iso(ms) }) },
    paging: paging(byNumber('page', 0), ({ items, number, size, total, pages, from }) => ({
      content: items,
      pageable: { size, number: number - 1, sort: {}, mode: 'OFFSET' },
      totalSize: total,
      totalPages: pages,
      empty: items.length === 0,
      size,
      offset: from,
      pageNumber: number - 1,
      numberOfElements: items.length,
    })),
    error: ({ sentence, path }) => ({
      _links: { self: [{ href: path, templated: false }] },
      _embedded: { errors: [{ message: sentence }] },
      message: 'Bad Request',
    }),
  },
  {
    name: 'quarkus-panache',
    like: 'Quarkus Panache: bare arrays, a Link header for each relation, pages from 0',
    ids: numbers,
    names: { id: 'id', letterCase: 'camel' },
    paging: paging(byNumber('page', 0), ({ items }) => items, {
      headers: ({ number, pages, size, hasNext, link }) => ({
        link: [
          `<${link({ page: 0, size })}>; rel="first"`,
          `<${link({ page: pages - 1, size })}>; rel="last"`,
          ...(hasNext ? [`<${link({ page: number, size })}>; rel="next"`] : []),
        ],
      }),
    }),
    error: ({ sentence }) => ({
      title: 'Constraint Violation',
      status: 400,
      violations: [{ field: 'x', message: sentence }],
    }),
  },
  {
    name: 'jhipster',
    like: 'JHipster: bare arrays, X-Total-Count, and a Link header with last before next; a key as the error message',
    ids: numbers,
    names: { id: 'id', letterCase: 'camel', wrap: (_resource, fields) => ({ ...fields, activated: true }) },
    paging: paging(byNumber('page', 0), ({ items }) => items, {
      headers: ({ number, pages, size, hasNext, link, total }) => ({
        'x-total-count': String(total),
        link: `${hasNext ? `<${link({ page: number, size })}>; rel="next",` : ''}<${link({ page: pages - 1, size })}>; rel="last",<${link({ page: 0, size })}>; rel="first"`,
      }),
    }),
    error: ({ status, sentence, path }) => ({
      type: 'https://www.jhipster.tech/problem/problem-with-message',
      title: 'Bad Request',
      status,
      detail: sentence,
      path,
      message: 'error.http.400',
    }),
    errorType: 'application/problem+json',
  },
  {
    name: 'aspnet-paged-response',
    like: 'ASP.NET with a PagedResponse: addresses of pages, succeeded, errors and message null; pageNumber',
    ids: uuids,
    names: { id: 'id', letterCase: 'camel' },
    one: (_resource, data) => ({ data, succeeded: true, errors: null, message: null }),
    paging: paging(byNumber('pageNumber'), ({ items, number, size, pages, total, hasNext, link }) => ({
      pageNumber: number,
      pageSize: size,
      firstPage: link({ pageNumber: 1 }),
      lastPage: link({ pageNumber: pages }),
      totalPages: pages,
      totalRecords: total,
      nextPage: hasNext ? link({ pageNumber: number + 1 }) : null,
      previousPage: number > 1 ? link({ pageNumber: number - 1 }) : null,
      data: items,
      succeeded: true,
      errors: null,
      message: null,
    })),
    error: ({ sentence }) => ({ data: null, succeeded: false, errors: [sentence], message: 'Validation failed.' }),
  },
  {
    name: 'abp',
    like: 'ASP.NET Boilerplate: result with totalCount and items; success, error null, __abp; SkipCount',
    ids: numbers,
    names: {
      id: 'id',
      letterCase: 'camel',
      paths: { 'space.name': 'displayName' },
      time: (ms) => ({ creationTime: iso(ms).slice(0, 19) }),
    },
    one: (_resource, result) => ({
      result,
      targetUrl: null,
      success: true,
      error: null,
      unAuthorizedRequest: false,
      __abp: true,
    }),
    paging: paging(byOffset('SkipCount'), ({ items, total }) => ({
      result: { totalCount: total, items },
      targetUrl: null,
      success: true,
      error: null,
      unAuthorizedRequest: false,
      __abp: true,
    })),
    created: 200,
    error: ({ sentence }) => ({
      result: null,
      success: false,
      error: { code: 0, message: 'Your request is not valid!', details: sentence, validationErrors: null },
      unAuthorizedRequest: false,
      __abp: true,
    }),
  },
  {
    name: 'devextreme',
    like: 'DevExtreme: data, and totals of -1, which mean that nobody counted',
    ids: numbers,
    names: { id: 'Id', letterCase: 'pascal' },
    paging: unpaged(({ items }) => ({ data: items, totalCount: -1, groupCount: -1, summary: null })),
    error: ({ sentence }) => ({ Message: sentence }),
  },
  {
    name: 'odata-4.01',
    like: 'OData 4.01: @context, @count, @nextLink, relative; value; Pascal case',
    ids: numbers,
    names: { id: 'Id', letterCase: 'pascal', wrap: (_resource, fields) => ({ '@etag': 'W/"1"', ...fields }) },
    paging: paging(byToken('$skiptoken'), (page) => ({
      '@context': '$metadata#Items',
      '@count': page.total,
      value: page.items,
      ...(page.hasNext && { '@nextLink': `?${new URL(page.link({ $skiptoken: tokenOf(page) ?? '' })).searchParams}` }),
    })),
    headers: { 'odata-version': '4.01' },
    mediaType: 'application/json;odata.metadata=minimal;charset=utf-8',
    error: ({ code, sentence }) => ({ error: { code, message: sentence, target: 'query', details: [] } }),
  },
  {
    name: 'sap-odata-2',
    like: 'SAP Gateway, OData 2: d.results, __count as text, $skip; dates as /Date(ms)/',
    ids: digits,
    names: {
      id: 'Id',
      letterCase: 'pascal',
      time: (ms) => ({ CreatedAt: `/Date(${ms})/` }),
      wrap: (resource, fields, id) => ({
        __metadata: { uri: `Set('${id}')`, type: `ZPARTNER.${resource}` },
        ...fields,
      }),
    },
    one: (_resource, d) => ({ d }),
    paging: paging(byOffset('$skip'), ({ items, total }) => ({ d: { __count: String(total), results: items } })),
    error: ({ code, sentence }) => ({
      error: { code, message: { lang: 'en', value: sentence }, innererror: { transactionid: 'A1' } },
    }),
  },
];

const CHINESE: readonly Service[] = [
  {
    name: 'page-helper',
    like: 'PageHelper: code 0, msg, data as a PageInfo with two dozen keys; failures with status 200',
    ids: numbers,
    names: { id: 'id', letterCase: 'camel', time: (ms) => ({ createTime: iso(ms).slice(0, 19).replace('T', ' ') }) },
    one: (_resource, data) => ({ code: 0, msg: 'success', data }),
    paging: paging(byNumber('pageNum'), ({ items, total, number, size, pages, from, hasNext }) => ({
      code: 0,
      msg: 'success',
      data: {
        total,
        list: items,
        pageNum: number,
        pageSize: size,
        size: items.length,
        startRow: from + 1,
        endRow: from + items.length,
        pages,
        prePage: number - 1,
        nextPage: hasNext ? number + 1 : 0,
        isFirstPage: number === 1,
        isLastPage: !hasNext,
        hasPreviousPage: number > 1,
        hasNextPage: hasNext,
        navigatePages: 8,
        navigatepageNums: Array.from({ length: pages }, (_each, index) => index + 1),
        navigateFirstPage: 1,
        navigateLastPage: pages,
      },
    })),
    created: 200,
    errorStatus: 200,
    error: ({ status, sentence }) => ({ code: status * 100, msg: sentence, data: null }),
  },
  {
    name: 'ruoyi',
    like: 'RuoYi: total, rows, code 200, msg; pageNum; failures with status 200 and code 500',
    ids: numbers,
    names: { letterCase: 'camel', author: (author) => ({ senderType: author === 'user' ? 'USER' : 'BOT' }) },
    one: (_resource, data) => ({ msg: '操作成功', code: 200, data }),
    paging: paging(byNumber('pageNum'), ({ items, total }) => ({ total, rows: items, code: 200, msg: '查询成功' })),
    created: 200,
    errorStatus: 200,
    error: ({ sentence }) => ({ msg: sentence, code: 500 }),
  },
  {
    name: 'mybatis-plus',
    like: 'MyBatis-Plus: code, message, success, data with records, total, size, current, pages, orders',
    ids: (number) => `17654321098765${43_200 + number}`,
    names: { id: 'id', letterCase: 'camel', time: (ms) => ({ gmtCreate: ms }) },
    one: (_resource, data) => ({ success: true, code: '00000', message: 'OK', data, traceId: 't-1' }),
    paging: paging(byNumber('current'), ({ items, total, size, number, pages }) => ({
      success: true,
      code: '00000',
      message: 'OK',
      data: {
        records: items,
        total,
        size,
        current: number,
        orders: [],
        optimizeCountSql: true,
        searchCount: true,
        pages,
      },
      traceId: 't-1',
    })),
    error: ({ sentence }) => ({ success: false, code: 'A0400', message: sentence, data: null, traceId: 't-2' }),
  },
];

export const HOLDOUT_FRAMEWORKS: readonly Service[] = [...PHP, ...RUBY, ...PYTHON, ...NODE, ...JVM_NET, ...CHINESE];
