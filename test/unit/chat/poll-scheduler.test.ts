import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ACTIVE_MS, IDLE_MS, JITTER, type PollOutcome, PollScheduler } from '../../../src/chat/poll-scheduler.ts';
import { propertyRuns } from '../../support/properties.ts';

const HOUR = 3_600_000;
const T0 = Date.UTC(2026, 0, 1);
const NOTHING: PollOutcome = { hasNewMessages: false, expectsReply: false, more: false, waitMs: undefined };
const chance = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });

interface Poll {
  readonly session: string;
  readonly at: number;
}

/** Polls on a simulated clock from one time to another. Every poll takes `latencyMs` and ends as `end` returns. */
function simulate(
  scheduler: PollScheduler,
  from: number,
  until: number,
  end: (poll: Poll, done: number) => Partial<PollOutcome> | 'failed' | 'limited' = () => ({}),
  latencyMs = 20,
): Poll[] {
  const polls: Poll[] = [];
  let now = from;
  while (now < until) {
    const next = scheduler.next(now);
    if ('at' in next) {
      expect(next.at).toBeGreaterThan(now);
      now = next.at;
      continue;
    }
    const poll = { session: next.session, at: now };
    polls.push(poll);
    scheduler.pollStarted(next.session, now);
    now += latencyMs;
    const ended = end(poll, now);
    if (typeof ended === 'string')
      scheduler.pollFailed(next.session, { isRateLimited: ended === 'limited', retryAt: undefined }, now);
    else scheduler.pollSucceeded(next.session, { ...NOTHING, ...ended }, now);
  }
  return polls;
}

function names(count: number): string[] {
  return Array.from({ length: count }, (_, index) => `s${index}`);
}

function gaps(polls: readonly Poll[]): number[] {
  return polls.slice(1).map(({ at }, index) => at - (polls[index]?.at ?? at));
}

describe('an idle tail', () => {
  it('property: makes at most 150 requests in its first hour and in any later one, for up to 20 sessions', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 20 }),
        fc.infiniteStream(chance),
        fc.integer({ min: 0, max: 2000 }),
        (count, dice, latency) => {
          const scheduler = new PollScheduler(names(count), T0, () => dice.next().value);
          const begun = new Set<string>();
          // Reading the existing messages takes a second poll per session.
          const begin = ({ session }: Poll): Partial<PollOutcome> => {
            const more = !begun.has(session);
            begun.add(session);
            return { more };
          };
          const polls = simulate(scheduler, T0, T0 + 3 * HOUR, begin, latency);
          // 151 polls take an hour or more.
          for (const [index, { at }] of polls.entries()) {
            expect((polls[index + 150]?.at ?? Number.POSITIVE_INFINITY) - at).toBeGreaterThanOrEqual(HOUR);
          }
        },
      ),
      { numRuns: propertyRuns(30) },
    );
  });

  it('polls every session immediately at first, then in turns', () => {
    const polls = simulate(new PollScheduler(names(5), T0, Math.random), T0, T0 + HOUR, undefined, 0);
    expect(polls.slice(0, 5).map(({ at }) => at)).toEqual([T0, T0, T0, T0, T0]);
    for (const name of names(5)) {
      const own = polls.filter(({ session }) => session === name);
      expect(Math.max(...gaps(own))).toBeLessThanOrEqual(5 * IDLE_MS * (1 + JITTER));
    }
  });

  it('lengthens its pauses up to the maximum, with jitter', () => {
    const pauses = gaps(simulate(new PollScheduler(['s'], T0, Math.random), T0, T0 + HOUR));
    expect(pauses[0]).toBeLessThan(1000);
    expect(Math.max(...pauses)).toBeLessThanOrEqual(IDLE_MS * (1 + JITTER) + 20);
    const late = pauses.slice(-20);
    expect(Math.min(...late)).toBeGreaterThanOrEqual(IDLE_MS);
    expect(new Set(late.map(Math.round)).size).toBeGreaterThan(10);
  });

  it('stays within the budget in the hour after an active one', () => {
    const scheduler = new PollScheduler(['s'], T0, () => 0);
    simulate(scheduler, T0, T0 + HOUR, () => ({ hasNewMessages: true }));
    const polls = simulate(scheduler, T0 + HOUR, T0 + 2 * HOUR);
    expect(polls.length).toBeLessThanOrEqual(150);
  });
});

