import { describe, expect, test } from 'vitest';
import { CRON_JOBS, schedules } from '../support/cron.ts';
import { json, startFakeService } from '../support/fake-service.ts';
import { fastClock, run, tempDirectory, tinyRandom } from '../support/run.ts';
import { manifest, PROVISION, provisionBody, write } from '../support/service.ts';

const POST = `POST ${CRON_JOBS}`;

/** One job in each state: recorded, not recorded, gone, and of unknown outcome. */
async function everyStanding() {
  const service = await schedules();
  await service.create();
  await service.create(['--name', 'removed']);
  const removed = (await service.jobs()).find(({ name }) => name === 'removed')?.cron_job_id ?? '';
  await service.admin('DELETE', `/cron-jobs/${removed}`);
  const stranger = await service.make({ name: 'stranger' });
  await service.faults({ kind: 'reset', on: POST, times: 1 });
  await service.create(['--name', 'lost']);
  await service.forget();
  return { service, removed, stranger };
}

/** Long enough after the jobs were created for a service to list them. */
const later = () => fastClock(Date.now() + 120_000);

describe('cron list', () => {
  test("joins the service's list with the state file, field by field, in a table, and in rows in a pipe", async () => {
    const { service, removed, stranger } = await everyStanding();
    const ran = await service.cron(['list', '-o', 'json'], { clock: later() });
    expect(ran).toMatchObject({ code: 0, stderr: '' });
    const jobs = ran.json<{ name: string }[]>();
    const known = (await service.partner('GET', CRON_JOBS)).json.results;
    expect(jobs.map(({ name }) => name)).toEqual(['daily', 'stranger', 'removed', 'lost']);
    const key = expect.stringMatching(/^[0-9a-f]{24}$/);
    const description = 'At 09:00, Monday through Friday (Europe/Berlin)';
    const schedule = { type: 'cron', data: { minute: '0', hour: '9', day_of_week: '1-5' }, timezone: 'Europe/Berlin' };
    expect(jobs[0]).toEqual({ ...known[0], recorded: true, key, in_words: description });
    expect(jobs[1]).toEqual({ ...known[1], cron_job_id: stranger, recorded: false, in_words: description });
    const local = { agent_id: service.agent, schedule, recorded: true, remote: false, key, in_words: description };
    const more = { at: expect.any(String), origin: service.sandbox.baseUrl };
    expect(jobs[2]).toEqual({ ...local, ...more, cron_job_id: removed, name: 'removed', status: 'gone' });
    expect(jobs[3]).toEqual({ ...local, ...more, cron_job_id: null, name: 'lost', status: 'unknown' });
    expect(await service.posts()).toEqual([]);

    const table = ['list', '-o', 'table', '--color', 'never'];
    const shown = await service.cron(table, { columns: 160, clock: later() });
    const rows = shown.stdout.trimEnd().split('\n');
    expect(rows[0]).toMatch(/^JOB +NAME +AGENT +STATE +NEXT RUN +SCHEDULE$/);
    expect(rows[1]).toMatch(/ recorded +in \d+\w +At 09:00, Monday through Friday \(Europe\/Berlin\)$/);
    expect(rows.slice(1).map((row) => /unrecorded|recorded|gone|unknown/.exec(row)?.[0])).toEqual([
      'recorded',
      'unrecorded',
      'gone',
      'unknown',
    ]);
    const soon = await service.cron(table, { columns: 160 });
    expect(soon.stdout).toMatch(/removed .* unlisted /);
    const tsv = await service.cron(['list']);
    expect(tsv.stdout.split('\n', 4).map((line) => line.split('\t').length)).toEqual([7, 7, 7, 7]);
  });
});

/** Agents of two customers, each with a job `daily`; that of the first is recorded by its name. */
async function twoCustomers() {
  const service = await schedules();
  const agents = ['Support', 'Sales'].map((name) => ({ template_id: 'tmpl_support', name }));
  const other = (await service.partner('POST', PROVISION, { body: provisionBody('globex', { agents }) })).json.agents;
  await service.create(['--agent', 'name:Support', '--space', 'ext:acme']);
  for (const { agent_id } of other) await service.create(['--agent', agent_id]);
  const agentsOf = async (...args: string[]) =>
    (await service.cron(['list', '--query', '[].agent_id', ...args])).stdout;
  return { service, support: other[0].agent_id, sales: other[1].agent_id, agentsOf };
}

