import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  type AttemptOutcome,
  BACKOFF_BASE_MS,
  BACKOFF_CAP_MS,
  backoffMs,
  decideRetry,
  type RetryQuestion,
  retryAfterOf,
} from '../../../src/api/retry.ts';

const random = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });
const response: fc.Arbitrary<AttemptOutcome> = fc
  .record({
    status: fc.integer({ min: 100, max: 599 }),
    sent: fc.constantFrom('part' as const, 'content' as const, 'all' as const),
    minimum: fc.option(fc.integer({ min: 0, max: 300_000 })),
  })
  .map(({ minimum, ...rest }) => ({ kind: 'response', ...rest, ...(minimum !== null && { retryAfterMs: minimum }) }));
const failure: fc.Arbitrary<AttemptOutcome> = fc.record({
  kind: fc.constant('failure' as const),
  sent: fc.constantFrom('nothing' as const, 'part' as const, 'all' as const),
  isTransient: fc.boolean(),
});
const question: fc.Arbitrary<RetryQuestion> = fc.record({
  safety: fc.constantFrom('safe' as const, 'idempotent' as const, 'once' as const),
  attempt: fc.integer({ min: 1, max: 25 }),
  retries: fc.integer({ min: 0, max: 20 }),
  outcome: fc.oneof(response, failure),
  timeLeftMs: fc.integer({ min: -10_000, max: 600_000 }),
  random,
});

const ANSWERED = { kind: 'response', status: 503, sent: 'all' } as const;
const UNSENT = { kind: 'failure', sent: 'nothing', isTransient: true } as const;
const base: RetryQuestion = {
  safety: 'safe',
  attempt: 1,
  retries: 3,
  outcome: ANSWERED,
  timeLeftMs: 60_000,
  random: 0.5,
};

describe('decideRetry', () => {
  it.each([408, 429, 500, 502, 503, 504])('retries after %i, unless a once call was sent completely', (status) => {
    const outcome = { ...ANSWERED, status };
    const retry = { retry: true, delayMs: 250 };
    expect(decideRetry({ ...base, outcome })).toEqual(retry);
    expect(decideRetry({ ...base, safety: 'idempotent', outcome })).toEqual(retry);
    expect(decideRetry({ ...base, safety: 'once', outcome })).toEqual({ retry: false, why: 'final' });
    expect(decideRetry({ ...base, safety: 'once', outcome: { ...outcome, sent: 'part' } })).toEqual(retry);
  });

  it.each([301, 304, 400, 401, 402, 403, 404, 405, 409, 413, 415, 422, 501])('never retries after %i', (status) => {
    for (const safety of ['safe', 'idempotent', 'once'] as const) {
      const outcome = { ...ANSWERED, status };
      expect(decideRetry({ ...base, safety, outcome })).toEqual({ retry: false, why: 'final' });
    }
  });

  it('does not retry a permanent failure', () => {
    const outcome = { ...UNSENT, isTransient: false };
    expect(decideRetry({ ...base, outcome })).toEqual({ retry: false, why: 'final' });
  });

  it('makes one attempt more than there are retries', () => {
    expect(decideRetry({ ...base, attempt: 3 }).retry).toBe(true);
    expect(decideRetry({ ...base, attempt: 4 })).toEqual({ retry: false, why: 'exhausted' });
    expect(decideRetry({ ...base, attempt: 1, retries: 0 })).toEqual({ retry: false, why: 'exhausted' });
  });

  it('waits at least as long as Retry-After, and gives up immediately if that is past the deadline', () => {
    const limited = (retryAfterMs: number, chance: number): RetryQuestion => ({
      ...base,
      random: chance,
      outcome: { ...ANSWERED, status: 429, retryAfterMs },
    });
    expect(decideRetry(limited(30_000, 0))).toEqual({ retry: true, delayMs: 30_000 });
    expect(decideRetry(limited(30_000, 0.5))).toEqual({ retry: true, delayMs: 30_250 });
    expect(decideRetry(limited(60_001, 0))).toEqual({ retry: false, why: 'deadline' });
  });

  it('property: a once call is retried after a transient failure if and only if it cannot have been sent completely', () => {
    fc.assert(
      fc.property(question, (asked) => {
        const { outcome } = asked;
        const { retry } = decideRetry({ ...asked, safety: 'once' });
        if (outcome.sent === 'all') expect(retry).toBe(false);
      }),
    );
    expect(decideRetry({ ...base, safety: 'once', outcome: UNSENT }).retry).toBe(true);
  });

  it('property: a wait is never shorter than Retry-After, longer than the remaining time, or beyond the jitter', () => {
    fc.assert(
      fc.property(question, (asked) => {
        const decision = decideRetry(asked);
        if (!decision.retry) return;
        const minimum = asked.outcome.kind === 'response' ? (asked.outcome.retryAfterMs ?? 0) : 0;
        expect(decision.delayMs).toBeGreaterThanOrEqual(minimum);
        expect(decision.delayMs).toBeLessThanOrEqual(asked.timeLeftMs);
        expect(decision.delayMs).toBeLessThanOrEqual(minimum + BACKOFF_CAP_MS);
        expect(asked.attempt).toBeLessThanOrEqual(asked.retries);
      }),
    );
  });
});

it('property: the backoff is between zero and the exponential step, which is capped', () => {
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

describe('a Retry-After header', () => {
  const NOW = Date.UTC(2026, 0, 1);
  const at = (ms: number): string => new Date(ms).toUTCString();
  const read = (text: string, date?: string): number | undefined =>
    retryAfterOf({ 'retry-after': text, ...(date !== undefined && { date }) }, NOW);

  it.each([
    ['0', 0],
    ['1', 1000],
    ['120', 120_000],
    ['1.5', 1500],
    ['0.0001', 1],
    [at(NOW + 5000), 5000],
    [at(NOW - 7000), 0],
  ])('of %j means %i ms', (header, expected) => {
    expect(read(header)).toBe(expected);
  });

  it('counts from the Date of the same response, if that is valid', () => {
    const theirs = NOW - 3_600_000;
    expect(read(at(theirs + 7000), at(theirs))).toBe(7000);
    expect(read(at(NOW + 7000))).toBe(7000);
    expect(read(at(NOW + 7000), 'yesterday')).toBe(7000);
  });

  it.each([
    [''],
    [' '],
    ['soon'],
    ['-5'],
    ['1e3'],
    ['0x10'],
    ['1,5'],
    ['1, 2'],
    ['in 2050'],
    ['after 5 seconds'],
    ['Infinity'],
    ['12:30'],
    ['2026-01-01T00:00:05Z'],
  ])('of %j is ignored', (header) => {
    expect(read(header)).toBeUndefined();
    expect(retryAfterOf({}, NOW)).toBeUndefined();
  });

  it('property: it is ignored, or a wait that ends at a valid date', () => {
    const header = fc.oneof(
      fc.string(),
      fc.bigInt({ min: 0n, max: 10n ** 40n }).map(String),
      fc.date({ noInvalidDate: true }).map((date) => date.toUTCString()),
    );
    fc.assert(
      fc.property(header, fc.option(fc.string(), { nil: undefined }), (text, date) => {
        const ms = read(text, date);
        if (ms === undefined) return;
        expect(ms).toBeGreaterThanOrEqual(0);
        expect(new Date(NOW + ms).toISOString()).toMatch(/Z$/);
      }),
    );
  });
});
