import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parseTimezone, ScheduleError } from '../../../src/cron/schedule.ts';
import { canonicalZone } from '../../../src/cron/time-zone.ts';
import { ZONE_ALIASES } from '../../../src/cron/zone-aliases.ts';
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
    ['asia/kolkata', 'Asia/Kolkata'],
    ['Asia/Calcutta', 'Asia/Calcutta'],
    ['us/eastern', 'US/Eastern'],
    ['america/port-au-prince', 'America/Port-au-Prince'],
    ['CET', 'CET'],
  ])('%j is %s', (text, name) => {
    expect(parseTimezone(text)).toBe(name);
  });

  test.each([
    ['+02:00', /is an offset, which knows no daylight saving/, 'name a place, such as Europe/Berlin, or UTC'],
    ['-5', /is an offset/, 'name a place, such as Europe/Berlin, or UTC'],
    ['UTC+2', /is an offset/, 'name a place, such as Europe/Berlin, or UTC'],
    ['gmt +02:00', /is an offset/, 'name a place, such as Europe/Berlin, or UTC'],
    ['BST', /is an abbreviation/, 'name a place, such as Europe/Berlin, or UTC'],
    ['pst', /is an abbreviation/, 'name a place, such as Europe/Berlin, or UTC'],
    ['CEST', /is an abbreviation/, 'name a place, such as Europe/Berlin, or UTC'],
    ['SystemV/PST8', /is not an IANA timezone name/, 'name a place, such as Europe/Berlin, or UTC'],
    ['Europe/Berln', /is not an IANA timezone name/, 'did you mean "Europe/Berlin"?'],
    ['Berlin', /is not an IANA timezone name/, 'did you mean "Europe/Berlin"?'],
    ['new york', /is not an IANA timezone name/, 'did you mean "America/New_York"?'],
    ['Europe/Calcuta', /is not an IANA timezone name/, 'did you mean "Asia/Calcutta"?'],
    ['US/Estern', /is not an IANA timezone name/, 'did you mean "US/Eastern"?'],
    ['Mars/Olympus_Mons', /is not an IANA timezone name/, 'name a place, such as Europe/Berlin, or UTC'],
    ['', /is empty/, 'name a place, such as Europe/Berlin, or UTC'],
  ])('%j is refused', (text, message, hint) => {
    const error = errorOf(text);
    expect(error.message).toMatch(message);
    expect(error.hint).toBe(hint);
    expect(error.field).toBe('timezone');
  });

  test('every name that this Node.js lists is known, in any case', () => {
    for (const name of Intl.supportedValuesOf('timeZone')) expect(parseTimezone(name.toLowerCase())).toBe(name);
  });

  test('nothing but a ScheduleError is ever thrown', () => {
    fc.assert(
      fc.property(
        fc.oneof(anyText(30), fc.lorem({ maxCount: 2 }), fc.constantFrom('etc/utc', ' GMT', 'Zulu')),
        (text) => {
          try {
            expect(parseTimezone(text).toLowerCase()).toBe(text.trim().toLowerCase());
          } catch (error) {
            expect(error).toBeInstanceOf(ScheduleError);
          }
        },
      ),
    );
  });
});

describe('aliases', () => {
  const MOMENTS = [0, 2, 4, 6, 8, 10].map((month) => Date.UTC(2027, month, 15));
  const offsets = (timeZone: string): string[] => {
    const format = new Intl.DateTimeFormat('en', { timeZone, timeZoneName: 'longOffset' });
    return MOMENTS.map(
      (moment) => format.formatToParts(moment).find(({ type }) => type === 'timeZoneName')?.value ?? '',
    );
  };

  test('each one is known, and keeps the time of the zone it stands for', () => {
    for (const [name, aliases] of Object.entries(ZONE_ALIASES)) {
      for (const alias of aliases) {
        expect(parseTimezone(alias.toUpperCase())).toBe(alias);
        expect(canonicalZone(alias)).toBe(name);
        expect(offsets(alias), alias).toEqual(offsets(name));
      }
    }
  });

  test('no name stands for two, and none for one that stands for another', () => {
    const aliases = Object.values(ZONE_ALIASES).flat();
    expect(new Set(aliases).size).toBe(aliases.length);
    expect(aliases.filter((alias) => Object.hasOwn(ZONE_ALIASES, alias))).toEqual([]);
  });
});
