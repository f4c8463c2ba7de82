import { readdirSync } from 'node:fs';
import { execa } from 'execa';
import { describe, expect, test } from 'vitest';
import { systemClock } from '../../src/platform/clock.ts';
import { CRON_JOBS, jobBody, scheduleBody } from '../support/cron.ts';
import { json, startFakeService } from '../support/fake-service.ts';
import { start } from '../support/program.ts';
import { type Report, rehearse, space } from '../support/rehearse.ts';
import { partnerctl, run, tempDirectory } from '../support/run.ts';
import { PROVISION, provisionBody, service, write } from '../support/service.ts';

/* Whole rehearsals, each of which starts some ten processes. `commands/sandbox-rehearse` has what ends before the first seed. */

describe('A rehearsal with a service', () => {
  test('begins with what exists there, sends it only reads, and kills the requests that its seeds determine', async () => {
    const { env, partner, posts, received, set, forget } = await service();
    await set({ templates: ['tmpl_real'] });
    const agents = [
      { template_id: 'tmpl_real', name: 'Support' },
      { template_id: 'tmpl_real', name: 'Other' },
    ];
    const { json: provisioned } = await partner('POST', PROVISION, { body: provisionBody('acme', { agents }) });
    const job = { name: 'daily', instructions: 'Look.', ...scheduleBody('0 0 *') };
    await partner('POST', CRON_JOBS, { body: jobBody(provisioned.agents[0].agent_id, job) });
    await forget();
    const path = write('fleet.yaml', `${space('acme', 'tmpl_real')}---\n${space('bolt', 'tmpl_real')}`);
    const ran = await rehearse(path, ['--seeds', '3', '-o', 'json'], { env });
    expect(ran).toMatchObject({ code: 0, stderr: '' });
    // The lists of spaces and agents, and that of jobs; two chats; one space; three jobs.
    expect(ran.json<Report>()).toMatchObject({
      seeds: [
        { killed_at: 1, problems: [] },
        { killed_at: 7, problems: [] },
        { killed_at: 4, problems: [] },
      ],
      summary: { seeds: 3, ended_well: 3, requests: 9 },
    });
    expect((await received()).length).toBeGreaterThan(0);
    expect(await posts()).toEqual([]);
  });

  test('begins with what the state recorded, where the token cannot list the jobs', async () => {
    const { env, envFor } = await service();
    const path = write('acme.yaml', space('acme'));
    expect(await run(['provision', path], { env })).toMatchObject({ code: 0 });
    const blind = await envFor(['spaces.read', 'agents.read', 'spaces.provision', 'api_chat.setup', 'cron_jobs.write']);
    const ran = await rehearse(path, ['--seeds', '1', '-o', 'json'], { env: { ...blind, HOME: env.HOME ?? '' } });
    expect(ran).toMatchObject({ code: 0, stderr: expect.stringContaining('what the state recorded') });
    // The spaces, the agents, and that the jobs cannot be listed: nothing is created.
    expect(ran.json<Report>()).toMatchObject({ seeds: [{ problems: [] }], summary: { ended_well: 1 } });
    expect(ran.json<Report>().summary.requests).toBeLessThanOrEqual(3);
  });

  test('says which lists the token cannot read, and goes on without them', async () => {
    const { envFor } = await service();
    const env = await envFor(['spaces.read']);
    const ran = await rehearse(write('acme.yaml', space('acme')), ['--seeds', '1', '-o', 'json'], { env });
    expect(ran).toMatchObject({ code: 0, stderr: expect.stringMatching(/^note: the token cannot list jobs\./) });
    expect(ran.json<Report>().seeds).toMatchObject([{ seed: 1, problems: [] }]);
  });

  test('counts what the service does not show, or the sandbox cannot run, as in the manifest', async () => {
    const list = (...results: readonly object[]) => json({ results });
    const schedule = {
      type: 'cron',
      data: { minute: '0', hour: '0', day_of_week: '*' },
      timezone: 'GMT Standard Time',
    };
    const fake = await startFakeService({
      'GET /automation/spaces/': list({ space_id: 's1', external_space_id: 'acme' }),
      'GET /automation/spaces/s1/agents/': list({ agent_id: 'a1', name: 'Support', source_id: 'src1' }),
      'GET /automation/partner-cron-jobs/': list(
        { cron_job_id: 'j1', agent_id: 'a1', name: 'daily', schedule },
        { cron_job_id: 'j2', agent_id: 'a1', name: 'nightly' },
        { cron_job_id: 'j3', agent_id: 'a2', name: 'of another space' },
      ),
    });
    const ran = await partnerctl(
      fake.baseUrl,
      ['sandbox', 'rehearse', write('acme.yaml', space('acme')), '--seeds', '1', '-o', 'json'],
      { clock: systemClock },
    );
    expect(ran).toMatchObject({ code: 0, stderr: '' });
    // The lists of spaces and agents, and that of jobs: everything is there, and is recorded.
    expect(ran.json<Report>().summary).toMatchObject({ requests: 3 });
  });
});

