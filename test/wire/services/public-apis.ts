import { digits, numbers, objectIds, snowflakes, uuids } from '../facts.ts';
import { byLastId, byOffset, byPage, byToken, type Service, UPLOADS_ACCEPTED } from '../service.ts';

/* Well-known public APIs and style guides, whose habits a partner may have taken over. */

const GUIDES: readonly Service[] = [
  {
    name: 'json-api',
    ids: digits,
    id: 'id',
    casing: 'kebab',
    under: 'attributes',
    also: { 'space.type': 'spaces', 'agent.type': 'agents', 'message.type': 'messages', 'cron_job.type': 'cron-jobs' },
    one: (fields) => ({ data: fields }),
    provisioned: (space, agents) => ({ data: space, included: agents }),
    paging: byPage('page[number]'),
    list: ({ items, url, next }) => ({
      data: items,
      links: { self: url, ...(next && { next }) },
      jsonapi: { version: '1.1' },
    }),
    error: ({ status, code, sentence }) => ({
      errors: [{ status: String(status), code, title: 'Error', detail: sentence }],
    }),
  },
  {
    name: 'google-aip',
    id: 'id',
    casing: 'camel',
    created: 200,
    paging: byToken('pageToken'),
    list: ({ key, items, nextValue }) => ({ [key]: items, nextPageToken: nextValue ?? '' }),
    error: ({ status, sentence }) => ({ error: { code: status, message: sentence, status: 'NOT_FOUND' } }),
  },
  {
    name: 'aws',
    ids: uuids,
    casing: 'pascal',
    created: 200,
    paging: byToken('NextToken'),
    list: ({ key, items, nextValue }) => ({ [key]: items, ...(nextValue && { NextToken: nextValue }) }),
    error: ({ code, sentence }) => ({ __type: code, Message: sentence }),
  },
  {
    name: 'graphql-nodes',
    ids: (number, resource) => Buffer.from(`${resource}:${number}`).toString('base64'),
    id: 'id',
    casing: 'camel',
    created: 200,
    one: (fields, resource) => ({ data: { [resource]: fields } }),
    paging: byToken('after'),
    list: ({ key, items, hasNext, nextValue, total }) => ({
      data: {
        [key]: {
          totalCount: total,
          nodes: items,
          pageInfo: { hasNextPage: hasNext, endCursor: nextValue },
        },
      },
    }),
    error: ({ code, sentence }) => ({ data: null, errors: [{ message: sentence, extensions: { code } }] }),
    errorStatus: 200,
  },
];

const PLATFORMS: readonly Service[] = [
  {
    name: 'stripe',
    id: 'id',
    also: { '*.livemode': false },
    created: 200,
    time: (ms) => ms / 1000,
    fields: { 'message.created_at': 'created' },
    paging: byLastId('starting_after'),
    list: ({ items, hasNext, url }) => ({ object: 'list', url, has_more: hasNext, data: items }),
    error: ({ code, sentence }) => ({ error: { type: 'invalid_request_error', code, message: sentence } }),
  },
  {
    name: 'zendesk',
    ids: numbers,
    id: 'id',
    one: (fields, resource) => ({ [resource]: fields }),
    paging: byPage(),
    list: ({ key, items, total, next }) => ({ [key]: items, count: total, next_page: next, previous_page: null }),
    error: ({ code, sentence }) => ({ error: code, description: sentence }),
    fileField: 'uploaded_data',
  },
  {
    name: 'slack',
    id: 'id',
    one: (fields, resource) => ({ ok: true, [resource]: fields }),
    created: 200,
    paging: byToken('cursor'),
    list: ({ key, items, nextValue }) => ({
      ok: true,
      [key]: items,
      response_metadata: { next_cursor: nextValue ?? '' },
    }),
    error: ({ code, sentence }) => ({ ok: false, error: code, detail: sentence }),
    errorStatus: 200,
  },
  {
    name: 'twilio',
    id: 'sid',
    fields: { 'message.text': 'body', 'message.created_at': 'date_created' },
    author: ['direction', 'inbound', 'outbound-reply'],
    untold: { fact: 'which author is the agent', operations: ['chat tail'] },
    paging: byPage('Page', 0),
    list: ({ key, items, number, size, nextPath }) => ({
      [key]: items,
      page: number,
      page_size: size,
      first_page_uri: '/v1/?Page=0',
      next_page_uri: nextPath,
      previous_page_uri: null,
    }),
    error: ({ status, sentence }) => ({
      code: 20404,
      message: sentence,
      more_info: 'https://errors.example.com',
      status,
    }),
  },
  {
    name: 'hubspot',
    ids: digits,
    id: 'id',
    casing: 'camel',
    paging: byToken('after'),
    list: ({ items, next, nextValue }) => ({
      results: items,
      ...(next && { paging: { next: { after: nextValue, link: next } } }),
    }),
    error: ({ code, sentence }) => ({ status: 'error', message: sentence, category: code, correlationId: 'c-1' }),
  },
  {
    name: 'salesforce',
    ids: (number) => `0015g00000${number}AAA`,
    id: 'Id',
    casing: 'pascal',
    also: { '*.attributes.type': 'Thing__c' },
    paging: byOffset(),
    list: ({ items, total, hasNext, nextPath }) => ({
      totalSize: total,
      done: !hasNext,
      ...(nextPath && { nextRecordsUrl: nextPath }),
      records: items,
    }),
    error: ({ code, sentence }) => [{ message: sentence, errorCode: code }],
  },
  {
    name: 'elasticsearch',
    ids: objectIds,
    id: '_id',
    under: '_source',
    also: { '*._index': 'things', '*._score': null },
    paging: byOffset('from'),
    list: ({ items, total }) => ({
      took: 3,
      timed_out: false,
      hits: { total: { value: total, relation: 'eq' }, hits: items },
    }),
    error: ({ status, code, sentence }) => ({ error: { type: code, reason: sentence }, status }),
  },
  {
    name: 'contentful',
    id: 'sys.id',
    under: 'fields',
    casing: 'camel',
    paging: byOffset('skip'),
    list: ({ items, total, from, size }) => ({ sys: { type: 'Array' }, total, skip: from, limit: size, items }),
    error: ({ code, sentence }) => ({ sys: { type: 'Error', id: code }, message: sentence, requestId: 'r-1' }),
  },
  {
    name: 'wordpress',
    ids: numbers,
    id: 'id',
    fields: { 'space.name': 'title.rendered', 'message.text': 'content.rendered' },
    paging: byPage(),
    list: ({ items }) => items,
    headers: ({ total, pages }) => ({ 'x-wp-total': String(total), 'x-wp-totalpages': String(pages) }),
    error: ({ status, code, sentence }) => ({ code, message: sentence, data: { status } }),
  },
  {
    name: 'docker-registry',
    ids: snowflakes,
    paging: byLastId('last'),
    list: ({ key, items }) => ({ [key]: items }),
    headers: ({ nextPath }): Record<string, string> => (nextPath ? { link: `<${nextPath}>; rel="next"` } : {}),
    error: ({ code, sentence }) => ({ errors: [{ code, message: sentence }] }),
  },
];

