import { expect, it } from 'vitest';
import { UnfinishedReply } from '../../../src/chat/unfinished-reply.ts';
import type { Message } from '../../../src/contract/messages.ts';

function message(role: string, text: string | null, raw: Message['raw'], created_at: string | null = null): Message {
  const message_id = `${role} ${text}`;
  return { message_id, role, isReply: role === 'assistant', text, created_at, external_message_id: null, raw };
}

const question = message('user', 'Hi', { status: 'in_progress' }, '2026-01-01T00:00:00Z');
const reply = message('assistant', 'Let', { status: 'in_progress' }, '2026-01-01T00:00:05Z');
const empty = message('assistant', null, { state: 'IN-PROGRESS' });
const done = message('assistant', 'Let me see.', { status: 'completed' });

it.each<[string, readonly Message[], Message | undefined]>([
  ['the last message', [question, reply], reply],
  ['the first, if the newest comes first', [reply, question], reply],
  ['no message of the user', [done, question], undefined],
  ['no reply that another message follows', [reply, done], undefined],
  ['no finished reply', [question, done], undefined],
  ['nothing in an empty history', [], undefined],
])('finds %s', (_, messages, found) => {
  expect(new UnfinishedReply().find(messages, 0)).toBe(found);
});

it.each(['pending', 'queued', 'Processing', 'running', 'thinking', 'incomplete', 'partial', 'draft', 'typing'])(
  'finds a reply without a text that is %s, and none with a text',
  (status) => {
    const find = (text: string | null) => new UnfinishedReply().find([message('assistant', text, { status })], 0);
    expect([find(''), find(null), find(' ')]).not.toContain(undefined);
    expect(find('Let me see.')).toBeUndefined();
  },
);

it.each(['completed', 'failed', 'sent'])('finds no reply without a text that is %s', (status) => {
  expect(new UnfinishedReply().find([message('assistant', '', { status })], 0)).toBeUndefined();
});

it('finds a text no more that did not change for half a minute, and one without a text for ever', () => {
  const unfinished = new UnfinishedReply();
  const find = (last: Message, now: number) => unfinished.find([last], now);
  const longer = { ...reply, text: 'Let me' };
  expect([find(reply, 0), find(reply, 29_999), find(longer, 30_000), find(longer, 59_999)]).not.toContain(undefined);
  expect(find(longer, 60_000)).toBeUndefined();
  expect([find(empty, 0), find(empty, 9_999_999)]).toEqual([empty, empty]);
});
