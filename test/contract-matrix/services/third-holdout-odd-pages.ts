import { ServiceError } from '../http.ts';
import { numbers, prefixed, uuids } from '../ids.ts';
import {
  byNumber,
  byOffset,
  byToken,
  type ListRequest,
  type Paging,
  paging,
  token,
  tokenOf,
  unpaged,
} from '../paging.ts';
import type { Service } from '../service.ts';
import type { Wire } from '../wire.ts';

/** Odd but valid pages, writes, and ids: each of these exists somewhere. */

const iso = (ms: number): string => new Date(ms).toISOString();

function tokenIn({ url }: ListRequest, name: string): number {
  return byToken(name).from({ resource: 'space', key: '', items: [], ids: [], url, headers: {}, size: 1 });
}

/** Cursors that are valid once. They are stored by the URL of the server. */
function onceOnly(): Paging {
  const used = new Set<string>();
  const inner = paging(byToken('cursor'), (page) => ({ data: page.items, next_cursor: tokenOf(page) }));
  return {
    position: inner.position,
    answer: (list) => {
      const cursor = list.url.searchParams.get('cursor');
      if (cursor) {
        // The same list may be read again from its beginning, which creates new cursors.
        const key = `${list.url.origin}${list.url.pathname}${cursor}`;
        if (used.has(key)) throw new ServiceError(410, 'cursor_used', 'This cursor was used.');
        used.add(key);
      } else {
        for (const key of [...used]) if (key.startsWith(`${list.url.origin}${list.url.pathname}`)) used.delete(key);
      }
      return inner.answer(list);
    },
  };
}

/** A filter is applied after a page was read: pages of no, one, and two items. */
const ragged: Paging = {
  position: byToken('pageToken'),
  answer: (list) => {
    const at = tokenIn(list, 'pageToken');
    const sizes = [0, 1, 0, 2];
    let from = 0;
    for (let index = 0; index < at; index += 1) from += sizes[index % sizes.length] ?? 2;
    const size = sizes[at % sizes.length] ?? 2;
    const isEnd = from + size >= list.items.length && size > 0;
    return {
      status: 200,
      body: {
        items: list.items.slice(from, from + size),
        ...(!isEnd && list.items.length > 0 && { nextPageToken: token(at + 1) }),
      },
    };
  },
};

/** Each page starts with the last item of the one before. */
const overlapping: Paging = {
  position: byToken('startkey'),
  answer: (list) => {
    const from = tokenIn(list, 'startkey');
    const end = Math.min(list.items.length, from + list.size + 1);
    return {
      status: 200,
      body: { rows: list.items.slice(from, end), next_startkey: end < list.items.length ? token(end - 1) : null },
    };
  },
};

/** Another client adds an item at the top while the pages are read: the second page starts with an item of the first. */
const shifting: Paging = {
  position: byNumber(),
  answer: (list) => {
    const number = Number(list.url.searchParams.get('page') ?? '1');
    const shift = number > 1 ? 1 : 0;
    const from = Math.max(0, (number - 1) * list.size - shift);
    const total = list.items.length;
    const pages = Math.ceil((total + 1) / list.size);
    return {
      status: 200,
      body: { data: list.items.slice(from, from + list.size), page: number, last_page: total <= list.size ? 1 : pages },
    };
  },
};

