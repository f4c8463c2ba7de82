import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  acceptPage,
  chooseCursor,
  forgiveCursors,
  hasUsableCursor,
  isConclusive,
  LAG_MS,
  latestIds,
  MAX_LAG,
  REMEMBERED,
  refuseCursor,
  startTail,
} from '../../../src/chat/tail-state.ts';
import { isDescending, isNewestFirst, type MessageRef } from '../../../src/contract/message-order.ts';

const T0 = Date.UTC(2026, 0, 1);
const range = (from: number, to: number): number[] =>
  Array.from({ length: Math.max(0, to - from) }, (_, index) => from + index);
const id = (index: number): string => `m${index}`;
const at = (message_id: string, created_at: string | null): MessageRef => ({ message_id, created_at });
const message = (index: number): MessageRef => at(id(index), new Date(T0 + index).toISOString());
const undated = (index: number): MessageRef => at(id(index), null);
const ids = (messages: readonly MessageRef[]): string[] => messages.map(({ message_id }) => message_id);

/** Holds the state of one tail and returns the ids that each page adds. */
function openTail(start: Parameters<typeof startTail>[0] = { from: 'start' }) {
  let state = startTail(start, 0);
  return {
    accept(messages: readonly MessageRef[], now = 0, isFurtherPage = false): string[] {
      const accepted = acceptPage(state, messages, now, isFurtherPage);
      state = accepted.state;
      return ids(accepted.fresh);
    },
    cursor: (now = 0) => chooseCursor(state, now),
    isConclusive: (cursor: string | undefined) => isConclusive(state, cursor),
    refuse(cursor: string): boolean {
      state = refuseCursor(state, cursor);
      return hasUsableCursor(state);
    },
    forgive() {
      state = forgiveCursors(state);
    },
    latest: () => latestIds(state),
    size: () => state.seen.size,
  };
}

type Tail = ReturnType<typeof openTail>;

/** Adds messages in pages of a hundred, and returns the ids that they add. */
function acceptAll(tail: Tail, indexes: readonly number[], create: (index: number) => MessageRef): string[] {
  return range(0, Math.ceil(indexes.length / 100)).flatMap((page) =>
    tail.accept(indexes.slice(100 * page, 100 * (page + 1)).map(create), page),
  );
}

describe('the messages that a page adds', () => {
  const swapped = [0, 2, 1, 3].map(message);
  const fraction = (message_id: string, digits: string): MessageRef => at(message_id, `2026-01-01T00:00:00.${digits}Z`);

  it.each<[string, readonly MessageRef[], string[]]>([
    ['each once', [0, 1, 1, 2].map(message), ['m0', 'm1', 'm2']],
    ['in order of their timestamps', swapped, ['m0', 'm1', 'm2', 'm3']],
    ['in the order received if one has no timestamp', [...swapped, undated(4)], ['m0', 'm2', 'm1', 'm3', 'm4']],
    [
      'in the order received if a timestamp is not a date',
      [...swapped, at('m4', 'yesterday')],
      ['m0', 'm2', 'm1', 'm3', 'm4'],
    ],
    [
      'in order of timestamps more precise than milliseconds',
      [fraction('b', '123400'), fraction('c', '1234001'), fraction('a', '123399'), fraction('b2', '1234')],
      ['a', 'b', 'b2', 'c'],
    ],
  ])('%s', (_, page, expected) => {
    expect(openTail().accept(page)).toEqual(expected);
  });

  it.each<[string, Parameters<typeof startTail>[0], readonly MessageRef[], string[]]>([
    ['dated', { from: 'after', message_id: 'm5' }, range(2, 8).map(message), ['m6', 'm7']],
    ['undated', { from: 'after', message_id: 'm5', recent: ['m3', 'm4'] }, range(3, 8).map(undated), ['m6', 'm7']],
    ['tied', { from: 'after', message_id: 'b' }, ['a', 'b', 'c'].map((each) => fraction(each, '0')), ['c']],
  ])('do not include the start message or earlier ones (%s)', (_, start, page, expected) => {
    expect(openTail(start).accept(page)).toEqual(expected);
  });

  it('include messages listed after the start with an earlier timestamp', () => {
    const tail = openTail({ from: 'after', message_id: 'm5' });
    expect(tail.accept([message(5), at('late', new Date(T0).toISOString()), message(6)])).toEqual(['late', 'm6']);
  });

  it('include messages that tie with the oldest remembered one, because showing them twice is better than never', () => {
    const tail = openTail();
    acceptAll(tail, range(0, 3 * REMEMBERED), (index) => fraction(id(index), '0'));
    expect(tail.accept([fraction('late', '0'), fraction(id(3 * REMEMBERED - 1), '0')])).toEqual(['late']);
  });

  it('include all messages after one from the future and one from the distant past', () => {
    const tail = openTail();
    tail.accept([at('future', '2999-01-01T00:00:00Z'), at('past', '1970-01-01T00:00:00Z')]);
    expect(acceptAll(tail, range(0, 5 * REMEMBERED), message)).toHaveLength(5 * REMEMBERED);
  });
});

