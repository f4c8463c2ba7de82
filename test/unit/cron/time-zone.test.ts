import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { ScheduleError } from '../../../src/cron/cron-field.ts';
import { canonicalTimezone, parseTimezone } from '../../../src/cron/time-zone.ts';
import { anyText } from './arbitraries.ts';

function errorOf(text: string): ScheduleError {
  try {
    parseTimezone(text);
  } catch (error) {
    if (error instanceof ScheduleError) return error;
    throw error;
  }
  throw new Error(`${text} was accepted`);
}

describe('parseTimezone', () => {
  test.each([
    ['Europe/Berlin', 'Europe/Berlin'],
    ['europe/berlin', 'Europe/Berlin'],
    [' EUROPE/BERLIN\n', 'Europe/Berlin'],
    ['utc', 'UTC'],
    ['UTC', 'UTC'],
    ['Etc/UTC', 'Etc/UTC'],
    ['etc/gmt-2', 'Etc/GMT-2'],
    ['Asia/Kolkata', 'Asia/Kolkata'],
    ['Asia/Calcutta', 'Asia/Calcutta'],
    ['US/Eastern', 'US/Eastern'],
    ['us/eastern', 'America/New_York'],
    ['america/port-au-prince', 'America/Port-au-Prince'],
    ['CET', 'CET'],
    ['Japan', 'Japan'],
  ])('resolves %j to %s', (text, name) => {
    expect(parseTimezone(text)).toBe(name);
  });

  test.each([
    ['+02:00', /is an offset, which has no daylight saving time/, 'use a place, such as Europe/Berlin, or UTC'],
    ['-5', /is an offset/, 'use a place, such as Europe/Berlin, or UTC'],
    ['UTC+2', /is an offset/, 'use a place, such as Europe/Berlin, or UTC'],
    ['gmt +02:00', /is an offset/, 'use a place, such as Europe/Berlin, or UTC'],
    ['BST', /is an abbreviation/, 'use a place, such as Europe/Berlin, or UTC'],
    ['pst', /is an abbreviation/, 'use a place, such as Europe/Berlin, or UTC'],
    ['CEST', /is an abbreviation/, 'use a place, such as Europe/Berlin, or UTC'],
    ['SystemV/PST8', /is not an IANA time zone name/, 'use a place, such as Europe/Berlin, or UTC'],
    ['Europe/Berln', /is not an IANA time zone name/, 'did you mean "Europe/Berlin"?'],
    ['Berlin', /is not an IANA time zone name/, 'did you mean "Europe/Berlin"?'],
    ['new york', /is not an IANA time zone name/, 'did you mean "America/New_York"?'],
    ['Europe/Calcuta', /is not an IANA time zone name/, 'did you mean "Asia/Calcutta"?'],
    ['Mars/Olympus_Mons', /is not an IANA time zone name/, 'use a place, such as Europe/Berlin, or UTC'],
    ['', /is empty/, 'use a place, such as Europe/Berlin, or UTC'],
  ])('rejects %j', (text, message, hint) => {
    const error = errorOf(text);
    expect(error.message).toMatch(message);
    expect(error.hint).toBe(hint);
    expect(error.field).toBe('timezone');
  });

  test('accepts every name that this Node.js lists, in any case', () => {
    for (const name of Intl.supportedValuesOf('timeZone')) expect(parseTimezone(name.toLowerCase())).toBe(name);
  });

  test('throws only ScheduleErrors', () => {
    fc.assert(
      fc.property(
        fc.oneof(anyText(30), fc.lorem({ maxCount: 2 }), fc.constantFrom('etc/utc', ' GMT', 'Zulu')),
        (text) => {
          try {
            expect(canonicalTimezone(parseTimezone(text))).toBe(canonicalTimezone(text.trim()));
          } catch (error) {
            expect(error).toBeInstanceOf(ScheduleError);
          }
        },
      ),
    );
  });
});

describe('canonicalTimezone', () => {
  test.each([
    ['Asia/Calcutta', 'Asia/Kolkata'],
    ['Europe/Kiev', 'Europe/Kyiv'],
    ['America/New_York', 'US/Eastern'],
    ['UTC', 'Etc/UTC'],
    ['GMT', 'Zulu'],
  ])('is the same for %s and %s', (one, other) => {
    expect(canonicalTimezone(one)).toBe(canonicalTimezone(other));
  });

  test('distinguishes zones that only have the same offset today', () => {
    expect(canonicalTimezone('Europe/Berlin')).not.toBe(canonicalTimezone('Europe/Paris'));
  });
});