export const ODD_PAGES: readonly Service[] = [
  {
    name: 'cursors-valid-once',
    like: 'Cursors that are valid once: 410 for a second use; ids in two alphabets',
    ids: (number, resource) => `${resource.slice(0, 2)}-ключ-${number}`,
    names: { id: 'id', author: (author) => ({ role: author }) },
    paging: onceOnly(),
    error: ({ code, sentence }) => ({ error: code, error_description: sentence }),
  },
  {
    name: 'ragged-pages',
    like: 'A filter behind the pages: the first is empty with a next, others are short; nothing else is said',
    ids: prefixed,
    names: { id: 'id', letterCase: 'camel', author: (author) => ({ author: author.toUpperCase() }) },
    paging: ragged,
    history: { paging: ragged },
    error: ({ status, sentence }) => ({ error: { code: status, message: sentence, status: 'INVALID_ARGUMENT' } }),
  },
  {
    name: 'overlapping-pages',
    like: 'Key ranges: each page begins with the last item of the one before; the history is inclusive',
    ids: uuids,
    names: { id: '_id', author: (author) => ({ type: author === 'user' ? 'question' : 'answer' }) },
    paging: overlapping,
    history: { cursor: 'inclusive', paging: unpaged(({ items }) => ({ rows: items })) },
    error: ({ code, sentence }) => ({ error: code, reason: sentence }),
  },
  {
    name: 'shifting-pages',
    like: 'Pages by number over a list that grows meanwhile: one item comes twice',
    ids: numbers,
    names: { id: 'id', author: (author) => ({ role: author }) },
    paging: shifting,
    history: { paging: unpaged(({ items }) => ({ data: items })) },
    error: ({ sentence }) => ({ message: sentence }),
  },
  {
    name: 'strings-for-all',
    like: 'A gateway in front of XML: every number and flag is a string; one item comes without its array',
    ids: numbers,
    created: 200,
    names: {
      id: 'id',
      author: (author) => ({ is_bot: author === 'assistant' ? 'true' : 'false' }),
      time: (ms) => ({ created: String(ms / 1000) }),
      wrap: (_resource, fields) =>
        Object.fromEntries(
          Object.entries(fields).map(([key, value]) => [
            key,
            typeof value === 'number' || typeof value === 'boolean' ? String(value) : value,
          ]),
        ),
    },
    paging: paging(byNumber(), ({ resource, items, number, pages, total, hasNext }) => ({
      response: {
        page: String(number),
        pages: String(pages),
        total: String(total),
        more: String(hasNext),
        [`${resource}s`]: { [resource]: items.length === 1 ? items[0] : items },
      },
    })),
    error: ({ status, sentence }) => ({ response: { stat: 'fail', err: { code: String(status), msg: sentence } } }),
  },
  {
    name: 'false-alarms',
    like: 'Whole lists among names that sound like more: next_maintenance_at, total_ms, cursor null, learn_more, a Consul index',
    ids: uuids,
    headers: {
      'X-Consul-Index': '55',
      'X-RateLimit-Remaining': '4999',
      'X-Total-Time': '12ms',
      'X-Next-Deploy': 'Friday',
    },
    names: {
      id: 'id',
      author: (author) => ({ role: author }),
      wrap: (_resource, fields) => ({ ...fields, next_review_at: null, page_views: 12, total_tokens: 90 }),
    },
    paging: unpaged(({ items }) => ({
      data: items,
      cursor: null,
      next_maintenance_at: '2026-05-01T00:00:00Z',
      total_ms: 12,
      support: { learn_more: 'https://service.example/docs', pages: 'https://service.example' },
    })),
    error: ({ sentence }) => ({ message: sentence }),
  },
  {
    name: 'operations-for-jobs',
    like: 'Creating a job is 202 with the operation that does it, whose id is not the job; it is listed a second later',
    ids: prefixed,
    created: 202,
    listsJobsLate: true,
    names: { id: 'id', author: (author) => ({ role: author }) },
    wrote: (write, { status, body }, { isNew, location }) =>
      write === 'create job'
        ? {
            status: 202,
            headers: { 'Retry-After': '1', 'Operation-Location': '/v1/operations/op_77' },
            body: { id: 'op_77', object: 'operation', status: 'running', kind: 'cron_job.create', target: location },
          }
        : { status: isNew ? 201 : status, body },
    paging: paging(byToken('cursor'), (page) => ({ data: page.items, next: tokenOf(page) })),
    error: ({ sentence }) => ({ message: sentence }),
  },
  {
    name: 'see-other',
    like: 'Jobs are created with 303 to the job; other writes answer 200 with an array of one',
    ids: numbers,
    created: 200,
    names: { id: 'id', author: (author) => ({ role: author }) },
    wrote: (write, { status, body }, { location }) =>
      write === 'create job' ? { status: 303, headers: { location } } : { status, body: [body] },
    paging: paging(byOffset(), ({ items, from, total }) => ({ items, offset: from, total })),
    error: ({ sentence }) => [{ message: sentence }],
  },
  {
    name: 'ranges-as-parameters',
    like: 'Ranges in the address: ?range=0-1, 206 with Content-Range and Accept-Range, Link with first, next, last',
    ids: uuids,
    names: { id: 'id', author: (author) => ({ auteur: { type: author === 'user' ? 'client' : 'agent' } }) },
    paging: paging(
      {
        kind: 'offset',
        parameters: ['range'],
        from: ({ url }) => Number((url.searchParams.get('range') ?? '0-1').split('-')[0]),
      },
      ({ items }) => items,
      {
        status: 206,
        headers: ({ from, items, total, size, hasNext, link, resource }) => ({
          'Content-Range': `${from}-${Math.max(0, from + items.length - 1)}/${total}`,
          'Accept-Range': `${resource} ${size}`,
          Link: [
            `<${link({ range: `0-${size - 1}` })}>; rel="first"`,
            ...(hasNext ? [`<${link({ range: `${from + size}-${from + 2 * size - 1}` })}>; rel="next"`] : []),
          ].join(','),
        }),
      },
    ),
    error: ({ sentence, code }) => ({ error: code, error_description: sentence }),
  },
  {
    name: 'links-with-everything',
    like: 'Link headers as RFC 8288 allows: several fields, other relations first, unquoted and doubled rels, titles with commas',
    ids: numbers,
    names: { id: 'id', author: (author) => ({ role: author }) },
    paging: paging(byToken('after'), ({ items }) => ({ elements: items }), {
      headers: (page): Record<string, string[]> => ({
        Link: [
          '</assets/app.css>; rel=preload; as=style',
          `<${page.link({})}>; title="this page, not the next; rel=\\"next\\""; rel="self describedby"`,
          ...(page.hasNext
            ? [`<${page.path({ after: tokenOf(page) ?? '' })}>; results="true"; REL="last Next"; title*=UTF-8''n%c3%a4`]
            : []),
        ],
      }),
    }),
    error: ({ sentence }) => ({ title: sentence }),
  },
  {
    name: 'ids-with-slashes',
    like: 'Ids are paths, and the name is the id of the parent with one more part; list items under resources',
    ids: (number, resource) => `tenants/acme/${resource}s/${number}`,
    names: {
      id: 'id',
      letterCase: 'camel',
      author: (author) => ({ author: { principalType: author === 'user' ? 'USER' : 'AGENT', principal: 'x@y' } }),
      time: (ms) => ({ createTime: { seconds: String(ms / 1000), nanos: 0 } }),
    },
    paging: paging(byToken('page_token'), (page) => ({
      resources: page.items,
      next_page_token: tokenOf(page) ?? '',
      total_size: page.total,
    })),
    error: ({ sentence }) => ({
      code: 5,
      message: sentence,
      details: [{ '@type': 'type.googleapis.com/x', reason: 'X' }],
    }),
  },
  {
    name: 'big-ids-and-versions',
    like: 'Ids of 19 digits as numbers, versions, page and more_pages, times that name their zone',
    ids: (number) => `92233720368547${10_000 + number}`,
    hasBigNumbers: true,
    names: {
      id: 'id',
      wrap: (_resource, fields): Wire => ({ ...fields, version: 2 }),
      author: (author) => ({ sender: { role: author } }),
      time: (ms) => ({ created_at: iso(ms).replace('T', ' ').replace('Z', ' UTC') }),
    },
    paging: paging(byNumber(), ({ items, number, hasNext }) => ({ data: items, page: number, more_pages: hasNext })),
    error: ({ sentence }) => ({ errors: [{ code: 34, message: sentence }] }),
  },
];