describe('the cursor', () => {
  it('is the message to start after, or undefined for the entire session', () => {
    expect(openTail().cursor()).toBeUndefined();
    expect(openTail({ from: 'after', message_id: 'x' }).cursor()).toBe('x');
  });

  it('lags for a while, so that messages that become visible late are found', () => {
    const tail = openTail();
    tail.accept([message(0)]);
    tail.accept([message(1)], LAG_MS);
    expect(tail.cursor(LAG_MS)).toBe('m0');
    expect(tail.accept([message(3), message(2)], LAG_MS + 1)).toEqual(['m2', 'm3']);
    expect(tail.cursor(2 * LAG_MS)).toBe('m2');
    tail.accept([], 2 * LAG_MS);
    expect(tail.cursor(2 * LAG_MS)).toBe('m1');
    expect(tail.cursor(3 * LAG_MS)).toBe('m2');
  });

  it('lags by a few messages at most', () => {
    const tail = openTail();
    tail.accept(range(0, 100).map(message));
    expect(tail.cursor()).toBe('m99');
    tail.accept([]);
    expect(tail.cursor()).toBe(id(100 - MAX_LAG));
  });

  it('alternates once per response, regardless of its number of pages', () => {
    const tail = openTail();
    tail.accept(range(0, 5).map(message));
    tail.accept(range(5, 20).map(message), 0, true);
    expect(tail.cursor()).toBe('m19');
  });

  it('has no replacement when the only candidate is rejected', () => {
    expect(openTail({ from: 'after', message_id: 'x' }).refuse('x')).toBe(false);
    const resumed = openTail({ from: 'after', message_id: 'x', recent: ['w'] });
    const steps = [resumed.cursor(), resumed.refuse('x'), resumed.cursor(), resumed.refuse('w')];
    expect(steps).toEqual(['x', true, 'w', false]);
  });

  it('is the newest message of a history that comes newest first, even if its pages link back', () => {
    const newestFirst = (from: number, to: number): MessageRef[] => range(from, to).map(message).reverse();
    const tail = openTail();
    expect(tail.accept(newestFirst(10, 20)).at(-1)).toBe('m19');
    tail.accept(newestFirst(0, 10), 0, true);
    expect(tail.latest()).toEqual(range(20 - MAX_LAG, 20).map(id));
    tail.accept(newestFirst(20, 24), 1);
    expect(tail.latest().at(-1)).toBe('m23');
  });
});

describe('after all cursors are rejected', () => {
  function refuseAll() {
    const tail = openTail();
    tail.accept(range(0, 3).map(message));
    for (const cursor of ['m2', 'm1', 'm0']) expect(tail.refuse(cursor)).toBe(true);
    return tail;
  }

  it('the entire session is read, without showing old messages again', () => {
    const tail = refuseAll();
    expect(tail.cursor(1)).toBeUndefined();
    expect(tail.accept(range(0, 4).map(message), 1)).toEqual(['m3']);
    expect(tail.cursor(2)).toBe('m3');
  });

  it('and accepted again, the newest is used, and the next one lags', () => {
    const tail = refuseAll();
    tail.forgive();
    expect(tail.cursor(1)).toBe('m2');
    expect(tail.accept([message(2)], 1)).toEqual([]);
    expect(tail.cursor(1)).not.toBe('m2');
    expect(tail.isConclusive('m1')).toBe(false);
    expect(tail.accept(range(1, 4).map(message), 2)).toEqual(['m3']);
  });

  it('and accepted again several times, every message is shown once', () => {
    const tail = openTail();
    const shown = range(0, 40).flatMap((index) => {
      const cursor = tail.cursor(index);
      if (index % 3 === 1 && cursor !== undefined) {
        tail.refuse(cursor);
        tail.forgive();
      }
      return tail.accept(range(0, index + 1).map(message), index);
    });
    expect(shown).toEqual(range(0, 40).map(id));
  });
});

