import { describe, expect, it } from 'vitest';
import { backoffMs, decideRetry, type RetryQuestion, retryAfterOf } from '../../../src/api/retry.ts';

const BASE: RetryQuestion = {
  safety: 'safe',
  attempt: 1,
  retries: 3,
  retryAfterMs: undefined,
  timeLeftMs: 60_000,
  random: 0.5,
};
const ANSWERED = { kind: 'response', status: 503, sent: 'all' } as const;
const UNSENT = { kind: 'failure', sent: 'nothing', isTransient: true } as const;

describe('decideRetry', () => {
  it('repeats transient statuses and no others, and a once call only if it was not sent completely', () => {
    for (let status = 300; status < 600; status += 1) {
      const isTransient = status === 408 || status === 429 || (status >= 500 && status !== 501 && status !== 505);
      for (const safety of ['safe', 'idempotent', 'once'] as const) {
        const isRepeated = isTransient && safety !== 'once';
        expect(decideRetry({ ...ANSWERED, status }, { ...BASE, safety }) !== 'final').toBe(isRepeated);
        expect(decideRetry({ ...ANSWERED, status, sent: 'part' }, { ...BASE, safety }) !== 'final').toBe(isTransient);
      }
    }
    expect(decideRetry(UNSENT, { ...BASE, safety: 'once' })).toBe(250);
    expect(decideRetry({ ...UNSENT, isTransient: false }, BASE)).toBe('final');
  });

  it('doubles the wait, and ends when the retries are used up or the next would be past the deadline', () => {
    expect([1, 2, 3, 7, 2_000].map((attempt) => backoffMs(attempt, 0.5))).toEqual([250, 500, 1000, 10_000, 10_000]);
    expect(decideRetry(ANSWERED, { ...BASE, attempt: 4 })).toBe('final');
    expect(decideRetry(ANSWERED, { ...BASE, timeLeftMs: 249 })).toBe('out of time');
    expect(decideRetry(ANSWERED, { ...BASE, retryAfterMs: 60_001 })).toBe('out of time');
  });

  it('waits for Retry-After and the jitter, but not past the deadline', () => {
    expect(decideRetry(ANSWERED, { ...BASE, retryAfterMs: 5_000 })).toBe(5_250);
    expect(decideRetry(ANSWERED, { ...BASE, retryAfterMs: 59_900 })).toBe(60_000);
  });
});

describe('a Retry-After header', () => {
  const NOW = Date.UTC(2026, 0, 1);
  const at = (ms: number): string => new Date(ms).toUTCString();
  const read = (text: string): number | undefined => retryAfterOf({ 'retry-after': text }, NOW);

  it('is a number of seconds, or a date', () => {
    expect(['0', '120', '1.5', '0.0001', at(NOW + 5000), at(NOW - 7000)].map((text) => read(text))).toEqual([
      0, 120_000, 1500, 1, 5000, 0,
    ]);
    expect(new Date(NOW + (read('9'.repeat(400)) ?? Number.NaN)).toISOString()).toMatch(/Z$/);
  });

  it.each([10, -10])(
    'that is a date counts from the Date of the response, whose clock may be %i minutes ahead',
    (minutes) => {
      const theirs = NOW + minutes * 60_000;
      const headers = { 'retry-after': at(theirs + 5000), date: at(theirs) };
      expect(retryAfterOf(headers, NOW)).toBe(5000);
      expect(retryAfterOf({ ...headers, 'retry-after': '7' }, NOW)).toBe(7000);
      expect(retryAfterOf({ 'retry-after': at(NOW + 5000), date: 'today' }, NOW)).toBe(5000);
    },
  );

  it('may stand beside retry-after-ms, which is more exact', () => {
    expect(retryAfterOf({ 'retry-after': '2', 'retry-after-ms': '1250' }, NOW)).toBe(1250);
    expect(retryAfterOf({ 'retry-after-ms': '0.5' }, NOW)).toBe(1);
    expect(retryAfterOf({ 'retry-after': '2', 'retry-after-ms': 'soon' }, NOW)).toBe(2000);
  });

  it('is ignored if it is anything else', () => {
    for (const text of ['', 'soon', '-5', '1e3', '0x10', '1,5', 'in 2050', 'Infinity', '12:30', '2026-01-01T00:00:05Z'])
      expect(read(text)).toBeUndefined();
    expect(retryAfterOf({}, NOW)).toBeUndefined();
  });
});
