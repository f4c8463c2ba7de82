import { CronPattern } from 'croner';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { ScheduleError } from '../../../src/cron/cron-field.ts';
import { hasSameSchedule } from '../../../src/cron/listed-job.ts';
import { nextRuns } from '../../../src/cron/next-runs.ts';
import {
  type CronSchedule,
  formatExpression,
  normalizeFields,
  normalizeSchedule,
  parseExpression,
  parseFields,
} from '../../../src/cron/schedule.ts';
import { propertyRuns } from '../../support/properties.ts';
import { anyText, writtenFields, writtenSchedule } from './arbitraries.ts';

const utc = (text: string): CronSchedule => ({ ...parseExpression(text), timezone: 'UTC' });

function errorOf(parse: () => unknown): ScheduleError {
  try {
    parse();
  } catch (error) {
    if (error instanceof ScheduleError) return error;
    throw error;
  }
  throw new Error('nothing was thrown');
}

describe('the canonical form', () => {
  test.each([
    ['0 9 * * 1-5', '0 9 * * 1-5'],
    ['  00\t09  * *  MON-FRI ', '0 9 * * 1-5'],
    ['*/5 * ? ? *', '*/5 * * * *'],
    ['*/05 1-30/02 * * *', undefined],
    ['0 9 * * sunday,Tuesday', '0 9 * * 0,2'],
    ['0 9 * * 7', '0 9 * * 0'],
    ['0 9 * * 0,7,sun', '0 9 * * 0'],
    ['0 9 * * 5-7', '0 9 * * 0,5,6'],
    ['0 9 * * fri-sun', '0 9 * * 0,5,6'],
    ['0 9 * * 6-7', '0 9 * * 0,6'],
    ['0 9 * * 7-7', '0 9 * * 0'],
    ['0 9 * * 0-7', '0 9 * * 0,1,2,3,4,5,6'],
    ['0 9 * * sun-sun', '0 9 * * 0-0'],
    ['0 9 * * 1-7/2', '0 9 * * 0,1,3,5'],
    ['0 9 * * 2-7/2', '0 9 * * 2,4,6'],
    ['0 9 * * 0-7/7', '0 9 * * 0'],
    ['0,30,15 9 * * *', '0,30,15 9 * * *'],
    ['@daily', '0 0 * * *'],
    ['@MIDNIGHT', '0 0 * * *'],
    ['@hourly', '0 * * * *'],
    ['@weekly', '0 0 * * 0'],
  ])('of %j is %j', (text, canonical) => {
    if (canonical === undefined) expect(errorOf(() => parseExpression(text)).field).toBe('hour');
    else expect(formatExpression(parseExpression(text))).toBe(canonical);
  });

  test('is the same for separate fields with white space', () => {
    expect(parseFields({ minute: ' 0 , 30 ', hour: '9 - 17 / 2', day_of_week: undefined })).toEqual({
      minute: '0,30',
      hour: '9-17/2',
      day_of_week: '*',
    });
    expect(errorOf(() => parseFields({ minute: '1 2', hour: '*', day_of_week: '*' })).message).toBe(
      'minute: "1 2" is not valid: 0 to 59',
    );
  });

  test('requires the minute and the hour', () => {
    expect(errorOf(() => parseFields({ minute: '0', hour: undefined, day_of_week: '1' }))).toMatchObject({
      field: 'hour',
      message: 'hour: must be given',
    });
    expect(errorOf(() => parseFields({ minute: undefined, hour: '1', day_of_week: '1' })).field).toBe('minute');
  });

  test('property: selects the same values as croner', () => {
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
      { numRuns: propertyRuns(300) },
    );
  });
});

