import { describe, expect, test } from 'vitest';
import { cronJobsOf } from '../../../src/provision/manifest.ts';
import { problemLines, read, VALID } from '../../helpers/manifests.ts';

const withJobs = (...lines: readonly string[]): string =>
  `${VALID}    cron:\n${lines.map((line) => `      - ${line}\n`).join('')}`;

describe('cron jobs of an agent', () => {
  test('are read in the form the service takes', () => {
    const { documents, problems } = read(
      withJobs(
        '{ name: Report, instructions: x, schedule: 00 9 ? * MON-FRI, timezone: europe/berlin }',
        '{ name: Sweep, instructions: y, schedule: { minute: 0, hour: "*/2" } }',
      ),
    );
    expect(problems).toEqual([]);
    expect(documents.flatMap(({ manifest }) => manifest.agents.flatMap(cronJobsOf))).toEqual([
      {
        name: 'Report',
        instructions: 'x',
        schedule: { minute: '0', hour: '9', day_of_week: '1-5', timezone: 'Europe/Berlin' },
      },
      { name: 'Sweep', instructions: 'y', schedule: { minute: '0', hour: '*/2', day_of_week: '*', timezone: 'UTC' } },
    ]);
  });

  test('may be left out', () => {
    expect(read(VALID).documents.flatMap(({ manifest }) => manifest.agents.flatMap(cronJobsOf))).toEqual([]);
  });

  test('have the schedule checks of a file of jobs', () => {
    const reading = read(
      withJobs(
        '{ name: A, instructions: x, schedule: 0 9 1 * * }',
        '{ name: B, instructions: x, schedule: { minute: 60, hour: 9 }, timezone: Mars/Base }',
        '{ name: C, instructions: x, schedule: yes }',
      ),
    );
    expect(problemLines(reading)).toEqual([
      'a.yaml:8:51 "agents[0].cron[0].schedule" "1" is a day of the month, but must be *: schedules of the service have only minute, hour, and day_of_week',
      'a.yaml:9:57 "agents[0].cron[1].schedule.minute" "60" is out of range: 0 to 59',
      'a.yaml:9:82 "agents[0].cron[1].timezone" "Mars/Base" is not an IANA time zone name',
      'a.yaml:10:47 "agents[0].cron[2].schedule" "yes" has 1 field, not five',
    ]);
  });

  test('must differ in name under one agent, not across agents', () => {
    const jobs = withJobs(
      '{ name: A, instructions: x, schedule: "@daily" }',
      '{ name: A, instructions: y, schedule: "@daily" }',
    );
    const reading = read(
      `${jobs}  - template_id: other\n    name: Other\n    cron: [{ name: A, instructions: x, schedule: "@daily" }]\n`,
    );
    expect(problemLines(reading)).toEqual(['a.yaml:9:17 this agent already has a job "A", at a.yaml:8:17']);
  });
});
