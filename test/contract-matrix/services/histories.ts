import { digits, numbers, prefixed, uuids } from '../ids.ts';
import { byLastId, byNumber, byOffset, byToken, paging, tokenOf, unpaged } from '../paging.ts';
import type { Service } from '../service.ts';

/** How public chat and message APIs present their histories. All other operations are as specified. */

const plain = unpaged(({ items }) => ({ results: items }));
const iso = (ms: number): string => new Date(ms).toISOString();
const isUser = (author: string): boolean => author === 'user';

const SUPPORT: readonly Service[] = [
  {
    name: 'chat-intercom',
    like: 'Intercom: conversation_parts in conversation_parts; author with a type; seconds',
    ids: digits,
    names: {
      id: 'id',
      text: (body) => ({ part_type: 'comment', body }),
      author: (author) => ({ author: { type: isUser(author) ? 'user' : 'bot', id: '7', name: 'X' } }),
      time: (ms) => ({ created_at: ms / 1000, updated_at: ms / 1000 }),
    },
    paging: plain,
    history: {
      paging: unpaged(({ items, total }) => ({
        type: 'conversation',
        conversation_parts: { type: 'conversation_part.list', conversation_parts: items, total_count: total },
      })),
    },
  },
  {
    name: 'chat-zendesk-comments',
    like: 'Zendesk: comments whose authors are numbers only',
    ids: numbers,
    names: {
      id: 'id',
      text: (body) => ({ type: 'Comment', body, plain_body: body, public: true }),
      author: (author) => ({ author_id: isUser(author) ? 5001 : 9001 }),
    },
    paging: plain,
    history: {
      paging: paging(byToken('page[after]'), (page) => ({
        comments: page.items,
        meta: { has_more: page.hasNext, after_cursor: tokenOf(page) },
      })),
      cursor: 'ignored',
    },
  },
  {
    name: 'chat-front',
    like: 'Front: _results, is_inbound, seconds with a fraction; newest first, by links',
    names: {
      id: 'id',
      text: (body) => ({ type: 'custom', body, blurb: null }),
      author: (author) => ({ is_inbound: isUser(author), author: null }),
      time: (ms) => ({ created_at: ms / 1000 + 0.25 }),
    },
    paging: plain,
    history: {
      order: 'newest first',
      cursor: 'ignored',
      paging: paging(byToken('page_token'), (page) => ({
        _pagination: { next: page.hasNext ? page.link({ page_token: tokenOf(page) ?? '' }) : null },
        _results: page.items,
      })),
    },
  },
  {
    name: 'chat-hubspot',
    like: 'HubSpot conversations: senders, direction; paging.next.after',
    ids: uuids,
    names: {
      id: 'id',
      text: (text) => ({ type: 'MESSAGE', text, richText: `<p>${text}</p>` }),
      author: (author) => ({
        senders: [{ actorId: isUser(author) ? 'V-1' : 'B-2' }],
        direction: isUser(author) ? 'INCOMING' : 'OUTGOING',
      }),
      time: (ms) => ({ createdAt: iso(ms) }),
    },
    paging: plain,
    history: {
      cursor: 'ignored',
      paging: paging(byToken('after'), (page) => ({
        results: page.items,
        ...(page.hasNext && { paging: { next: { after: tokenOf(page) } } }),
      })),
    },
  },
  {
    name: 'chat-crisp',
    like: 'Crisp: error false, data; from is user or operator; milliseconds',
    ids: numbers,
    names: {
      paths: { 'message.message_id': 'fingerprint' },
      text: (content) => ({ type: 'text', content }),
      author: (author) => ({ from: isUser(author) ? 'user' : 'operator', origin: 'chat' }),
      time: (ms) => ({ timestamp: ms }),
    },
    paging: plain,
    history: { paging: unpaged(({ items }) => ({ error: false, reason: 'resolved', data: items })) },
    documented: { 'message.id': 'fingerprint' },
  },
  {
    name: 'chat-liveperson',
    like: 'LivePerson: events with an originator role, and the text in event.message',
    names: {
      id: 'id',
      text: (message) => ({ event: { type: 'ContentEvent', message, contentType: 'text/plain' } }),
      author: (author) => ({ originatorMetadata: { id: 'x', role: isUser(author) ? 'CONSUMER' : 'ASSIGNED_AGENT' } }),
      time: (ms) => ({ serverTimestamp: ms }),
    },
    paging: plain,
    history: { paging: unpaged(({ items }) => ({ body: { messages: items } })) },
  },
];

