import { CronPattern } from 'croner';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { ScheduleError } from '../../../src/cron/cron-field.ts';
import { nextRuns } from '../../../src/cron/describe-schedule.ts';
import { contentHash, findDifferences } from '../../../src/cron/job.ts';
import {
  type CronSchedule,
  formatExpression,
  normalizeFields,
  parseExpression,
  parseFields,
  parseTimezone,
} from '../../../src/cron/schedule.ts';
import { propertyRuns } from '../../support/properties.ts';
import { writtenFields, writtenSchedule } from './arbitraries.ts';

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
      ['0 9 * * 1-7/2', '0 9 * * 0,1,3,5'],
      ['@daily', '0 0 * * *'],
      ['@hourly', '0 * * * *'],
    ] as const) {
      expect(formatExpression(parseExpression(text))).toBe(sent);
    }
  });

  test('property: selects the same values as croner says, in each form', () => {
    const values = (expression: string): number[][] => {
      const { minute, hour, dayOfWeek } = new CronPattern(expression, 'UTC', { mode: '5-part' });
      return [minute, hour, dayOfWeek].map((flags) => [...flags.keys()].filter((value) => flags[value]));
    };
    fc.assert(
      fc.property(writtenFields, (fields) => {
        const canonical = parseFields(fields);
        expect(values(formatExpression(canonical))).toEqual(values(formatExpression(fields)));
        expect(values(formatExpression(normalizeFields(fields)))).toEqual(values(formatExpression(fields)));
        expect(parseFields(canonical)).toEqual(canonical);
        expect(formatExpression(canonical)).toMatch(/^[\d*,/-]+ [\d*,/-]+ \* \* [\d*,/-]+$/);
        expect(canonical.day_of_week).not.toMatch(/(?:^|[,-])7/);
      }),
      { numRuns: propertyRuns(200) },
    );
  });

  test('is rejected with the place of the mistake', () => {
    for (const [text, message, part, hint] of [
      ['75 9 * * *', 'minute: "75" is out of range (0 to 59)', '75', 'minute: 0 to 59, such as'],
      ['0 9 * * fri-mon', 'day of week: "fri-mon" runs backwards', 'fri-mon', 'mon-fri'],
      ['*/0 9 * * *', 'minute: "*/0" needs a step from 1 to 60 after the "/"', '*/0', ''],
      ['5/15 9 * * *', 'minute: "5/15" has a step after a single value', '5/15', 'write 5-59/15'],
      ['1,,2 9 * * *', 'minute: "" is not valid (0 to 59)', '', ''],
      ['0 9 * * 1,wednsday', 'is not a day', 'wednsday', 'did you mean "wednesday"?'],
      ['0 9 1 * *', 'schedule: "1" is a day of the month, but must be *', '1', 'run it daily'],
      ['0 0 9 * * *', 'has 6 fields, not five', '0 0 9 * * *', 'write five fields'],
      [' @monthly', 'has 1 field, not five', '@monthly', '@hourly, @daily, or @weekly'],
    ] as const) {
      const error = errorOf(() => parseExpression(text));
      expect(error.message).toContain(message);
      expect(error.hint ?? '').toContain(hint);
      expect(error.piece.text).toBe(part);
      expect(text.startsWith(part, error.piece.offset)).toBe(true);
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
  const place = 'use a place, such as Europe/Berlin, or UTC';
  for (const [text, hint] of [
    ['+02:00', place],
    ['BST', place],
    ['Berlin', 'did you mean "Europe/Berlin"?'],
  ] as const) {
    expect(errorOf(() => parseTimezone(text))).toMatchObject({ field: 'timezone', hint });
  }
});

describe('two schedules', () => {
  const same = (one: CronSchedule, other: CronSchedule) =>
    findDifferences({ schedule: one }, { schedule: other }).length === 0;

  test('property: are the same, and have the same hash, however one is written', async () => {
    await fc.assert(
      fc.asyncProperty(writtenSchedule, async (written) => {
        const normal = { ...normalizeFields(written), timezone: written.timezone };
        expect(same(written, normal)).toBe(true);
        const hash = (schedule: CronSchedule) => contentHash({ instructions: '', schedule });
        expect(hash(written)).toBe(hash(normal));
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