describe('a response that starts over from the first message', () => {
  const total = 3 * REMEMBERED;
  const added = range(total, total + 5).map(id);

  it.each([
    ['dated', message],
    ['undated', undated],
  ])('is skipped up to the remembered messages, and no further (%s)', (_, create) => {
    const tail = openTail();
    acceptAll(tail, range(0, total), create);
    expect(tail.accept(range(0, total + 5).map(create), total)).toEqual(added);
  });

  it('is skipped page by page, until a page has a remembered message', () => {
    const tail = openTail();
    acceptAll(tail, range(0, total), undated);
    const shown = range(0, total / 500 + 1).flatMap((page) =>
      tail.accept(range(500 * page, Math.min(500 * (page + 1), total + 5)).map(undated), total, page > 0),
    );
    expect(shown).toEqual(added);
  });

  it('does not affect the next response', () => {
    const tail = openTail();
    acceptAll(tail, range(0, total), undated);
    expect(tail.accept([undated(0), undated(1)], total)).toEqual([]);
    expect(tail.accept([undated(total)], total + 1)).toEqual([id(total)]);
  });
});

it.each<[string, readonly MessageRef[], boolean, boolean]>([
  ['three descending messages', [2, 1, 0].map(message), true, true],
  ['two descending messages', [1, 0].map(message), false, false],
  ['a tie', [message(2), message(1), message(1)], false, true],
  ['ties only', [message(1), message(1), message(1)], false, false],
  ['a message without a timestamp, by the numbers of the ids', [message(2), undated(1), message(0)], true, true],
  ['ascending messages', range(0, 5).map(message), false, false],
])('detects the order of %s', (_, messages, strictly, loosely) => {
  expect([isNewestFirst(messages), isDescending(messages)]).toEqual([strictly, loosely]);
});

it.each<[string, readonly MessageRef[], readonly string[]]>([
  [
    'numbered ids order ties',
    [at('m3', '2026-01-01'), at('m2', '2026-01-01'), at('m1', '2026-01-01')],
    ['m1', 'm2', 'm3'],
  ],
  [
    'numbers that contradict the time do not count',
    [at('m9', '2026-01-01T00:00:01Z'), at('m3', '2026-01-01T00:00:02Z'), at('m2', '2026-01-01T00:00:02Z')],
    ['m9', 'm3', 'm2'],
  ],
  [
    'newest first, the later of a tie is older',
    [at('c', '2026-01-01T00:00:02Z'), at('b', '2026-01-01T00:00:01Z'), at('a', '2026-01-01T00:00:01Z')],
    ['a', 'b', 'c'],
  ],
  ['oldest first, a tie keeps its order', [at('a', '2026-01-01'), at('b', '2026-01-01')], ['a', 'b']],
])('%s', (_, messages, sorted) => {
  expect(openTail().accept(messages)).toEqual(sorted);
});

/** A service that keeps messages in order but repeats them, swaps neighbors, and truncates its responses. */
interface Quirks {
  readonly repeat: number;
  readonly swapAt: readonly number[];
  readonly pageSize: number;
}

const quirks: fc.Arbitrary<Quirks> = fc.record({
  repeat: fc.nat(12),
  swapAt: fc.array(fc.nat(8), { maxLength: 4 }),
  pageSize: fc.integer({ min: 1, max: 7 }),
});

function swap(messages: MessageRef[], swapAt: readonly number[]): MessageRef[] {
  for (const index of swapAt) {
    const [left, right] = [messages[index], messages[index + 1]];
    if (left && right) messages.splice(index, 2, right, left);
  }
  return messages;
}

function respond(existing: readonly MessageRef[], cursor: string | undefined, quirk: Quirks): MessageRef[] {
  const start = cursor === undefined ? 0 : existing.findIndex(({ message_id }) => message_id === cursor) + 1;
  return swap(existing.slice(Math.max(0, start - quirk.repeat), start + quirk.pageSize), quirk.swapAt);
}

/** Polls a well-behaved service until there are no new messages. */
function drain(tail: Tail, existing: readonly MessageRef[], now: number): string[] {
  const shown: string[] = [];
  for (let time = now; ; time += LAG_MS) {
    const fresh = tail.accept(respond(existing, tail.cursor(time), { repeat: 0, swapAt: [], pageSize: 20 }), time);
    if (fresh.length === 0) return shown;
    shown.push(...fresh);
  }
}