const CHATS: readonly Service[] = [
  {
    name: 'chat-sendbird',
    like: 'Sendbird: user.is_bot only for bots, type MESG, milliseconds; has_next',
    ids: numbers,
    names: {
      text: (message) => ({ type: 'MESG', message }),
      author: (author) => ({ user: { user_id: 'u', nickname: 'x', ...(!isUser(author) && { is_bot: true }) } }),
      time: (ms) => ({ created_at: ms, updated_at: 0 }),
    },
    paging: plain,
    history: { paging: unpaged(({ items }) => ({ messages: items, has_next: false })) },
  },
  {
    name: 'chat-stream',
    like: 'Stream: type regular, html beside the text, user.role',
    names: {
      id: 'id',
      text: (text) => ({ type: 'regular', text, html: `<p>${text}</p>\n` }),
      author: (author) => ({ user: { id: 'x', role: isUser(author) ? 'user' : 'agent', online: true } }),
    },
    paging: plain,
    history: { paging: unpaged(({ items }) => ({ messages: items, duration: '3ms' })) },
  },
  {
    name: 'chat-graph',
    like: 'Microsoft Graph: from.user or from.application, body.content; newest first by @odata.nextLink',
    ids: numbers,
    names: {
      id: 'id',
      letterCase: 'camel',
      text: (content) => ({ messageType: 'message', subject: null, body: { contentType: 'text', content } }),
      author: (author) => ({
        from: isUser(author)
          ? { application: null, device: null, user: { id: '8', displayName: 'Anna' } }
          : { application: { id: '9', displayName: 'Bot' }, device: null, user: null },
      }),
      time: (ms) => ({ createdDateTime: iso(ms), lastModifiedDateTime: iso(ms + 5) }),
    },
    paging: plain,
    history: {
      order: 'newest first',
      cursor: 'ignored',
      paging: paging(byToken('$skiptoken'), (page) => ({
        '@odata.context': 'messages',
        '@odata.count': page.items.length,
        value: page.items,
        ...(page.hasNext && { '@odata.nextLink': page.link({ $skiptoken: tokenOf(page) ?? '' }) }),
      })),
    },
  },
  {
    name: 'chat-matrix',
    like: 'Matrix: chunk, start and end; the end goes into from; senders are addresses',
    names: {
      paths: { 'message.message_id': 'event_id' },
      text: (body) => ({ type: 'm.room.message', content: { msgtype: 'm.text', body } }),
      author: (author) => ({ sender: isUser(author) ? '@anna:example.org' : '@help:example.org' }),
      time: (ms) => ({ origin_server_ts: ms }),
    },
    paging: plain,
    history: {
      cursor: 'ignored',
      paging: paging(byToken('from'), (page) => ({
        chunk: page.items,
        start: 't0',
        ...(page.hasNext && { end: tokenOf(page) }),
      })),
    },
    documented: { 'message.id': 'event_id' },
  },
  {
    name: 'chat-mattermost',
    like: 'Mattermost: order, and posts by id; milliseconds; newest first',
    names: {
      id: 'id',
      text: (message) => ({ message, type: '' }),
      author: (author) => ({ user_id: 'u', props: isUser(author) ? {} : { from_bot: 'true' } }),
      time: (ms) => ({ create_at: ms, update_at: ms, delete_at: 0 }),
    },
    paging: plain,
    history: {
      order: 'newest first',
      paging: unpaged(({ items, ids }) => ({
        order: ids,
        posts: Object.fromEntries(items.map((item, index) => [ids[index], item])),
        next_post_id: '',
        prev_post_id: '',
      })),
    },
  },
  {
    name: 'chat-rocket',
    like: 'Rocket.Chat: msg, u, bot only for bots; newest first, by count, offset, and total',
    names: {
      id: '_id',
      text: (msg) => ({ msg }),
      author: (author) => ({ u: { _id: 'u', username: 'x' }, ...(!isUser(author) && { bot: { i: 'helper' } }) }),
      time: (ms) => ({ ts: iso(ms), _updatedAt: iso(ms) }),
    },
    paging: plain,
    history: {
      order: 'newest first',
      cursor: 'ignored',
      paging: paging(byOffset(), ({ items, from, total }) => ({
        messages: items,
        count: items.length,
        offset: from,
        total,
        success: true,
      })),
    },
  },
  {
    name: 'chat-telegram',
    like: 'Telegram: updates with a message in them; from.is_bot; seconds',
    ids: numbers,
    names: {
      text: (text) => ({ text }),
      author: (author) => ({
        from: { id: 1, is_bot: !isUser(author), first_name: 'X' },
        chat: { id: 1, type: 'private' },
      }),
      time: (ms) => ({ date: ms / 1000 }),
      wrap: (resource, fields, id) =>
        resource === 'message' ? { update_id: Number(id) + 7, message: fields } : fields,
    },
    paging: plain,
    history: { paging: unpaged(({ items }) => ({ ok: true, result: items })) },
  },
];

