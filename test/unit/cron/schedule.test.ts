import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { findDifferences } from '../../../src/cron/job.ts';
import {
  type CronSchedule,
  formatExpression,
  nextRuns,
  normalizeFields,
  parseExpression,
  parseTimezone,
  ScheduleError,
} from '../../../src/cron/schedule.ts';
import { propertyRuns } from '../../support/properties.ts';
import { writtenSchedule } from './arbitraries.ts';

function errorOf(parse: () => unknown): ScheduleError {
  try {
    parse();
  } catch (error) {
    if (error instanceof ScheduleError) return error;
    throw error;
  }
  throw new Error('nothing was thrown');
}

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
    for (const [text, message] of [
      ['75 9 * * *', 'is not valid: minute must be *, or numbers from 0 to 59 in lists, ranges, and steps, not "75"'],
      ['0 9 * * fri-mon', 'not "5-1"'],
      ['*/0 9 * * *', 'is not valid'],
      ['5/15 9 * * *', 'is not valid'],
      ['0 9 * * 1#2', 'not "1#2"'],
      ['0 9 1 * *', 'must have * as the day of the month'],
      ['0 0 9 * * *', 'does not have five fields: "0 0 9 * * *"'],
    ] as const) {
      const error = errorOf(() => parseExpression(text));
      expect(error.message).toContain(message);
      expect(error.hint).not.toBe('');
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
  for (const text of ['+02:00', 'BST', 'Berlin']) {
    expect(errorOf(() => parseTimezone(text)).message).toBe(`is not an IANA time zone name: "${text}"`);
  }
});

describe('two schedules', () => {
  const same = (one: CronSchedule, other: CronSchedule) =>
    findDifferences({ schedule: one }, { schedule: other }).length === 0;

  test('property: are the same, however one is written', async () => {
    await fc.assert(
      fc.asyncProperty(writtenSchedule, async (written) => {
        const normal = { ...normalizeFields(written), timezone: written.timezone };
        expect(same(written, normal)).toBe(true);
        const from = Date.UTC(2026, 2, 24);
        expect(await nextRuns(written, from, 20)).toEqual(await nextRuns(normal, from, 20));
      }),
      { numRuns: propertyRuns(30) },
    );
  });

  test('property: are the same if and only if they run at the same times', async () => {
    // Few values, so that equal ones occur.
    const few = fc.record({
      minute: fc.constantFrom('0', '*/30', '0,30', '0-30/30', '30'),
      hour: fc.constantFrom('9', '9-10', '9,10', '9-10/2'),
      day_of_week: fc.constantFrom('1-2', 'mon,tue', '*', '0-7', '7,1'),
      timezone: fc.constantFrom('UTC', 'Etc/UTC', 'Europe/Berlin', 'Asia/Calcutta', 'Asia/Kolkata'),
    });
    const times = async (schedule: CronSchedule) =>
      (await nextRuns(schedule, Date.UTC(2026, 2, 24), 60)).map((run) => Date.parse(run)).join();
    await fc.assert(
      fc.asyncProperty(few, few, async (one, other) => {
        expect(same(one, other)).toBe((await times(one)) === (await times(other)));
      }),
      { numRuns: propertyRuns(50) },
    );
  });
});
