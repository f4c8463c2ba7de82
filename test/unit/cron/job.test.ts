import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type CronJob, contentHash, cronKey, findDifferences, instructionsHash } from '../../../src/cron/job.ts';
import { hasSameSchedule, type ListedJob, matchContent, matchIdentity } from '../../../src/cron/listed-job.ts';
import { propertyRuns } from '../../support/properties.ts';
import { anyText, writtenSchedule } from './arbitraries.ts';

const JOB: CronJob = {
  agent_id: 'agent_1',
  name: 'Report',
  instructions: 'Write the report.\n',
  schedule: { minute: '*/30', hour: '9', day_of_week: '1-5', timezone: 'UTC' },
};

describe('cronKey', () => {
  test('never changes', () => {
    expect(cronKey('https://api.example.com/v1', 'agent_1', 'Report')).toMatchInlineSnapshot(
      `"9ebfb9cd8bdb1f6760726064"`,
    );
  });

  test('property: differs if any part differs, whatever characters the parts contain', () => {
    const part = fc.oneof(anyText(5), fc.constantFrom('', 'a', '"', ',', '\\', '\ud800'));
    const parts = fc.tuple(part, part, part);
    fc.assert(
      fc.property(parts, parts, (one, other) => {
        expect(cronKey(...one)).toMatch(/^[\da-f]{24}$/);
        const same = one.every((text, index) => text === other[index]);
        expect(cronKey(...one) === cronKey(...other)).toBe(same);
      }),
      {
        examples: [
          [
            ['a', 'b', 'c'],
            ['a', 'bc', ''],
          ],
          [
            ['a","b', '', ''],
            ['a', 'b', ''],
          ],
          [
            ['\ud800', '', ''],
            ['\ud801', '', ''],
          ],
        ],
      },
    );
  });
});

describe('contentHash', () => {
  test('never changes', () => {
    expect(contentHash(JOB)).toMatchInlineSnapshot(
      `"72a2e20a754241263596cba53e99b4dcdc285483478297e5aa518b98a88cbd40"`,
    );
    expect(instructionsHash(JOB.instructions)).toMatchInlineSnapshot(
      `"33bd411d6b70cf88119c69305766ad035c02e524abb7cf18d56ff970aefe0101"`,
    );
  });

  test.each([
    ['Write the report.', true],
    ['Write the report.\r\n\r\n', true],
    ['Write the report. \t', true],
    ['Write  the report.', false],
    [' Write the report.', false],
    ['write the report.', false],
    ['', false],
  ])('treats instructions %j as the same: %s', (instructions, same) => {
    expect(contentHash({ ...JOB, instructions }) === contentHash(JOB)).toBe(same);
    expect(instructionsHash(instructions) === instructionsHash(JOB.instructions)).toBe(same);
  });

  test('ignores the kind of line ends, but not white space', () => {
    expect(instructionsHash('a\r\nb')).toBe(instructionsHash('a\nb'));
    expect(instructionsHash('a \nb')).not.toBe(instructionsHash('a\nb'));
    expect(instructionsHash('a\rb')).not.toBe(instructionsHash('a\nb'));
  });

  test('property: is equal if and only if the schedules are equivalent', () => {
    fc.assert(
      fc.property(writtenSchedule, writtenSchedule, (one, other) => {
        const equal = contentHash({ ...JOB, schedule: one }) === contentHash({ ...JOB, schedule: other });
        expect(equal).toBe(hasSameSchedule(one, other));
      }),
      { numRuns: propertyRuns(60) },
    );
  });
});