const BACK_OFFICES: readonly Service[] = [
  {
    // Creations are only accepted: the id of the new job is not known yet.
    name: 'long-running-operations',
    id: 'id',
    created: 202,
    one: (fields, resource) => (resource === 'cron_job' ? { operation_id: 'op-17', status: 'pending' } : fields),
    paging: byPage(),
    list: ({ items, number, pages }) => ({ items, page: number, pages }),
    impossible: { 'cron create': 'The id of the new job is not known yet.', ...UPLOADS_ACCEPTED },
  },
  {
    name: 'no-list-of-jobs',
    ids: uuids,
    id: 'id',
    noJobList: 405,
    paging: byPage(),
    list: ({ items, number, pages }) => ({ data: items, pagination: { page: number, total_pages: pages } }),
    impossible: { 'cron list': 'There is no list of jobs.' },
  },
  {
    // Jobs are only listed agent by agent, which the specification does not have; spaces without their external ids.
    name: 'jobs-by-agent',
    ids: digits,
    id: 'id',
    fields: { 'space.external_space_id': null },
    noJobList: 400,
    list: ({ key, items }) => ({ [key]: items }),
    impossible: { 'cron list': 'There is no list of all jobs.' },
    untold: {
      fact: 'whether to provision a space, or create a job, that may exist unseen',
      operations: ['provision', 'cron create'],
    },
  },
  {
    // The total counts what other customers have, too.
    name: 'total-of-all-tenants',
    ids: numbers,
    id: 'id',
    list: ({ items, total }) => ({ items, total: total + 40 }),
    untold: { fact: 'whether the total counts more than the token may see' },
  },
  {
    name: 'uncommon-page-parameter',
    ids: numbers,
    casing: 'camel',
    paging: byPage('seite'),
    list: ({ items, total }) => ({ items, total }),
  },
  {
    name: 'uncommon-names',
    ids: numbers,
    casing: 'camel',
    fields: { 'space.external_space_id': 'customerNumber', 'space.name': 'caption', 'cron_job.name': 'caption' },
    paging: byPage(),
    list: ({ items, number, pages }) => ({ items, page: number, pages }),
  },
  {
    // Two ids that differ: a row number, and the id that requests take.
    name: 'row-numbers-and-uuids',
    ids: uuids,
    id: 'uuid',
    also: { '*.id': 7 },
    paging: byPage(),
    list: ({ items, number, pages, total }) => ({ data: items, page: number, pages, total }),
    untold: { fact: 'which of its two ids requests take' },
  },
  {
    // Archived spaces and deleted jobs come along in a list of their own.
    name: 'second-list',
    ids: uuids,
    id: 'id',
    paging: byPage(),
    list: ({ items, number, pages }) => ({ current: items, archived: [{ id: 'old' }], page: number, pages }),
    untold: { fact: 'whether archived spaces and deleted jobs count' },
  },
];

export const PUBLIC_APIS: readonly Service[] = [...GUIDES, ...PLATFORMS, ...BACK_OFFICES];
