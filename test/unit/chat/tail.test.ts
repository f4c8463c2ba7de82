import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { BEHIND_MS, isNewestFirst, MOST_BEHIND, type Placed, REMEMBERED, SessionTail } from '../../../src/chat/tail.ts';

const T0 = Date.UTC(2026, 0, 1);

function message(index: number, dated = true): Placed {
  return { message_id: `m${index}`, created_at: dated ? new Date(T0 + index).toISOString() : null };
}

function ids(messages: readonly Placed[]): string[] {
  return messages.map(({ message_id }) => message_id);
}

function range(from: number, to: number): number[] {
  return Array.from({ length: Math.max(0, to - from) }, (_, index) => from + index);
}

describe('what a session shows', () => {
  it('is every message of an answer, once', () => {
    const tail = new SessionTail({ from: 'start' }, 0);
    expect(
      ids(
        tail.accept(
          [0, 1, 1, 2].map((index) => message(index)),
          0,
        ),
      ),
    ).toEqual(['m0', 'm1', 'm2']);
    expect(
      ids(
        tail.accept(
          [1, 2, 3].map((index) => message(index)),
          1,
        ),
      ),
    ).toEqual(['m3']);
  });

  it('is in order of the moments where every message of an answer has one, else as it came', () => {
    const swapped = [0, 2, 1, 3].map((index) => message(index));
    expect(ids(new SessionTail({ from: 'start' }, 0).accept(swapped, 0))).toEqual(['m0', 'm1', 'm2', 'm3']);
    const undated = [...swapped, { message_id: 'm4', created_at: null }];
    expect(ids(new SessionTail({ from: 'start' }, 0).accept(undated, 0))).toEqual(['m0', 'm2', 'm1', 'm3', 'm4']);
    const unreadable = [...swapped, { message_id: 'm4', created_at: 'yesterday' }];
    expect(ids(new SessionTail({ from: 'start' }, 0).accept(unreadable, 0))).toEqual(['m0', 'm2', 'm1', 'm3', 'm4']);
  });

  it('heeds moments that are more exact than milliseconds, and keeps the order of equal ones', () => {
    const at = (message_id: string, fraction: string): Placed => ({
      message_id,
      created_at: `2026-01-01T00:00:00.${fraction}Z`,
    });
    const tail = new SessionTail({ from: 'start' }, 0);
    const answer = [at('b', '123400'), at('c', '1234001'), at('a', '123399'), at('b2', '1234')];
    expect(ids(tail.accept(answer, 0))).toEqual(['a', 'b', 'b2', 'c']);
  });

  it('leaves out what lies before the start, when an answer comes back to it', () => {
    const tail = new SessionTail({ from: 'after', message_id: 'm5' }, 0);
    expect(
      ids(
        tail.accept(
          range(2, 8).map((index) => message(index)),
          0,
        ),
      ),
    ).toEqual(['m6', 'm7']);
  });

  it('leaves out what an earlier run showed shortly before it ended, dated or not', () => {
    const tail = new SessionTail({ from: 'after', message_id: 'm5', recent: ['m3', 'm4'] }, 0);
    expect(
      ids(
        tail.accept(
          range(3, 8).map((index) => message(index, false)),
          0,
        ),
      ),
    ).toEqual(['m6', 'm7']);
  });

  it('does not lose what comes to exist after the start with an earlier moment', () => {
    const tail = new SessionTail({ from: 'after', message_id: 'm5' }, 0);
    const late: Placed = { message_id: 'late', created_at: new Date(T0).toISOString() };
    expect(ids(tail.accept([message(5), late, message(6)], 0))).toEqual(['late', 'm6']);
  });

  it('does not come back to what it has forgotten', () => {
    const tail = new SessionTail<Placed>({ from: 'start' }, 0);
    const total = 5 * REMEMBERED;
    for (const index of range(0, total)) tail.accept([message(index)], index);
    expect(
      tail.accept(
        range(0, total).map((index) => message(index)),
        total,
      ),
    ).toEqual([]);
  });

  it('is not held up by a message that says it is from the future or the distant past', () => {
    const tail = new SessionTail<Placed>({ from: 'start' }, 0);
    const strange: Placed[] = [
      { message_id: 'future', created_at: '2999-01-01T00:00:00Z' },
      { message_id: 'past', created_at: '1970-01-01T00:00:00Z' },
    ];
    tail.accept(strange, 0);
    const total = 5 * REMEMBERED;
    let shown = 0;
    for (const index of range(0, total)) shown += tail.accept([message(index)], index).length;
    expect(shown).toBe(total);
  });
});

