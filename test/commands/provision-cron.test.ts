import { symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { CRON_JOBS, type JobAnswer } from '../support/cron.ts';
import { fastClock, tempDirectory } from '../support/run.ts';
import { manifest, type Service, service as startService, write } from '../support/service.ts';
import { type Answer, provision, type Result, SUMMARY } from './provisioning.ts';

const POST_JOB = `POST ${CRON_JOBS}`;
const LIST_JOBS = `GET ${CRON_JOBS}`;

const DAILY = "{ name: daily, instructions: Sum up., schedule: '0 9 * * 1-5', timezone: Europe/Berlin }";
const HOURLY = "{ name: hourly, instructions: Look., schedule: '0 * * * *' }";

/** A document with these agents, each with these jobs. */
function scheduling(id: string, agents: Readonly<Record<string, readonly string[]>>): string {
  const lines = Object.entries(agents).map(
    ([name, jobs]) => `  - { template_id: tmpl_support, name: ${name}, cron: [${jobs.join(', ')}] }`,
  );
  return `external_space_id: ${id}\nspace: { name: Acme }\nagents:\n${lines.join('\n')}\n`;
}

const paths = (received: readonly { method: string; path: string }[]) =>
  received.map(({ method, path }) => `${method} ${path.replace(/^\/v1|\?.*/g, '')}`);

async function listed(service: Service): Promise<readonly { readonly name: string; readonly agent_id: string }[]> {
  return (await service.partner('GET', `${CRON_JOBS}?page_size=1000`)).json.results;
}

const jobsOf = (result: Result | undefined): readonly JobAnswer[] => Object(result).cron;

describe('a job in a manifest', () => {
  test('is created after the agents, and reported as by cron create', async () => {
    const service = await startService();
    const path = write('acme.yaml', scheduling('acme', { Support: [DAILY, HOURLY], Sales: [DAILY], Quiet: [] }));
    const ran = await provision([path], service);
    expect(ran).toMatchObject({ code: 0, stderr: '' });
    const { results, summary } = ran.json<Answer>();
    expect(summary).toEqual({ ...SUMMARY, created: 1 });
    const [support, sales] = results[0]?.agents.map(({ agent_id }) => agent_id) ?? [];
    const berlin = { minute: '0', hour: '9', day_of_week: '1-5' };
    expect(jobsOf(results[0])).toEqual([
      {
        cron_job_id: expect.stringMatching(/^cron_/),
        status: 'created',
        agent_id: support,
        name: 'daily',
        schedule: { type: 'cron', data: berlin, timezone: 'Europe/Berlin' },
        in_words: 'At 09:00, Monday through Friday (Europe/Berlin)',
        key: expect.stringMatching(/^[0-9a-f]{24}$/),
        next_runs: [expect.any(String), expect.any(String), expect.any(String)],
      },
      expect.objectContaining({ status: 'created', agent_id: support, name: 'hourly' }),
      expect.objectContaining({ status: 'created', agent_id: sales, name: 'daily' }),
    ]);
    const [install, ...jobs] = await service.posts();
    expect(JSON.stringify(install?.body)).not.toContain('cron');
    expect(jobs.map(({ body }) => body)).toEqual([
      {
        agent_id: support,
        name: 'daily',
        instructions: 'Sum up.',
        schedule: { type: 'cron', data: berlin, timezone: 'Europe/Berlin' },
      },
      expect.objectContaining({ agent_id: support, name: 'hourly' }),
      expect.objectContaining({ agent_id: sales, name: 'daily' }),
    ]);
  });

  test('is left unchanged by a repeat, and adopted by a repeat without the state file', async () => {
    const service = await startService();
    const path = write('acme.yaml', scheduling('acme', { Support: [DAILY, HOURLY] }));
    const first = (await provision([path], service)).json<Answer>();
    await service.forget();
    const state = ['--state', join(tempDirectory(), 'other.jsonl')];
    for (const [more, status] of [
      [[], 'exists'],
      [state, 'adopted'],
      [state, 'exists'],
    ] as const) {
      const again = (await provision([path, ...more], service)).json<Answer>();
      expect(again.summary).toEqual({ ...SUMMARY, unchanged: 1 });
      expect(jobsOf(again.results[0]).map((job) => [job.status, job.cron_job_id])).toEqual(
        jobsOf(first.results[0]).map(({ cron_job_id }) => [status, cron_job_id]),
      );
    }
    expect(await service.posts()).toEqual([]);
    expect(await listed(service)).toHaveLength(2);
  });

  test('requires one or two reads of the job list for many documents, and none without jobs', async () => {
    const service = await startService();
    const many = Array.from({ length: 20 }, (_, index) => scheduling(`acme-${index}`, { Support: [DAILY] }));
    const ran = await provision([write('many.yaml', many.join('---\n')), '--concurrency', '16'], service, {
      clock: fastClock(),
    });
    expect(ran.json<Answer>().summary).toEqual({ ...SUMMARY, created: 20 });
    expect(await listed(service)).toHaveLength(20);
    const isList = (path: string) => path === LIST_JOBS;
    expect(paths(await service.received()).filter(isList).length).toBeLessThan(3);
    await service.forget();
    await provision([write('plain.yaml', manifest('plain'))], service);
    expect(paths(await service.received()).some((path) => path.includes(CRON_JOBS))).toBe(false);
  });

  test('is planned by --check and --dry-run, which write nothing', async () => {
    const service = await startService();
    const path = write('acme.yaml', scheduling('acme', { Support: [DAILY], Sales: [HOURLY] }));
    const valid = { status: 'planned', cron_job_id: null, agent_id: null, key: null, name: 'daily' };
    const check = await provision([path, '--check'], service);
    expect(check.json()).toMatchObject({ results: [{ status: 'planned', cron: [valid, { status: 'planned' }] }] });
    expect(await service.received()).toEqual([]);

    await provision([write('acme.yaml', scheduling('acme', { Support: [DAILY], Sales: [] }))], service);
    await service.forget();
    const dry = await provision([path, '--dry-run', '--detailed-exitcode'], service);
    expect(dry.code).toBe(12);
    expect(dry.json()).toMatchObject({
      spaces: [
        {
          action: 'change',
          actions: [{ op: 'create_job', name: 'hourly', agent: 'Sales', next_runs: expect.any(Array) }],
        },
      ],
    });
    expect(await service.posts()).toEqual([]);
    expect((await listed(service)).map(({ name }) => name)).toEqual(['daily']);
  });
});

describe('a job that cannot be created', () => {
  test('is blocked by a job with other content: exit 5, and the result shows the completed steps', async () => {
    const service = await startService();
    await provision([write('acme.yaml', scheduling('acme', { Support: [DAILY] }))], service);
    const path = write('acme.yaml', scheduling('acme', { Support: [DAILY.replace('0 9', '30 9'), HOURLY] }));
    const ran = await provision([path], service);
    expect(ran.code).toBe(5);
    expect(ran.json<Answer>()).toMatchObject({
      summary: { ...SUMMARY, failed: 1 },
      results: [
        {
          status: 'failed',
          space_id: expect.stringMatching(/^spc_/),
          agents: [{ status: 'unchanged', agent_id: expect.any(String) }],
          cron: [
            {
              status: 'blocked',
              cron_job_id: expect.stringMatching(/^cron_/),
              differences: [{ field: 'minute', before: '0', after: '30' }],
            },
            { status: 'created' },
          ],
          error: { type: 'duplicate', message: expect.stringContaining('Job "daily" of agent agt_') },
        },
      ],
    });
    expect(ran.error()).toMatchObject({ type: 'duplicate' });
    expect((await listed(service)).map(({ name }) => name)).toEqual(['daily', 'hourly']);
  });

  test('has an unknown outcome after a lost response if the list cannot be read (exit 9), and is not posted again', async () => {
    const service = await startService();
    const env = await service.envFor(['spaces.provision', 'spaces.read', 'agents.read', 'cron_jobs.write']);
    await service.faults({ kind: 'reset', stage: 'after', on: POST_JOB, times: 1 });
    const path = write('acme.yaml', scheduling('acme', { Support: [DAILY, HOURLY] }));
    for (const hourly of ['created', 'exists']) {
      const ran = await provision([path], service, { env });
      expect(ran.code).toBe(9);
      expect(ran.json()).toMatchObject({
        results: [{ status: 'failed', cron: [{ status: 'unknown', cron_job_id: null }, { status: hourly }] }],
      });
      expect(ran.error()).toMatchObject({
        type: 'outcome_unknown',
        message: expect.stringContaining('"daily"'),
        hint: expect.stringContaining('partnerctl cron reconcile'),
      });
    }
    expect(await listed(service)).toHaveLength(2);
  });

  test('is reported along with the others that fail', async () => {
    const service = await startService();
    await service.faults({ kind: 'status', status: 422, on: POST_JOB });
    const ran = await provision([write('acme.yaml', scheduling('acme', { Support: [DAILY, HOURLY] }))], service);
    expect(ran.code).toBe(1);
    const { message, details } = ran.error();
    expect(message).toBe('2 of 2 cron jobs failed.');
    expect(Object(details).why).toMatch(/^The job "daily" of .*\nThe job "hourly" of /);
  });

  test('is not posted if the state file cannot be written, even if the space is complete', async () => {
    const service = await startService();
    const path = write('acme.yaml', scheduling('acme', { Support: [DAILY] }));
    await provision([write('acme.yaml', manifest('acme'))], service);
    const directory = tempDirectory();
    const state = join(directory, 'state.jsonl');
    symlinkSync(join(directory, 'missing', 'state.jsonl'), state);
    const ran = await provision([path, '--state', state], service);
    expect(ran.code).toBe(1);
    expect(ran.json()).toMatchObject({
      results: [
        {
          status: 'failed',
          space_id: expect.stringMatching(/^spc_/),
          agents: [{ status: 'unchanged' }],
          cron: [{ status: 'failed', cron_job_id: null }],
          error: { type: 'local', message: expect.stringContaining('The job "daily" of the agent "Support"') },
        },
      ],
    });
    expect(paths(await service.posts())).not.toContain(POST_JOB);
  });

  test('is skipped after a failed installation or chat', async () => {
    const service = await startService();
    const directory = tempDirectory();
    const [text, chat] = [scheduling('acme', { Support: [DAILY] }), ', chat: {}, cron:'];
    await service.faults({
      kind: 'status',
      status: 422,
      on: 'POST /automation/spaces/:space_id/agents/:agent_id/api-chat/',
    });
    const ran = await provision([write('acme.yaml', text.replace(', cron:', chat), directory)], service);
    expect(ran.json()).toMatchObject({ results: [{ status: 'failed', cron: [{ status: 'skipped' }] }] });
    await service.faults({ kind: 'status', status: 422, on: 'POST /automation/agent-templates/provision-space/' });
    const other = await provision([write('b.yaml', text.replace('acme', 'other'), directory)], service);
    expect(other.json()).toMatchObject({ results: [{ status: 'failed', cron: [{ status: 'skipped' }] }] });
    expect(await listed(service)).toEqual([]);
  });
});
