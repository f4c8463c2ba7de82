import { describe, expect, it } from 'vitest';
import { Shown } from '../../../src/chat/shown.ts';
import type { Message } from '../../../src/contract/messages.ts';
import { message } from '../../support/chat.ts';

const range = (from: number, to: number): Message[] =>
  Array.from({ length: to - from }, (_, index) => message(`m${from + index}`));
const idsOf = (messages: readonly Message[]): string[] => messages.map(({ message_id }) => message_id);

/** Shows the new messages of a page. @returns their ids */
function show(shown: Shown, page: readonly Message[], now = 0): string[] {
  const fresh = shown.without(page);
  shown.add(fresh, now);
  return idsOf(fresh);
}

describe('the cursor of a lagging reading', () => {
  it('is the newest message that was shown ten seconds before the last such reading, however long ago that was', () => {
    const shown = new Shown({ from: 'after', message_id: 'm0' }, 0);
    for (let second = 1; second <= 30; second += 1) show(shown, [message(`m${second}`)], second * 1_000);
    expect([9_999, 10_000, 25_999, 36_000].map((readAt) => shown.lagging(readAt))).toEqual(['m0', 'm0', 'm15', 'm26']);
    expect(shown.newest).toBe('m30');
  });

  it('is before what existed at the start, but for messages that were created long before', () => {
    const created = (id: string, second: number) => message(id, { created_at: new Date(second * 1_000).toISOString() });
    const shown = new Shown({ from: 'start' }, 0);
    show(shown, range(0, 400));
    expect(shown.lagging(0)).toBeUndefined();
    show(shown, [created('old', 0), created('later', 100), created('newest', 159)]);
    expect(shown.lagging(0)).toBe('old');
  });
});

describe('the messages of a page that are new', () => {
  it('are those after the place of an earlier run, none that it showed, and each once', () => {
    const shown = new Shown({ from: 'after', message_id: 'm5', recent: ['m3', 'm4'] }, 0);
    expect(show(shown, range(0, 8))).toEqual(['m6', 'm7']);
    expect(show(shown, [...range(8, 10), ...range(8, 11)])).toEqual(['m8', 'm9', 'm10']);
  });

  it('do not include those whose ids are forgotten, in a service that repeats its whole history', () => {
    const shown = new Shown({ from: 'start' }, 0);
    const all = range(0, 25_000);
    expect(show(shown, all)).toHaveLength(25_000);
    expect(show(shown, [...all, message('new')])).toEqual(['new']);
  });
});