const AGENTS: readonly Service[] = [
  {
    name: 'chat-openai',
    like: 'OpenAI threads: first_id, last_id, has_more; newest first; texts in content parts',
    names: {
      id: 'id',
      text: (value) => ({ object: 'thread.message', content: [{ type: 'text', text: { value, annotations: [] } }] }),
      time: (ms) => ({ created_at: ms / 1000 }),
    },
    paging: plain,
    history: {
      order: 'newest first',
      cursor: 'ignored',
      paging: paging(byLastId('after'), (page) => ({
        object: 'list',
        data: page.items,
        first_id: page.ids[page.from] ?? null,
        last_id: page.lastId,
        has_more: page.hasNext,
      })),
    },
  },
  {
    name: 'chat-anthropic',
    like: 'Content blocks; first_id, last_id, has_more; after_id; equal times',
    ids: uuids,
    names: {
      id: 'id',
      text: (text) => ({ type: 'message', content: [{ type: 'text', text }], stop_reason: null }),
      time: (ms) => ({ created_at: iso(ms) }),
    },
    paging: plain,
    history: {
      cursor: 'ignored',
      isCoarse: true,
      paging: paging(byLastId('after_id'), (page) => ({
        data: page.items,
        first_id: page.ids[page.from] ?? null,
        last_id: page.lastId,
        has_more: page.hasNext,
      })),
    },
  },
  {
    name: 'chat-botpress',
    like: 'Botpress: direction, payload.text, meta.nextToken',
    names: {
      id: 'id',
      text: (text) => ({ type: 'text', payload: { text } }),
      author: (author) => ({ userId: 'u', direction: isUser(author) ? 'incoming' : 'outgoing' }),
      time: (ms) => ({ createdAt: iso(ms) }),
    },
    paging: plain,
    history: {
      order: 'newest first',
      cursor: 'ignored',
      paging: paging(byToken('nextToken'), (page) => ({
        messages: page.items,
        meta: { ...(page.hasNext && { nextToken: tokenOf(page) }) },
      })),
    },
  },
  {
    name: 'chat-rasa',
    like: 'Rasa: events whose name is user or bot; seconds with a fraction',
    ids: uuids,
    names: {
      text: (text) => ({ text, metadata: {} }),
      author: (author) => ({ event: isUser(author) ? 'user' : 'bot' }),
      time: (ms) => ({ timestamp: ms / 1000 + 0.5 }),
    },
    paging: plain,
    history: { paging: unpaged(({ items }) => ({ sender_id: 'anna', paused: false, events: items })) },
  },
  {
    name: 'chat-dialogflow',
    like: 'Dialogflow: participantRole END_USER or AUTOMATED_AGENT; nextPageToken',
    ids: prefixed,
    names: {
      letterCase: 'camel',
      text: (content) => ({ content, languageCode: 'en' }),
      author: (author) => ({ participantRole: isUser(author) ? 'END_USER' : 'AUTOMATED_AGENT' }),
      time: (ms) => ({ createTime: iso(ms) }),
    },
    paging: plain,
    history: {
      cursor: 'ignored',
      paging: paging(byToken('pageToken'), (page) => ({ messages: page.items, nextPageToken: tokenOf(page) ?? '' })),
    },
  },
  {
    name: 'chat-numbered-newest',
    like: 'Page numbers, newest first, equal times, microseconds as digits',
    ids: uuids,
    names: { id: 'id', time: (ms) => ({ created_at: String(ms * 1000) }) },
    paging: plain,
    history: {
      order: 'newest first',
      cursor: 'ignored',
      isCoarse: true,
      paging: paging(byNumber(), ({ items, number, pages, total }) => ({ items, page: number, pages, total })),
    },
  },
];

export const HISTORIES: readonly Service[] = [...SUPPORT, ...CHATS, ...AGENTS];
