import { describe, expect, it } from 'vitest';
import { Shown } from '../../../src/chat/shown.ts';
import type { Message } from '../../../src/contract/messages.ts';

const LIVE = { isBacklog: false, holdsUnfinished: true };
const BACKLOG = { ...LIVE, isBacklog: true };

function message(id: string, more: Partial<Message> = {}): Message {
  const common = {
    role: 'assistant',
    isReply: true,
    text: id,
    created_at: null,
    external_message_id: null,
    session_id: null,
    raw: {},
  };
  return { message_id: id, ...common, ...more };
}

const range = (from: number, to: number): Message[] =>
  Array.from({ length: to - from }, (_, index) => message(`m${from + index}`));
const idsOf = (messages: readonly Message[]): string[] => messages.map(({ message_id }) => message_id);

describe('the cursor', () => {
  it('alternates between the newest message and one that was shown ten seconds before the last such poll', () => {
    const shown = new Shown({ from: 'start' }, 0);
    const cursors = Array.from({ length: 22 }, (_, second) => {
      const cursor = shown.nextCursor(second * 1_000, false);
      shown.add([message(`m${second}`)], second * 1_000, LIVE);
      return cursor;
    });
    expect(cursors.slice(-3)).toEqual(['m18', 'm8', 'm20']);
    expect(shown.nextCursor(22_000, true)).toBe('m21');
  });

  it('starts before a message until it was read again ten seconds later, however long the pauses are', () => {
    const shown = new Shown({ from: 'after', message_id: 'm1' }, 0);
    const poll = (second: number, isDraining = false) => shown.nextCursor(second * 1_000, isDraining);
    expect([poll(0), poll(11)]).toEqual(['m1', 'm1']);
    shown.add([message('m3')], 11_000, LIVE);
    // The second poll failed.
    expect([poll(22), poll(33, true), poll(44)]).toEqual(['m1', 'm3', 'm1']);
    expect([poll(55), poll(66)]).toEqual(['m3', 'm3']);
  });
});

describe('the messages that a page adds', () => {
  it('are those after the place of an earlier run, none that it showed, and each once', () => {
    const shown = new Shown({ from: 'after', message_id: 'm5', recent: ['m3', 'm4'] }, 0);
    expect(idsOf(shown.add(range(0, 8), 0, LIVE))).toEqual(['m6', 'm7']);
    expect(idsOf(shown.add([...range(8, 10), ...range(8, 11)], 0, LIVE))).toEqual(['m8', 'm9', 'm10']);
  });

  it('do not include those whose ids are forgotten, in a service that repeats its whole history', () => {
    const shown = new Shown({ from: 'start' }, 0);
    const all = range(0, 25_000);
    expect(shown.add(all, 0, BACKLOG)).toHaveLength(25_000);
    expect(idsOf(shown.add([...all, message('new')], 0, LIVE))).toEqual(['new']);
  });
});

describe('a reply that the agent still writes', () => {
  const writing = (text: string | null, status = 'in_progress') => message('m1', { text, raw: { status } });

  it('is left out at the end of a response, with what its tools say, until a message of the user or the agent follows it', () => {
    const shown = new Shown({ from: 'start' }, 0);
    const tool = message('m0', { role: 'tool', isReply: false });
    expect(shown.add([writing('Let'), tool], 0, LIVE)).toEqual([]);
    expect(shown.isHolding).toBe(true);
    expect(idsOf(shown.add([writing('Let'), message('m2')], 0, LIVE))).toEqual(['m1', 'm2']);
  });

  it('is shown as it is if its text did not change for half a minute, and never without a text', () => {
    const shown = new Shown({ from: 'start' }, 0);
    const isShown = (text: string | null, now: number) => shown.add([writing(text)], now, LIVE).length > 0;
    expect([isShown('', 0), isShown('', 9_999_999), isShown('Let', 10_000_000)]).toEqual([false, false, false]);
    expect([isShown('Let me', 10_029_999), isShown('Let me', 10_059_998)]).toEqual([false, false]);
    expect(isShown('Let me', 10_059_999)).toBe(true);
  });
});
