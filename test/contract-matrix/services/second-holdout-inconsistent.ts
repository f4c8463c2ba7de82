import { digits, numbers, prefixed, uuids } from '../ids.ts';
import { byLastId, byNumber, byOffset, byToken, newestFirst, paging, tokenOf, unpaged } from '../paging.ts';
import type { Service } from '../service.ts';
import type { Wire } from '../wire.ts';

/** Products whose operations were written by different people in different years. */

const iso = (ms: number): string => new Date(ms).toISOString();
const createdBy: Wire = { id: 901, name: 'Integration', email: 'ops@example.com' };

export const INCONSISTENT: readonly Service[] = [
  {
    name: 'team-two-generations',
    like: 'Spaces and agents are the old API (snake, pages), jobs and messages the new one (camel, cursors)',
    ids: numbers,
    names: {
      id: 'id',
      paths: {
        'cron_job.agent_id': 'agentId',
        'message.source_id': 'sourceId',
        'message.session_id': 'sessionId',
        'message.external_message_id': 'externalMessageId',
      },
      author: (author) => ({ authorType: author === 'user' ? 'user' : 'assistant' }),
      time: (ms) => ({ createdAt: iso(ms) }),
    },
    paging: paging(byNumber(), ({ key, items, number, pages, total }) => ({
      [key]: items,
      page: number,
      total_pages: pages,
      total_count: total,
    })),
    pagings: {
      cron_job: paging(byToken('cursor'), (page) => ({
        cronJobs: page.items,
        nextCursor: tokenOf(page),
        hasMore: page.hasNext,
      })),
      message: paging(byToken('cursor'), (page) => ({
        messages: page.items,
        nextCursor: tokenOf(page),
        hasMore: page.hasNext,
      })),
    },
    error: ({ code, sentence }) => ({ error: { code, message: sentence } }),
  },
  {
    name: 'team-embedded-relations',
    like: 'Everything comes with its relations: organization, space, agent, creator, each with an id and a name',
    ids: uuids,
    names: {
      id: 'id',
      author: (author) => ({ author: { id: 'p', name: 'Someone', role: author === 'user' ? 'customer' : 'agent' } }),
      wrap: (resource, fields, id) => ({
        ...fields,
        organization: { id: 'o1', name: 'Partner Inc.', external_id: 'org-1' },
        created_by: createdBy,
        ...(resource === 'agent' && {
          space: { id: fields.space_id, name: 'A space' },
          model: { id: 'm1', name: 'large' },
        }),
        ...(resource === 'cron_job' && {
          agent: { id: fields.agent_id, name: 'An agent' },
          last_run: { id: 'r1', status: 'ok' },
        }),
        ...(resource === 'message' && { conversation: { id: 'c1', status: 'open' }, reply_to: null, url: `/m/${id}` }),
      }),
    },
    one: (_resource, fields) => ({ data: fields }),
    paging: paging(byNumber(), ({ items, number, size, total, pages }) => ({
      data: items,
      pagination: { page: number, per_page: size, total, total_pages: pages },
    })),
    error: ({ sentence }) => ({ message: sentence, errors: [] }),
  },
  {
    name: 'team-agent-is-nested-in-job',
    like: 'Jobs have the agent as an object and two forms of the schedule; agents have their source as an object',
    ids: numbers,
    names: {
      id: 'id',
      paths: { 'cron_job.agent_id': 'agent.id' },
      author: (author) => ({ participant: author === 'user' ? 'customer' : 'agent' }),
      wrap: (resource, fields) =>
        resource === 'cron_job'
          ? { ...fields, cron: '30 7 * * *', enabled: true, next_run_at: iso(0), runs_count: 4 }
          : fields,
    },
    agentSource: (sourceId) => ({
      api_chat: sourceId === null ? null : { id: sourceId, enabled: true, routing_mode: 'agent_inbox' },
    }),
    paging: paging(byNumber(), ({ items, number, pages }) => ({ results: items, page: number, num_pages: pages })),
    error: ({ sentence }) => ({ error: { message: sentence } }),
  },
  {
    name: 'team-provision-returns-job',
    like: 'Provisioning is 202 with a request, the space, and agents with a state; sources are in the answer',
    ids: prefixed,
    created: 202,
    provisioned: (space, agents) => ({
      request_id: 'prq_1',
      status: 'completed',
      space,
      agents: agents.map((agent) => ({ agent, status: 'installed', warnings: [] })),
      warnings: [],
    }),
    names: { id: 'id', author: (author) => ({ sender: { role: author === 'user' ? 'customer' : 'agent' } }) },
    paging: paging(byLastId('after'), ({ items, hasNext, lastId }) => ({
      data: items,
      has_more: hasNext,
      last_id: lastId,
    })),
    error: ({ code, sentence }) => ({ error: code, message: sentence }),
  },
  {
    name: 'team-status-200-for-all',
    like: 'Every status is 200 in practice: ok and error in the body; offset lists with limit, offset, total',
    ids: digits,
    created: 200,
    names: {
      id: 'id',
      text: (content) => ({ content }),
      author: (author) => ({ sender: author === 'user' ? 'customer' : 'virtual_agent' }),
      time: (ms) => ({ time: ms }),
    },
    one: (_resource, result) => ({ ok: true, result, request_id: 'r-1' }),
    paging: paging(byOffset(), ({ items, from, size, total }) => ({
      ok: true,
      result: items,
      limit: size,
      offset: from,
      total,
      request_id: 'r-1',
    })),
    errorStatus: 200,
    error: ({ status, code, sentence }) => ({
      ok: false,
      error: { status, code, message: sentence },
      request_id: 'r-1',
    }),
  },
  {
    name: 'team-archived-and-deleted',
    like: 'Flags of archiving and deletion with every item, a default space that is archived, an agent without a name; drafts',
    ids: uuids,
    more: { defaultSpace: 'Default workspace', agents: ['', 'Old Billing'] },
    names: {
      id: 'id',
      author: (author) => ({ role: author === 'user' ? 'user' : 'assistant' }),
      wrap: (_resource, fields) => ({
        ...fields,
        archived: fields.name === 'Old Billing' || fields.name === 'Default workspace',
        deleted: false,
        deleted_at: null,
        version: 3,
      }),
    },
    paging: paging(byToken('page_token'), (page) => ({
      items: page.items,
      next_page_token: tokenOf(page),
      page_size: page.size,
    })),
    error: ({ sentence }) => ({ detail: sentence }),
  },
  {
    name: 'team-history-of-threads',
    like: 'The history is a thread with its entries, newest first with a cursor before; everything else is in pages',
    ids: numbers,
    names: {
      id: 'id',
      paths: { 'message.source_id': null, 'message.session_id': null },
      text: (text) => ({ content: [{ type: 'text', text }] }),
      author: (author) => ({ author: { type: author === 'user' ? 'customer' : 'agent' } }),
    },
    paging: paging(byNumber(), ({ items, number, pages }) => ({ items, page: number, pages })),
    history: {
      order: 'newest first',
      paging: paging(byLastId('before'), ({ items, hasNext, lastId }) => ({
        thread: { id: 'th_1', status: 'open', subject: null },
        entries: items,
        has_more: hasNext,
        before: hasNext ? lastId : null,
      })),
    },
    error: ({ sentence }) => ({ error: sentence }),
  },
  {
    name: 'team-typed-entries',
    like: 'Entries of the history are wrapped by their type, with system entries among them; lists wrap their items, too',
    ids: uuids,
    more: { messages: [['system', 'The session was closed.']] },
    announce: (text) => `Noted: ${text}`,
    names: {
      id: 'id',
      author: (author) => ({ role: author }),
      wrap: (resource, fields) =>
        resource === 'message'
          ? { type: fields.role === 'system' ? 'notification' : 'message', message: fields }
          : fields,
    },
    one: (resource, fields) => (resource === 'message' ? (fields.message ?? fields) : fields),
    paging: paging(byNumber(), ({ items, number, total, hasNext }) => ({
      items,
      total,
      next: hasNext ? { page: number + 1 } : null,
    })),
    history: { paging: unpaged(({ items }) => ({ items, next: null })) },
    error: ({ code, sentence }) => ({ code, error: sentence }),
  },
  {
    name: 'team-late-jobs-newest-first',
    like: 'A read replica behind the lists: new jobs come a second later, newest first; strict about parameters',
    ids: numbers,
    listsJobsLate: true,
    isStrict: true,
    names: {
      id: 'id',
      letterCase: 'camel',
      author: (author) => ({ isFromAgent: author === 'assistant' }),
      time: (ms) => ({ createdAt: iso(ms), editedAt: null }),
    },
    paging: newestFirst(
      paging(byOffset(), ({ items, from, size, total }) => ({
        data: items,
        meta: { limit: size, offset: from, total },
      })),
    ),
    history: { paging: unpaged(({ items }) => ({ data: items })) },
    error: ({ sentence }) => ({ errors: [{ field: 'x', message: sentence, code: 'invalid' }] }),
  },
  {
    name: 'team-per-page-of-ten',
    like: 'Nothing is announced on the lists but page and per_page; the last page is short or empty',
    ids: uuids,
    names: {
      id: 'id',
      author: (author) => ({ sender_kind: author === 'user' ? 'human' : 'bot' }),
      text: (text) => ({ text, text_html: `<p>${text}</p>`, lang: 'en' }),
    },
    paging: paging(byNumber(), ({ items, number, size }) => ({ data: items, page: number, per_page: size })),
    history: { paging: unpaged(({ items }) => ({ data: items })) },
    error: ({ sentence }) => ({ status: 'error', message: sentence }),
  },
];