describe('the cursor', () => {
  it('is the start, or nothing for the whole session', () => {
    expect(new SessionTail({ from: 'start' }, 0).cursor(0)).toBeUndefined();
    expect(new SessionTail({ from: 'after', message_id: 'x' }, 0).cursor(0)).toBe('x');
  });

  it('stays behind for a while, so that what comes to light late is caught', () => {
    const tail = new SessionTail({ from: 'start' }, 0);
    tail.accept([message(0)], 0);
    tail.accept([message(1)], BEHIND_MS);
    expect(tail.cursor(BEHIND_MS)).toBe('m0');
    expect(ids(tail.accept([message(3), message(2)], BEHIND_MS + 1))).toEqual(['m2', 'm3']);
    expect(tail.cursor(2 * BEHIND_MS)).toBe('m2');
    tail.accept([], 2 * BEHIND_MS);
    expect(tail.cursor(2 * BEHIND_MS)).toBe('m1');
    expect(tail.cursor(3 * BEHIND_MS)).toBe('m2');
  });

  it('is never far behind', () => {
    const tail = new SessionTail({ from: 'start' }, 0);
    tail.accept(
      range(0, 100).map((index) => message(index)),
      0,
    );
    expect(tail.cursor(0)).toBe('m99');
    tail.accept([], 0);
    expect(tail.cursor(0)).toBe(`m${100 - MOST_BEHIND}`);
  });

  it('is the last of the answer, whatever its moment: what the service puts behind it is not lost', () => {
    const tail = new SessionTail({ from: 'start' }, 0);
    tail.accept([message(5), message(4)], 0);
    expect(tail.cursor(BEHIND_MS)).toBe('m4');
  });

  it('is the newest from then on, when the service refuses an older one', () => {
    const tail = new SessionTail({ from: 'start' }, 0);
    tail.accept([message(0), message(1), message(2)], 0);
    expect(tail.refuse('m0')).toBe(true);
    expect(tail.cursor(0)).toBe('m2');
    tail.accept([message(3)], 1);
    expect(tail.cursor(1)).toBe('m3');
  });

  it('is an older one when the newest is refused, and at last the whole session if it began there', () => {
    const tail = new SessionTail({ from: 'start' }, 0);
    tail.accept([message(0), message(1)], 0);
    for (const expected of ['m1', 'm0']) {
      expect(tail.cursor(BEHIND_MS)).toBe(expected);
      expect(tail.refuse(expected)).toBe(true);
    }
    expect(tail.cursor(BEHIND_MS)).toBeUndefined();
    expect(ids(tail.accept([message(0), message(1), message(2)], 1))).toEqual(['m2']);
    expect(tail.cursor(1)).toBe('m2');
  });

  it('is the newest every other time, for an answer may be too short to reach it from behind', () => {
    const tail = new SessionTail({ from: 'start' }, 0);
    tail.accept(
      range(0, 20).map((index) => message(index)),
      0,
    );
    expect([tail.cursor(1), tail.isConclusive('m19'), tail.isConclusive('m12')]).toEqual(['m19', true, false]);
    tail.accept([], 1);
    expect(tail.cursor(1)).toBe('m12');
    tail.accept([message(13), message(14)], 1);
    expect(tail.cursor(1)).toBe('m19');
  });

  it('has no other to offer when the only one is refused', () => {
    expect(new SessionTail({ from: 'after', message_id: 'x' }, 0).refuse('x')).toBe(false);
    const resumed = new SessionTail({ from: 'after', message_id: 'x', recent: ['w'] }, 0);
    expect([resumed.cursor(0), resumed.refuse('x'), resumed.cursor(0), resumed.refuse('w')]).toEqual([
      'x',
      true,
      'w',
      false,
    ]);
  });
});

