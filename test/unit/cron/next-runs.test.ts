import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { nextRuns } from '../../../src/cron/next-runs.ts';
import { describeSchedule, parseExpression } from '../../../src/cron/schedule.ts';
import { propertyRuns } from '../../support/properties.ts';
import { writtenSchedule } from './arbitraries.ts';

const runs = (expression: string, timezone: string, after: string, count: number): Promise<string[]> =>
  nextRuns({ ...parseExpression(expression), timezone }, Date.parse(after), count);

describe('nextRuns', () => {
  test('keeps the local time across a change of clocks', async () => {
    expect(await runs('0 9 * * *', 'Europe/Berlin', '2026-03-27T12:00:00Z', 3)).toEqual([
      '2026-03-28T09:00:00+01:00',
      '2026-03-29T09:00:00+02:00',
      '2026-03-30T09:00:00+02:00',
    ]);
    expect(await runs('0 9 * * 1-5', 'America/New_York', '2026-10-30T00:00:00Z', 3)).toEqual([
      '2026-10-30T09:00:00-04:00',
      '2026-11-02T09:00:00-05:00',
      '2026-11-03T09:00:00-05:00',
    ]);
  });

  test('does not include the start', async () => {
    expect(await runs('0 9 * * *', 'UTC', '2026-01-01T09:00:00Z', 1)).toEqual(['2026-01-02T09:00:00+00:00']);
    expect(await runs('0 9 * * *', 'UTC', '2026-01-01T08:59:59.999Z', 1)).toEqual(['2026-01-01T09:00:00+00:00']);
  });

  test.each([
    ['Europe/Berlin', '30 2', '2026-03-28T12:00:00Z', '2026-03-29T03:00:00+02:00', '2026-03-30T02:30:00+02:00'],
    ['America/New_York', '30 2', '2026-03-07T12:00:00Z', '2026-03-08T03:00:00-04:00', '2026-03-09T02:30:00-04:00'],
    ['Australia/Lord_Howe', '15 2', '2026-10-03T00:00:00Z', '2026-10-04T02:30:00+11:00', '2026-10-05T02:15:00+11:00'],
  ])(
    'runs a daily time that does not exist on a day once, right after the gap: %s',
    async (zone, time, after, ...all) => {
      expect(await runs(`${time} * * *`, zone, after, 2)).toEqual(all);
    },
  );

  test.each([
    ['Europe/Berlin', '30 2', '2026-10-24T12:00:00Z', '2026-10-25T02:30:00+02:00', '2026-10-26T02:30:00+01:00'],
    ['America/New_York', '30 1', '2026-10-31T12:00:00Z', '2026-11-01T01:30:00-04:00', '2026-11-02T01:30:00-05:00'],
    ['Australia/Lord_Howe', '45 1', '2026-04-04T00:00:00Z', '2026-04-05T01:45:00+11:00', '2026-04-06T01:45:00+10:30'],
  ])('runs a daily time that exists twice on a day once, the first time: %s', async (zone, time, after, ...all) => {
    expect(await runs(`${time} * * *`, zone, after, 2)).toEqual(all);
  });

  test.each([
    ['Europe/Berlin', '2026-03-29T00:00:00Z', ['01:30:00+01:00', '03:00:00+02:00', '03:30:00+02:00']],
    ['America/New_York', '2026-03-08T06:00:00Z', ['01:30:00-05:00', '03:00:00-04:00', '03:30:00-04:00']],
    ['Australia/Lord_Howe', '2026-10-03T15:00:00Z', ['02:30:00+11:00', '03:00:00+11:00', '03:30:00+11:00']],
  ])('omits times that do not exist from a half-hourly schedule: %s', async (zone, after, times) => {
    expect((await runs('*/30 * * * *', zone, after, 3)).map((run) => run.slice(11))).toEqual(times);
  });

  test.each([
    ['Europe/Berlin', '2026-10-25T00:00:00Z', ['02:30:00+02:00', '02:00:00+01:00', '02:30:00+01:00', '03:00:00+01:00']],
    [
      'America/New_York',
      '2026-11-01T05:00:00Z',
      ['01:30:00-04:00', '01:00:00-05:00', '01:30:00-05:00', '02:00:00-05:00'],
    ],
    [
      'Australia/Lord_Howe',
      '2026-04-04T14:30:00Z',
      ['01:30:00+10:30', '02:00:00+10:30', '02:30:00+10:30', '03:00:00+10:30'],
    ],
  ])('runs a half-hourly schedule at both of the times that exist twice: %s', async (zone, after, times) => {
    expect((await runs('*/30 * * * *', zone, after, 4)).map((run) => run.slice(11))).toEqual(times);
  });

  test('is tomorrow between the two occurrences of a daily time', async () => {
    expect(await runs('30 2 * * *', 'Europe/Berlin', '2026-10-25T00:45:00Z', 1)).toEqual(['2026-10-26T02:30:00+01:00']);
  });

  test('handles offsets west of Greenwich, and not of whole hours', async () => {
    expect(await runs('0 0 * * *', 'America/St_Johns', '2026-07-01T00:00:00Z', 1)).toEqual([
      '2026-07-01T00:00:00-02:30',
    ]);
    expect(await runs('0 0 * * *', 'Asia/Kathmandu', '2026-07-01T00:00:00Z', 1)).toEqual(['2026-07-02T00:00:00+05:45']);
    expect(await runs('59 23 * * *', 'Pacific/Apia', '2026-12-31T00:00:00Z', 1)).toEqual(['2026-12-31T23:59:00+13:00']);
  });

  test('property: UTC, which needs no time zone data, has the runs of Etc/UTC', async () => {
    const start = fc.integer({ min: Date.UTC(2026, 0, 1), max: Date.UTC(2027, 0, 1) });
    await fc.assert(
      fc.asyncProperty(writtenSchedule, start, async (schedule, after) => {
        const runsIn = (timezone: string) => nextRuns({ ...schedule, timezone }, after, 5);
        expect(await runsIn('UTC')).toEqual(await runsIn('Etc/UTC'));
      }),
      { numRuns: propertyRuns(20) },
    );
  });

  test('property: runs are distinct, ascending, and on the minute, and continue from any of them', async () => {
    const start = fc.integer({ min: Date.UTC(2026, 0, 1), max: Date.UTC(2027, 0, 1) });
    await fc.assert(
      fc.asyncProperty(writtenSchedule, start, async (schedule, after) => {
        const found = await nextRuns(schedule, after, 12);
        expect(found).toHaveLength(12);
        expect(new Set(found).size).toBe(12);
        let previous = after;
        for (const run of found) {
          expect(run).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:00[+-]\d\d:\d\d$/);
          expect(Date.parse(run)).toBeGreaterThan(previous);
          previous = Date.parse(run);
        }
        // From any of them, it continues with the next.
        expect(await nextRuns(schedule, Date.parse(found[5] ?? ''), 6)).toEqual(found.slice(6));
      }),
      { numRuns: propertyRuns(80) },
    );
  });
});

describe('describeSchedule', () => {
  test.each([
    ['0 9 * * 1-5', 'Europe/Berlin', 'At 09:00, Monday through Friday (Europe/Berlin)'],
    ['30 17 * * *', 'UTC', 'At 17:30 (UTC)'],
    ['*/5 * * * *', 'UTC', 'Every 5 minutes (UTC)'],
    ['0 9 * * sun', 'UTC', 'At 09:00, only on Sunday (UTC)'],
    ['0-0 8-9/2 * * 0-7', 'UTC', 'At 08:00 (UTC)'],
    ['@hourly', 'UTC', 'Every hour (UTC)'],
  ])('describes %s in %s', async (expression, timezone, words) => {
    expect(await describeSchedule({ ...parseExpression(expression), timezone })).toBe(words);
  });

  test('property: every schedule has a description', async () => {
    await fc.assert(
      fc.asyncProperty(writtenSchedule, async (schedule) => {
        expect(await describeSchedule(schedule)).toMatch(/^\S.{5,} \(\S+\)$/);
        expect(await describeSchedule(schedule)).not.toMatch(/undefined|null|NaN|\*/);
      }),
    );
  });
});
