import { digits, numbers, prefixed, uuids } from '../ids.ts';
import { byLastId, byNumber, byOffset, byToken, ending, paging, tokenOf, unpaged } from '../paging.ts';
import type { Service } from '../service.ts';
import type { Wire } from '../wire.ts';

/** How teams that write Ruby or Python would implement the specification, each in its own product. */

const iso = (ms: number): string => new Date(ms).toISOString();
/** Django's times in Berlin. */
const zoned = (ms: number): string => `${iso(ms + 3_600_000).slice(0, 23)}000+01:00`;
const naive = (ms: number): string => `${iso(ms).slice(0, 23)}000`;
const times: Wire = { created_at: '2026-02-01T10:00:00.000Z', updated_at: '2026-02-03T11:30:00.000Z' };

export const RUBY_PYTHON: readonly Service[] = [
  {
    name: 'team-rails-kaminari',
    like: 'Rails with jbuilder and kaminari: root keys, meta with total_pages, numeric ids, gzip and ETag',
    ids: numbers,
    isCompressed: true,
    headers: { etag: 'W/"6f1ed002ab5595859014ebf0951522d9"', 'cache-control': 'max-age=0, private, must-revalidate' },
    mediaType: 'application/json; charset=utf-8',
    more: { defaultSpace: 'Default', messages: [['user', '']] },
    names: {
      id: 'id',
      text: (text) => ({ body: text, attachments: text === '' ? [{ id: 7, filename: 'scan.png' }] : [] }),
      author: (author) => ({ sender_type: author === 'user' ? 'Contact' : 'Bot', sender_id: 311 }),
      wrap: (_resource, fields) => ({ ...fields, ...(fields.created_at === undefined && times) }),
    },
    one: (resource, fields) => ({ [resource]: fields }),
    paging: paging(byNumber(), ({ key, items, number, pages, total, size }) => ({
      [key]: items,
      meta: {
        current_page: number,
        next_page: number < pages ? number + 1 : null,
        prev_page: number > 1 ? number - 1 : null,
        total_pages: pages,
        total_count: total,
        per_page: size,
      },
    })),
    error: ({ status, sentence }) => ({ status, error: 'Unprocessable Entity', errors: { base: [sentence] } }),
  },
  {
    name: 'team-rails-pagy',
    like: 'Rails with pagy: bare arrays and the headers current-page, page-items, total-pages, total-count, and Link',
    ids: uuids,
    names: {
      id: 'id',
      author: (author) => ({ author: { kind: author === 'user' ? 'customer' : 'agent', display_name: 'Someone' } }),
      time: (ms) => ({ created_at: iso(ms), edited_at: null }),
    },
    paging: paging(byNumber(), ({ items }) => items, {
      headers: ({ number, pages, total, size, link, hasNext }) => ({
        'current-page': String(number),
        'page-items': String(size),
        'total-pages': String(pages),
        'total-count': String(total),
        link: [
          `<${link({ page: 1 })}>; rel="first"`,
          ...(hasNext ? [`<${link({ page: number + 1 })}>; rel="next"`] : []),
          `<${link({ page: pages })}>; rel="last"`,
        ].join(', '),
      }),
    }),
    error: ({ code, sentence }) => ({
      errors: [{ status: '422', code, detail: sentence, source: { parameter: 'x' } }],
    }),
  },
  {
    name: 'team-rails-grape',
    like: 'Grape entities: data and page; roles human and bot; a system line in each chat; times in seconds',
    ids: prefixed,
    more: { messages: [['system', 'The chat was assigned to Billing.']] },
    announce: (text) => `Queued: ${text}`,
    names: {
      id: 'id',
      author: (author) => ({ from: { user: 'human', assistant: 'bot', system: 'system' }[author] }),
      time: (ms) => ({ created_at: Math.round(ms / 1000) }),
    },
    one: (_resource, fields) => ({ data: fields }),
    paging: paging(byNumber(), ({ items, number, pages, total, size }) => ({
      data: items,
      page: { number, size, total_elements: total, total_pages: pages },
    })),
    error: ({ sentence }) => ({ error: sentence }),
  },
  {
    name: 'team-rails-sidekiq-jobs',
    like: 'Rails whose jobs come from an older gem: jobs in camelCase under cronJobs, spaces under workspaces',
    ids: numbers,
    names: {
      id: 'id',
      paths: {
        'cron_job.cron_job_id': 'jid',
        'cron_job.agent_id': 'agentId',
        'cron_job.instructions': 'prompt',
      },
      author: (author) => ({ direction: author === 'user' ? 'inbound' : 'outbound', channel: 'api' }),
    },
    paging: paging(byNumber(), ({ key, items, number, hasNext, total }) => ({
      [key === 'spaces' ? 'workspaces' : key]: items,
      total_entries: total,
      next_page: hasNext ? number + 1 : null,
    })),
    pagings: {
      cron_job: paging(byOffset(), ({ items, total, size, from }) => ({
        cronJobs: items,
        totalCount: total,
        limit: size,
        offset: from,
      })),
    },
    error: ({ sentence, status }) =>
      status === 404 ? '<html><body><h1>404 Not Found</h1></body></html>' : { message: sentence },
  },
  {
    name: 'team-django-page-number',
    like: 'Django REST framework with PageNumberPagination, and nested organizations; times with an offset; the history oldest first',
    ids: uuids,
    names: {
      id: 'uuid',
      author: (author) => ({ is_from_agent: author === 'assistant', author_name: null }),
      time: (ms) => ({ created: zoned(ms), modified: zoned(ms + 5_000) }),
      wrap: (resource, fields) =>
        resource === 'space'
          ? { ...fields, organization: { uuid: '9c1e4e0e-0000-4000-8000-000000000001', name: 'Partner Inc.' } }
          : fields,
    },
    paging: paging(ending(byNumber()), ({ items, total, number, hasNext, link }) => ({
      count: total,
      next: hasNext ? link({ page: number + 1 }) : null,
      previous: number > 1 ? link({ page: number - 1 }) : null,
      results: items,
    })),
    error: ({ sentence, code }) => ({ [code]: [sentence] }),
  },
  {
    name: 'team-django-cursor',
    like: 'Django REST framework with CursorPagination on everything, newest first; agents without names',
    ids: numbers,
    more: { agents: [null] },
    names: {
      id: 'id',
      author: (author) => ({ sender: author === 'user' ? 'customer' : 'ai' }),
      text: (text) => ({ content: { body: text, format: 'markdown' } }),
      time: (ms) => ({ timestamp: zoned(ms) }),
    },
    paging: paging(byToken('cursor'), (page) => ({
      next: page.hasNext ? page.link({ cursor: tokenOf(page) ?? '' }) : null,
      previous: null,
      results: page.items,
    })),
    history: { order: 'newest first' },
    error: ({ sentence }) => ({ non_field_errors: [sentence] }),
  },
  {
    name: 'team-django-ninja',
    like: 'Django Ninja: items and count, limit and offset that the answer does not repeat; created with 200',
    ids: digits,
    created: 200,
    names: {
      id: 'id',
      author: (author) => ({ role: author === 'user' ? 'USER' : 'ASSISTANT' }),
      time: (ms) => ({ created_at: naive(ms) }),
    },
    paging: paging(byOffset(), ({ items, total }) => ({ items, count: total })),
    error: ({ sentence }) => ({ detail: [{ loc: ['query', 'x'], msg: sentence, type: 'value_error' }] }),
  },
  {
    name: 'team-fastapi-pages',
    like: 'FastAPI with fastapi-pagination: items, total, page, size, pages; snake case; Pydantic errors; no closing slashes',
    ids: uuids,
    slash: { read: 307, write: 307 },
    names: {
      id: 'id',
      author: (author) => ({ sender: { type: author === 'user' ? 'end_user' : 'agent', id: 'b7' } }),
      time: (ms) => ({ sent_at: naive(ms) }),
      hasTemplates: true,
    },
    paging: paging(byNumber(), ({ items, total, number, size, pages }) => ({
      items,
      total,
      page: number,
      size,
      pages,
    })),
    history: { paging: unpaged(({ items }) => ({ messages: items })) },
    error: ({ sentence }) => ({ detail: [{ type: 'missing', loc: ['body'], msg: sentence, input: null }] }),
    documented: { 'paths.trailing_slash': 'never' },
  },
  {
    name: 'team-flask-marshmallow',
    like: 'Flask and marshmallow: status ok around everything, has_more and last_id',
    ids: numbers,
    names: {
      id: 'id',
      author: (author) => ({ origin: author === 'user' ? 'customer' : 'bot' }),
      text: (text) => ({ message: text }),
      time: (ms) => ({ ts: ms / 1000 }),
    },
    one: (_resource, fields) => ({ status: 'ok', data: fields }),
    paging: paging(byLastId('after_id'), ({ items, hasNext, lastId }) => ({
      status: 'ok',
      data: items,
      has_more: hasNext,
      last_id: lastId,
    })),
    error: ({ sentence, code }) => ({ status: 'error', errors: { json: { [code]: [sentence] } } }),
  },
  {
    name: 'team-sanic-late-jobs',
    like: 'Sanic and a queue: new jobs are listed a second later; answers 202; jobs paused or not',
    ids: prefixed,
    listsJobsLate: true,
    created: 202,
    names: {
      id: 'id',
      author: (author) => ({ author_type: author === 'user' ? 'customer' : 'agent' }),
      wrap: (resource, fields) =>
        resource === 'cron_job'
          ? { ...fields, state: fields.name === 'weekly' ? 'paused' : 'active', next_run_at: null, last_run: null }
          : fields,
    },
    paging: paging(byToken('cursor'), (page) => ({
      result: page.items,
      paging: { next_cursor: tokenOf(page), count: page.items.length },
    })),
    error: ({ sentence, status }) => ({ description: 'Bad Request', status, message: sentence }),
  },
];
