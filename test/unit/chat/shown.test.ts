import { describe, expect, it } from 'vitest';
import { Shown } from '../../../src/chat/shown.ts';
import type { Message } from '../../../src/contract/messages.ts';

const LIVE = { isBacklog: false, holdsUnfinished: true };
const BACKLOG = { ...LIVE, isBacklog: true };

function message(id: string, more: Partial<Message> = {}): Message {
  const common = { role: 'assistant', isReply: true, text: id, created_at: null, external_message_id: null, raw: {} };
  return { message_id: id, ...common, ...more };
}

const range = (from: number, to: number): Message[] =>
  Array.from({ length: to - from }, (_, index) => message(`m${from + index}`));
const idsOf = (messages: readonly Message[]): string[] => messages.map(({ message_id }) => message_id);

describe('the cursor', () => {
  it('alternates between the newest message and one that was shown ten seconds ago', () => {
    const shown = new Shown({ from: 'start' }, 0);
    for (let second = 0; second <= 20; second += 1) shown.add([message(`m${second}`)], second * 1_000, LIVE);
    expect(shown.nextCursor(20_000, false)).toBe('m10');
    expect(shown.nextCursor(20_000, false)).toBe('m20');
    expect(shown.nextCursor(20_000, false)).toBe('m10');
    expect(shown.nextCursor(20_000, true)).toBe('m20');
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

  it('is left out at the end of a response, until another message follows it', () => {
    const shown = new Shown({ from: 'start' }, 0);
    expect(shown.add([writing('Let')], 0, LIVE)).toEqual([]);
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