describe('an active conversation', () => {
  it('property: shows a reply within a second, up to minutes after a message was sent', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 20 }),
        fc.integer({ min: 0, max: 2 * HOUR }),
        fc.integer({ min: 0, max: 170_000 }),
        fc.infiniteStream(chance),
        (count, idle, thinking, dice) => {
          const scheduler = new PollScheduler(names(count), T0, () => dice.next().value);
          simulate(scheduler, T0, T0 + idle);
          const sentAt = T0 + idle + 50;
          scheduler.expectReply('s0', sentAt);
          const polls = simulate(scheduler, sentAt, sentAt + 180_000);
          const existsAt = sentAt + thinking;
          const seen = polls.find(({ session, at }) => session === 's0' && at >= existsAt);
          expect((seen?.at ?? Number.POSITIVE_INFINITY) - existsAt).toBeLessThanOrEqual(1000);
        },
      ),
      { numRuns: propertyRuns(30) },
    );
  });

  it('includes a session that somebody else writes to', () => {
    const scheduler = new PollScheduler(['s'], T0, () => 0.5);
    const started = simulate(scheduler, T0, T0 + HOUR).at(-1);
    expect(started).toBeDefined();
    let told = false;
    const polls = simulate(scheduler, T0 + HOUR, T0 + HOUR + 120_000, () => {
      const first = !told;
      told = true;
      return first ? { hasNewMessages: true, expectsReply: true } : {};
    });
    expect(Math.max(...gaps(polls))).toBeLessThanOrEqual(1000);
  });

  it('slows down after the reply, or if there is none', () => {
    const scheduler = new PollScheduler(['s'], T0, () => 0);
    scheduler.expectReply('s', T0);
    const polls = simulate(scheduler, T0, T0 + HOUR);
    expect(gaps(polls).at(-1)).toBeGreaterThanOrEqual(IDLE_MS);
    expect(polls.length).toBeLessThan(500);
    scheduler.expectReply('s', T0 + HOUR);
    const replied = simulate(scheduler, T0 + HOUR, T0 + HOUR + 60_000, () => ({
      hasNewMessages: true,
      expectsReply: false,
    }));
    expect(Math.max(...gaps(replied))).toBeLessThanOrEqual(1000);
    const after = simulate(scheduler, T0 + HOUR + 60_000, T0 + HOUR + 120_000);
    expect(after.length).toBeLessThan(40);
  });

  it('does not speed up the idle sessions', () => {
    const scheduler = new PollScheduler(names(20), T0, () => 0);
    simulate(scheduler, T0, T0 + HOUR);
    scheduler.expectReply('s0', T0 + HOUR);
    const polls = simulate(scheduler, T0 + HOUR, T0 + HOUR + 120_000);
    expect(polls.filter(({ session }) => session === 's0').length).toBeGreaterThan(120);
    expect(polls.filter(({ session }) => session !== 's0').length).toBeLessThan(6);
  });

  it('reads further pages without pausing', () => {
    let pages = 10;
    const polls = simulate(new PollScheduler(['s'], T0, () => 0), T0, T0 + 1000, () => {
      pages -= 1;
      return { more: pages > 0 };
    });
    expect(polls.slice(0, 10).map(({ at }) => at)).toEqual(Array.from({ length: 10 }, (_, index) => T0 + index * 20));
    expect(polls[10]?.at).toBeGreaterThanOrEqual(T0 + 200 + ACTIVE_MS);
  });
});

