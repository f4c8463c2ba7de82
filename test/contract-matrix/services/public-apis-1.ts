import { digits, numbers, uuids } from '../ids.ts';
import { byLastId, byNumber, byOffset, byToken, paging, tokenOf, unpaged } from '../paging.ts';
import type { Service } from '../service.ts';

/** The conventions of well-known public APIs, A to H. */

export const PUBLIC_APIS_1: readonly Service[] = [
  {
    name: 'airtable',
    like: 'Airtable: records with fields, and an offset that is a token',
    ids: (number, resource) => `rec${resource.slice(0, 3)}${number.toString(36).padStart(11, '0')}`,
    names: { id: 'id', wrap: (_resource, { id, ...fields }) => ({ id, createdTime: '2026-03-02T09:00:00Z', fields }) },
    paging: paging(byToken('offset'), (page) => ({
      records: page.items,
      ...(page.hasNext && { offset: tokenOf(page) }),
    })),
    error: ({ code, sentence }) => ({ error: { type: code.toUpperCase(), message: sentence } }),
    created: 200,
  },
  {
    name: 'algolia',
    like: 'Algolia: hits, nbHits, nbPages, pages from 0, objectID',
    ids: digits,
    names: { id: 'objectID' },
    paging: paging(byNumber('page', 0), ({ items, number, pages, total, size }) => ({
      hits: items,
      page: number - 1,
      nbHits: total,
      nbPages: pages,
      hitsPerPage: size,
      exhaustiveNbHits: true,
    })),
    error: ({ status, sentence }) => ({ message: sentence, status }),
  },
  {
    name: 'asana',
    like: 'Asana: data, next_page as an object with offset, path, and uri; ids under gid',
    ids: digits,
    names: { id: 'gid', wrap: (resource, fields) => ({ ...fields, resource_type: resource }) },
    one: (_resource, fields) => ({ data: fields }),
    paging: paging(byToken('offset'), (page) => ({
      data: page.items,
      next_page: page.hasNext
        ? {
            offset: tokenOf(page),
            path: page.path({ offset: tokenOf(page) ?? '' }).replace('/v1', ''),
            uri: page.link({ offset: tokenOf(page) ?? '' }),
          }
        : null,
    })),
    error: ({ sentence }) => ({
      errors: [{ message: sentence, help: 'See the documentation.', phrase: '6 sad squid' }],
    }),
  },
  {
    name: 'auth0',
    like: 'Auth0: start, limit, length, total; pages from 0',
    names: {},
    paging: paging(byNumber('page', 0), ({ key, items, from, size, total }) => ({
      start: from,
      limit: size,
      length: items.length,
      total,
      [key]: items,
    })),
    error: ({ status, code, sentence }) => ({
      statusCode: status,
      error: 'Bad Request',
      message: sentence,
      errorCode: code,
    }),
  },
  {
    name: 'aws',
    like: 'AWS: Pascal case, NextToken',
    ids: (number, resource) => `arn:aws:partner:eu-1:${resource}/${number}`,
    names: { letterCase: 'pascal', time: (ms) => ({ CreationTime: ms / 1000 }) },
    one: (resource, fields) => ({
      [resource.replace(/(^|_)([a-z])/g, (_m, _u, letter: string) => letter.toUpperCase())]: fields,
    }),
    paging: paging(byToken('NextToken'), (page) => ({
      [page.key]: page.items,
      ...(page.hasNext && { NextToken: tokenOf(page) }),
    })),
    error: ({ sentence }) => ({ __type: 'com.amazon.coral#ValidationException', Message: sentence }),
    created: 200,
  },
  {
    name: 'aws-marker',
    like: 'AWS IAM and S3: IsTruncated, Marker',
    names: { letterCase: 'pascal', id: 'Id' },
    paging: paging(byToken('Marker'), (page) => ({
      IsTruncated: page.hasNext,
      ...(page.hasNext && { NextMarker: tokenOf(page) }),
      [page.key]: page.items,
    })),
    error: ({ code, sentence }) => ({ Error: { Type: 'Sender', Code: code, Message: sentence }, RequestId: 'r-1' }),
  },
  {
    name: 'azure',
    like: 'Azure Resource Manager: value, properties, nextLink with $skipToken',
    ids: uuids,
    names: {
      id: 'id',
      letterCase: 'camel',
      wrap: (resource, { id, ...properties }) => ({ id, type: `Partner/${resource}s`, properties }),
    },
    paging: paging(byToken('$skipToken'), (page) => ({
      value: page.items,
      nextLink: page.hasNext ? page.link({ $skipToken: tokenOf(page) ?? '' }) : null,
    })),
    error: ({ code, sentence }) => ({ error: { code, message: sentence, target: 'query' } }),
  },
  {
    name: 'bitbucket',
    like: 'Bitbucket: values, pagelen, next; uuids in braces',
    ids: (number, resource) => `{${uuids(number, resource)}}`,
    names: { id: 'uuid', text: (raw) => ({ content: { raw, markup: 'markdown' } }) },
    paging: paging(byNumber(), ({ items, number, size, total, hasNext, link }) => ({
      pagelen: size,
      size: total,
      values: items,
      page: number,
      ...(hasNext && { next: link({ page: number + 1 }) }),
    })),
    error: ({ sentence }) => ({ type: 'error', error: { message: sentence } }),
  },
  {
    name: 'box',
    like: 'Box: entries, total_count, offset, limit, order',
    ids: digits,
    names: { id: 'id', wrap: (resource, fields) => ({ type: resource, etag: '1', ...fields }) },
    paging: paging(byOffset(), ({ items, total, from, size }) => ({
      total_count: total,
      entries: items,
      offset: from,
      limit: size,
      order: [{ by: 'type', direction: 'ASC' }],
    })),
    error: ({ status, code, sentence }) => ({ type: 'error', status, code, message: sentence, request_id: 'r-1' }),
  },
  {
    name: 'cloudflare',
    like: 'Cloudflare: success, result, result_info',
    ids: uuids,
    names: { id: 'id' },
    one: (_resource, fields) => ({ success: true, errors: [], messages: [], result: fields }),
    paging: paging(byNumber(), ({ items, number, size, pages, total }) => ({
      success: true,
      errors: [],
      messages: [],
      result: items,
      result_info: { page: number, per_page: size, count: items.length, total_count: total, total_pages: pages },
    })),
    error: ({ sentence }) => ({
      success: false,
      errors: [{ code: 7003, message: sentence }],
      messages: [],
      result: null,
    }),
    created: 200,
  },
  {
    name: 'confluence',
    like: 'Confluence: results, start, limit, size, _links.next without the prefix of the base address',
    ids: digits,
    names: {
      id: 'id',
      letterCase: 'camel',
      text: (value) => ({ body: { storage: { value, representation: 'storage' } } }),
    },
    paging: paging(byOffset('start'), ({ items, from, size, hasNext, path, url }) => ({
      results: items,
      start: from,
      limit: size,
      size: items.length,
      _links: {
        base: `${url.origin}/v1`,
        context: '/v1',
        ...(hasNext && { next: path({ start: from + size }).replace('/v1', '') }),
      },
    })),
    error: ({ status, sentence }) => ({
      statusCode: status,
      data: { authorized: true, errors: [] },
      message: sentence,
    }),
    documented: {
      'spaces.list.next': 'offset:start',
      'agents.list.next': 'offset:start',
      'cron_jobs.list.next': 'offset:start',
      'messages.history.next': 'offset:start',
    },
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
  },
  {
    name: 'couchdb',
    like: 'CouchDB: rows with doc, total_rows, offset; skip',
    ids: uuids,
    names: {
      id: '_id',
      wrap: (_resource, fields, id) => ({ id, key: id, value: { rev: '1-9' }, doc: { _rev: '1-9', ...fields } }),
    },
    one: (_resource, fields) => ({ ok: true, ...fields }),
    paging: paging(byOffset('skip'), ({ items, total, from }) => ({ total_rows: total, offset: from, rows: items })),
    error: ({ code, sentence }) => ({ error: code, reason: sentence }),
  },
  {
    name: 'digitalocean',
    like: 'DigitalOcean: links.pages.next and meta.total',
    ids: numbers,
    names: { id: 'id' },
    one: (resource, fields) => ({ [resource]: fields }),
    paging: paging(byNumber(), ({ key, items, number, pages, hasNext, link, total }) => ({
      [key]: items,
      links: hasNext ? { pages: { next: link({ page: number + 1 }), last: link({ page: pages }) } } : {},
      meta: { total },
    })),
    error: ({ code, sentence }) => ({ id: code, message: sentence, request_id: 'r-1' }),
  },
  {
    name: 'docker-hub',
    like: 'Docker Hub: count, next, results',
    ids: numbers,
    names: { id: 'id', author: (author) => ({ author: { role: author } }) },
    paging: paging(byNumber(), ({ items, number, total, hasNext, link }) => ({
      count: total,
      next: hasNext ? link({ page: number + 1, page_size: 2 }) : '',
      previous: '',
      results: items,
    })),
    error: ({ sentence }) => ({ message: sentence, errinfo: {} }),
  },
  {
    name: 'docker-registry',
    like: 'Docker registry: Link with last and n, errors as a list',
    ids: uuids,
    names: { id: 'digest' },
    paging: paging(byLastId('last'), ({ key, items }) => ({ [key]: items }), {
      headers: ({ hasNext, lastId, path }): Record<string, string> =>
        hasNext ? { link: `<${path({ n: 2, last: lastId ?? '' })}>; rel="next"` } : {},
    }),
    error: ({ code, sentence }) => ({ errors: [{ code: code.toUpperCase(), message: sentence, detail: {} }] }),
    created: 202,
  },
  {
    name: 'dropbox',
    like: 'Dropbox: entries, cursor, has_more; the cursor is always there; tags',
    ids: (number, resource) => `id:${resource}AAAA${number}`,
    names: { id: 'id', wrap: (resource, fields) => ({ '.tag': resource, ...fields }) },
    paging: paging(byToken('cursor'), (page) => ({
      entries: page.items,
      cursor: Buffer.from(`{"seek":${page.from + page.items.length},"v":2}`).toString('base64url'),
      has_more: page.hasNext,
    })),
    error: ({ code, sentence }) => ({ error_summary: sentence, error: { '.tag': code } }),
    created: 200,
  },
  {
    name: 'dynamodb',
    like: 'DynamoDB: typed values, LastEvaluatedKey',
    names: {
      wrap: (_resource, fields) =>
        Object.fromEntries(
          Object.entries(fields).map(([name, value]) => [name, { [typeof value === 'string' ? 'S' : 'M']: value }]),
        ),
    },
    paging: paging(byToken('ExclusiveStartKey'), (page) => ({
      Items: page.items,
      Count: page.items.length,
      ScannedCount: page.items.length,
      ...(page.hasNext && { LastEvaluatedKey: { id: { S: page.lastId } } }),
    })),
    error: ({ sentence }) => ({ __type: 'ValidationException', message: sentence }),
    created: 200,
  },
  {
    name: 'elasticsearch',
    like: 'Elasticsearch: hits.hits with _source, total with a relation, from and size',
    ids: uuids,
    names: {
      id: '_id',
      wrap: (resource, { _id, ...source }) => ({ _index: `${resource}s`, _id, _score: 1, _source: source }),
    },
    one: (_resource, fields) => ({ ...fields, found: true, _version: 1 }),
    paging: paging(byOffset('from'), ({ items, total }) => ({
      took: 4,
      timed_out: false,
      _shards: { total: 1, successful: 1, failed: 0 },
      hits: { total: { value: total, relation: 'eq' }, max_score: 1, hits: items },
    })),
    error: ({ status, code, sentence }) => ({
      error: { root_cause: [{ type: code, reason: sentence }], type: code, reason: sentence },
      status,
    }),
  },
  {
    name: 'facebook-graph',
    like: 'Facebook Graph: paging.next and paging.cursors.after; from; message',
    ids: digits,
    names: {
      id: 'id',
      text: (message) => ({ message }),
      author: (author) => ({
        from: { id: author === 'user' ? '71' : '99', name: author === 'user' ? 'Anna' : 'Billing' },
        is_echo: author === 'assistant',
      }),
      time: (ms) => ({ created_time: new Date(ms).toISOString().replace('.000Z', '+0000') }),
    },
    paging: paging(byToken('after'), (page) => ({
      data: page.items,
      paging: {
        cursors: {
          before: 'QVFIU',
          after: Buffer.from(`{"seek":${page.from + page.items.length},"v":2}`).toString('base64url'),
        },
        ...(page.hasNext && { next: page.link({ after: tokenOf(page) ?? '' }) }),
      },
    })),
    error: ({ sentence }) => ({ error: { message: sentence, type: 'OAuthException', code: 100, fbtrace_id: 'A1' } }),
    created: 200,
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
    name: 'gitlab',
    like: 'GitLab behind a proxy that drops Link: X-Next-Page, X-Total',
    ids: numbers,
    names: {
      id: 'id',
      text: (body) => ({ body }),
      author: (author) => ({ author: { username: 'x', bot: author === 'assistant' } }),
    },
    paging: paging(byNumber(), ({ items }) => items, {
      headers: ({ number, pages, total, size, hasNext }) => ({
        'x-next-page': hasNext ? String(number + 1) : '',
        'x-page': String(number),
        'x-per-page': String(size),
        'x-prev-page': '',
        'x-total': String(total),
        'x-total-pages': String(pages),
      }),
    }),
    error: ({ sentence }) => ({ message: { base: [sentence] } }),
  },
  {
    name: 'gong',
    like: 'Gong: records is an object with totalRecords and a cursor, beside the items',
    ids: digits,
    names: { id: 'id', letterCase: 'camel' },
    paging: paging(byToken('cursor'), (page) => ({
      requestId: 'r-1',
      records: {
        totalRecords: page.total,
        currentPageSize: page.items.length,
        currentPageNumber: page.number - 1,
        ...(page.hasNext && { cursor: tokenOf(page) }),
      },
      [page.key]: page.items,
    })),
    error: ({ sentence }) => ({ requestId: 'r-1', errors: [sentence] }),
  },
  {
    name: 'harbor',
    like: 'Harbor and Gitea: a bare array, X-Total-Count, and a relative Link',
    ids: numbers,
    names: { id: 'id' },
    paging: paging(byNumber(), ({ items }) => items, {
      headers: ({ number, total, hasNext, path }) => ({
        'x-total-count': String(total),
        ...(hasNext && { link: `<${path({ page: number + 1 })}>; rel="next"` }),
      }),
    }),
    error: ({ code, sentence }) => ({ errors: [{ code, message: sentence }] }),
    bodiless: { 'create job': 'location', setup: 'location' },
    agentSource: (sourceId) => ({ integrations: { api_chat: sourceId === null ? null : { source_id: sourceId } } }),
  },
  {
    name: 'hubspot',
    like: 'HubSpot: results with properties, paging.next.after',
    ids: digits,
    names: {
      id: 'id',
      letterCase: 'camel',
      wrap: (_resource, { id, ...properties }) => ({ id, properties, archived: false }),
      author: (author) => ({ direction: author === 'user' ? 'INCOMING' : 'OUTGOING' }),
    },
    paging: paging(byToken('after'), (page) => ({
      results: page.items,
      ...(page.hasNext && {
        paging: { next: { after: tokenOf(page), link: page.link({ after: tokenOf(page) ?? '' }) } },
      }),
    })),
    error: ({ code, sentence }) => ({ status: 'error', message: sentence, correlationId: 'c-1', category: code }),
  },
  {
    name: 'discord',
    like: 'Discord: bare arrays, all at once; snowflakes; authors with a bot flag; message objects in content',
    ids: digits,
    names: {
      id: 'id',
      text: (content) => ({ content }),
      author: (author) => ({ author: { id: '8', username: 'x', ...(author === 'assistant' && { bot: true }) } }),
      time: (ms) => ({ timestamp: new Date(ms).toISOString() }),
    },
    paging: unpaged(({ items }) => items),
    history: { order: 'newest first', pageSize: 50 },
    error: ({ code, sentence }) => ({
      message: sentence,
      code: 50_035,
      errors: { _errors: [{ code, message: sentence }] },
    }),
    created: 200,
  },
];
