import { expect, test } from 'vitest';
import { Unfinished } from '../../../src/chat/unfinished.ts';
import type { Message } from '../../../src/contract/messages.ts';
import { message } from '../../support/chat.ts';

const writing = (text: string | null, more: Partial<Message> = {}) =>
  message('m1', { text, raw: { status: 'in_progress' }, ...more });

/** The ids of what is shown of messages after m0 that a reading brings at a time, in seconds. */
function reader() {
  const unfinished = new Unfinished();
  const read = (second: number, ...messages: Message[]) =>
    unfinished.release(messages, 'm0', second * 1_000).map(({ message_id }) => message_id);
  return { unfinished, read };
}

test('A reply that the agent still writes holds what follows it until it is whole', () => {
  const { unfinished, read } = reader();
  expect(read(0, writing('Let'), message('m2'))).toEqual([]);
  expect(unfinished.isHolding).toBe(true);
  expect(read(20, writing('Let me'), message('m2'))).toEqual([]);
  expect(read(49, message('m1', { text: 'Let me see.' }), message('m2'))).toEqual(['m1', 'm2']);
  expect(unfinished.isHolding).toBe(false);
});

test('A reply whose text has not changed for half a minute is shown as it is', () => {
  const { read } = reader();
  expect([read(0, writing('Let')), read(29, writing('Let me')), read(58, writing('Let me'))]).toEqual([[], [], []]);
  expect(read(59, writing('Let me'), message('m2'))).toEqual(['m1', 'm2']);
});

test('A reply without a text is passed by others after half a minute, and shown later; after ten minutes, as it is', () => {
  const { unfinished, read } = reader();
  expect(read(0, writing(''), message('m2'))).toEqual([]);
  expect(unfinished.passed(0)).toBeUndefined();
  expect(read(30, writing(''), message('m2'))).toEqual(['m2']);
  expect(unfinished.passed(30_000)).toEqual({ after: 'm0' });
  expect(read(90, message('m1', { text: 'Let me see.' }))).toEqual(['m1']);
  expect(unfinished.passed(90_000)).toBeUndefined();
  const other = reader();
  expect([other.read(0, writing('')), other.read(599, writing('')), other.read(600, writing(''))]).toEqual([
    [],
    [],
    ['m1'],
  ]);
});

test('A reply that was begun more than ten minutes ago holds nothing', () => {
  const { read } = reader();
  expect(read(601, writing('Let', { created_at: new Date(500).toISOString() }), message('m2'))).toEqual(['m1', 'm2']);
});
