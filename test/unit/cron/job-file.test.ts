import { expect, test } from 'vitest';
import { parseJobFiles } from '../../../src/cron/job-file.ts';

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

test('a file of jobs has lists, or mappings with defaults, in several documents, with variables', () => {
  const { jobs, problems } = read(
    `- agent: ${'${AGENT}'}
  name: One
  instructions: Write the report.
  schedule: "${'${MINUTE}'} 9 ? * MON-FRI"
---
- { agent: a, name: One, instructions: x, schedule: "@daily" }
`,
    `agent: name:Support
space: ext:acme
timezone: europe/berlin
jobs:
  - { name: One, instructions: x, schedule: 0 9 * * * }
  - { name: Two, instructions: x, schedule: { minute: 00, hour: "09", day_of_week: 1-5 }, timezone: Asia/Kolkata }
  - { agent: agent_2, name: Two, instructions: x, schedule: { minute: 0, hour: 9 } }
`,
  );
  expect(problems).toEqual([]);
  expect(jobs[0]).toMatchObject({
    source: 'a.yaml:1',
    agent: { by: 'id', value: 'agent_9' },
    space: undefined,
    name: 'One',
    instructions: 'Write the report.',
    schedule: { minute: '15', hour: '9', day_of_week: '1-5', timezone: 'UTC' },
  });
  expect(
    jobs.slice(1).map(({ source, agent, space, schedule }) => [source, agent.value, space, ...Object.values(schedule)]),
  ).toEqual([
    ['a.yaml:6', 'a', undefined, '0', '0', '*', 'UTC'],
    ['b.yaml:5', 'Support', 'ext:acme', '0', '9', '*', 'Europe/Berlin'],
    ['b.yaml:6', 'Support', 'ext:acme', '0', '9', '1-5', 'Asia/Kolkata'],
    ['b.yaml:7', 'agent_2', 'ext:acme', '0', '9', '*', 'Europe/Berlin'],
  ]);
});

test('every mistake in agents, schedules, and time zones is reported at its position', () => {
  expect(
    said(
      read(`jobs:
  - agent: a
    name: One
    instructions: "@weekly.md"
    schedule: 0 25 * * *
    timezone: Europe/Berln
  - name: Two
    instructions: x
    schedule: { minute: 75, hour: 9, day_of_week: fri-mon, month: 1 }
  - { agent: a, name: Three, instructions: x, schedule: }
  - { agent: a, name: Four, instructions: x, schedule: { minute: [0, 30] } }
`),
    ),
  ).toEqual([
    expect.stringContaining('a.yaml:4:19 "jobs[0].instructions" must be the text itself'),
    'a.yaml:5:15 schedule: hour 25 is out of range (0-23)',
    'a.yaml:6:15 timezone: "Europe/Berln" is not an IANA time zone name',
    'a.yaml:9:25 schedule: minute 75 is out of range (0-59)',
    'a.yaml:9:51 schedule: day_of_week fri-mon runs backwards',
    'a.yaml:9:60 unknown key "month"',
    'a.yaml:10:57 "jobs[2].schedule" must be text or a mapping, not empty',
    'a.yaml:11:56 the key "hour" is missing in "jobs[3].schedule"',
    'a.yaml:11:66 "jobs[3].schedule.minute" must be text or a number, not a list',
  ]);
  expect(
    said(
      read(`- { name: One, instructions: x, schedule: "@daily" }
- { agent: name:Support, name: Two, instructions: x, schedule: "@daily" }
- { agent: ext:Support, name: Three, instructions: x, schedule: "@daily" }
`),
    ),
  ).toEqual([
    'a.yaml:1:3 the key "agent" is missing',
    'a.yaml:2:12 must be an agent_id; or name:<name>, with a "space" beside it',
    'a.yaml:3:12 must be an agent_id; or name:<name>, with a "space" beside it',
  ]);
});

test('the value of an invalid variable is not shown', () => {
  const reading = read(
    '- { agent: a, name: x, instructions: x, schedule: { minute: "${SECRET}", hour: 9 }, timezone: "${SECRET}" }\n',
  );
  expect(said(reading)).toEqual([
    'a.yaml:1:61 "[0].schedule.minute" is not valid: the value of SECRET',
    'a.yaml:1:95 "[0].timezone" is not valid: the value of SECRET',
  ]);
  expect(JSON.stringify(reading)).not.toContain('hunter2');
});

test('the same agent and name twice is reported across documents and files, with both lines', () => {
  const job = (agent: string) => `- { ${agent}, name: Report, instructions: x, schedule: "@daily" }\n`;
  const named = 'agent: name:Support, space: ext:acme';
  const reading = read(`${job('agent: a')}---\n${job(named)}`, `${job('agent: a')}${job(named.replace('acme', 'b'))}`);
  expect(said(reading)).toEqual(['b.yaml:1:21 this agent already has a job of this name at a.yaml:1']);
});