describe('a tail (property)', () => {
  const steps = fc.array(fc.tuple(fc.nat(12), fc.nat(15_000), quirks), { maxLength: 60 });

  it('shows every message once, even if the service repeats, swaps, and truncates', () => {
    fc.assert(
      fc.property(steps, (polls) => {
        const tail = openTail();
        const existing: MessageRef[] = [];
        const shown: string[] = [];
        let now = 0;
        for (const [arriving, passed, quirk] of polls) {
          existing.push(...range(existing.length, existing.length + arriving).map(message));
          now += passed;
          shown.push(...tail.accept(respond(existing, tail.cursor(now), quirk), now));
        }
        shown.push(...drain(tail, existing, now));
        expect(shown.toSorted()).toEqual(ids(existing).toSorted());
        // A message swapped across the end of a response is late, but only by a bounded number of positions.
        const positions = shown.map((shownId) => Number(shownId.slice(1)));
        for (const [index, position] of positions.entries()) expect(Math.abs(position - index)).toBeLessThanOrEqual(8);
      }),
    );
  });

  it('shows messages in exact order if they are swapped within a response', () => {
    fc.assert(
      fc.property(steps, (polls) => {
        const tail = openTail();
        const existing: MessageRef[] = [];
        const shown: string[] = [];
        let now = 0;
        for (const [arriving, passed, quirk] of polls) {
          existing.push(...range(existing.length, existing.length + arriving).map(message));
          now += passed;
          shown.push(...tail.accept(respond(existing, tail.cursor(now), { ...quirk, pageSize: 1000 }), now));
          expect(shown).toEqual(ids(existing));
        }
      }),
    );
  });

  it('shows messages once and in order for any split of the history into pages, with repeats and swaps', () => {
    const page = fc.record({
      length: fc.integer({ min: 2, max: 9 }),
      repeat: fc.nat(MAX_LAG),
      swapAt: fc.array(fc.nat(12), { maxLength: 3 }),
      again: fc.boolean(),
    });
    fc.assert(
      fc.property(fc.array(page, { minLength: 1, maxLength: 40 }), fc.boolean(), (pages, isDated) => {
        const tail = openTail();
        const shown: string[] = [];
        let from = 0;
        for (const [now, { length, repeat, swapAt, again }] of pages.entries()) {
          const messages = range(Math.max(0, from - repeat), from + length).map(isDated ? message : undated);
          // Without timestamps, only the order of the response is available.
          swap(messages, isDated ? swapAt : []);
          from += length;
          shown.push(...tail.accept(messages, now));
          if (again) expect(tail.accept(messages, now)).toEqual([]);
        }
        expect(shown).toEqual(range(0, from).map(id));
      }),
    );
  });

  it('loses no message that becomes visible after its successors, within the lag of the cursor', () => {
    const rounds = fc.array(fc.tuple(fc.integer({ min: 1, max: MAX_LAG - 1 }), fc.nat(LAG_MS - 1)), { maxLength: 30 });
    fc.assert(
      fc.property(rounds, (batches) => {
        const tail = openTail();
        const existing: MessageRef[] = [];
        const shown: string[] = [];
        let now = 0;
        const poll = (visible: readonly MessageRef[]): void => {
          const page = respond(visible, tail.cursor(now), { repeat: 0, swapAt: [], pageSize: 1000 });
          shown.push(...tail.accept(page, now));
        };
        for (const [count, passed] of batches) {
          const late = existing.length;
          existing.push(...range(late, late + count).map(message));
          poll(existing.filter((_, index) => index !== late));
          now += passed;
          poll(existing);
          poll(existing);
          now += 2 * LAG_MS;
        }
        poll(existing);
        expect(shown.toSorted()).toEqual(ids(existing).toSorted());
      }),
    );
  });

  it('shows exactly the remaining messages after resuming anywhere', () => {
    const position = fc.tuple(fc.integer({ min: 0, max: 59 }), fc.boolean(), quirks);
    fc.assert(
      fc.property(position, ([last, hasRecent, quirk]) => {
        const existing = range(0, 60).map(message);
        const recent = hasRecent ? ids(existing.slice(Math.max(0, last - 8), last)) : [];
        const tail = openTail({ from: 'after', message_id: id(last), recent });
        const shown = tail.accept(respond(existing, tail.cursor(), { ...quirk, swapAt: [] }));
        shown.push(...drain(tail, existing, 1));
        expect(shown).toEqual(range(last + 1, 60).map(id));
      }),
    );
  });

  it('keeps a bounded state over 20,000 messages', () => {
    const tail = openTail();
    expect(acceptAll(tail, range(0, 20_000), message)).toHaveLength(20_000);
    expect(tail.size()).toBeLessThanOrEqual(2 * REMEMBERED);
  });
});
