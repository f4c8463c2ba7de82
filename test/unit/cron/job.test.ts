import { describe, expect, test } from 'vitest';
import { type CronJob, cronKey, findDifferences, instructionsHash, matchIdentity } from '../../../src/cron/job.ts';

const JOB: CronJob = {
  agent_id: 'agent_1',
  name: 'Report',
  instructions: 'Write the report.\n',
  schedule: { minute: '*/30', hour: '9', day_of_week: '1-5', timezone: 'UTC' },
};

test('keys and hashes never change', () => {
  expect(cronKey({ ...JOB, origin: 'https://api.example.com/v1' })).toBe('9ebfb9cd8bdb1f6760726064');
  expect(instructionsHash(JOB.instructions)).toBe('33bd411d6b70cf88119c69305766ad035c02e524abb7cf18d56ff970aefe0101');
});

test('the line ends and trailing white space of instructions make no difference, leading white space does', () => {
  for (const [instructions, isSame] of [
    ['Write the report. \r\n\r\n', true],
    [' Write the report.', false],
  ] as const) {
    expect(findDifferences(JOB, { instructions }).length === 0).toBe(isSame);
  }
});

describe('the differences of two jobs', () => {
  test('are the fields that differ in meaning, with both texts as written', () => {
    const schedule = { minute: '0,30', hour: '09', day_of_week: 'mon-fri', timezone: 'Etc/UTC' };
    const hash = { instructions_hash: instructionsHash('Write the report.') };
    expect(findDifferences({ schedule, ...hash }, JOB)).toEqual([]);
    const other = { minute: '5', hour: '*', day_of_week: '*', timezone: 'Europe/Berlin' };
    expect(findDifferences({ schedule: other, instructions: 'Another.' }, JOB)).toEqual([
      { field: 'minute', before: '5', after: '*/30' },
      { field: 'hour', before: '*', after: '9' },
      { field: 'day_of_week', before: '*', after: '1-5' },
      { field: 'timezone', before: 'Europe/Berlin', after: 'UTC' },
      { field: 'instructions', before: 'Another.', after: JOB.instructions },
    ]);
    expect(findDifferences({ instructions_hash: instructionsHash('Another.') }, JOB)).toEqual([
      { field: 'instructions', before: undefined, after: JOB.instructions },
    ]);
  });

  test('are not in what is missing or cannot be read', () => {
    expect(findDifferences({ schedule: null }, JOB)).toEqual([]);
    const schedule = { minute: '0', hour: '9', day_of_week: '1#2', timezone: 'Mars' };
    expect(findDifferences({ schedule }, JOB)).toEqual([{ field: 'minute', before: '0', after: '*/30' }]);
  });
});

test('a listed job has this agent and name, has not, or may have', () => {
  for (const [change, expected] of [
    [{}, 'yes'],
    [{ agent_id: 'https://api.example.com/v1/agents/agent_1/' }, 'yes'],
    [{ agent_id: undefined, agent_text: 'agent_1' }, 'yes'],
    [{ agent_id: 'agent_2' }, 'no'],
    [{ name: 'report' }, 'no'],
    [{ agent_id: undefined }, 'maybe'],
    [{ agent_id: undefined, agent_text: 'Support' }, 'maybe'],
  ] as const) {
    expect([change, matchIdentity({ ...JOB, agent_text: undefined, ...change }, 'agent_1', 'Report')]).toEqual([
      change,
      expected,
    ]);
  }
});