describe('A rehearsal without a service', () => {
  test('finds the second job that --assume-not-created makes where a request is carried out after the lease', async () => {
    const on = 'POST /automation/partner-cron-jobs/';
    const faults = write('faults.json', JSON.stringify({ rules: [{ kind: 'late', ms: 300_000, on, times: 1 }] }));
    const ran = await rehearse(write('acme.yaml', space('acme')), ['--seeds', '1', '--faults', faults, '-o', 'json']);
    expect(ran.code).toBe(10);
    const message = expect.stringMatching(/^2 jobs "daily" of agent "Support"/);
    expect(ran.json<Report>().seeds[0]?.problems).toEqual([{ kind: 'twice', message }]);
  });

  test('names the agents that a service installs again after the state is lost', async () => {
    const rules = [{ kind: 'stale', ms: 600_000, on: 'GET /automation/spaces/:space_id/agents/' }];
    const faults = write('faults.json', JSON.stringify({ rules }));
    const settings = '{"agents_on_repeat":"install"}';
    const args = ['--seeds', '2', '--lose-state', '--faults', faults, '--settings', settings];
    const ran = await rehearse(write('acme.yaml', space('acme')), args, { columns: 80 });
    expect(ran.code).toBe(10);
    expect(ran.stdout).toMatch(/\d agents "Support" \(tmpl_support\) in acme: agt_\w+,\s+agt_\w+/);
  });

  test('reconciles the jobs of a run that was killed while it created them, without a wait', async () => {
    const ran = await rehearse(write('acme.yaml', space('acme')), ['--seeds', '3', '-o', 'json']);
    expect(ran).toMatchObject({ code: 0, stderr: expect.stringContaining('begins with nothing') });
    // The second seed is killed at the first of the two jobs.
    expect(ran.json<Report>().seeds).toMatchObject([
      { killed_at: 1, killed: 'before', problems: [] },
      { killed_at: 5, killed: 'before', problems: [] },
      { killed_at: 3, killed: 'after', problems: [] },
    ]);
  });
});

test('Ctrl-C ends a rehearsal at once, with a report of the seeds that ended, and removes its files', async () => {
  const temporary = tempDirectory();
  const path = write('acme.yaml', space('acme'));
  const child = start(['sandbox', 'rehearse', path], { env: { TMPDIR: temporary, HOME: tempDirectory() } });
  const hasState = () =>
    readdirSync(temporary, { recursive: true }).some((name) => /seed-\d+.*state/.test(String(name)));
  await expect.poll(hasState).toBe(true);
  child.kill('SIGINT');
  const stdout = expect.stringMatching(/^Interrupted after \d+ of 100 seeds\. /);
  expect(await child).toMatchObject({ exitCode: 130, stdout });
  expect(readdirSync(temporary)).toEqual([]);
  expect((await execa('ps', ['-eo', 'args'])).stdout).not.toContain(path);
});