describe('an invalid cron expression', () => {
  test.each([
    ['75 9 * * *', 'minute: "75" is out of range: 0 to 59', 'minute', '75'],
    ['0 24 * * *', 'hour: "24" is out of range: 0 to 23', 'hour', '24'],
    ['0 9 * * 8', 'day of week: "8" is out of range: 0 to 7 (0 and 7 are Sunday), or sun to sat', 'day_of_week', '8'],
    ['99999999999999999999 9 * * *', /out of range/, 'minute', '99999999999999999999'],
    ['0 9 * * fri-mon', 'day of week: "fri-mon" runs backwards', 'day_of_week', 'fri-mon'],
    ['0 22-6 * * *', 'hour: "22-6" runs backwards', 'hour', '22-6'],
    ['*/0 9 * * *', 'minute: "*/0" needs a step from 1 to 60 after the "/"', 'minute', '*/0'],
    ['*/61 9 * * *', /needs a step from 1 to 60/, 'minute', '*/61'],
    ['*/ 9 * * *', /needs a step/, 'minute', '*/'],
    ['1-5/2/2 9 * * *', /is not valid/, 'minute', '1-5/2/2'],
    ['5/15 9 * * *', 'minute: "5/15" has a step after a single value', 'minute', '5/15'],
    ['/15 9 * * *', /is not valid/, 'minute', '/15'],
    ['1,,2 9 * * *', 'minute: "1,,2" has an empty item in its list', 'minute', '1,,2'],
    ['0 9, * * *', 'hour: "9," has an empty item in its list', 'hour', '9,'],
    ['*,5 9 * * *', 'minute: "*" already selects every value', 'minute', '*'],
    ['-5 9 * * *', 'minute: "-5" is not valid: 0 to 59', 'minute', '-5'],
    ['1-2-3 9 * * *', /is not valid/, 'minute', '1-2-3'],
    ['1.5 9 * * *', 'minute: "1.5" is not valid: 0 to 59', 'minute', '1.5'],
    ['٣ 9 * * *', /is not valid/, 'minute', '٣'],
    ['0 9am * * *', /is not valid/, 'hour', '9am'],
    ['0 9 * * mno', /is not a day/, 'day_of_week', 'mno'],
    ['0 9 * * ?', 'day of week: "?" is not supported by the service', 'day_of_week', '?'],
    ['0 9 * * 5L', /extension \(L, W or #\)/, 'day_of_week', '5L'],
    ['0 9 * * fri#2', /extension/, 'day_of_week', 'fri#2'],
    ['0 9 * * 1,L', /extension/, 'day_of_week', 'L'],
    [
      '0 9 1 * *',
      /^schedule: "1" is a day of the month, but must be \*: .* only minute, hour, and day_of_week/,
      'schedule',
      '1',
    ],
    ['0 9 L * *', /is a day of the month/, 'schedule', 'L'],
    ['0 9 * JAN *', /is a month, but must be \*/, 'schedule', 'JAN'],
    ['0 0 9 * * *', /has six fields: the service has no seconds/, 'schedule', '0 0 9 * * *'],
    ['0 0 9 * * * 2026', /has 7 fields, not five/, 'schedule', '0 0 9 * * * 2026'],
    [' 0 9 ', /has 2 fields, not five/, 'schedule', '0 9'],
    ['@monthly', /is not supported: .* only minute, hour/, 'schedule', '@monthly'],
    ['@reboot', /is not supported/, 'schedule', '@reboot'],
    ['@__proto__', /is not a known short form/, 'schedule', '@__proto__'],
    ['CRON_TZ=UTC 0 9 * * *', /begins with a time zone/, 'schedule', 'CRON_TZ=UTC 0 9 * * *'],
  ])('is rejected: %j', (text, message, field, part) => {
    const error = errorOf(() => parseExpression(text));
    if (typeof message === 'string') expect(error.message).toBe(message);
    else expect(error.message).toMatch(message);
    expect(error.field).toBe(field);
    expect(text.slice(error.offset, (error.offset ?? 0) + (error.length ?? 0))).toBe(part);
    expect(error.hint ?? error.message).toBeTruthy();
  });

  test.each(['', ' \t\n'])('is rejected if it is empty: %j', (text) => {
    expect(errorOf(() => parseExpression(text)).message).toBe('schedule: is empty');
  });

  test.each([
    ['0 9 * * fri-mon', 'write 5-6,0-1'],
    ['0 9 * * 7-2', 'write 0-2'],
    ['0 9 * * sat-mon', 'write 6,0-1'],
    ['0 22-6 * * *', 'write 22-23,0-6'],
    ['5/15 9 * * *', 'write 5-59/15'],
    ['0 24 * * *', 'midnight is 0'],
    ['0 9 * * wednsday', 'did you mean "wednesday"?'],
    ['@dayly', 'did you mean "@daily"?'],
    [
      '0 9 * * x',
      'day of week: 0 to 7 (0 and 7 are Sunday), or sun to sat, such as * or 1 or 1,3,5 or mon-fri or */2 or 1-5/2',
    ],
    ['0 9', 'write five fields: minute hour day-of-month month day-of-week, such as `0 9 * * 1-5`'],
  ])('has a hint with a replacement: %j', (text, hint) => {
    expect(errorOf(() => parseExpression(text)).hint).toBe(hint);
  });

  test('has a hint with the values around the end if a range runs backwards', () => {
    const range = fc.tuple(fc.nat(23), fc.nat(23)).filter(([from, to]) => from > to);
    fc.assert(
      fc.property(range, ([from, to]) => {
        const { hint } = errorOf(() => parseFields({ minute: '0', hour: `${from}-${to}`, day_of_week: '*' }));
        const hour = (hint ?? '').replace('write ', '');
        const expected = Array.from({ length: to + 25 - from }, (_, step) => (from + step) % 24);
        const wrapped = { minute: '0', hour: expected.join(','), day_of_week: '*', timezone: 'UTC' };
        expect(hasSameSchedule({ ...wrapped, hour }, wrapped)).toBe(true);
      }),
    );
  });

  test('property: causes a ScheduleError whose position is inside the text, whatever the text', () => {
    const pieces = fc.array(fc.constantFrom(...'0159*,/-?#LW @monsufriMON \t\u0000é'), { maxLength: 20 });
    const text = fc.oneof(
      pieces.map((parts) => parts.join('')),
      anyText(40),
    );
    const sound = (given: string, parse: () => unknown): void => {
      try {
        parse();
      } catch (error) {
        expect(error).toBeInstanceOf(ScheduleError);
        if (!(error instanceof ScheduleError)) return;
        const { offset = 0, length = 0 } = error;
        expect(offset).toBeGreaterThanOrEqual(0);
        expect(offset + length).toBeLessThanOrEqual(given.length);
        expect(error.message + (error.hint ?? '')).not.toMatch(/[\p{Cc}\p{Bidi_Control}]/u);
      }
    };
    fc.assert(
      fc.property(text, fc.constantFrom('minute', 'hour', 'day_of_week'), (given, field) => {
        sound(given, () => parseExpression(given));
        const expression = `0 ${given} * * *`;
        sound(expression, () => parseExpression(expression));
        sound(given, () => parseFields({ minute: '0', hour: '0', day_of_week: '0', [field]: given }));
      }),
      { numRuns: propertyRuns(300) },
    );
  });
});

describe('hasSameSchedule', () => {
  test.each([
    ['*/30 * * * *', '0,30 * * * *', true],
    ['0 9 * * 1-5', '0 9 * * 5,4,3,2,1', true],
    ['0 9 * * *', '0 9 * * 0-6', true],
    ['0-59 0-23 * * sun-sat', '* * * * *', true],
    ['0 9 * * 1-5', '0 9 * * 1-4', false],
    ['0 9 * * *', '9 0 * * *', false],
  ])('%s and %s: %s', (one, other, same) => {
    expect(hasSameSchedule(utc(one), utc(other))).toBe(same);
  });

  test.each([
    ['UTC', 'Etc/UTC', true],
    ['GMT', 'Zulu', true],
    ['Asia/Calcutta', 'Asia/Kolkata', true],
    ['europe/kiev', 'Europe/Kyiv', true],
    ['Europe/Berlin', 'Europe/Paris', false],
  ])('%s and %s: %s', (one, other, same) => {
    const daily = utc('@daily');
    expect(hasSameSchedule({ ...daily, timezone: one }, { ...daily, timezone: other })).toBe(same);
  });

  test('throws for an invalid schedule', () => {
    expect(errorOf(() => normalizeSchedule({ ...utc('@daily'), timezone: 'Mars' })).field).toBe('timezone');
    expect(errorOf(() => normalizeSchedule({ ...utc('@daily'), hour: '25' })).field).toBe('hour');
  });

  test('compares normalized text that never changes, because it is hashed', () => {
    expect(normalizeSchedule({ minute: '*/20', hour: '9-11', day_of_week: '*', timezone: 'Asia/Kolkata' })).toBe(
      '0,20,40 9,10,11 * * * Asia/Kolkata',
    );
    expect(normalizeSchedule({ minute: '5', hour: '*', day_of_week: '1-5', timezone: 'UTC' })).toBe(
      '5 * * * 1,2,3,4,5 UTC',
    );
  });

  const FROM = Date.UTC(2026, 2, 24);

  test('property: is true for a schedule written differently, which has the same runs, even across clock changes', async () => {
    await fc.assert(
      fc.asyncProperty(writtenSchedule, async (written) => {
        const canonical = { ...parseFields(written), timezone: written.timezone };
        const [minute = '', hour = '', , , day_of_week = '', timezone = ''] = normalizeSchedule(written).split(' ');
        const normal = { minute, hour, day_of_week, timezone };
        expect(hasSameSchedule(written, canonical)).toBe(true);
        expect(hasSameSchedule(canonical, normal)).toBe(true);
        expect(hasSameSchedule(normal, written)).toBe(true);
        const runs = await nextRuns(normal, FROM, 20);
        expect(await nextRuns(written, FROM, 20)).toEqual(runs);
        expect(await nextRuns(canonical, FROM, 20)).toEqual(runs);
      }),
      { numRuns: propertyRuns(30) },
    );
  });

  test('property: is true if and only if two schedules run at the same times', async () => {
    // Few values, so that equal ones occur.
    const few = fc.record({
      minute: fc.constantFrom('0', '*/30', '0,30', '0-30/30', '30'),
      hour: fc.constantFrom('9', '9-10', '9,10', '9-10/2'),
      day_of_week: fc.constantFrom('1-2', 'mon,tue', '*', '0-7', '7,1'),
      timezone: fc.constantFrom('UTC', 'Etc/GMT', 'Europe/Berlin'),
    });
    await fc.assert(
      fc.asyncProperty(few, few, async (one, other) => {
        const moments = async (schedule: CronSchedule): Promise<number[]> =>
          (await nextRuns(schedule, FROM, 60)).map((run) => Date.parse(run));
        const same = JSON.stringify(await moments(one)) === JSON.stringify(await moments(other));
        expect(hasSameSchedule(one, other)).toBe(same);
        expect(hasSameSchedule(other, one)).toBe(same);
        if (normalizeSchedule(one) === normalizeSchedule(other)) expect(same).toBe(true);
      }),
      { numRuns: propertyRuns(50) },
    );
  });
});
