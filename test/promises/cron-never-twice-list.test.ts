import { rmSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { CRON_JOBS, createArgs, jobService, type Made, scheduleBody, startCronBehindGateway } from '../support/cron.ts';
import { type Handler, json, sendJson } from '../support/fake-service.ts';
import { fastClock } from '../support/run.ts';
import { jobRecordKinds, readJobLog, stateFile } from '../support/state-file.ts';

/* The service's list of jobs: it guards when the state is lost, and nothing is created where it cannot be read in full. */

/** Loses the response to a POST; the list is empty. */
const reset: Handler = ({ method }, response) =>
  method === 'POST' ? response.socket?.resetAndDestroy() : sendJson(response, []);

const CREATE = createArgs('a1', 'daily');
const ASSUME = ['cron', 'reconcile', '--assume-not-created', '-o', 'json'];

const refuseAsText: Handler = (_, response) =>
  response.writeHead(405, { 'content-type': 'text/plain', allow: 'POST' }).end('Method Not Allowed');

describe('`cron create` without its state file', () => {
  it('adopts the job that it created before, and creates nothing', async () => {
    const { cron, gateway, path, run } = await startCronBehindGateway();
    const created = (await run(cron.create('daily'))).json<{ cron_job_id: string }>();
    for (const more of [[], ['--ensure']]) {
      rmSync(path);
      const adopted = await run(cron.create('daily', ...more));
      expect({ code: adopted.code, json: adopted.json() }).toMatchObject({
        code: 0,
        json: { ...created, status: 'adopted' },
      });
      expect(await jobRecordKinds(path)).toEqual(['created']);
    }
    expect((await run(cron.create('daily'))).code).toBe(5);
    expect(gateway.posts()).toHaveLength(1);
  });

  it.each<[string, number, Handler]>([
    ['a 402', 6, json({ message: 'No.' }, 402)],
    ['a 425', 1, json({ message: 'Not yet.' }, 425)],
    ['a 429', 7, json({ message: 'Later.' }, 429)],
    ['a 503', 8, json({ message: 'Later.' }, 503)],
    ['a 405 as text', 8, refuseAsText],
    ['a 200 that failed, with a list', 8, json({ success: false, results: [] })],
  ])('creates nothing while the list fails with %s, and adopts the job afterwards', async (_, code, respond) => {
    const { cron, gateway, path, run } = await startCronBehindGateway();
    const created = (await run(cron.create('daily'))).json<{ cron_job_id: string }>();
    rmSync(path);
    gateway.onList(respond);
    const failed = await run(cron.create('daily'));
    gateway.onList();
    expect({ code: failed.code, stdout: failed.stdout }).toEqual({ code, stdout: '' });
    expect(failed.stderr).toContain('the list of jobs');
    expect(failed.error().hint).toContain('The job was not created');
    expect(await jobRecordKinds(path)).toEqual([]);
    expect((await run(cron.create('daily'))).json()).toMatchObject({ ...created, status: 'adopted' });
    expect(gateway.posts()).toHaveLength(1);
  });
});

it.each([
  [403, '{"message":"No."}'],
  [404, '{"message":"No."}'],
  [405, '{"message":"No."}'],
  [204, ''],
])(
  'a list that cannot be read (%i %s) is reported once, and the state file alone prevents duplicates',
  async (status, body) => {
    const { cron, gateway, path, run } = await startCronBehindGateway();
    gateway.onList((_, response) => response.writeHead(status, { 'content-type': 'application/json' }).end(body));
    const created = await run(cron.create('daily'));
    expect(created.code).toBe(0);
    expect(created.stderr.match(/Only the state prevents duplicates/g)).toHaveLength(1);
    expect((await run(cron.create('daily'))).code).toBe(5);
    expect((await run(cron.create('daily', '--ensure'))).json()).toMatchObject({ status: 'exists' });
    expect(gateway.posts()).toHaveLength(1);
    expect((await readJobLog(path)).ids).toEqual(await cron.idsOf('daily'));
  },
);

it('a listed job without an agent blocks a job with its name and content, until it is adopted', async () => {
  const { service, cron, gateway, run, make } = await startCronBehindGateway();
  const id = await make({ name: 'daily', instructions: 'Sum up the day.', ...scheduleBody('0 9 1-5') });
  const { results }: { results: Record<string, unknown>[] } = (await service.partner('GET', CRON_JOBS)).json;
  gateway.onList(json(results.map(({ agent_id: _, ...job }) => job)));
  const blocked = await run(cron.create('daily'));
  expect(blocked.code).toBe(5);
  expect(blocked.json()).toMatchObject({ cron_job_id: null, status: 'blocked' });
  expect(blocked.stderr).toContain(`cron adopt ${id} --agent ${cron.agent_id} --name daily`);
  expect(gateway.posts()).toEqual([]);
  expect((await run(['cron', 'adopt', id, '--agent', cron.agent_id, '--name', 'daily', '--yes'])).code).toBe(0);
  expect((await run(cron.create('daily', '--ensure'))).json()).toMatchObject({ cron_job_id: id, status: 'exists' });
});

it('a record of one service does not apply to a job of another service with the same id', async () => {
  const { run } = stateFile();
  const [staging, production] = [await jobService(), await jobService()];
  expect((await run(staging, CREATE)).json()).toMatchObject({ status: 'created', cron_job_id: '1' });
  production.meet(reset);
  expect((await run(production, CREATE)).code).toBe(9);
  production.meet(undefined);
  expect((await run(production, ASSUME)).json()).toMatchObject([{ status: 'adopted', cron_job_id: '1' }]);
  expect((await run(production, [...CREATE, '--ensure'])).json()).toMatchObject({ status: 'exists', cron_job_id: '1' });
  expect(production.made).toHaveLength(1);
});

it.each([
  ['a job with the same id', undefined],
  ['a job with the same name and an unknown outcome', reset],
])(
  'a list without agents blocks a job that may exist, even if the state file records %s for another service',
  async (_, trouble) => {
    const { path, run } = stateFile();
    const shown = ({ agent_id: _, ...job }: Made) => job;
    const [staging, production] = [await jobService({ shown }), await jobService({ shown })];
    expect((await run(production, CREATE)).json()).toMatchObject({ status: 'created' });
    rmSync(path);
    staging.meet(trouble);
    expect((await run(staging, CREATE)).code).toBe(trouble ? 9 : 0);
    const blocked = await run(production, CREATE);
    expect(blocked.code).toBe(5);
    expect(blocked.stderr).toContain('cron adopt 1 --agent a1');
    expect(production.made).toHaveLength(1);
  },
);

it('a job that was renamed at the service still exists', async () => {
  const { run } = stateFile();
  const service = await jobService({ shown: (job) => ({ ...job, name: 'daily (old)' }) });
  expect((await run(service, CREATE)).code).toBe(0);
  const clock = fastClock(Date.now() + 3_600_000);
  const later = await run(service, [...CREATE, '--ensure'], { clock });
  expect(later.json()).toMatchObject({ status: 'exists', cron_job_id: '1' });
});

it.each([
  ['NFC', 'NFD'],
  ['NFD', 'NFC'],
])(
  'a job whose name a service normalizes to %s is adopted, not created again, by a lost state and a lost response',
  async (its, typed) => {
    const { path, run } = stateFile();
    const name = 'Übersicht'.normalize(typed);
    const create = createArgs('a1', name);
    const kept = (job: Made): Made => ({ ...job, name: job.name.normalize(its) });
    const service = await jobService({ kept });
    expect((await run(service, create)).code).toBe(0);
    rmSync(path);
    expect((await run(service, create)).json()).toMatchObject({ status: 'adopted', cron_job_id: '1' });
    expect(service.made).toHaveLength(1);
    rmSync(path);
    const adopted = await run(service, ['cron', 'adopt', '1', '--agent', 'a1', '--name', name, '--yes']);
    expect({ code: adopted.code, stderr: adopted.stderr }).toEqual({ code: 0, stderr: '' });

    const without = await jobService({ kept, shown: ({ agent_id: _, ...job }) => job });
    without.meet(reset);
    expect((await run(without, create)).code).toBe(9);
    without.meet(undefined);
    expect((await run(without, ASSUME)).json()).toMatchObject([{ status: 'adopted', cron_job_id: '1' }]);
  },
);

it.each([
  ['the entire list', () => ({ results: [], errors: [{ code: 'timeout' }] })],
  [
    'a further page',
    (page: string | null) => (page ? { error: 'timeout' } : { results: [{ id: 9 }], next: '?page=2' }),
  ],
])('a failure with status 200 in place of %s does not mark an unlisted job as not created', async (_, body) => {
  const { run } = stateFile();
  const service = await jobService();
  service.meet(reset);
  expect((await run(service, CREATE)).code).toBe(9);
  service.meet(({ path }, response) => sendJson(response, body(new URL(path, 'http://here').searchParams.get('page'))));
  const failed = await run(service, ASSUME);
  expect(failed.code).toBe(8);
  expect(failed.error().message).toContain('reports an error');
  expect((await run(service, ['cron', 'adopt', '7', '--agent', 'a1', '--name', 'daily', '--yes'])).code).toBe(8);
  service.meet(undefined);
  expect((await run(service, ASSUME)).json()).toMatchObject([{ status: 'adopted', cron_job_id: '1' }]);
  expect(service.made).toHaveLength(1);
});

it.each([
  ['in upper case', (id: string) => id.toUpperCase()],
  ['as the address of the agent', (id: string) => `/v1/agents/${id}/`],
])('a list that spells the UUID of an agent otherwise, %s, shows the job that exists', async (_, spell) => {
  const UUID = '4954764b-2e2b-4297-abec-4d8fbc9a46a7';
  const { path, run } = stateFile();
  const service = await jobService({ shown: (job) => ({ ...job, agent_id: spell(job.agent_id) }) });
  expect((await run(service, createArgs(UUID, 'daily'))).code).toBe(0);
  rmSync(path);
  const adopted = await run(service, createArgs(UUID, 'daily'));
  expect(adopted.json()).toMatchObject({ status: 'adopted', cron_job_id: '1' });
  const listed = await run(service, ['cron', 'list', '--agent', UUID.toUpperCase(), '-o', 'json']);
  expect(listed.json()).toMatchObject([{ id: 1, recorded: true }]);
  expect(service.made).toHaveLength(1);
});

describe('a listed job whose schedule cannot be compared in full', () => {
  const WITHOUT_ZONE = { schedule: '0 9 * * 1-5' };
  const start = async (fields: object) => {
    const { path, run } = stateFile();
    const shown = ({ schedule: _, ...job }: Made) => ({ ...job, ...fields });
    const service = await jobService({ shown });
    expect((await run(service, CREATE)).code).toBe(0);
    rmSync(path);
    return { service, create: (args: readonly string[]) => run(service, args) };
  };

  it.each([
    ['nothing', {}],
    ['no time zone', WITHOUT_ZONE],
    ['a recurrence rule', { schedule: { type: 'rrule', rrule: 'FREQ=DAILY' } }],
  ])('because the list shows %s, is adopted without one, and a warning says so', async (_, fields) => {
    const { create } = await start(fields);
    for (const status of ['adopted', 'exists']) {
      const ran = await create([...CREATE, '--ensure']);
      expect(ran.json()).toMatchObject({ status, cron_job_id: '1', schedule: null, in_words: null, next_runs: [] });
      expect(ran.stderr).toContain('Its schedule could not be compared');
      expect(ran.stderr).toContain("contract set cron_job.timezone '<path>'");
    }
    const blocked = await create(CREATE);
    expect(blocked.json()).toMatchObject({ status: 'blocked', schedule: null });
    expect(blocked.stderr).not.toContain('with the same content');
  });

  it('blocks one that differs in what the list shows, also once the state knows it', async () => {
    const { service, create } = await start(WITHOUT_ZONE);
    const later = CREATE.map((arg) => arg.replace('0 9 *', '0 10 *'));
    for (const _ of [1, 2]) {
      const blocked = await create(later);
      expect(blocked).toMatchObject({ code: 5 });
      expect(blocked.json()).toMatchObject({ differences: [{ field: 'hour', before: '9', after: '10' }] });
    }
    expect(service.made).toHaveLength(1);
  });
});
