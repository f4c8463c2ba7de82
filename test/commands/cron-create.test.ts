import { existsSync, readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { CRON_JOBS, type JobAnswer, jobFlags, schedules } from '../support/cron.ts';
import { run, withDefaults } from '../support/run.ts';
import { write } from '../support/service.ts';

const POST = `POST ${CRON_JOBS}`;
const LIST = `GET ${CRON_JOBS}`;
const BERLIN = {
  type: 'cron',
  data: { minute: '0', hour: '9', day_of_week: '1-5' },
  timezone: 'Europe/Berlin',
};

const MANY = `agent: name:Support
space: ext:acme
timezone: Europe/Berlin
jobs:
  - { name: daily, instructions: Sum up the day., schedule: '0 9 * * 1-5' }
  - name: watch
    instructions: |
      Look at what came in.
      Answer it.
    schedule: { minute: 0, hour: '*/4' }
    timezone: UTC
  - { name: hourly, instructions: x, schedule: '@hourly' }
`;

describe('cron create', () => {
  test('posts the job as the spec describes it and prints the documented JSON', async () => {
    const service = await schedules();
    const ran = await service.create(['-o', 'json']);
    expect(ran).toMatchObject({ code: 0, stderr: '' });
    const [job] = await service.jobs();
    const answer = ran.json<JobAnswer>();
    expect(answer).toEqual({
      cron_job_id: job?.cron_job_id,
      status: 'created',
      agent_id: service.agent,
      name: 'daily',
      schedule: BERLIN,
      in_words: 'At 09:00, Monday through Friday (Europe/Berlin)',
      key: expect.stringMatching(/^[0-9a-f]{24}$/),
      next_runs: [expect.any(String), expect.any(String), expect.any(String)],
      error: null,
    });
    for (const moment of answer.next_runs) expect(moment).toMatch(/T09:00:00\+0[12]:00$/);
    expect(await service.bodies()).toEqual([
      { agent_id: service.agent, name: 'daily', instructions: 'Sum up the day.', schedule: BERLIN },
    ]);
    expect(await service.records()).toEqual(['reserved', 'created']);
    expect(readFileSync(service.state, 'utf8')).not.toContain('Sum up');
  });

  test('exits with 5 on a repeat, with 0 with --ensure however the job is written, and sends nothing', async () => {
    const service = await schedules();
    await service.create();
    await service.forget();
    const again = await service.create(['-o', 'json']);
    expect(again.code).toBe(5);
    expect(again.json()).toMatchObject({ status: 'blocked', cron_job_id: expect.stringMatching(/^cron_/) });
    const hint = 'Add --ensure to accept a job that already exists.';
    expect(again.error()).toMatchObject({ type: 'duplicate', hint, details: { reason: 'same' } });
    const agent = ['--agent', 'name:Support', '--space', 'ext:acme', '--instructions', '-'];
    const written = [...agent, '--schedule', '0 09 * * mon,TUE,3-5', '--timezone', 'europe/berlin'];
    const ensured = await service.create([...written, '--ensure', '-o', 'json'], { stdin: 'Sum up the day.\r\n' });
    expect(ensured).toMatchObject({ code: 0, stderr: '' });
    expect(ensured.json()).toMatchObject({ status: 'exists' });
    expect(await service.posts()).toEqual([]);
  });

  test('blocks a job with other content and shows the differences, even with --ensure', async () => {
    const service = await schedules();
    await service.create();
    const args = ['create', '--agent', service.agent, '--name', 'daily', '--instructions', 'Other.', '--schedule'];
    for (const more of [[], ['--ensure']]) {
      const ran = await service.cron([...args, '0 10 * * *', ...more, '-o', 'json']);
      expect(ran.code).toBe(5);
      expect(ran.json()).toMatchObject({
        status: 'blocked',
        differences: [
          { field: 'hour', before: '9', after: '10' },
          { field: 'day_of_week', before: '1-5', after: '*' },
          { field: 'timezone', before: 'Europe/Berlin', after: 'UTC' },
          { field: 'instructions', after: 'Other.' },
        ],
      });
      expect(ran.error()).toMatchObject({ type: 'duplicate', hint: expect.stringContaining('partnerctl cron forget') });
    }
    const { stdout, stderr } = await service.cron([...args, '0 10 * * *', '-o', 'table']);
    // Not the schedule that was asked for: it would look like that of the job.
    expect(stdout).toMatch(/^SCHEDULE: +differs$/m);
    expect(stderr).toContain('hour differs: the service has "9", the new job has "10"\n');
    expect(stderr).toMatch(/instructions differ: the service has "Sum up.*", the new job has "Other\."/);
  });

  test('sends instructions from the command line, a file, or standard input unchanged', async () => {
    const service = await schedules();
    const text = '# Weekly\n\nÜber  alles: "x" \\ ${y}\n';
    const agent = ['--agent', 'name:Support', '--space', 'name:Acme'];
    const args = ['create', ...agent, '--schedule', '@daily', '--create-beside'];
    await service.cron([...args, '--name', 'a', '--instructions', text]);
    await service.cron([...args, '--name', 'b', '--instructions', `@${write('weekly.md', text)}`]);
    await service.cron([...args, '--name', 'c', '--instructions', '-'], { stdin: text });
    expect((await service.bodies()).map((body) => Object(body).instructions)).toEqual([text, text, text]);
  });

  test('shows what --dry-run would do, adopts what only the service has, and blocks if it has several', async () => {
    const service = await schedules();
    const dry = await service.create(['--dry-run', '-o', 'json']);
    expect(dry.json()).toMatchObject({ status: 'planned', cron_job_id: null, key: expect.any(String) });
    const id = await service.make({ name: 'daily', instructions: 'Sum up the day.' });
    for (const name of ['twice', 'twice']) await service.make({ name });
    await service.forget();
    expect((await service.create(['--dry-run', '-o', 'json'])).json()).toMatchObject({ status: 'adopted' });
    expect(existsSync(service.state)).toBe(false);
    const ran = await service.create(['-o', 'json']);
    expect(ran.code).toBe(0);
    expect(ran.json()).toMatchObject({ status: 'adopted', cron_job_id: id });
    expect(await service.records()).toEqual(['created']);
    const twice = await service.create(['--name', 'twice', '-o', 'json']);
    expect(twice.code).toBe(5);
    const candidates = [expect.any(String), expect.any(String)];
    expect(twice.error()).toMatchObject({ details: { reason: 'several', candidates } });
    expect(await service.posts()).toEqual([]);
  });

  test('prints labeled lines on a terminal and in a pipe, and a row with -o tsv', async () => {
    const service = await schedules();
    const shown = await service.create(['-o', 'table', '--color', 'never'], { columns: 100 });
    expect(shown.stdout).toMatch(
      /^JOB: +cron_\w+\nSTATUS: +created\nAGENT: +agt_\w+\nNAME: +daily\nSCHEDULE: +At 09:00, .*\nNEXT RUNS: +\S+T09:00:00\+0/,
    );
    const blocked = await service.create();
    expect(blocked.stdout).toMatch(/^JOB: +cron_\w+\nSTATUS: +blocked\n/);
    expect((await service.create(['--ensure', '-o', 'tsv'])).stdout.split('\t')).toHaveLength(7);
  });
});

test('cron create sends nothing, and exits with 2, for flags that are missing or wrong', async () => {
  const service = await schedules();
  const flags = jobFlags('agt_1');
  const changed = (...more: string[]) => withDefaults(flags, more);
  const refused: readonly (readonly [readonly string[], string])[] = [
    [
      [],
      '--agent, --name, --instructions, and --schedule are missing.\nhint: To read the jobs from a file instead: -f',
    ],
    [changed('--name', 'a\nb'), '--name must not start or end with white space, or contain a line break.'],
    [jobFlags('name:Support'), '--agent name:<name> needs --space.'],
    [changed('--schedule', '0 9 1 * *'), '--schedule: day of month must be *'],
    [changed('--schedule', '0 24 * * *'), '--schedule: hour 24 is out of range (0-23).\nhint: Write 0 to 23.'],
    [
      changed('--timezone', 'Europe/Berln'),
      '--timezone: "Europe/Berln" is not an IANA time zone name.\nhint: Did you mean Europe/Berlin?',
    ],
    [changed('--instructions', '@/nowhere.md'), 'cannot be read from /nowhere.md'],
    [changed('--instructions', `@${write('blank.md', ' \n\n')}`), '--instructions is blank.'],
    [changed('--instructions', '-', '--token-file', '-'), 'Standard input cannot be both'],
    [['-f', 'jobs.yaml', '--name', 'x'], "Option '-f, --file <path>' cannot be used with option '--name <name>'."],
    [changed('--summary-file', write('x.md', '')), '--summary-file needs --file.'],
  ];
  for (const [args, said] of refused) {
    const ran = await service.cron(['create', ...args]);
    expect([ran.code, ran.stdout, ran.stderr]).toEqual([2, '', expect.stringContaining(said)]);
    expect(ran.stderr).toMatch(/^error: [A-Z-]/);
  }
  expect(await service.received()).toEqual([]);
  expect(existsSync(service.state)).toBe(false);
});

test('cron create exits with 4 for an agent or a space that does not exist, also in a file', async () => {
  const service = await schedules();
  const by = (agent: string, space: string) => service.create(['--agent', agent, '--space', space]);
  expect(await by('name:Nobody', 'ext:acme')).toMatchObject({ code: 4, stderr: expect.stringContaining('Support') });
  expect(await by('name:Support', 'ext:nowhere')).toMatchObject({ code: 4 });
  expect(await service.create(['--agent', 'agt_nobody'])).toMatchObject({ code: 4 });
  const file = write('jobs.yaml', MANY.replace('name: watch', 'name: watch\n    agent: name:Nobody'));
  const unknown = await service.cron(['create', '-f', file, '-o', 'json']);
  expect(unknown).toMatchObject({ code: 4, stdout: '' });
  expect(unknown.error().hint).toMatch(/\nJob "watch" at .*jobs\.yaml:6 names it\. Nothing was sent\.$/);
  // An agent_id stands alone: the service refuses it.
  expect(await service.bodies()).toMatchObject([{ agent_id: 'agt_nobody' }]);
});

describe('cron create -f', () => {
  test('creates all jobs and prints a JSON array in the order of the file', async () => {
    const service = await schedules();
    const file = write('jobs.yaml', MANY);
    const ran = await service.cron(['create', '-f', file, '-o', 'json']);
    expect(ran).toMatchObject({ code: 0, stderr: '' });
    expect(ran.json<JobAnswer[]>().map(({ source, name, status }) => [source, name, status])).toEqual([
      [`${file}:5`, 'daily', 'created'],
      [`${file}:6`, 'watch', 'created'],
      [`${file}:12`, 'hourly', 'created'],
    ]);
    const bodies = await service.bodies();
    expect(bodies).toHaveLength(3);
    expect(bodies).toContainEqual({
      agent_id: service.agent,
      name: 'watch',
      instructions: 'Look at what came in.\nAnswer it.\n',
      schedule: { type: 'cron', data: { minute: '0', hour: '*/4', day_of_week: '*' }, timezone: 'UTC' },
    });
    const received = (await service.received()).map(({ method, path }) => `${method} ${path}`);
    expect(received.filter((request) => request.startsWith('GET /v1/automation/partner'))).toHaveLength(1);
    const again = await service.cron(['create', '-f', '-', '--ensure', '-o', 'ndjson'], { stdin: MANY });
    expect(again.code).toBe(0);
    expect(again.stdout.match(/"status":"exists"/g)).toHaveLength(3);
    expect(again.stdout.trimEnd().split('\n')).toHaveLength(3);
    const schema = (await run(['cron', 'create', '--schema'])).json();
    expect(schema).toMatchObject({ anyOf: [{ type: 'array' }, { required: ['jobs'] }] });
  });

  test('exits with 10 if some jobs are blocked, and the table shows which', async () => {
    const service = await schedules();
    await service.create();
    const ran = await service.cron(['create', '-f', write('jobs.yaml', MANY), '-o', 'table', '--color', 'never'], {
      columns: 250,
    });
    expect(ran.code).toBe(10);
    const shown = ran.stdout.trimEnd().split('\n');
    const words = shown.map((line) => /blocked|created|NAME/.exec(line)?.[0]);
    expect(words).toEqual(['NAME', 'blocked', 'created', 'created']);
    expect(ran.stderr).toContain('2 created, 1 blocked.');
    expect(ran.stderr).toContain('jobs.yaml:5 (daily): Job "daily" of agent');
  });

  test('stops at a 402 and skips the rest, even if the list is forbidden', async () => {
    const service = await schedules();
    await service.faults({ kind: 'status', status: 403, on: LIST }, { kind: 'status', status: 402, on: POST });
    const job = (_: unknown, at: number) =>
      `- { agent: ${service.agent}, name: n${at}, instructions: x, schedule: '@daily' }`;
    const jobs = Array.from({ length: 20 }, job).join('\n');
    const ran = await service.cron(['create', '-f', write('jobs.yaml', jobs), '-o', 'json']);
    expect(ran.code).toBe(6);
    const statuses = ran.json<JobAnswer[]>().map(({ status }) => status);
    expect(statuses.filter((each) => each === 'skipped').length).toBeGreaterThan(10);
    expect(await service.bodies()).toHaveLength(statuses.filter((each) => each === 'failed').length);
  });
});
