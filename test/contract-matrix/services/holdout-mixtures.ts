import { digits, numbers, objectIds, prefixed, snowflakes, uuids } from '../ids.ts';
import {
  byLastId,
  byNumber,
  byOffset,
  byToken,
  emptyAs204,
  ending,
  newestFirst,
  paging,
  tokenOf,
  unpaged,
} from '../paging.ts';
import type { Service } from '../service.ts';
import type { Wire } from '../wire.ts';

/** Services that grew over time: each of their operations has its own style, and some return less or more than they should. */

const iso = (ms: number): string => new Date(ms).toISOString();
const numbered = paging(byNumber(), ({ items, number, pages, total }) => ({
  data: items,
  meta: { page: number, pages, total },
}));
const bare = unpaged(({ items }) => items);

/** The fields of an acknowledgement of a message, as specified. */
function acknowledgement(fields: Wire): Wire {
  return { message_id: fields.message_id ?? fields.id, created: fields.created };
}

export const HOLDOUT_MIXTURES: readonly Service[] = [
  {
    name: 'lists-paged-history-bare',
    like: 'Lists with counts and addresses, a bare history without sources and sessions, acknowledgements as in the specification',
    ids: uuids,
    names: {
      id: 'id',
      paths: { 'message.source_id': null, 'message.session_id': null, 'message.external_message_id': null },
    },
    one: (resource, fields) => (resource === 'message' ? acknowledgement(fields) : fields),
    paging: paging(byNumber(), ({ items, total, number, hasNext, link }) => ({
      count: total,
      next: hasNext ? link({ page: number + 1 }) : null,
      previous: null,
      results: items,
    })),
    history: { paging: bare },
  },
  {
    name: 'history-in-a-session-object',
    like: 'The history is an object of the session, with participants and messages; lists have a root key and a cursor',
    ids: prefixed,
    names: {
      id: 'id',
      paths: { 'message.source_id': null, 'message.session_id': null },
      author: (author) => ({ author: { type: author === 'user' ? 'end_user' : 'agent', id: 'p1' } }),
      time: (ms) => ({ sent_at: iso(ms) }),
    },
    one: (resource, fields) => ({ [resource]: fields }),
    paging: paging(byToken('cursor'), (page) => ({ [page.key]: page.items, next_cursor: tokenOf(page) ?? '' })),
    history: {
      paging: unpaged(({ items, url }) => ({
        session: {
          session_id: url.searchParams.get('session_id'),
          source_id: url.searchParams.get('source_id'),
          participants: [
            { id: 'p0', type: 'end_user' },
            { id: 'p1', type: 'agent' },
          ],
          messages: items,
        },
      })),
    },
    error: ({ code, sentence }) => ({ error: { code, message: sentence, request_id: 'r1' } }),
  },
  {
    name: 'every-list-its-own',
    like: 'Spaces by page, agents bare, jobs by cursor under jobs, the history by offset under items',
    ids: numbers,
    names: { id: 'id', author: (author) => ({ author: author === 'user' ? 'customer' : 'ai_agent' }) },
    paging: numbered,
    pagings: {
      agent: bare,
      cron_job: paging(byToken('cursor'), (page) => ({
        jobs: page.items,
        next_cursor: tokenOf(page),
        has_more: page.hasNext,
      })),
      message: paging(byOffset(), ({ items, from, size, total }) => ({ items, offset: from, limit: size, total })),
    },
    error: ({ sentence }) => ({ error: sentence }),
  },
  {
    name: 'enveloped-with-counts-and-warnings',
    like: 'Each answer has data, errors, warnings, a request id, and counts that are of the page; has_more on every list',
    ids: uuids,
    names: { id: 'id', text: (content) => ({ content }), time: (ms) => ({ timestamp: ms }) },
    one: (_resource, data) => ({ data, errors: [], warnings: [], request_id: 'r1' }),
    paging: paging(byOffset(), ({ items, from, size, hasNext }) => ({
      data: items,
      errors: [],
      warnings: [{ code: 'deprecated', message: 'The field x goes away.' }],
      request_id: 'r1',
      count: items.length,
      paging: { offset: from, limit: size, has_more: hasNext },
    })),
    headers: { deprecation: 'true', sunset: 'Sat, 31 Dec 2027 23:59:59 GMT', 'x-request-id': 'r1' },
    error: ({ code, sentence }) => ({
      data: null,
      errors: [{ code, message: sentence, path: [] }],
      warnings: [],
      request_id: 'r2',
    }),
  },
  {
    name: 'total-of-all-tenants',
    like: 'The total counts what other tenants have; next is the truth',
    ids: numbers,
    names: { id: 'id' },
    paging: paging(byNumber(), ({ items, total, number, hasNext }) => ({
      items,
      total: total + 37,
      page: number,
      next_page: hasNext ? number + 1 : null,
    })),
    documented: {
      'spaces.list.next': 'token:next_page:page',
      'agents.list.next': 'token:next_page:page',
      'messages.history.next': 'token:next_page:page',
      'cron_jobs.list.next': 'token:next_page:page',
    },
  },
  {
    name: 'empty-last-page',
    like: 'has_more is true until a page is empty, which is 200 with null',
    ids: uuids,
    names: { id: 'id', letterCase: 'camel' },
    paging: paging(byNumber(), ({ items }) => ({ items: items.length > 0 ? items : null, hasMore: items.length > 0 })),
    history: { paging: emptyAs204(bare) },
    error: ({ sentence }) => ({ message: sentence }),
  },
  {
    name: 'ends-with-404',
    like: 'A full page says nothing of the next one but its number; 404 past the last page',
    ids: numbers,
    names: { id: 'id', author: (author) => ({ sender_type: author === 'user' ? 'customer' : 'assistant' }) },
    paging: paging(ending(byNumber()), ({ items, number, size, pages }) => ({
      objects: items,
      page: number,
      page_size: size,
      num_pages: pages,
    })),
    error: ({ sentence }) => ({ detail: sentence }),
  },
  {
    name: 'range-without-a-total',
    like: 'PostgREST without counting: 200, and Content-Range 0-1/*; answers to writes as lists',
    ids: uuids,
    names: { id: 'id', author: (author) => ({ author_kind: author === 'user' ? 'user' : 'agent' }) },
    paging: paging(byOffset(), ({ items }) => items, {
      headers: ({ from, items }) => ({
        'content-range': items.length > 0 ? `${from}-${from + items.length - 1}/*` : '*/*',
        'range-unit': 'items',
      }),
    }),
    one: (_resource, fields) => [fields],
    mediaType: 'application/json; charset=utf-8',
    error: ({ code, sentence }) => ({ code: 'PGRST100', details: code, hint: null, message: sentence }),
  },
  {
    name: 'jobs-as-objects-by-id',
    like: 'Jobs and agents as objects by id, as realtime databases have them; spaces as lists',
    ids: prefixed,
    names: { id: 'id' },
    paging: paging(byToken('page_token'), (page) => ({ [page.key]: page.items, next_page_token: tokenOf(page) })),
    pagings: {
      agent: unpaged(({ items, ids }) => Object.fromEntries(items.map((item, index) => [ids[index] ?? '', item]))),
      cron_job: unpaged(({ items, ids }) => ({
        jobs: Object.fromEntries(items.map((item, index) => [ids[index] ?? '', item])),
      })),
    },
  },
  {
    name: 'meta-and-items-in-an-array',
    like: 'World Bank: an array of two, the page and the items',
    ids: digits,
    names: { id: 'id' },
    paging: paging(byNumber(), ({ items, number, pages, size, total }) => [
      { page: number, pages, per_page: String(size), total },
      items,
    ]),
    history: { paging: bare },
    error: ({ sentence }) => [{ message: [{ id: '120', key: 'Invalid value', value: sentence }] }],
  },
  {
    name: 'one-item-without-a-list',
    like: 'XML turned into JSON: items two levels down, and an object in place of a list of one; numbers as text',
    ids: digits,
    names: { id: 'id' },
    paging: paging(byNumber(), ({ key, items, number, pages, total }) => ({
      [key]: {
        '@page': String(number),
        '@pages': String(pages),
        '@total': String(total),
        [key.replace(/s$/, '')]: items.length === 1 ? items[0] : items,
      },
    })),
    history: { pageSize: 100 },
    error: ({ sentence }) => ({ error: { '#text': sentence } }),
  },
  {
    name: 'ids-are-addresses',
    like: 'Ids are URLs, numbers are beside them; lists newest first with Link headers',
    ids: (number, resource) => `https://api.example.com/v1/${resource}s/${number}`,
    names: { id: 'id' },
    paging: newestFirst(
      paging(byNumber(), ({ items }) => items, {
        headers: ({ hasNext, number, link }): Record<string, string> =>
          hasNext ? { link: `<${link({ page: number + 1 })}>; rel=next` } : {},
      }),
    ),
    error: ({ code, sentence }) => ({ type: code, title: sentence }),
  },
  {
    name: 'label-and-flags',
    like: 'Names under label, ids under uid, flags, nulls, and owners everywhere; the total in a header with a prefix',
    ids: uuids,
    names: {
      id: 'uid',
      paths: {
        'space.name': 'label',
        'agent.name': 'label',
        'cron_job.name': 'label',
        'cron_job.agent_id': 'agent.uid',
      },
      text: (body) => ({ body, html: `<p>${body}</p>` }),
      author: (author) => ({ is_agent: author === 'assistant' }),
      time: (ms) => ({ created: Math.round(ms / 1000) }),
      wrap: (_resource, fields) => ({
        ...fields,
        enabled: true,
        archived_at: null,
        owner: { uid: '0', label: 'Partner', email: 'ops@example.com' },
        tags: [],
      }),
    },
    paging: paging(byOffset(), ({ items }) => ({ items }), {
      headers: ({ total, size }) => ({ 'x-pagination-total': String(total), 'x-pagination-limit': String(size) }),
    }),
    error: ({ sentence }) => ({ errors: [{ msg: sentence, param: 'x', location: 'query' }] }),
  },
  {
    name: 'strict-and-camel',
    like: 'Unknown parameters are refused; camel case; links of hypermedia; times of the history without a zone',
    ids: numbers,
    names: { id: 'id', letterCase: 'camel', time: (ms) => ({ createdOn: iso(ms).slice(0, 23) }) },
    paging: paging(byToken('pageToken'), (page) => ({
      items: page.items,
      links: page.hasNext ? [{ rel: 'next', href: page.path({ pageToken: tokenOf(page) ?? '' }), method: 'GET' }] : [],
    })),
    history: { parameters: { source: 'sourceId', session: 'sessionId', after: 'afterMessageId' } },
    isStrict: true,
    error: ({ sentence }) => ({ errors: { query: [sentence] } }),
  },
  {
    name: 'post-history-newest-first',
    like: 'The history is asked by POST, newest first, in pages by cursor; roles model and user; acknowledgements are queued',
    ids: objectIds,
    names: {
      id: '_id',
      author: (author) => ({ role: author === 'user' ? 'user' : 'model' }),
      text: (text) => ({ parts: [{ text }] }),
      time: (ms) => ({ createdAt: iso(ms) }),
    },
    one: (resource, fields) =>
      resource === 'message'
        ? { ...acknowledgement({ ...fields, id: fields._id }), status: 'queued' }
        : { ok: true, data: fields },
    paging: paging(byOffset('skip'), ({ items, total, from, size }) => ({
      ok: true,
      data: items,
      total,
      skip: from,
      limit: size,
    })),
    history: { method: 'POST', order: 'newest first', paging: unpaged(({ items }) => ({ ok: true, data: items })) },
    created: 202,
    error: ({ code, sentence }) => ({ ok: false, error: { type: code, message: sentence } }),
  },
  {
    name: 'inclusive-in-an-envelope',
    like: 'The cursor is inclusive, texts are nested, authors are enums in capitals; 200 for everything; jobs cannot be listed',
    ids: snowflakes,
    names: {
      id: 'id',
      letterCase: 'camel',
      text: (text) => ({ payload: { text } }),
      author: (author) => ({ origin: author === 'user' ? 'USER' : 'BOT' }),
      time: (ms) => ({ sentAt: ms }),
    },
    one: (_resource, result) => ({ success: true, result }),
    paging: paging(byNumber(), ({ items, number, total, size }) => ({
      success: true,
      result: { items, page: number, perPage: size, total },
    })),
    history: { cursor: 'inclusive', pageSize: 100 },
    created: 200,
    jobsStatus: 404,
    error: ({ code, sentence }) => ({ success: false, error: { code, message: sentence } }),
  },
  {
    name: 'provision-is-accepted',
    like: 'Provisioning is accepted with 202 and names the space alone; the list of agents tells the rest; sources in integrations',
    ids: uuids,
    names: {
      id: 'id',
      paths: { 'message.session_id': 'session' },
      author: (author) => ({ role: author === 'user' ? 'user' : 'agent' }),
    },
    created: 202,
    paging: paging(byToken('cursor'), (page) => ({
      data: page.items,
      pagination: { next_cursor: tokenOf(page), has_more: page.hasNext },
    })),
    provisioned: (space) => ({ data: { id: space.id, external_space_id: space.external_space_id, status: 'pending' } }),
    agentSource: (sourceId) => ({ integrations: sourceId === null ? [] : [{ type: 'api_chat', source_id: sourceId }] }),
    error: ({ code, sentence }) => ({ error: { code, message: sentence } }),
  },
  {
    name: 'everything-nested-under-result',
    like: 'Resources under their names below result, page numbers as text, next false at the end, coarse times',
    ids: digits,
    names: { id: 'id', time: (ms) => ({ created_at: iso(ms).slice(0, 19).replace('T', ' ') }) },
    one: (resource, fields) => ({ result: { [resource]: fields } }),
    paging: paging(byNumber(), ({ key, items, number, hasNext }) => ({
      result: { [key]: items, page: String(number), next: hasNext ? String(number + 1) : false },
    })),
    history: { isCoarse: true, paging: unpaged(({ items }) => ({ result: { messages: items } })) },
    error: ({ code, sentence }) => ({ result: null, error: code, error_message: sentence }),
  },
  {
    name: 'ignores-and-caps',
    like: 'Two items a page whatever is asked; next_offset is -1 at the end; unknown history parameters are ignored',
    ids: numbers,
    names: { id: 'id', letterCase: 'camel', author: (author) => ({ fromBot: author === 'assistant' }) },
    paging: paging(byOffset(), ({ items, from, size, hasNext }) => ({
      records: items,
      nextOffset: hasNext ? from + size : -1,
      maxLimit: size,
    })),
    history: {
      unscoped: 'everything',
      parameters: { source: 'sourceId', session: 'sessionId', after: 'afterMessageId' },
      pageSize: 100,
    },
    error: ({ sentence }) => ({ errorMessage: sentence }),
  },
  {
    name: 'no-slash-and-cursor-in-header',
    like: 'Paths without a slash, reads redirected by 308, writes too; bare arrays with X-Next-Cursor',
    ids: prefixed,
    names: { id: 'id', text: (message) => ({ message }), author: (author) => ({ sender: { role: author } }) },
    paging: paging(byToken('cursor'), ({ items }) => items, {
      headers: (page): Record<string, string> => (page.hasNext ? { 'x-next-cursor': tokenOf(page) ?? '' } : {}),
    }),
    slash: { read: 308, write: 308 },
    error: ({ code, sentence }) => ({ code, message: sentence }),
    documented: { 'paths.trailing_slash': 'never' },
  },
  {
    name: 'edges-without-page-info',
    like: 'Lists as edges with cursors, and pageInfo in capitals; the history as nodes; one resource under data',
    ids: uuids,
    names: {
      id: 'id',
      letterCase: 'camel',
      author: (author) => ({ author: { __typename: author === 'user' ? 'Customer' : 'Agent' } }),
    },
    one: (_resource, fields) => ({ data: fields }),
    paging: paging(byLastId('after'), ({ items, ids, hasNext, lastId, from }) => ({
      edges: items.map((node, index) => ({ cursor: ids[from + index], node })),
      page_info: { has_next_page: hasNext, end_cursor: lastId },
    })),
    history: {
      paging: unpaged(({ items }) => ({ nodes: items, page_info: { has_next_page: false, end_cursor: null } })),
    },
    error: ({ sentence }) => ({ errors: [{ message: sentence }] }),
  },
];
