import { digits, numbers, prefixed, uuids } from '../ids.ts';
import { byLastId, byNumber, byOffset, byToken, paging, tokenOf } from '../paging.ts';
import type { Service } from '../service.ts';

/** API style guides, followed to the letter. */

const ATTRIBUTES: Service['names'] = {
  id: 'id',
  wrap: (resource, { id, ...attributes }) => ({ type: `${resource}s`, id, attributes }),
};
const jsonApiError: Service['error'] = ({ status, code, sentence }) => ({
  errors: [{ status: String(status), code, title: 'Error', detail: sentence }],
});

export const GUIDES: readonly Service[] = [
  {
    name: 'json-api-number',
    like: 'JSON:API: attributes, links, page[number]',
    ids: digits,
    names: ATTRIBUTES,
    one: (_resource, fields) => ({ data: fields }),
    provisioned: (space, agents) => ({ data: space, included: agents }),
    paging: paging(byNumber('page[number]'), ({ items, number, pages, hasNext, link }) => ({
      data: items,
      links: {
        self: link({ 'page[number]': number }),
        last: link({ 'page[number]': pages }),
        ...(hasNext && { next: link({ 'page[number]': number + 1 }) }),
      },
      jsonapi: { version: '1.1' },
    })),
    error: jsonApiError,
  },
  {
    name: 'json-api-cursor',
    like: 'JSON:API with the cursor profile: a next link as an object, kebab case',
    ids: uuids,
    names: { ...ATTRIBUTES, letterCase: 'kebab' },
    one: (_resource, fields) => ({ data: fields }),
    provisioned: (space, agents) => ({ data: space, included: agents }),
    paging: paging(byToken('page[after]'), (page) => ({
      links: page.hasNext ? { next: { href: page.path({ 'page[after]': tokenOf(page) ?? '' }) } } : { next: null },
      data: page.items,
    })),
    error: jsonApiError,
    errorType: 'application/vnd.api+json',
  },
  {
    name: 'hal',
    like: 'HAL: _embedded and _links, relative hrefs',
    ids: prefixed,
    names: {
      id: 'id',
      wrap: (resource, fields, id) => ({ _links: { self: { href: `/v1/${resource}s/${id}` } }, ...fields }),
    },
    paging: paging(byNumber(), ({ key, items, number, hasNext, path, total }) => ({
      _links: { self: { href: path({}) }, ...(hasNext && { next: { href: path({ page: number + 1 }) } }) },
      total,
      _embedded: { [key]: items },
    })),
    error: ({ sentence }) => ({ message: sentence, logref: 'a1', _links: {} }),
  },
  {
    name: 'siren',
    like: 'Siren: entities with properties, links as a list',
    ids: numbers,
    names: { id: 'id', wrap: (resource, properties) => ({ class: [resource], rel: ['item'], properties }) },
    paging: paging(byNumber(), ({ items, number, hasNext, link }) => ({
      class: ['collection'],
      entities: items,
      links: [
        { rel: ['self'], href: link({ page: number }) },
        ...(hasNext ? [{ rel: ['next'], href: link({ page: number + 1 }) }] : []),
      ],
    })),
    error: ({ sentence }) => ({ class: ['error'], properties: { message: sentence } }),
  },
  {
    name: 'google-aip',
    like: 'Google AIP-158: nextPageToken and pageToken, camel case',
    names: { id: 'id', letterCase: 'camel' },
    paging: paging(byToken('pageToken'), (page) => ({ [page.key]: page.items, nextPageToken: tokenOf(page) ?? '' })),
    error: ({ status, sentence }) => ({ error: { code: status, message: sentence, status: 'INVALID_ARGUMENT' } }),
    created: 200,
  },
  {
    name: 'google-aip-names',
    like: 'Google AIP-122 and AIP-148: name is a path, displayName the name, uid the id',
    names: {
      id: 'uid',
      letterCase: 'camel',
      paths: {
        'space.name': 'displayName',
        'agent.name': 'displayName',
        'source.name': 'displayName',
        'cron_job.name': 'displayName',
      },
      time: (ms) => ({ createTime: new Date(ms).toISOString() }),
      wrap: (resource, fields, id) => ({ name: `${resource}s/${id}`, ...fields }),
    },
    paging: paging(byToken('pageToken'), (page) => ({ [page.key]: page.items, nextPageToken: tokenOf(page) ?? '' })),
    error: ({ status, sentence }) => ({ error: { code: status, message: sentence, status: 'NOT_FOUND', details: [] } }),
    created: 200,
  },
  {
    name: 'google-aip-go',
    like: 'Google AIP by grpc-gateway: snake case, nothing for an empty list or token, page_token',
    ids: numbers,
    names: { author: (author) => ({ author: author === 'user' ? 'AUTHOR_USER' : 'AUTHOR_AGENT' }) },
    paging: paging(byToken('page_token'), (page) => ({
      ...(page.items.length > 0 && { [page.key]: page.items }),
      ...(page.hasNext && { next_page_token: tokenOf(page) }),
    })),
    error: ({ sentence }) => ({ code: 3, message: sentence, details: [] }),
    created: 200,
  },
  {
    name: 'microsoft',
    like: 'Microsoft REST guidelines: value, nextLink, camel case',
    ids: uuids,
    names: {
      id: 'id',
      letterCase: 'camel',
      author: (author) => ({ author: { type: author === 'user' ? 'user' : 'bot' } }),
    },
    paging: paging(byToken('$skiptoken'), (page) => ({
      value: page.items,
      ...(page.hasNext && { nextLink: page.link({ $skiptoken: tokenOf(page) ?? '' }) }),
    })),
    error: ({ code, sentence }) => ({
      error: { code: 'BadArgument', message: 'See innererror.', innererror: { code, message: sentence } },
    }),
  },
  {
    name: 'zalando',
    like: 'Zalando: items, self, next as addresses; problem+json',
    names: { id: 'id' },
    paging: paging(byToken('cursor'), (page) => ({
      self: page.link({}),
      first: page.link({ cursor: '' }),
      ...(page.hasNext && { next: page.link({ cursor: tokenOf(page) ?? '' }) }),
      items: page.items,
    })),
    error: ({ status, sentence }) => ({ type: '/problems/invalid', title: 'Invalid', status, detail: sentence }),
    errorType: 'application/problem+json',
  },
  {
    name: 'heroku-ranges',
    like: 'Heroku: 206 and Next-Range, to be asked for in the header Range',
    ids: uuids,
    names: { id: 'id' },
    paging: paging(
      {
        kind: 'header',
        parameters: [],
        from: ({ headers }) => Number(/; *from=(\d+)/.exec(String(headers.range))?.[1] ?? 0),
      },
      ({ items }) => items,
      {
        status: 206,
        headers: ({ from, size, hasNext, total }) => ({
          'content-range': `id ${from}..${from + size - 1}`,
          'accept-ranges': 'id, name',
          ...(hasNext && { 'next-range': `id ]${from + size}..; max=${size}; from=${from + size}` }),
          'x-count': String(total),
        }),
      },
    ),
    error: ({ code, sentence }) => ({ id: code, message: sentence }),
  },
  {
    name: 'adidas',
    like: 'A guide with envelopes everywhere: status, payload, paging.offset; response under result',
    ids: digits,
    names: { id: 'id', letterCase: 'camel' },
    one: (_resource, fields) => ({ status: 'SUCCESS', payload: fields }),
    paging: paging(byOffset(), ({ items, from, size, total }) => ({
      status: 'SUCCESS',
      payload: { items, paging: { offset: from, limit: size, total } },
    })),
    error: ({ code, sentence }) => ({ status: 'FAILURE', fault: { faultcode: code, faultstring: sentence } }),
  },
  {
    name: 'keyset-last-id',
    like: 'Keyset paging with last_id: has_more, first_id, last_id, after',
    names: {
      id: 'id',
      text: (value) => ({ content: [{ type: 'text', text: { value, annotations: [] } }] }),
      time: (ms) => ({ created_at: ms / 1000 }),
    },
    paging: paging(byLastId('after'), ({ items, hasNext, lastId, ids }) => ({
      object: 'list',
      data: items,
      first_id: ids[0] ?? null,
      last_id: lastId,
      has_more: hasNext,
    })),
    error: ({ code, sentence }) => ({ error: { message: sentence, type: 'invalid_request_error', param: null, code } }),
    created: 200,
  },
  {
    name: 'jsend',
    like: 'JSend: status, data, one level deeper; a page and a page count',
    ids: numbers,
    names: { id: 'id' },
    one: (resource, fields) => ({ status: 'success', data: { [resource]: fields } }),
    paging: paging(byNumber(), ({ key, items, number, pages }) => ({
      status: 'success',
      data: { [key]: items, page: number, page_count: pages },
    })),
    error: ({ sentence }) => ({ status: 'fail', data: { reason: sentence } }),
  },
];