describe('a cursor that was refused', () => {
  function refusing(): SessionTail<Placed> {
    const tail = new SessionTail<Placed>({ from: 'start' }, 0);
    tail.accept([message(0), message(1), message(2)], 0);
    for (const cursor of ['m2', 'm1', 'm0']) expect(tail.refuse(cursor)).toBe(true);
    return tail;
  }

  it('leaves the whole session to be asked for, of which what was there is not shown again', () => {
    const tail = refusing();
    expect(tail.cursor(1)).toBeUndefined();
    expect(ids(tail.accept([message(0), message(1), message(2), message(3)], 1))).toEqual(['m3']);
    expect(tail.cursor(2)).toBe('m3');
  });

  it('is asked for again once pardoned, and lags behind once more', () => {
    const tail = refusing();
    tail.pardon();
    expect(tail.cursor(1)).toBe('m2');
    expect(tail.accept([message(2)], 1)).toEqual([]);
    expect(tail.cursor(1)).not.toBe('m2');
    expect(tail.isConclusive('m1')).toBe(false);
    expect(ids(tail.accept([message(1), message(2), message(3)], 2))).toEqual(['m3']);
  });

  it('may be refused and pardoned again and again, without a message lost or shown twice', () => {
    const tail = new SessionTail<Placed>({ from: 'start' }, 0);
    const shown: Placed[] = [];
    for (const index of range(0, 40)) {
      const existing = range(0, index + 1).map((each) => message(each));
      const cursor = tail.cursor(index);
      if (index % 3 === 1 && cursor !== undefined) {
        tail.refuse(cursor);
        tail.pardon();
      }
      shown.push(...tail.accept(existing, index));
    }
    expect(ids(shown)).toEqual(range(0, 40).map((index) => `m${index}`));
  });
});

describe('an answer that begins with the beginning once more', () => {
  const total = 3 * REMEMBERED;

  function read(dated: boolean): SessionTail<Placed> {
    const tail = new SessionTail<Placed>({ from: 'start' }, 0);
    for (const index of range(0, total)) tail.accept([message(index, dated)], index);
    return tail;
  }

  it.each([true, false])('is skipped up to what is remembered, and not beyond (dated: %s)', (dated) => {
    const again = range(0, total + 5).map((index) => message(index, dated));
    const tail = read(dated);
    tail.cursor(total);
    expect(ids(tail.accept(again, total))).toEqual(range(total, total + 5).map((index) => `m${index}`));
  });

  it('is skipped over its pages, until one of them comes to what is remembered', () => {
    const tail = read(false);
    tail.cursor(total);
    const shown: Placed[] = [];
    for (let from = 0; from < total + 5; from += 500) {
      const page = range(from, Math.min(from + 500, total + 5)).map((index) => message(index, false));
      shown.push(...tail.accept(page, total));
    }
    expect(ids(shown)).toEqual(range(total, total + 5).map((index) => `m${index}`));
  });

  it('has no say about the next question', () => {
    const tail = read(false);
    tail.cursor(total);
    expect(tail.accept([message(0, false), message(1, false)], total)).toEqual([]);
    tail.cursor(total + 1);
    expect(ids(tail.accept([message(total, false)], total + 1))).toEqual([`m${total}`]);
  });
});

describe('messages of one moment, or of none', () => {
  const at = (message_id: string, created_at: string | null): Placed => ({ message_id, created_at });
  const moment = '2026-01-01T00:00:00Z';

  it('keep the order in which they came', () => {
    const tied = ['c', 'a', 'b'].map((id) => at(id, moment));
    expect(ids(new SessionTail({ from: 'start' }, 0).accept(tied, 0))).toEqual(['c', 'a', 'b']);
    const undated = ['c', 'a', 'b'].map((id) => at(id, null));
    expect(ids(new SessionTail({ from: 'start' }, 0).accept(undated, 0))).toEqual(['c', 'a', 'b']);
  });

  it('are told from those before the start by where they stand', () => {
    const tail = (): SessionTail<Placed> => new SessionTail({ from: 'after', message_id: 'b' }, 0);
    const tied = ['a', 'b', 'c'].map((id) => at(id, moment));
    expect(ids(tail().accept(tied, 0))).toEqual(['c']);
    const undated = ['a', 'b', 'c'].map((id) => at(id, null));
    expect(ids(tail().accept(undated, 0))).toEqual(['c']);
  });

  it('that tie with the oldest remembered are shown: rather twice than never', () => {
    const tail = new SessionTail<Placed>({ from: 'start' }, 0);
    for (const index of range(0, 3 * REMEMBERED)) tail.accept([at(`m${index}`, moment)], index);
    expect(ids(tail.accept([at('late', moment), at(`m${3 * REMEMBERED - 1}`, moment)], 0))).toEqual(['late']);
  });
});

