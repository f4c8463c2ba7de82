import { describe, expect, test } from 'vitest';
import { cronJobsJsonSchema, parseJobFiles } from '../../../src/cron/job-file.ts';

const VARIABLES: Readonly<Record<string, string>> = {
  AGENT: 'agent_9',
  MINUTE: '15',
  SECRET: 'hunter2 is no schedule',
};

function read(...texts: readonly string[]) {
  const sources = texts.map((text, index) => ({ name: `${String.fromCharCode(97 + index)}.yaml`, text }));
  return parseJobFiles(sources, (name) => VARIABLES[name]);
}

function said({ problems }: ReturnType<typeof read>): string[] {
  return problems.map(({ source, line, column, message }) => `${source}:${line}:${column} ${message}`);
}

const JOB = `agent: agent_1
name: Report
instructions: Write the report.
schedule: 0 9 * * mon-fri
`;

function changed(from: string, to: string): string {
  const text = JOB.replace(from, to);
  expect(text).not.toBe(JOB);
  return text;
}

const ready = {
  source: 'a.yaml:1',
  agent: 'agent_1',
  space: undefined,
  name: 'Report',
  instructions: 'Write the report.',
  schedule: { minute: '0', hour: '9', day_of_week: '1-5', timezone: 'UTC' },
};

describe('a file of jobs may contain', () => {
  test('one job, whose schedule is text, fields, or what the service takes', () => {
    for (const schedule of [
      '0 9 * * mon-fri',
      '"0 9 ? * MON-FRI"',
      '{ minute: 00, hour: "09", day_of_week: 1-5, timezone: UTC }',
      '{ type: cron, data: { minute: "0", hour: 9, day_of_week: "1-5" }, timezone: utc }',
    ]) {
      expect(read(JOB.replace('0 9 * * mon-fri', schedule))).toEqual({ jobs: [ready], problems: [] });
    }
  });

  test('jobs in several documents and files, with variables and defaults, which each job may override', () => {
    const { jobs, problems } = read(
      `${JOB}---\n${changed('agent_1', '${AGENT}').replace('0 9', '${MINUTE} 9')}---
- { agent: a, name: One, instructions: x, schedule: "@daily" }
`,
      `agent: name:Support
space: ext:acme
timezone: europe/berlin
jobs:
  - { name: One, instructions: x, schedule: 0 9 * * * }
  - { name: Two, instructions: x, schedule: { minute: 0, hour: 9 }, timezone: Asia/Kolkata }
  - { agent: agent_2, name: Two, instructions: x, schedule: { minute: 0, hour: 9, timezone: UTC } }
`,
    );
    expect(problems).toEqual([]);
    expect(jobs.map(({ source, agent, space, schedule }) => [source, agent, space, schedule.timezone])).toEqual([
      ['a.yaml:1', 'agent_1', undefined, 'UTC'],
      ['a.yaml:6', 'agent_9', undefined, 'UTC'],
      ['a.yaml:11', 'a', undefined, 'UTC'],
      ['b.yaml:5', 'name:Support', 'ext:acme', 'Europe/Berlin'],
      ['b.yaml:6', 'name:Support', 'ext:acme', 'Asia/Kolkata'],
      ['b.yaml:7', 'agent_2', undefined, 'UTC'],
    ]);
    expect(jobs[1]?.schedule.minute).toBe('15');
  });
});

describe('a mistake in a file of jobs is reported:', () => {
  test('every mistake in agents, schedules, and time zones, at its position', () => {
    const reading = read(`jobs:
  - agent: a
    name: One
    instructions: x
    schedule: 0 25 * * *
    timezone: Europe/Berln
  - name: Two
    instructions: x
    schedule: { minute: 75, hour: 9, day_of_week: fri-mon }
  - { agent: a, name: Three, instructions: x, schedule: { minute: 0, hour: 9, timezone: UTC }, timezone: UTC }
`);
    expect(reading.jobs).toEqual([]);
    expect(said(reading)).toEqual([
      'a.yaml:5:17 "jobs[0].schedule": hour: "25" is out of range (0 to 23)',
      'a.yaml:6:15 "jobs[0].timezone" "Europe/Berln" is not an IANA time zone name',
      'a.yaml:7:5 the key "agent" is missing in "jobs[1]"',
      'a.yaml:9:25 "jobs[1].schedule.minute" "75" is out of range (0 to 59)',
      'a.yaml:9:51 "jobs[1].schedule.day_of_week" "fri-mon" runs backwards',
      expect.stringMatching(/^a\.yaml:10:\d+ the time zone is set twice, first at a\.yaml:10:\d+$/),
    ]);
    expect(reading.problems.find(({ line }) => line === 6)?.hint).toBe('did you mean "Europe/Berlin"?');
  });

  test.each([
    ['0 9 * * mon-fri', '{ type: interval, data: { minute: 0, hour: 9 } }', '4:19 "schedule.type" must be cron'],
    ['0 9 * * mon-fri', '{ data: { minute: 0, hour: 24 }, type: cron }', '4:38 "schedule.data.hour" "24"'],
    ['0 9 * * mon-fri', '', '4:1 "schedule" must be text, such as "0 9 * * 1-5", or a mapping of minute, hour'],
    ['Write the report.', '"@weekly.md"', '3:15 "instructions" must be the text itself: only the flag --instructions'],
    ['agent: agent_1', 'agent: name:Support', '1:8 an agent name needs a space'],
    ['agent: agent_1', 'agent: ext:Support', '1:8 "agent" must be an agent_id, or "name:"'],
  ])('%j as %j', (from, to, message) => {
    expect(said(read(changed(from, to)))).toEqual([expect.stringContaining(`a.yaml:${message}`)]);
  });

  test('an invalid variable, without its value', () => {
    const reading = read(
      changed('0 9 * * mon-fri', '{ minute: "${SECRET}", hour: 9 }').concat('timezone: ${SECRET}\n'),
    );
    expect(said(reading)).toEqual([
      'a.yaml:4:21 "schedule.minute": the value of SECRET is not a valid minute',
      'a.yaml:5:11 "timezone": the value of SECRET is not a valid timezone',
    ]);
    expect(JSON.stringify(reading)).not.toContain('hunter2');
  });

  test('the same agent and name twice, across documents and files, with both positions', () => {
    const named = 'agent: name:Support\nspace: ext:acme';
    const reading = read(
      `${JOB}---\n${changed('agent: agent_1', named)}`,
      `${JOB}---\n${changed('agent: agent_1', named)}---\n${changed('agent: agent_1', named.replace('acme', 'other'))}`,
    );
    expect(said(reading)).toEqual([
      'b.yaml:2:7 this agent already has a job "Report" at a.yaml:2:7',
      'b.yaml:8:7 this agent already has a job "Report" at a.yaml:8:7',
    ]);
    expect(reading.problems[0]?.hint).toBe('give each job of an agent its own name');
  });
});

test('the JSON Schema describes each form', () => {
  const schema = cronJobsJsonSchema();
  expect(schema).toMatchObject({ anyOf: [{ type: 'object' }, { type: 'array', minItems: 1 }, { required: ['jobs'] }] });
  expect(JSON.stringify(schema)).not.toMatch(/"\$ref"|"not":\{\}/);
});
