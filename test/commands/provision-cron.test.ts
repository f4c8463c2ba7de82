import { writeFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { CRON_JOBS, type JobAnswer } from '../support/cron.ts';
import { fastClock, fasterClock, run, tempDirectory } from '../support/run.ts';
import { manifest, type Service, service as startService, write } from '../support/service.ts';
import { type Answer, provision, type Result, SUMMARY } from './provisioning.ts';

const POST_JOB = `POST ${CRON_JOBS}`;

const DAILY = "{ name: daily, instructions: Sum up., schedule: '0 9 * * 1-5', timezone: Europe/Berlin }";
const HOURLY = "{ name: hourly, instructions: Look., schedule: '0 * * * *' }";

/** A document with these agents, each with these jobs. */
function scheduling(id: string, agents: Readonly<Record<string, readonly string[]>>): string {
  const lines = Object.entries(agents).map(
    ([name, jobs]) => `  - { template_id: tmpl_support, name: ${name}, cron: [${jobs.join(', ')}] }`,
  );
  return `external_space_id: ${id}\nspace: { name: Acme }\nagents:\n${lines.join('\n')}\n`;
}

async function listed(service: Service): Promise<readonly { readonly name: string; readonly agent_id: string }[]> {
  return (await service.partner('GET', `${CRON_JOBS}?page_size=1000`)).json.results;
}

const jobsOf = (result: Result | undefined): readonly JobAnswer[] => Object(result).cron;

describe('a job in a manifest', () => {
  test('is shown by --check, is created after the agents, and reported as by cron create', async () => {
    const service = await startService();
    const path = write('acme.yaml', scheduling('acme', { Support: [DAILY, HOURLY], Sales: [DAILY], Quiet: [] }));
    const check = (await provision([path, '--check'], service)).json<Answer>();
    const planned = { status: 'planned', cron_job_id: null, agent_id: null, key: null };
    expect(jobsOf(check.results[0])).toMatchObject([planned, planned, planned]);
    const ran = await provision([path], service);
    expect(ran).toMatchObject({ code: 0, stderr: '' });
    const { results, summary } = ran.json<Answer>();
    expect(summary).toEqual({ ...SUMMARY, created: 1 });
    const [support, sales] = results[0]?.agents.map(({ agent_id }) => agent_id) ?? [];
    const schedule = {
      ...{ type: 'cron', data: { minute: '0', hour: '9', day_of_week: '1-5' } },
      timezone: 'Europe/Berlin',
    };
    expect(jobsOf(results[0])).toMatchObject([
      { source: `${path}:4`, status: 'created', agent_id: support, name: 'daily', schedule, error: null },
      { source: `${path}:4`, status: 'created', agent_id: support, name: 'hourly' },
      { source: `${path}:5`, status: 'created', agent_id: sales, name: 'daily' },
    ]);
    const [install, ...jobs] = (await service.posts()).map(({ body }) => body);
    expect(JSON.stringify(install)).not.toContain('cron');
    expect(jobs).toEqual([
      { agent_id: support, name: 'daily', instructions: 'Sum up.', schedule },
      expect.objectContaining({ agent_id: support, name: 'hourly' }),
      expect.objectContaining({ agent_id: sales, name: 'daily' }),
    ]);
  });

  test('requires one or two reads of the job list for many documents, and none without jobs', async () => {
    const service = await startService();
    const many = Array.from({ length: 8 }, (_, index) => scheduling(`acme-${index}`, { Support: [DAILY] }));
    const path = write('many.yaml', many.join('---\n'));
    const ran = await provision([path, '--concurrency', '8'], service, { clock: fastClock() });
    expect(ran.json<Answer>().summary).toEqual({ ...SUMMARY, created: 8 });
    const reads = async () =>
      (await service.received()).filter(({ method, path }) => method === 'GET' && path.includes(CRON_JOBS)).length;
    expect(await reads()).toBeLessThan(3);
    await service.forget();
    await provision([write('plain.yaml', manifest('plain'))], service);
    expect(await reads()).toBe(0);
  });
});

describe('a job that cannot be created', () => {
  test('is a difference if it exists with other content: the rest is created, and no call changes it', async () => {
    const service = await startService();
    await provision([write('acme.yaml', scheduling('acme', { Support: [DAILY] }))], service);
    const path = write('acme.yaml', scheduling('acme', { Support: [DAILY.replace('0 9', '30 9'), HOURLY] }));
    const ran = await provision([path], service);
    expect(ran).toMatchObject({ code: 0, stderr: '' });
    const [result] = ran.json<Answer>().results;
    const place = { resource: 'job', name: 'daily', agent: 'Support' };
    const difference = { ...place, field: 'minute', service: '0', manifest: '30' };
    expect(result).toMatchObject({ status: 'reused', differences: [difference] });
    expect(jobsOf(result)).toMatchObject([
      { status: 'exists', differences: [{ field: 'minute', before: '0', after: '30' }], error: null },
      { status: 'created' },
    ]);
    expect((await listed(service)).map(({ name }) => name)).toEqual(['daily', 'hourly']);
  });

  test('blocks its space whole while its outcome is unknown, and no other one', async () => {
    const service = await startService();
    const env = await service.envFor([
      'spaces.provision',
      'spaces.read',
      'agents.read',
      'api_chat.setup',
      'cron_jobs.write',
    ]);
    await service.faults({ kind: 'reset', stage: 'after', on: POST_JOB, times: 1 });
    const path = write('acme.yaml', scheduling('acme', { Support: [DAILY] }));
    expect((await provision([path], service, { env })).code).toBe(9);
    await service.forget();
    const more = scheduling('acme', { Support: [DAILY, HOURLY], Sales: [DAILY] }).replace('cron:', 'chat: {}, cron:');
    const both = write('both.yaml', `${more}---\n${scheduling('beta', { Support: [DAILY] })}`);
    expect((await provision([write('acme.yaml', more)], service, { env })).code).toBe(9);
    expect(await service.posts()).toEqual([]);
    const ran = await provision([both], service, { env });
    expect(ran.code).toBe(10);
    expect(ran.json<Answer>().results).toMatchObject([
      {
        status: 'failed',
        agents: [{ status: 'unchanged' }, { status: 'blocked' }],
        error: { type: 'outcome_unknown' },
      },
      { status: 'created' },
    ]);
    expect(JSON.stringify(await service.posts())).not.toContain('acme');
  });

  test('is named in the error, and skipped after a failed installation or chat', async () => {
    const service = await startService();
    const path = write('acme.yaml', scheduling('acme', { Support: [DAILY, HOURLY] }));
    await service.faults({ kind: 'status', status: 422, on: POST_JOB });
    const both = await provision([path], service);
    expect(both.code).toBe(1);
    expect(both.error().message).toContain('The job "daily" of the agent "Support" is not created');
    expect(jobsOf(both.json<Answer>().results[0])).toMatchObject([{ status: 'failed' }, { status: 'failed' }]);
    await service.faults({ kind: 'status', status: 422, on: 'POST' });
    const chat = scheduling('acme', { Support: [DAILY] }).replace(', cron:', ', chat: {}, cron:');
    for (const text of [chat, scheduling('other', { Support: [DAILY] })]) {
      const ran = await provision([write('acme.yaml', text)], service);
      expect(ran.json()).toMatchObject({ results: [{ status: 'failed', cron: [{ status: 'skipped' }] }] });
    }
    expect(await listed(service)).toEqual([]);
  });
});

describe('a recorded job that the list does not show', () => {
  const LIST = `GET ${CRON_JOBS}`;
  const WITH_HOURLY = { Support: [DAILY, HOURLY] };

  test('is looked for again, and blocks nothing once it is listed', async () => {
    for (const command of ['plan', 'provision'] as const) {
      const service = await startService();
      await provision([write('acme.yaml', scheduling('acme', { Support: [DAILY] }))], service);
      await service.faults({ kind: 'stale', ms: 600_000, on: LIST, times: 2 });
      const clock = fastClock();
      const path = write('acme.yaml', scheduling('acme', WITH_HOURLY));
      const ran = await run([command, path], { clock, env: service.env });
      expect(ran.code, ran.stderr).toBe(0);
      expect(ran.stdout, command).toMatch(/\+ job "hourly".*\n.*: 1 job (?:to create|created)/s);
      expect(clock.slept.reduce((sum, ms) => sum + ms)).toBeLessThan(10_000);
    }
  });

  const deleted = async () => {
    const service = await startService();
    await provision([write('acme.yaml', scheduling('acme', { Support: [DAILY] }))], service);
    const [job] = (await service.partner('GET', CRON_JOBS)).json.results;
    await service.admin('DELETE', `/cron-jobs/${job.cron_job_id}`);
    await service.forget();
    return { service, path: write('acme.yaml', scheduling('acme', WITH_HOURLY)) };
  };

  test.each([
    ['a minute', 60, []],
    ['the time of the command', 6, ['--timeout', '8s']],
  ])('blocks its space after %s, whoever looks, and is said to be recorded', async (_, seconds, flags) => {
    const { service, path } = await deleted();
    for (const command of ['plan', 'provision']) {
      const clock = fastClock();
      const ran = await run([command, path, ...flags], { clock, env: service.env });
      expect(ran.code, ran.stderr).toBe(5);
      expect(ran.stderr).toMatch(
        new RegExp(
          `^note: recorded, but not in the list of jobs yet: "daily". Looking again for up to ${seconds} s. One that was deleted at the service is forgotten with: partnerctl cron forget cron_\\w+$`,
          'm',
        ),
      );
      expect(ran.stderr.match(/^note:/gm)).toHaveLength(1);
      expect(ran.stderr).toMatch(
        new RegExp(
          `is recorded as cron_\\w+, but the list did not show it for ${seconds} s\\.\\n.*run it again first.*cron forget [0-9a-f]{24}\\n$`,
          's',
        ),
      );
      expect(ran.stderr).not.toContain('not created');
      expect(clock.slept.reduce((sum, ms) => sum + ms)).toBe(1000 * seconds);
    }
    expect(await service.posts()).toEqual([]);
  });

  test('is looked for in five lists at most, without a note if that is wanted', async () => {
    const { service, path } = await deleted();
    const ran = await run(['plan', path, '-q'], { clock: fastClock(), env: service.env });
    expect(ran.stderr).not.toContain('note:');
    const lists = (await service.received()).filter(
      ({ method, path: at }) => method === 'GET' && at.includes(CRON_JOBS),
    );
    expect(lists).toHaveLength(5);
  });

  test('is not waited for if too little of the time of the command is left', async () => {
    const { service, path } = await deleted();
    const clock = fastClock();
    const ran = await run(['plan', path, '--timeout', '2s'], { clock, env: service.env });
    expect(ran.code, ran.stderr).toBe(5);
    expect(ran.stderr).toMatch(/but the list does not show it\./);
    expect(clock.slept).toEqual([]);
  });
});

test('A recorded job is not compared while the list fails, which a warning says', async () => {
  const service = await startService();
  const path = write('acme.yaml', scheduling('acme', { Support: [DAILY] }));
  await provision([path], service);
  await service.faults({ kind: 'status', status: 500, on: `GET ${CRON_JOBS}` });
  for (const more of [[], [HOURLY]]) {
    writeFileSync(path, scheduling('acme', { Support: [DAILY, ...more] }));
    const ran = await run(['provision', path, '--retries', '0'], { env: service.env });
    expect(ran.code, ran.stderr).toBe(more.length === 0 ? 0 : 8);
    expect(ran.stderr).toMatch(
      /^warning: Cannot read the list of jobs: .*\(500\).* Recorded jobs are not compared with it\.$/m,
    );
  }
});

describe('a job that exists and is not in the state', () => {
  const LIST = `GET ${CRON_JOBS}`;
  const fresh = ({ env }: Service) => ({ ...env, HOME: tempDirectory() });

  test('is not created if the list, once read, is forbidden when its time has come', async () => {
    const service = await startService();
    const path = write('acme.yaml', scheduling('acme', { Support: [DAILY] }));
    await provision([path], service);
    // Time passes, so that the list is read again before jobs are created.
    for (const skip of [1, 2]) {
      await service.faults({ kind: 'status', status: 403, on: LIST, skip, times: 1 });
      await provision([path], service, { env: fresh(service), clock: fasterClock(3_000) });
    }
    await service.faults();
    expect(await listed(service)).toHaveLength(1);
  });

  test('is recorded also if all of its differences are ignored', async () => {
    const service = await startService();
    await provision([write('acme.yaml', scheduling('acme', { Support: [DAILY] }))], service);
    const edited = scheduling('acme', { Support: [DAILY.replace('0 9', '30 9')] });
    const path = write('acme.yaml', `${edited}ignore: [{ resource: job, field: minute }]\n`);
    const env = fresh(service);
    expect((await provision([path], service, { env })).code).toBe(0);
    // The list cannot be read any more: only the state knows it.
    await service.faults({ kind: 'status', status: 403, on: LIST });
    expect((await provision([path], service, { env })).code).toBe(0);
    await service.faults();
    expect(await listed(service)).toHaveLength(1);
  });
});

test('a job whose response was lost is created, in a space that was changed, once the list shows it', async () => {
  const service = await startService();
  await provision([write('acme.yaml', scheduling('acme', { Support: [DAILY] }))], service);
  await service.faults({ kind: 'reset', stage: 'after', on: POST_JOB, times: 1 });
  const path = write('acme.yaml', scheduling('acme', { Support: [DAILY, HOURLY] }));
  const ran = await run(['provision', path], { env: service.env });
  expect(ran).toMatchObject({ code: 0, stderr: '' });
  expect(ran.stdout).toMatch(/ changed\n +\+ job "hourly".*\(cron_\w+\)\nDone: 1 job created; 1 space changed\.\n$/);
});

test('a job that exists is not counted as created, although neither its agent nor the job was known', async () => {
  const service = await startService();
  const path = write('acme.yaml', scheduling('acme', { Support: [DAILY] }));
  await provision([path], service);
  const scopes = ['spaces.provision', 'cron_jobs.read', 'cron_jobs.write'];
  const env = { ...(await service.envFor(scopes)), HOME: tempDirectory() };
  const ran = await run(['provision', path], { env });
  expect(ran.code, ran.stderr).toBe(0);
  expect(ran.stdout).not.toContain('job');
  expect(await listed(service)).toHaveLength(1);
});

test('the differences of a job are told also after a lost response to the installation of another agent', async () => {
  const service = await startService();
  await provision([write('acme.yaml', scheduling('acme', { Support: [DAILY] }))], service);
  const path = write('acme.yaml', scheduling('acme', { Support: [DAILY.replace('0 9', '30 9')], Sales: [] }));
  await service.faults({
    kind: 'reset',
    stage: 'after',
    on: 'POST /automation/agent-templates/provision-space/',
    times: 1,
  });
  const ran = await provision([path], service);
  expect(ran.code).toBe(0);
  expect(ran.json<Answer>().results[0]?.differences).toMatchObject([{ resource: 'job', field: 'minute' }]);
});