describe('an answer that begins with the newest', () => {
  const newestFirst = (from: number, to: number): Placed[] =>
    range(from, to)
      .map((index) => message(index))
      .reverse();

  it('is known by its moments, from three messages on', () => {
    expect(isNewestFirst(newestFirst(0, 3))).toBe(true);
    expect(isNewestFirst(newestFirst(0, 2))).toBe(false);
    expect(isNewestFirst([message(2), message(1), message(1)])).toBe(false);
    expect(isNewestFirst([message(2), message(1, false), message(0)])).toBe(false);
    expect(isNewestFirst(range(0, 5).map((index) => message(index)))).toBe(false);
  });

  it('leaves the newest as the cursor, also where its pages lead back', () => {
    const tail = new SessionTail<Placed>({ from: 'start' }, 0);
    expect(ids(tail.accept(newestFirst(10, 20), 0)).at(-1)).toBe('m19');
    tail.accept(newestFirst(0, 10), 0);
    expect(tail.latest).toEqual(range(20 - MOST_BEHIND, 20).map((index) => `m${index}`));
    tail.accept(newestFirst(20, 24), 1);
    expect(tail.latest.at(-1)).toBe('m23');
  });
});

/** A service that keeps messages in order and answers badly: it repeats, swaps neighbours, cuts short, and pages. */
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

function answer(
  existing: readonly Placed[],
  cursor: string | undefined,
  { repeat, swapAt, pageSize }: Quirks,
): Placed[] {
  const at = cursor === undefined ? 0 : existing.findIndex(({ message_id }) => message_id === cursor) + 1;
  const messages = existing.slice(Math.max(0, at - repeat), at + pageSize);
  for (const index of swapAt) {
    const [left, right] = [messages[index], messages[index + 1]];
    if (left && right) messages.splice(index, 2, right, left);
  }
  return messages;
}