describe('findDifferences', () => {
  const { schedule, instructions } = JOB;

  test('returns nothing for equivalent jobs', () => {
    const before = { minute: '0,30', hour: '09', day_of_week: 'mon-fri', timezone: 'Etc/UTC' };
    expect(findDifferences({ schedule: before, instructions: 'Write the report.' }, JOB)).toEqual([]);
    expect(findDifferences({ schedule: before, instructions_hash: instructionsHash(instructions) }, JOB)).toEqual([]);
  });

  test('returns each differing field with both values', () => {
    const before = { minute: '5', hour: '*', day_of_week: '*', timezone: 'Europe/Berlin' };
    expect(findDifferences({ schedule: before, instructions: 'Another.' }, JOB)).toEqual([
      { field: 'minute', before: '5', after: '*/30' },
      { field: 'hour', before: '*', after: '9' },
      { field: 'day_of_week', before: '*', after: '1-5' },
      { field: 'timezone', before: 'Europe/Berlin', after: 'UTC' },
      { field: 'instructions', before: 'Another.', after: instructions },
    ]);
  });

  test('has no text for instructions if only their hash is known', () => {
    const before = { schedule, instructions_hash: instructionsHash('Another.') };
    expect(findDifferences(before, JOB)).toEqual([{ field: 'instructions', before: undefined, after: instructions }]);
  });

  test('does not count unknown parts as differences', () => {
    expect(findDifferences({ schedule: undefined }, JOB)).toEqual([]);
    expect(findDifferences({ schedule }, { ...JOB, instructions: 'Another.' })).toEqual([]);
  });

  test('compares an unreadable part as text and the others by meaning', () => {
    const before = { minute: '0,30', hour: '09', day_of_week: '1#2', timezone: 'etc/utc' };
    expect(findDifferences({ schedule: before }, JOB)).toEqual([{ field: 'day_of_week', before: '1#2', after: '1-5' }]);
  });
});

describe('a listed job', () => {
  const listed: ListedJob = { ...JOB, cron_job_id: 'cron_1' };

  test.each<[Partial<ListedJob>, 'yes' | 'no' | 'maybe']>([
    [{}, 'yes'],
    [{ agent_id: 'agent_2' }, 'no'],
    [{ name: 'report' }, 'no'],
    [{ agent_id: undefined }, 'maybe'],
    [{ name: undefined }, 'maybe'],
    [{ agent_id: undefined, name: undefined }, 'maybe'],
    [{ agent_id: undefined, name: 'Other' }, 'no'],
    [{ agent_id: 'agent_2', name: undefined }, 'no'],
  ])('with %j matches the identity: %s', (change, expected) => {
    expect(matchIdentity({ ...listed, ...change }, 'agent_1', 'Report')).toBe(expected);
  });

  test.each<[Partial<ListedJob>, 'same' | 'different' | 'unknown']>([
    [{}, 'same'],
    [{ instructions: 'Write the report.' }, 'same'],
    [{ schedule: { minute: '00,30', hour: '9', day_of_week: 'MON-FRI', timezone: 'etc/utc' } }, 'same'],
    [{ instructions: 'Another.' }, 'different'],
    [{ schedule: { minute: '0', hour: '9', day_of_week: '1-5', timezone: 'UTC' } }, 'different'],
    [{ schedule: undefined }, 'unknown'],
    [{ instructions: undefined }, 'unknown'],
    [{ schedule: { minute: '*/30', hour: '9', day_of_week: '1#2', timezone: 'UTC' } }, 'unknown'],
    [{ schedule: { minute: '0,30', hour: '9', day_of_week: '1-5', timezone: 'Mars' } }, 'unknown'],
    [{ schedule: { minute: '0,30', hour: '9', day_of_week: '1-5', timezone: undefined } }, 'unknown'],
    [{ schedule: { minute: '0', hour: '9', day_of_week: '1#2', timezone: 'UTC' } }, 'different'],
    [{ schedule: { minute: '*/30', hour: '10', day_of_week: '1-5', timezone: undefined } }, 'different'],
    [{ schedule: undefined, instructions: 'Another.' }, 'different'],
    [{ instructions: undefined, schedule: { minute: '0', hour: '8', day_of_week: '1', timezone: 'UTC' } }, 'different'],
  ])('with %j has content that is %s', (change, expected) => {
    expect(matchContent({ ...listed, ...change }, JOB)).toBe(expected);
  });
});
