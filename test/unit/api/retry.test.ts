import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  type AttemptOutcome,
  BACKOFF_BASE_MS,
  BACKOFF_CAP_MS,
  backoffMs,
  decideRetry,
  RetryBudget,
  type RetryQuestion,
} from '../../../src/api/retry.ts';

const RETRIED = [408, 429, 500, 502, 503, 504];

const random = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });
const response: fc.Arbitrary<AttemptOutcome> = fc
  .record({ status: fc.integer({ min: 100, max: 599 }), floor: fc.option(fc.integer({ min: 0, max: 300_000 })) })
  .map(({ status, floor }) => ({ kind: 'response', status, ...(floor !== null && { retryAfterMs: floor }) }));
const failure: fc.Arbitrary<AttemptOutcome> = fc.record({
  kind: fc.constant('failure' as const),
  left: fc.boolean(),
  transient: fc.boolean(),
});
const question: fc.Arbitrary<RetryQuestion> = fc.record({
  safety: fc.constantFrom('safe' as const, 'idempotent' as const, 'once' as const),
  attempt: fc.integer({ min: 1, max: 25 }),
  retries: fc.integer({ min: 0, max: 20 }),
  outcome: fc.oneof(response, failure),
  timeLeftMs: fc.integer({ min: -10_000, max: 600_000 }),
  random,
});

const base: RetryQuestion = {
  safety: 'safe',
  attempt: 1,
  retries: 3,
  outcome: { kind: 'response', status: 503 },
  timeLeftMs: 60_000,
  random: 0.5,
};

describe('whether an attempt is repeated', () => {
  it.each(RETRIED)('repeats a read and an idempotent write after %i', (status) => {
    for (const safety of ['safe', 'idempotent'] as const) {
      expect(decideRetry({ ...base, safety, outcome: { kind: 'response', status } })).toEqual({
        retry: true,
        delayMs: 250,
      });
    }
  });

  it.each([301, 304, 400, 401, 402, 403, 404, 405, 409, 413, 415, 422, 501])('never repeats after %i', (status) => {
    for (const safety of ['safe', 'idempotent', 'once'] as const) {
      expect(decideRetry({ ...base, safety, outcome: { kind: 'response', status } })).toEqual({
        retry: false,
        why: 'final',
      });
    }
  });

  it('repeats a call that must happen once when the request never left, and after nothing else', () => {
    const once = { ...base, safety: 'once' } as const;
    expect(decideRetry({ ...once, outcome: { kind: 'failure', left: false, transient: true } }).retry).toBe(true);
    expect(decideRetry({ ...once, outcome: { kind: 'failure', left: true, transient: true } }).retry).toBe(false);
    for (const status of RETRIED) {
      expect(decideRetry({ ...once, outcome: { kind: 'response', status } }).retry).toBe(false);
    }
  });

  it('does not repeat what a repeat cannot mend', () => {
    expect(decideRetry({ ...base, outcome: { kind: 'failure', left: false, transient: false } })).toEqual({
      retry: false,
      why: 'final',
    });
  });

  it('makes one attempt more than there are retries', () => {
    expect(decideRetry({ ...base, attempt: 3 }).retry).toBe(true);
    expect(decideRetry({ ...base, attempt: 4 })).toEqual({ retry: false, why: 'exhausted' });
    expect(decideRetry({ ...base, attempt: 1, retries: 0 })).toEqual({ retry: false, why: 'exhausted' });
  });

  it('waits as long as Retry-After says, and gives up at once when that passes the deadline', () => {
    const limited = (retryAfterMs: number): RetryQuestion => ({
      ...base,
      outcome: { kind: 'response', status: 429, retryAfterMs },
    });
    expect(decideRetry({ ...limited(30_000), random: 0 })).toEqual({ retry: true, delayMs: 30_000 });
    expect(decideRetry({ ...limited(30_000), random: 0.5 })).toEqual({ retry: true, delayMs: 30_250 });
    expect(decideRetry(limited(60_001))).toEqual({ retry: false, why: 'deadline' });
  });

  it('property: a call that must happen once is never repeated once it may have left', () => {
    fc.assert(
      fc.property(question, (asked) => {
        const { retry } = decideRetry({ ...asked, safety: 'once' });
        const { outcome } = asked;
        if (outcome.kind === 'response' || outcome.left) expect(retry).toBe(false);
      }),
    );
  });

  it('property: the wait is never shorter than Retry-After, longer than the time left, or beyond the jitter', () => {
    fc.assert(
      fc.property(question, (asked) => {
        const decision = decideRetry(asked);
        if (!decision.retry) return;
        const floor = asked.outcome.kind === 'response' ? (asked.outcome.retryAfterMs ?? 0) : 0;
        expect(decision.delayMs).toBeGreaterThanOrEqual(floor);
        expect(decision.delayMs).toBeLessThanOrEqual(asked.timeLeftMs);
        expect(decision.delayMs).toBeLessThanOrEqual(Math.max(floor, BACKOFF_CAP_MS));
        expect(asked.attempt).toBeLessThanOrEqual(asked.retries);
      }),
    );
  });

  it('property: the jitter runs from nothing to the exponential step, which is capped', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 2000 }), random, (attempt, chance) => {
        const step = Math.min(BACKOFF_CAP_MS, BACKOFF_BASE_MS * 2 ** (attempt - 1));
        expect(backoffMs(attempt, chance)).toBeGreaterThanOrEqual(0);
        expect(backoffMs(attempt, chance)).toBeLessThanOrEqual(step);
        expect(backoffMs(attempt, 0)).toBe(0);
      }),
    );
    expect([1, 2, 3, 7].map((attempt) => backoffMs(attempt, 0.5))).toEqual([250, 500, 1000, 10_000]);
  });
});

describe('the retry budget', () => {
  it('is spent by repeats and filled again by successes, never beyond its size', () => {
    const budget = new RetryBudget(2);
    budget.giveBack();
    expect([budget.take(), budget.take(), budget.take(), budget.take()]).toEqual([true, true, false, false]);
    budget.giveBack();
    expect([budget.take(), budget.take()]).toEqual([true, false]);
  });

  it('property: never more repeats than its size and the successes together', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 20 }), fc.array(fc.boolean(), { maxLength: 200 }), (size, events) => {
        const budget = new RetryBudget(size);
        let taken = 0;
        let successes = 0;
        for (const success of events) {
          if (success) {
            budget.giveBack();
            successes += 1;
          } else if (budget.take()) taken += 1;
          expect(taken).toBeLessThanOrEqual(size + successes);
        }
      }),
    );
  });
});