test('cron list shows whole ids and names at 80 columns: the agent by its name, if it is known, and no schedule', async () => {
  const { service } = await twoCustomers();
  await service.create(['--name', 'the-daily-summary', '--agent', 'name:Support', '--space', 'ext:acme']);
  const options = { columns: 80 };
  const ran = await service.cron(['list', '--space', 'ext:acme', '-o', 'table', '--color', 'never'], options);
  expect(ran.stdout).toMatch(/^JOB +NAME +AGENT +STATE +NEXT RUN\ncron_\w+ +daily +Support +recorded +in \d+\w\n/);
  expect(ran.stdout).toMatch(/the-daily-summary/);
  const all = await service.cron(['list', '-o', 'table', '--color', 'never'], options);
  for (const { cron_job_id, agent_id } of await service.jobs()) {
    expect(all.stdout).toContain(cron_job_id);
    expect(all.stdout).toContain(agent_id);
  }
});

describe('cron list with --agent or --space', () => {
  test('shows the jobs of one agent or of one space', async () => {
    const { service, support, sales, agentsOf } = await twoCustomers();
    expect(await agentsOf()).toBe(`${service.agent}\n${support}\n${sales}\n`);
    expect(await agentsOf('--space', 'ext:globex')).toBe(`${support}\n${sales}\n`);
    expect(await agentsOf('--space', service.space)).toBe(`${service.agent}\n`);
    expect(await agentsOf('--agent', sales)).toBe(`${sales}\n`);
    expect(await agentsOf('--agent', 'name:Support', '--space', 'ext:globex')).toBe(`${support}\n`);
    expect(await service.cron(['list', '--agent', 'agt_none', '-o', 'table'])).toMatchObject({
      code: 0,
      stdout: '',
      stderr: 'There are no jobs to list.\n',
    });
    expect(await service.cron(['list', '--space', 'ext:none'])).toMatchObject({ code: 4 });
  });

  test('knows agents from the state where the service does not list them, counts the rest, and keeps the fields of the service', async () => {
    const listed = [
      { cron_job_id: 'c1', name: 'one', key: 'K-1', in_words: 'of the service' },
      { cron_job_id: 'c2', name: 'two', agent: 'Support' },
      { cron_job_id: 'c3', name: 'three', agent: 'a1' },
    ];
    const service = await startFakeService(json(listed));
    const env = { PARTNER_BASE_URL: service.baseUrl, PARTNER_TOKEN: 'a-token-of-a-test', HOME: tempDirectory() };
    await run(['cron', 'adopt', 'c1', '--agent', 'a1', '--name', 'one', '--yes'], { env });
    const ran = await run(['cron', 'list', '--agent', 'a1', '-o', 'json'], { env });
    expect(ran.json()).toMatchObject([{ ...listed[0], recorded: true }, { cron_job_id: 'c3' }]);
    expect(ran).toMatchObject({
      code: 0,
      stderr: 'warning: Jobs left out, because the service does not say which agent runs them: 1.\n',
    });
  });
});

test('cron list names the agent and the space of each job whose agent the state knows from provision', async () => {
  const service = await schedules();
  const job = "{ name: a, instructions: Sum up., schedule: '0 9 * * *' }";
  const text = manifest('globex').replace('"Support"', `"Support", cron: [${job}]`);
  const options = { env: service.env, random: tinyRandom };
  await run(['provision', write('globex.yaml', text), '--state', service.state], options);
  await service.create(['--name', 'of another agent']);
  const named = await service.cron(['list', '--query', '[].[name, external_space_id]', '-o', 'json']);
  expect(named.json()).toEqual([
    ['a', 'globex'],
    ['of another agent', null],
  ]);
  const table = await service.cron(['list', '-o', 'table', '--color', 'never'], { columns: 100 });
  expect(table.stdout).toMatch(/^JOB +NAME +AGENT +SPACE +STATE +NEXT RUN\n.* Support +globex +recorded /);
});
