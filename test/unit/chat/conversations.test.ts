import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { addMessage, type Conversation, compareUrgency, statusOf } from '../../../src/chat/conversations.ts';
import type { Message } from '../../../src/contract/messages.ts';

const T0 = Date.UTC(2026, 0, 1);
const UNREAD: Conversation = {
  source_id: 'src',
  session_id: 's',
  isRead: false,
  last: undefined,
  unanswered: undefined,
};

function message(id: string, role: string, at: number | null): Message {
  return {
    message_id: id,
    role,
    isReply: role === 'assistant',
    text: id,
    created_at: at === null ? null : new Date(at).toISOString(),
    external_message_id: null,
    raw: {},
  };
}

function conversationOf(messages: readonly Message[], from: Conversation = UNREAD): Conversation {
  return messages.reduce((conversation, each) => addMessage(conversation, each, T0 + 3_600_000), from);
}

const role = fc.constantFrom('user', 'assistant', 'system');
const roles = fc.array(role, { maxLength: 12 });
const written = (all: readonly string[]): Message[] =>
  all.map((each, index) => message(`m${index}`, each, T0 + index * 1_000));

describe('a conversation', () => {
  it('property: is unanswered since the first message of the customer after the last reply', () => {
    fc.assert(
      fc.property(roles, (all) => {
        const first = all.findIndex((each, index) => each === 'user' && index > all.lastIndexOf('assistant'));
        const { unanswered } = conversationOf(written(all));
        expect(unanswered).toEqual(first === -1 ? undefined : { message_id: `m${first}`, since: T0 + first * 1_000 });
      }),
    );
  });

  it('is unanswered since its message was seen, if that has no timestamp or a future one', () => {
    for (const at of [null, T0 + 7_200_000]) {
      expect(conversationOf([message('m', 'user', at)]).unanswered?.since).toBe(T0 + 3_600_000);
    }
  });

  it('is not treated as empty if it was not read', () => {
    expect(statusOf(UNREAD)).toBe('cannot_be_read');
    expect(statusOf({ ...UNREAD, isRead: true })).toBe('empty');
    expect(statusOf(conversationOf(written(['assistant'])))).toBe('answered');
  });
});

describe('the order of conversations', () => {
  it('property: is the longest unanswered first, then the answered, then the empty', () => {
    fc.assert(
      fc.property(fc.array(roles, { maxLength: 8 }), (many) => {
        const sorted = many
          .map((all) => conversationOf(written(all), { ...UNREAD, isRead: true }))
          .sort(compareUrgency);
        const waits = sorted.flatMap(({ unanswered }) => unanswered?.since ?? []);
        expect(waits).toEqual([...waits].sort((one, other) => one - other));
        const isUnanswered = sorted.map((each) => statusOf(each) === 'unanswered');
        expect(isUnanswered).toEqual([...isUnanswered].sort((one, other) => Number(other) - Number(one)));
        const lasts = sorted.map(({ last }) => last !== undefined);
        expect(lasts).toEqual(lasts.toSorted((one, other) => Number(other) - Number(one)));
      }),
    );
  });
});
