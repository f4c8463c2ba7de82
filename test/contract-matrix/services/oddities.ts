import { digits, numbers, prefixed, snowflakes, uuids } from '../ids.ts';
import { byNumber, byToken, paging, tokenOf, unpaged } from '../paging.ts';
import type { Service } from '../service.ts';

/** Services with the usual lists, and one unusual property: histories, statuses, redirects, requests. */

const results = paging(byNumber(), ({ total, hasNext, number, link, items }) => ({
  count: total,
  next: hasNext ? link({ page: number + 1 }) : null,
  results: items,
}));
const cursor = paging(byToken('cursor'), (page) => ({ data: page.items, next_cursor: tokenOf(page) }));
const plain = unpaged(({ items }) => items);
const ID = { id: 'id' };

export const ODDITIES: readonly Service[] = [
  {
    name: 'history-by-post',
    like: 'The history is a search: POST, and 405 for GET',
    names: ID,
    paging: results,
    history: { method: 'POST' },
  },
  {
    name: 'history-by-post-404',
    like: 'The history is a search: POST, and 404 for GET',
    names: ID,
    paging: cursor,
    history: { method: 'POST', otherMethod: 404 },
  },
  {
    name: 'history-of-everyone',
    like: 'The history ignores parameters that it does not know, and shows all sessions',
    names: ID,
    paging: results,
    history: {
      unscoped: 'everything',
      parameters: { source: 'source', session: 'session', after: 'after' },
    },
  },
  {
    name: 'history-camel-parameters',
    like: 'The history takes camel case parameters, and refuses others',
    names: { id: 'id', letterCase: 'camel' },
    paging: cursor,
    history: { parameters: { source: 'sourceId', session: 'sessionId', after: 'afterMessageId' } },
    isStrict: true,
  },
  {
    name: 'history-newest-first-ties',
    like: 'The history is newest first, and its times are coarse',
    ids: uuids,
    names: { id: 'id', time: (ms) => ({ sent_at: new Date(ms).toISOString() }) },
    paging: cursor,
    history: { order: 'newest first', isCoarse: true },
  },
  {
    name: 'history-without-cursor',
    like: 'The history ignores its cursor, and always has everything',
    ids: numbers,
    names: { id: 'id', author: (author) => ({ author: author === 'user' ? 'user' : 'agent' }) },
    paging: results,
    history: { cursor: 'ignored', pageSize: 100 },
  },
  {
    name: 'history-inclusive',
    like: 'The history begins with the message of the cursor, in pages of two',
    names: { id: 'id', text: (text) => ({ content: { type: 'text', text } }) },
    paging: cursor,
    history: { cursor: 'inclusive', pageSize: 2 },
  },
  {
    name: 'history-parts',
    like: 'Texts are lists of parts, authors are models',
    ids: uuids,
    names: {
      id: 'id',
      text: (text) => ({ content: { content_type: 'text', parts: [text] } }),
      author: (author) => ({ author: { role: author, name: null, metadata: {} } }),
      time: (ms) => ({ create_time: ms / 1000 }),
    },
    paging: plain,
    history: { pageSize: 100 },
  },
  {
    name: 'history-by-number-of-type',
    like: 'Chatwoot: message_type 0 is incoming, 1 outgoing; payload',
    ids: numbers,
    names: {
      id: 'id',
      text: (content) => ({ content }),
      author: (author) => ({ message_type: author === 'user' ? 0 : 1 }),
      time: (ms) => ({ created_at: ms / 1000 }),
    },
    paging: paging(byNumber(), ({ items, total, number }) => ({
      meta: { count: total, current_page: String(number) },
      payload: items,
    })),
  },
  {
    name: 'history-human-ai',
    like: 'LangChain: type is human or ai, data.content',
    names: {
      id: 'id',
      text: (content) => ({ data: { content, additional_kwargs: {} } }),
      author: (author) => ({ type: author === 'user' ? 'human' : 'ai' }),
    },
    paging: results,
  },
  {
    name: 'jobs-not-listed',
    like: 'Jobs can be created, but not listed: 405',
    names: ID,
    paging: results,
    jobsStatus: 405,
  },
  {
    name: 'jobs-forbidden',
    like: 'The token may create jobs, but not list them: 403',
    names: ID,
    paging: results,
    jobsStatus: 403,
    error: ({ code, sentence }) => ({ error: code, error_description: sentence }),
  },
  {
    name: 'jobs-as-cron-strings',
    like: 'Jobs have a cron expression, and an agent as an object',
    names: {
      id: 'id',
      paths: { 'cron_job.agent_id': 'agent.id' },
      schedule: ({ data, timezone }) => ({
        cron_expression: `${data.minute} ${data.hour} * * ${data.day_of_week}`,
        timezone,
      }),
    },
    paging: results,
  },
  {
    name: 'created-without-body',
    like: 'Creations answer 201 with a Location, and repeats 204',
    names: ID,
    paging: results,
    bodiless: { provision: 'location', setup: 'location', 'create job': 'location', upload: 'location' },
    agentSource: (sourceId) => ({ api_chat: sourceId === null ? null : { source_id: sourceId } }),
  },
  {
    name: 'accepted-without-body',
    like: 'Everything is accepted with 202 and no body',
    ids: uuids,
    names: ID,
    paging: results,
    created: 202,
    bodiless: { provision: 'nothing', 'create job': 'nothing', send: 'nothing' },
  },
  {
    name: 'no-slash-308',
    like: 'Reads of paths with a slash are redirected with 308, writes are not found',
    names: ID,
    paging: results,
    slash: { read: 308, write: 404 },
    documented: { 'paths.trailing_slash': 'never' },
  },
  {
    name: 'no-slash-301',
    like: 'Every path with a slash is redirected with 301',
    ids: numbers,
    names: ID,
    paging: plain,
    slash: { read: 301, write: 301 },
    documented: { 'paths.trailing_slash': 'never' },
  },
  {
    name: 'no-slash-405',
    like: 'Reads are redirected with 302, writes answer 405',
    names: ID,
    paging: cursor,
    slash: { read: 302, write: 405 },
    documented: { 'paths.trailing_slash': 'never' },
  },
  {
    name: 'upload-field',
    like: 'Files are taken from the form field upload',
    names: ID,
    paging: results,
    fileField: 'upload',
    error: ({ status, sentence }) => ({ fault: { faultstring: sentence, detail: { errorcode: String(status) } } }),
    documented: {
      'file_attachments.create.file': 'form:upload',
      'documents.create.file': 'form:upload',
    },
  },
  {
    name: 'nested-under-names',
    like: 'Each resource one level down, under its name, also in lists',
    ids: digits,
    names: { id: 'id', wrap: (resource, fields) => ({ [resource]: fields }) },
    paging: paging(byNumber(), ({ key, items, number, pages }) => ({ [key]: items, page: number, pages })),
  },
  {
    name: 'provisioned-apart',
    like: 'Provisioning answers with the space and the agents beside each other',
    names: ID,
    paging: results,
    provisioned: (space, agents) => ({ space, agents, status: 'ok' }),
  },
  {
    name: 'provisioned-ids-only',
    like: 'Provisioning answers with ids alone',
    names: { hasTemplates: true },
    paging: results,
    provisioned: (space, agents) => ({ space_id: space.space_id, agent_ids: agents.map(({ agent_id }) => agent_id) }),
  },
  {
    name: 'double-envelope',
    like: 'Two envelopes around each list, a page and a total',
    ids: prefixed,
    names: ID,
    one: (_resource, fields) => ({ response: { status: 'ok', data: fields } }),
    paging: paging(byNumber(), ({ items, number, pages, total }) => ({
      response: { status: 'ok', data: { items, pagination: { page: number, page_count: pages, item_count: total } } },
    })),
    error: ({ sentence }) => ({ response: { status: 'error', error: { description: sentence } } }),
  },
  {
    name: 'big-number-ids',
    like: 'Ids are numbers of 19 digits',
    ids: snowflakes,
    hasBigNumbers: true,
    names: ID,
    paging: results,
  },
  {
    name: 'mixed-id-types',
    like: 'Own ids are numbers, references to other resources strings',
    ids: numbers,
    names: {
      id: 'id',
      wrap: (_resource, fields) =>
        Object.fromEntries(
          Object.entries(fields).map(([name, value]) => [name, name.endsWith('_id') ? String(value) : value]),
        ),
    },
    paging: results,
  },
  {
    name: 'pk-and-uuid',
    like: 'Every resource has a primary key and a uuid; paths take the uuid',
    ids: uuids,
    names: {
      id: 'uuid',
      wrap: (_resource, fields, id) => ({ id: Number.parseInt(String(id).slice(0, 6), 16), ...fields }),
    },
    paging: results,
  },
  {
    name: 'everything-at-once',
    like: 'Bare arrays with everything, as the specification has it',
    paging: plain,
    history: { pageSize: 100 },
  },
];
