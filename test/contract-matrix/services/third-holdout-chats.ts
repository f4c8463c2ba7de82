import { numbers, prefixed, snowflakes, uuids } from '../ids.ts';
import { byLastId, byNumber, byOffset, byToken, newestFirst, paging, tokenOf, unpaged } from '../paging.ts';
import type { Service } from '../service.ts';

/** The conventions of chats and help desks. */

const iso = (ms: number): string => new Date(ms).toISOString();

export const CHATS: readonly Service[] = [
  {
    name: 'chatwoot',
    like: 'Chatwoot: payload and meta with count and a page in a string, message_type 0 and 1 beside a sender with a type',
    ids: numbers,
    created: 200,
    names: {
      id: 'id',
      author: (author) => ({
        message_type: author === 'user' ? 0 : 1,
        sender: { id: 5, name: 'x', type: author === 'user' ? 'contact' : 'agent_bot' },
      }),
      text: (content) => ({ content, content_type: 'text', content_attributes: {} }),
      time: (ms) => ({ created_at: ms / 1000 }),
    },
    paging: paging(byNumber(), ({ items, number, total }) => ({
      meta: { count: total, current_page: String(number) },
      payload: items,
    })),
    history: { paging: unpaged(({ items }) => ({ meta: { labels: [], additional_attributes: {} }, payload: items })) },
    error: ({ sentence }) => ({ success: false, errors: [sentence] }),
  },
  {
    name: 'freshchat',
    like: 'Freshchat: pagination and links with rel and method, message_parts, actor_type; the history is newest first',
    ids: uuids,
    names: {
      id: 'id',
      author: (author) => ({ actor_type: author === 'user' ? 'user' : 'agent', actor_id: 'a1' }),
      text: (content) => ({ message_parts: [{ text: { content } }], message_type: 'normal' }),
      time: (ms) => ({ created_time: iso(ms) }),
    },
    paging: paging(byNumber(), ({ key, items, number, pages, size, total, hasNext, path }) => ({
      [key]: items,
      pagination: { total_items: total, total_pages: pages, current_page: number, items_per_page: size },
      links: {
        ...(hasNext && { next_page: { href: path({ page: number + 1 }), rel: 'next_page', method: 'GET' } }),
        last_page: { href: path({ page: pages }), rel: 'last_page', method: 'GET' },
      },
    })),
    history: {
      paging: newestFirst(
        paging(byNumber(), ({ items, number, hasNext, path }) => ({
          messages: items,
          link: hasNext ? { href: path({ page: number + 1 }), rel: 'next', method: 'GET' } : {},
        })),
      ),
    },
    error: ({ status, sentence }) => ({ code: status, status: 'NOT_FOUND', message: sentence }),
  },
  {
    name: 'freshdesk',
    like: 'Freshdesk: bare arrays and a Link header, incoming true or false, source as the number of a channel, HTML beside text',
    ids: (number) => 48_000_000_000 + number,
    names: {
      id: 'id',
      author: (author) => ({
        incoming: author === 'user',
        private: false,
        user_id: 9,
        source: author === 'user' ? 0 : 2,
      }),
      text: (text) => ({ body: `<div>${text}</div>`, body_text: text }),
      time: (ms) => ({ created_at: iso(ms), updated_at: iso(ms + 5) }),
    },
    paging: paging(byNumber(), ({ items }) => items, {
      headers: ({ hasNext, number, link }): Record<string, string> =>
        hasNext ? { link: `<${link({ page: number + 1 })}>; rel="next"` } : {},
    }),
    error: ({ sentence, code }) => ({
      description: 'Validation failed',
      errors: [{ field: 'id', message: sentence, code }],
    }),
  },
  {
    name: 'nextcloud-talk',
    like: 'Nextcloud: everything under ocs with a meta of its own; the history answers 304 when nothing is new',
    ids: numbers,
    created: 200,
    names: {
      id: 'id',
      letterCase: 'camel',
      author: (author) => ({ actorType: author === 'user' ? 'guests' : 'bots', actorId: 'x', actorDisplayName: 'X' }),
      text: (message) => ({ message, messageType: 'comment', messageParameters: [], markdown: true }),
      time: (ms) => ({ timestamp: ms / 1000, expirationTimestamp: 0 }),
    },
    one: (_resource, data) => ({ ocs: { meta: { status: 'ok', statuscode: 200, message: 'OK' }, data } }),
    paging: paging(byOffset(), ({ items, total }) => ({
      ocs: {
        meta: { status: 'ok', statuscode: 200, message: 'OK', totalitems: String(total), itemsperpage: '2' },
        data: items,
      },
    })),
    history: {
      paging: {
        position: { kind: 'none', parameters: [], from: () => 0 },
        answer: ({ items, ids }) =>
          items.length === 0
            ? { status: 304 }
            : {
                status: 200,
                headers: { 'X-Chat-Last-Given': ids.at(-1) ?? '' },
                body: { ocs: { meta: { status: 'ok', statuscode: 200, message: 'OK' }, data: items } },
              },
      },
    },
    error: ({ status, sentence }) => ({
      ocs: { meta: { status: 'failure', statuscode: status, message: sentence }, data: [] },
    }),
  },
  {
    name: 'zulip',
    like: 'Zulip: result and an empty msg, found_newest instead of a next, anchors; numeric times; is_bot of the sender',
    ids: numbers,
    created: 200,
    names: {
      id: 'id',
      author: (author) => ({ sender_id: 12, sender_full_name: 'X', sender_is_bot: author === 'assistant' }),
      text: (content) => ({ content, content_type: 'text/x-markdown', subject: 'greetings' }),
      time: (ms) => ({ timestamp: ms / 1000 }),
    },
    one: (_resource, fields) => ({ result: 'success', msg: '', ...fields }),
    paging: unpaged(({ key, items }) => ({ result: 'success', msg: '', [key]: items })),
    history: {
      paging: paging(byLastId('anchor'), ({ items, hasNext, from }) => ({
        result: 'success',
        msg: '',
        messages: items,
        found_anchor: true,
        found_oldest: from === 0,
        found_newest: !hasNext,
        history_limited: false,
      })),
    },
    error: ({ sentence }) => ({ result: 'error', msg: sentence, code: 'BAD_REQUEST' }),
  },
  {
    name: 'messagebird',
    like: 'MessageBird: offset, limit, count, totalCount, items; direction sent and received; content.text; …Datetime',
    ids: (number) => `fdcf0391fdc${number.toString(16)}`,
    names: {
      id: 'id',
      letterCase: 'camel',
      author: (author) => ({ direction: author === 'user' ? 'received' : 'sent', status: 'delivered', type: 'text' }),
      text: (text) => ({ content: { text } }),
      time: (ms) => ({ createdDatetime: iso(ms), updatedDatetime: iso(ms + 60_000) }),
    },
    paging: paging(byOffset(), ({ items, from, size, total }) => ({
      offset: from,
      limit: size,
      count: items.length,
      totalCount: total,
      items,
    })),
    error: ({ sentence }) => ({ errors: [{ code: 20, description: sentence, parameter: null }] }),
  },
  {
    name: 'viber-status-zero',
    like: 'Viber: status 0 and ok mean success, other numbers failure, always under HTTP 200; ids of 19 digits as strings',
    ids: snowflakes,
    created: 200,
    names: {
      id: 'id',
      author: (author) => ({ sender: { id: 's1', name: 'X', role: author === 'user' ? 'participant' : 'bot' } }),
      text: (text) => ({ type: 'text', text, media: null }),
      time: (ms) => ({ timestamp: ms }),
    },
    one: (_resource, fields) => ({ status: 0, status_message: 'ok', ...fields, chat_hostname: 'SN-CHAT-01' }),
    paging: paging(byToken('cursor'), (page) => ({
      status: 0,
      status_message: 'ok',
      [page.key]: page.items,
      next_cursor: tokenOf(page) ?? '',
    })),
    errorStatus: 200,
    error: ({ sentence, status }) => ({ status: status === 404 ? 6 : 3, status_message: sentence }),
  },
  {
    name: 'wecom-kf',
    like: 'WeCom: errcode 0, has_more 0 and 1, next_cursor, msgid, send_time in seconds; the origin of a message is a number',
    ids: prefixed,
    created: 200,
    names: {
      id: 'id',
      paths: { 'message.message_id': 'msgid', 'message.source_id': 'source_id' },
      author: (author) => ({ origin: author === 'user' ? 3 : 5 }),
      text: (content) => ({ msgtype: 'text', text: { content, menu_id: '' } }),
      time: (ms) => ({ send_time: ms / 1000 }),
    },
    one: (_resource, fields) => ({ errcode: 0, errmsg: 'ok', ...fields }),
    paging: paging(byToken('cursor'), (page) => ({
      errcode: 0,
      errmsg: 'ok',
      next_cursor: tokenOf(page) ?? '',
      has_more: page.hasNext ? 1 : 0,
      [page.resource === 'message' ? 'msg_list' : page.key]: page.items,
    })),
    errorStatus: 200,
    error: ({ sentence }) => ({ errcode: 95_000, errmsg: sentence }),
  },
  {
    name: 'discourse',
    like: 'Discourse: lists one level down with more_…_url, users and groups beside them; raw and cooked posts; flags',
    ids: numbers,
    created: 200,
    names: {
      id: 'id',
      author: (author) => ({
        username: 'x',
        user_id: author === 'user' ? 14 : -1,
        bot: author === 'assistant',
        admin: false,
      }),
      text: (text) => ({ raw: text, cooked: `<p>${text}</p>` }),
      time: (ms) => ({ created_at: iso(ms), updated_at: iso(ms) }),
    },
    paging: paging(byNumber('page', 0), ({ key, items, number, size, hasNext, path }) => ({
      users: [{ id: 14, username: 'x', name: 'X', avatar_template: '/u/{size}.png' }],
      primary_groups: [],
      [`${key}_list`]: {
        can_create: true,
        per_page: size,
        ...(hasNext && { [`more_${key}_url`]: path({ page: number }) }),
        [key]: items,
      },
    })),
    error: ({ sentence }) => ({ errors: [sentence], error_type: 'not_found' }),
  },
  {
    name: 'adf-documents',
    like: 'Texts as documents of blocks (Atlassian, ProseMirror), authors as accounts with a type, lists as isLast with startAt',
    ids: numbers,
    names: {
      id: 'id',
      letterCase: 'camel',
      author: (author) => ({ author: { accountId: 'x', accountType: author === 'user' ? 'customer' : 'app' } }),
      text: (text) => ({
        body: { type: 'doc', version: 1, content: [{ type: 'paragraph', content: [{ type: 'text', text }] }] },
      }),
      time: (ms) => ({ created: iso(ms).replace('Z', '+0000'), updated: iso(ms).replace('Z', '+0000') }),
    },
    paging: paging(byOffset('startAt'), ({ items, from, size, hasNext }) => ({
      maxResults: size,
      startAt: from,
      isLast: !hasNext,
      values: items,
    })),
    error: ({ sentence }) => ({ errorMessages: [sentence], errors: {} }),
  },
  {
    name: 'slate-blocks-newest-first',
    like: 'Texts as children of blocks, newest first with an inclusive cursor, authors as URNs, numbers for ids',
    ids: numbers,
    names: {
      id: 'id',
      author: (author) => ({ author: author === 'user' ? 'urn:acme:contact:14' : 'urn:acme:agent:2' }),
      text: (text) => ({ blocks: [{ type: 'paragraph', children: [{ text }] }] }),
      time: (ms) => ({ sent_at: ms }),
    },
    paging: paging(byNumber(), ({ items, number, pages }) => ({ items, current_page: number, last_page: pages })),
    history: { order: 'newest first', cursor: 'inclusive', paging: unpaged(({ items }) => ({ items })) },
    error: ({ sentence, code }) => ({ errors: { [code]: [sentence] } }),
  },
  {
    name: 'since-by-time',
    like: 'The history is read with `since`, a time; after_message_id is ignored; pages go back with `before`',
    ids: uuids,
    names: {
      id: 'id',
      author: (author) => ({ from: { type: author === 'user' ? 'lead' : 'bot', name: 'X' } }),
      text: (text) => ({ formats: { plain: text, html: `<p>${text}</p>`, markdown: text } }),
      time: (ms) => ({ ts: ms / 1000 }),
    },
    paging: paging(byToken('cursor'), (page) => ({
      data: page.items,
      cursors: { after: tokenOf(page), before: null },
    })),
    history: {
      cursor: 'ignored',
      order: 'newest first',
      paging: paging(byLastId('before'), ({ items, hasNext, lastId }) => ({
        data: items,
        paging: { has_older: hasNext, oldest: lastId },
      })),
    },
    error: ({ sentence }) => ({ fault: { faultstring: sentence, detail: { errorcode: 'x' } } }),
  },
  {
    name: 'history-search-hits',
    like: 'The history is a POST search with hits of _source; the other lists are bare with X-Total and X-Page',
    ids: uuids,
    names: {
      id: 'id',
      author: (author) => ({ sender: { kind: { name: author === 'user' ? 'VISITOR' : 'AGENT' } } }),
      time: (ms) => ({ '@timestamp': iso(ms) }),
    },
    paging: paging(byNumber(), ({ items }) => items, {
      headers: ({ total, number, pages, size }) => ({
        'X-Total': String(total),
        'X-Page': String(number),
        'X-Total-Pages': String(pages),
        'X-Per-Page': String(size),
      }),
    }),
    history: {
      method: 'POST',
      paging: unpaged(({ items, total }) => ({
        took: 3,
        timed_out: false,
        _shards: { total: 1, successful: 1, skipped: 0, failed: 0 },
        hits: {
          total: { value: total, relation: 'eq' },
          max_score: null,
          hits: items.map((_source) => ({ _index: 'messages-1', _id: _source.id, _score: null, _source })),
        },
      })),
    },
    error: ({ status, sentence }) => ({ error: { type: 'x', reason: sentence, root_cause: [] }, status }),
  },
  {
    name: 'drafts-and-events',
    like: 'A timeline: messages among events of the service, authors with a role of participants, text or null, cursors in the meta',
    ids: prefixed,
    announce: (text) => `Ticket opened: ${text}`,
    more: { messages: [['system', 'The ticket was closed.']] },
    names: {
      id: 'id',
      author: (author) => ({
        participant: author === 'system' ? null : { id: 'p', role: author === 'user' ? 'requester' : 'assistant' },
        event: author === 'system' ? 'status_changed' : 'message',
      }),
      time: (ms) => ({ occurred_at: iso(ms) }),
    },
    paging: paging(byToken('page[after]'), (page) => ({
      data: page.items,
      meta: { page: { after: tokenOf(page), before: null, has_more: page.hasNext } },
    })),
    error: ({ sentence }) => ({ errors: [{ title: 'Error', detail: sentence }] }),
  },
];