describe('a pause that the service requests', () => {
  it('takes precedence over the fastest pace, a fixed interval, and further pages', () => {
    for (const options of [{}, { fixedMs: 100 }]) {
      const scheduler = new PollScheduler(['s'], T0, () => 0, options);
      scheduler.expectReply('s', T0);
      const polls = simulate(scheduler, T0, T0 + 60_000, () => ({ waitMs: 5000, more: true }));
      expect(Math.min(...gaps(polls))).toBeGreaterThanOrEqual(5000);
    }
  });

  it('delays every session after a 429, even those being polled', () => {
    const scheduler = new PollScheduler(names(3), T0, () => 0, { fixedMs: 100 });
    for (const name of names(3)) scheduler.pollStarted(name, T0);
    scheduler.pollFailed('s0', { isRateLimited: true, retryAt: T0 + 30_000 }, T0 + 10);
    for (const name of ['s1', 's2']) scheduler.pollSucceeded(name, { ...NOTHING, more: true }, T0 + 20);
    scheduler.expectReply('s1', T0 + 30);
    expect(scheduler.next(T0 + 40)).toEqual({ at: T0 + 30_000 });
    expect(scheduler.next(T0 + 30_000)).toHaveProperty('session');
  });

  it('is derived from the number of failures if a 429 has no Retry-After', () => {
    const polls = simulate(new PollScheduler(names(10), T0, () => 0), T0, T0 + HOUR, () => 'limited');
    expect(polls.length).toBeLessThan(150);
    expect(Math.max(...gaps(polls))).toBeGreaterThanOrEqual(30_000);
  });
});

describe('a fixed interval', () => {
  it('applies to each session, active or idle', () => {
    const scheduler = new PollScheduler(names(3), T0, Math.random, { fixedMs: 2000 });
    scheduler.expectReply('s1', T0);
    const polls = simulate(scheduler, T0, T0 + 60_000, () => ({ hasNewMessages: true, expectsReply: true }), 0);
    for (const name of names(3)) {
      expect(new Set(gaps(polls.filter(({ session }) => session === name)))).toEqual(new Set([2000]));
    }
  });
});

describe('failures', () => {
  it('lengthen the pauses, with one session probing for all', () => {
    for (const count of [1, 20]) {
      const polls = simulate(new PollScheduler(names(count), T0, () => 0), T0, T0 + HOUR, () => 'failed');
      expect(polls.length).toBeLessThanOrEqual(150 + count);
      expect(Math.max(...gaps(polls))).toBeLessThanOrEqual(40_000);
      expect(polls[1]?.at).toBeLessThanOrEqual(T0 + 1000);
    }
  });

  it('let every session catch up immediately when they end', () => {
    const scheduler = new PollScheduler(names(5), T0, () => 0);
    simulate(scheduler, T0, T0 + HOUR);
    simulate(scheduler, T0 + HOUR, T0 + 2 * HOUR, () => 'failed');
    const back = simulate(scheduler, T0 + 2 * HOUR, T0 + 2 * HOUR + 45_000, undefined, 1);
    const first = back[0]?.at ?? 0;
    expect(new Set(back.filter(({ at }) => at <= first + 10).map(({ session }) => session))).toEqual(new Set(names(5)));
  });

  it('of one session do not delay the others', () => {
    const scheduler = new PollScheduler(names(3), T0, () => 0);
    for (const name of names(3)) scheduler.expectReply(name, T0);
    const polls = simulate(scheduler, T0, T0 + 60_000, ({ session }) => (session === 's0' ? 'failed' : {}));
    expect(polls.filter(({ session }) => session === 's0').length).toBeLessThan(20);
    expect(polls.filter(({ session }) => session === 's1').length).toBeGreaterThan(80);
  });
});

describe('a machine that slept', () => {
  it('polls every session immediately, despite earlier failures and pauses', () => {
    const scheduler = new PollScheduler(names(3), T0, () => 0);
    simulate(scheduler, T0, T0 + HOUR);
    for (let now = T0 + HOUR; now < T0 + HOUR + 10; now += 1) {
      scheduler.pollStarted('s0', now);
      scheduler.pollFailed('s0', { isRateLimited: true, retryAt: T0 + 10 * HOUR }, now);
    }
    scheduler.resetClock(T0 + 5 * HOUR);
    const polls = simulate(scheduler, T0 + 5 * HOUR, T0 + 5 * HOUR + 1000, undefined, 1);
    expect(new Set(polls.slice(0, 3).map(({ session }) => session))).toEqual(new Set(names(3)));
    expect(polls[2]?.at).toBeLessThanOrEqual(T0 + 5 * HOUR + 10);
  });
});