describe('following', () => {
  const steps = fc.array(fc.tuple(fc.nat(12), fc.nat(15_000), quirks), { maxLength: 60 });

  function drain(tail: SessionTail<Placed>, existing: readonly Placed[], now: number): Placed[] {
    const plain: Quirks = { repeat: 0, swapAt: [], pageSize: 20 };
    const shown: Placed[] = [];
    for (let at = now, fresh: readonly Placed[] = []; ; at += BEHIND_MS) {
      fresh = tail.accept(answer(existing, tail.cursor(at), plain), at);
      shown.push(...fresh);
      if (fresh.length === 0) return shown;
    }
  }

  it('property: shows every message once, whatever the service repeats, swaps and pages', () => {
    fc.assert(
      fc.property(steps, (polls) => {
        const tail = new SessionTail<Placed>({ from: 'start' }, 0);
        const existing: Placed[] = [];
        const shown: Placed[] = [];
        let now = 0;
        for (const [arriving, passed, how] of polls) {
          for (let count = 0; count < arriving; count += 1) existing.push(message(existing.length));
          now += passed;
          shown.push(...tail.accept(answer(existing, tail.cursor(now), how), now));
        }
        shown.push(...drain(tail, existing, now));
        expect([...ids(shown)].sort()).toEqual([...ids(existing)].sort());
        // A neighbour that was swapped over the end of an answer is shown late, by no more than such a swap.
        const places = shown.map(({ message_id }) => Number(message_id.slice(1)));
        for (const [index, place] of places.entries()) expect(Math.abs(place - index)).toBeLessThanOrEqual(8);
      }),
    );
  });

  it('property: in exact order where answers are swapped within themselves', () => {
    fc.assert(
      fc.property(steps, (polls) => {
        const tail = new SessionTail<Placed>({ from: 'start' }, 0);
        const existing: Placed[] = [];
        const shown: Placed[] = [];
        let now = 0;
        for (const [arriving, passed, how] of polls) {
          for (let count = 0; count < arriving; count += 1) existing.push(message(existing.length));
          now += passed;
          // As many as a page has beyond what is repeated: swaps stay inside of the answer.
          shown.push(...tail.accept(answer(existing, tail.cursor(now), { ...how, pageSize: 1000 }), now));
          expect(ids(shown)).toEqual(ids(existing));
        }
      }),
    );
  });

  it('property: however the history is cut into pages, with repeats and swaps near the cursor: once, and in order', () => {
    const page = fc.record({
      length: fc.integer({ min: 2, max: 9 }),
      repeat: fc.nat(MOST_BEHIND),
      swapAt: fc.array(fc.nat(12), { maxLength: 3 }),
      again: fc.boolean(),
    });
    fc.assert(
      fc.property(fc.array(page, { minLength: 1, maxLength: 40 }), fc.boolean(), (pages, dated) => {
        const tail = new SessionTail<Placed>({ from: 'start' }, 0);
        const shown: Placed[] = [];
        let from = 0;
        for (const [now, { length, repeat, swapAt, again }] of pages.entries()) {
          const messages = range(Math.max(0, from - repeat), from + length).map((index) => message(index, dated));
          // Without moments there is no order but that of the answer.
          for (const index of dated ? swapAt : []) {
            const [left, right] = [messages[index], messages[index + 1]];
            if (left && right) messages.splice(index, 2, right, left);
          }
          from += length;
          tail.cursor(now);
          shown.push(...tail.accept(messages, now));
          if (again) expect(tail.accept(messages, now)).toEqual([]);
        }
        expect(ids(shown)).toEqual(range(0, from).map((index) => `m${index}`));
      }),
    );
  });

  it('property: loses nothing that comes to light after its successors, within the cursor’s lag', () => {
    fc.assert(
      fc.property(
        fc.array(fc.tuple(fc.integer({ min: 1, max: MOST_BEHIND - 1 }), fc.nat(BEHIND_MS - 1)), { maxLength: 30 }),
        (rounds) => {
          const tail = new SessionTail<Placed>({ from: 'start' }, 0);
          const existing: Placed[] = [];
          const shown: Placed[] = [];
          let now = 0;
          const poll = (visible: readonly Placed[]): void => {
            shown.push(
              ...tail.accept(answer(visible, tail.cursor(now), { repeat: 0, swapAt: [], pageSize: 1000 }), now),
            );
          };
          for (const [count, passed] of rounds) {
            const late = existing.length;
            for (let index = 0; index < count; index += 1) existing.push(message(existing.length));
            poll(existing.filter((_, index) => index !== late));
            now += passed;
            poll(existing);
            poll(existing);
            now += 2 * BEHIND_MS;
          }
          poll(existing);
          expect([...ids(shown)].sort()).toEqual([...ids(existing)].sort());
        },
      ),
    );
  });

  it('property: resumed anywhere, shows exactly the rest', () => {
    const place = fc.tuple(fc.integer({ min: 0, max: 59 }), fc.boolean(), quirks);
    fc.assert(
      fc.property(place, ([left, remembers, how]) => {
        const existing = range(0, 60).map((index) => message(index));
        const recent = remembers ? ids(existing.slice(Math.max(0, left - 8), left)) : [];
        const tail = new SessionTail<Placed>({ from: 'after', message_id: `m${left}`, recent }, 0);
        const shown = [...tail.accept(answer(existing, tail.cursor(0), { ...how, swapAt: [] }), 0)];
        shown.push(...drain(tail, existing, 1));
        expect(ids(shown)).toEqual(ids(existing.slice(left + 1)));
      }),
    );
  });

  it('keeps its memory flat over 200,000 messages', () => {
    const tail = new SessionTail<Placed>({ from: 'start' }, 0);
    let shown = 0;
    for (let from = 0; from < 200_000; from += 100) {
      shown += tail.accept(
        range(from, from + 100).map((index) => message(index)),
        from,
      ).length;
    }
    expect(shown).toBe(200_000);
    expect(tail.size).toBeLessThanOrEqual(2 * REMEMBERED);
  });
});
