import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseRetryAfter } from '../../../src/api/retry.ts';

const NOW = Date.UTC(2026, 0, 1);
const at = (ms: number): string => new Date(ms).toUTCString();

describe('Retry-After', () => {
  it.each([
    ['0', 0],
    ['1', 1000],
    [' 120 ', 120_000],
    ['1.5', 1500],
    ['0.0001', 1],
  ])('reads the seconds %j', (header, expected) => {
    expect(parseRetryAfter(header, undefined, NOW)).toBe(expected);
  });

  it('reads a date against the Date of the same answer, so that a wrong clock does no harm', () => {
    const theirs = NOW - 3_600_000;
    expect(parseRetryAfter(at(theirs + 7000), at(theirs), NOW)).toBe(7000);
  });

  it('reads a date against our own clock where the answer carries no Date, or a broken one', () => {
    expect(parseRetryAfter(at(NOW + 7000), undefined, NOW)).toBe(7000);
    expect(parseRetryAfter(at(NOW + 7000), 'yesterday', NOW)).toBe(7000);
  });

  it('takes a date that has passed for no wait', () => {
    expect(parseRetryAfter(at(NOW - 7000), at(NOW), NOW)).toBe(0);
  });

  it.each([
    ['RFC 850', 'Thursday, 01-Jan-26 00:00:05 GMT'],
    ['asctime', 'Thu Jan  1 00:00:05 2026'],
    ['ISO 8601', '2026-01-01T00:00:05Z'],
  ])('reads the older and the common form of a date: %s', (form, header) => {
    // asctime names no zone; HTTP says that it is GMT.
    expect(parseRetryAfter(header, undefined, NOW), form).toBe(5000);
  });

  it.each([
    '',
    ' ',
    'soon',
    '-5',
    '1e3',
    '0x10',
    '1,5',
    '1, 2',
    'in 2050',
    'after 5 seconds',
    'Infinity',
    'NaN',
    '12:30',
  ])('makes nothing of %j', (header) => {
    expect(parseRetryAfter(header, undefined, NOW)).toBeUndefined();
  });

  it('makes nothing of an absent header', () => {
    expect(parseRetryAfter(undefined, undefined, NOW)).toBeUndefined();
  });

  it('property: whatever comes, it is nothing or a wait whose end is a date', () => {
    const header = fc.oneof(
      fc.string(),
      fc.bigInt({ min: 0n, max: 10n ** 40n }).map(String),
      fc.date({ noInvalidDate: true }).map((date) => date.toUTCString()),
    );
    fc.assert(
      fc.property(header, fc.option(fc.string(), { nil: undefined }), (text, date) => {
        const ms = parseRetryAfter(text, date, NOW);
        if (ms === undefined) return;
        expect(ms).toBeGreaterThanOrEqual(0);
        expect(new Date(NOW + ms).toISOString()).toMatch(/Z$/);
      }),
    );
  });

  it('property: whole seconds are read exactly', () => {
    fc.assert(
      fc.property(fc.nat({ max: 10 ** 7 }), (seconds) => {
        expect(parseRetryAfter(String(seconds), at(NOW), NOW)).toBe(seconds * 1000);
      }),
    );
  });
});