describe('a poll', () => {
  it('does not overlap with another one of its session', () => {
    const scheduler = new PollScheduler(['s'], T0, () => 0);
    scheduler.pollStarted('s', T0);
    expect(scheduler.next(T0 + HOUR)).toEqual({ at: Number.POSITIVE_INFINITY });
    scheduler.retryNow('s', T0 + HOUR);
    expect(scheduler.next(T0 + HOUR)).toEqual({ session: 's' });
  });

  it('is rejected for a session that is not followed', () => {
    expect(() => new PollScheduler(['s'], T0, () => 0).expectReply('other', T0)).toThrow(RangeError);
  });
});

describe('a requested poll', () => {
  it('starts at its time, or immediately if that has passed', () => {
    const scheduler = new PollScheduler(names(3), T0, () => 0);
    simulate(scheduler, T0, T0 + HOUR, undefined, 0);
    scheduler.pollBy('s1', T0 + HOUR + 100);
    const next = simulate(scheduler, T0 + HOUR, T0 + HOUR + 101, undefined, 0);
    expect(next).toContainEqual({ session: 's1', at: T0 + HOUR + 100 });
    scheduler.pollBy('s2', 0);
    expect(scheduler.next(T0 + HOUR + 200)).toEqual({ session: 's2' });
  });

  it('starts after the poll that is running', () => {
    const scheduler = new PollScheduler(['s'], T0, () => 0);
    scheduler.pollStarted('s', T0);
    scheduler.pollBy('s', T0 + 10);
    expect(scheduler.next(T0 + 10)).toEqual({ at: Number.POSITIVE_INFINITY });
    scheduler.pollSucceeded('s', NOTHING, T0 + 20);
    expect(scheduler.next(T0 + 20)).toEqual({ session: 's' });
    scheduler.pollStarted('s', T0 + 20);
    scheduler.pollSucceeded('s', NOTHING, T0 + 30);
    expect(scheduler.next(T0 + 30)).toMatchObject({ at: expect.any(Number) });
  });

  it('does not start before the service accepts polls', () => {
    const scheduler = new PollScheduler(['s'], T0, () => 0);
    scheduler.pollStarted('s', T0);
    scheduler.pollFailed('s', { isRateLimited: true, retryAt: T0 + 7_000 }, T0 + 10);
    scheduler.pollBy('s', T0);
    expect(scheduler.next(T0 + 20)).toEqual({ at: T0 + 7_000 });
  });

  it('does not delay the turns of the other sessions', () => {
    const scheduler = new PollScheduler(names(4), T0, () => 0);
    simulate(scheduler, T0, T0 + HOUR, undefined, 0);
    let now = T0 + HOUR;
    const polled = new Set<string>();
    while (now < T0 + 2 * HOUR) {
      scheduler.pollBy('s0', now);
      for (const { session } of simulate(scheduler, now, now + 1_000, undefined, 0)) polled.add(session);
      now += 1_000;
    }
    expect([...polled].sort()).toEqual(names(4));
  });

  it('never starts for a session that is no longer followed', () => {
    const scheduler = new PollScheduler(names(2), T0, () => 0);
    scheduler.remove('s0');
    scheduler.pollBy('s0', T0);
    expect(simulate(scheduler, T0, T0 + HOUR, undefined, 0).map(({ session }) => session)).not.toContain('s0');
  });
});

describe('many active sessions', () => {
  const active: Partial<PollOutcome> = { hasNewMessages: true, expectsReply: true };

  it.each([
    [10, 10 / ACTIVE_MS, ACTIVE_MS],
    [100, 0.112, 900],
    [1_000, 0.112, 9_000],
  ])('make a bounded number of polls, and each of %i sessions has its turn', (count, perMs, delay) => {
    const scheduler = new PollScheduler(names(count), T0, () => 0.5);
    const polls = simulate(scheduler, T0, T0 + 60_000, () => active, 0);
    // The first round is immediate, and the sessions of the first polls know few others.
    expect(polls.length).toBeLessThanOrEqual(count + perMs * 60_000);
    for (const session of names(count)) {
      const waits = gaps(polls.filter((poll) => poll.session === session));
      expect(Math.max(...waits)).toBeLessThanOrEqual(delay * (1 + JITTER));
    }
  });
});
