import { bigNumbers, digits, numbers, snowflakes, uuids } from '../facts.ts';
import { byLastId, byPage, byToken, type Service } from '../service.ts';

/* Chats, whose histories differ more than their lists. */

const all: Service['list'] = ({ items }) => ({ results: items });

export const HISTORIES: readonly Service[] = [
  {
    name: 'intercom',
    ids: digits,
    id: 'id',
    fields: { 'message.text': 'body' },
    author: ['author.type', 'user', 'bot'],
    time: (ms) => ms / 1000,
    list: all,
    history: {
      list: ({ items, total }) => ({
        type: 'conversation',
        conversation_parts: { type: 'conversation_part.list', conversation_parts: items, total_count: total },
      }),
    },
  },
  {
    name: 'openai-threads',
    id: 'id',
    fields: { 'message.text': 'content.0.text.value' },
    also: { 'message.content.0.type': 'text', 'message.object': 'thread.message' },
    time: (ms) => ms / 1000,
    list: all,
    history: {
      order: 'newest first',
      cursor: 'ignored',
      paging: byLastId('after'),
      list: ({ items, firstId, lastId, hasNext }) => ({
        object: 'list',
        data: items,
        first_id: firstId,
        last_id: lastId,
        has_more: hasNext,
      }),
    },
  },
  {
    name: 'microsoft-graph-chat',
    ids: numbers,
    id: 'id',
    casing: 'camel',
    fields: { 'message.text': 'body.content', 'message.created_at': 'createdDateTime' },
    author: ['from.type', 'user', 'application'],
    untold: { fact: 'which author is the agent', operations: ['chat tail'] },
    list: all,
    history: {
      order: 'newest first',
      cursor: 'ignored',
      paging: byToken('$skiptoken'),
      list: ({ items, next }) => ({
        '@odata.count': items.length,
        value: items,
        ...(next && { '@odata.nextLink': next }),
      }),
    },
  },
  {
    // Snowflakes as numbers that JavaScript cannot hold, newest first, without times: only the ids order them.
    name: 'big-numbers-newest-first',
    ids: bigNumbers,
    id: 'id',
    fields: { 'message.created_at': null },
    list: all,
    history: {
      order: 'newest first',
      paging: byPage(),
      list: ({ items, number, pages }) => ({ items, page: number, pages }),
    },
  },
  {
    name: 'discord',
    ids: snowflakes,
    id: 'id',
    fields: { 'message.text': 'content', 'message.created_at': 'timestamp' },
    author: ['author.bot', false, true],
    list: all,
    history: {
      order: 'newest first',
      cursor: 'ignored',
      paging: byLastId('before'),
      list: ({ items, hasNext }) => ({ messages: items, has_more: hasNext }),
    },
  },
  {
    // Random ids, newest first, no times: nothing orders the messages but the page.
    name: 'uuids-without-times',
    ids: uuids,
    id: 'id',
    fields: { 'message.created_at': null },
    list: all,
    history: { order: 'newest first' },
    impossible: { 'chat tail': 'Nothing tells the order of the messages.' },
  },
  {
    // The parameter of the session is not looked at under its specified name, and all sessions come.
    name: 'thread-parameter-unscoped',
    ids: numbers,
    id: 'id',
    list: all,
    history: { parameters: { session: 'thread' }, isUnscoped: true },
  },
];
