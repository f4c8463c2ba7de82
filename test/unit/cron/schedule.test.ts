import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { findDifferences } from '../../../src/cron/job.ts';
import {
  type CronSchedule,
  describeSchedule,
  formatExpression,
  nextRuns,
  parseExpression,
  parseTimezone,
} from '../../../src/cron/schedule.ts';
import { propertyRuns } from '../../support/properties.ts';

describe('a cron expression', () => {
  test('is sent in one form', () => {
    for (const [text, sent] of [
      ['  00\t09  * *  MON-FRI ', '0 9 * * 1-5'],
      ['*/05 1-23/02 ? ? *', '*/5 1-23/2 * * *'],
      ['0 9 * * 0,7,sun', '0 9 * * 0'],
      ['0 9 * * fri-sun', '0 9 * * 0,5,6'],
      ['@daily', '0 0 * * *'],
    ] as const) {
      expect(formatExpression(parseExpression(text))).toBe(sent);
    }
  });

  test('is rejected with what is wrong and an example', () => {
    for (const [text, message, hint = 'Write minute, hour, day of month, month, and day_of_week'] of [
      ['75 9 * * *', 'minute 75 is out of range (0-59)', 'Write 0 to 59.'],
      ['0 9-24 * * *', 'hour 9-24 is out of range (0-23)', 'Write 0 to 23.'],
      ['0 9 * * 1,8', 'day_of_week 8 is out of range (0-7)', 'Write 0 to 7, or sun to sat.'],
      ['0 9 * * fri-mon', 'day_of_week fri-mon runs backwards', 'Write 5-6,0-1.'],
      ['0 22-6 * * *', 'hour 22-6 runs backwards', 'Write 22-23,0-6.'],
      ['*/0 9 * * *', 'minute */0 has the step 0', 'Write a step of 1 or more.'],
      ['5/15 9 * * *', 'minute 5/15 has a step without a range', 'Write 5-59/15.'],
      ['0 9 * * monday', 'day_of_week "monday" is not valid', 'Write * or 0 to 7, or sun to sat; or lists'],
      ['0 9am * * *', 'hour "9am" is not valid', 'Write * or 0 to 23; or lists'],
      ['0 mon * * *', 'hour "mon" is not valid', 'Write * or 0 to 23; or lists'],
      ['0 9,,17 * * *', 'hour "" is not valid', 'Write * or 0 to 23'],
      ['0 9 * * 5L', 'day_of_week "5L" is not valid', 'Write * or 0 to 7'],
      ['0 9 1 * *', 'day of month must be *: the service has only minute, hour, and day_of_week', 'Run it daily'],
      ['0 9 * jan *', 'month must be *: the service has only minute, hour, and day_of_week', 'Run it daily'],
      ['', '"" has no minute, hour, day of month, month, day_of_week'],
      ['0 9', '"0 9" has no day of month, month, day_of_week'],
      ['0 9 * *', '"0 9 * *" has no day_of_week'],
      ['0 0 9 * * *', '"0 0 9 * * *" has more than 5 fields'],
      ['@reboot', '"@reboot" is not known'],
    ] as const) {
      const error = { message, hint: expect.stringContaining(hint) };
      expect(() => parseExpression(text), text).toThrow(expect.objectContaining(error));
    }
  });
});

test('a time zone is an IANA name in any case, and no offset, abbreviation, or other text', () => {
  for (const [text, name] of [
    ['europe/berlin', 'Europe/Berlin'],
    ['utc', 'UTC'],
    ['Asia/Kolkata', 'Asia/Kolkata'],
    ['us/eastern', 'America/New_York'],
  ] as const) {
    expect(parseTimezone(text)).toBe(name);
  }
  for (const [text, hint] of [
    ['Europe/Berln', 'Did you mean Europe/Berlin?'],
    ['new york', 'Did you mean America/New_York?'],
    ['+02:00', 'Use a place, such as Europe/Berlin, or UTC.'],
    ['BST', 'Use a place, such as Europe/Berlin, or UTC.'],
  ] as const) {
    const message = `"${text}" is not an IANA time zone name`;
    expect(() => parseTimezone(text)).toThrow(expect.objectContaining({ message, hint }));
  }
});

/** Few values, so that equal ones occur. */
const written: fc.Arbitrary<CronSchedule> = fc.record({
  minute: fc.constantFrom('0', '*/30', '0,30', '0-30/30', '30', '05'),
  hour: fc.constantFrom('9', '9-10', '9,10', '9-10/2', '*'),
  day_of_week: fc.constantFrom('1-2', 'MON,tue', '*', '0-7', '7,1', 'fri-sun', '*/3'),
  timezone: fc.constantFrom('UTC', 'Etc/UTC', 'Europe/Berlin', 'Asia/Calcutta', 'Asia/Kolkata'),
});

const same = (one: CronSchedule, other: CronSchedule) =>
  findDifferences({ schedule: one }, { schedule: other }).length === 0;

test('property: two schedules are the same if and only if they run at the same times', async () => {
  const times = async (schedule: CronSchedule) =>
    (await nextRuns(schedule, Date.UTC(2026, 2, 24), 60)).map((run) => Date.parse(run)).join();
  await fc.assert(
    fc.asyncProperty(written, written, async (one, other) => {
      expect(same(one, other)).toBe((await times(one)) === (await times(other)));
    }),
    { numRuns: propertyRuns(100, 12) },
  );
});

const runs = (expression: string, timezone: string, after: string, count: number): Promise<string[]> =>
  nextRuns({ ...parseExpression(expression), timezone }, Date.parse(after), count);

test('the next runs have local times with their offsets, keep them when clocks change, and exclude the start', async () => {
  expect(await runs('0 9 * * *', 'Europe/Berlin', '2026-03-28T08:00:00Z', 2)).toEqual([
    '2026-03-29T09:00:00+02:00',
    '2026-03-30T09:00:00+02:00',
  ]);
  expect(await runs('0 9 * * *', 'UTC', '2026-01-01T09:00:00Z', 1)).toEqual(['2026-01-02T09:00:00+00:00']);
  expect(await runs('30 * * * *', 'Europe/Berlin', '2026-10-25T00:00:00Z', 2)).toEqual([
    '2026-10-25T02:30:00+02:00',
    '2026-10-25T02:30:00+01:00',
  ]);
});

test('every schedule is described in English', async () => {
  const said = (expression: string) => describeSchedule({ ...parseExpression(expression), timezone: 'UTC' });
  expect(await said('0 9 * * mon-fri')).toBe('At 09:00, Monday through Friday (UTC)');
  expect(await said('*/5 * * * *')).toBe('Every 5 minutes (UTC)');
  await fc.assert(
    fc.asyncProperty(written, async (schedule) => {
      const description = await describeSchedule(schedule);
      expect(description).toMatch(/^\S.{5,} \(\S+\)$/);
      expect(description).not.toMatch(/undefined|null|NaN|\*/);
    }),
    { numRuns: propertyRuns(40) },
  );
});
