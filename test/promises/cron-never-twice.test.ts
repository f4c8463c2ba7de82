import { describe, expect, it } from 'vitest';
import { createChat } from '../support/chat.ts';
import {
  type CronBehindGateway,
  createArgs,
  type JobAnswer,
  scheduleBody,
  startCronBehindGateway,
  startCronService,
} from '../support/cron.ts';
import { createGate, json, reset, sendJson, startFakeService } from '../support/fake-service.ts';
import { start } from '../support/program.ts';
import { fastClock, fasterClock, manualSignals, type Ran, run } from '../support/run.ts';
import { manifest, write } from '../support/service.ts';
import { jobRecordKinds, readJobLog, stateFile } from '../support/state-file.ts';

const RECONCILE = ['cron', 'reconcile', '-o', 'json'];
const JOB = "name: daily, instructions: Sum up the day., schedule: '0 9 * * 1-5'";

/** The job that `cron.create('daily')` describes, as a body. */
const DAILY = { name: 'daily', instructions: 'Sum up the day.', ...scheduleBody('0 9 1-5') };

it.each<[string, (agent: string) => string[], number]>([
  ['of `cron create`', (agent) => createArgs(agent, 'daily'), 5],
  ['of `cron create --ensure`', (agent) => createArgs(agent, 'daily', '--ensure'), 0],
  ['of `cron create -f`', (agent) => ['cron', 'create', '-f', write('a.yaml', `- { agent: ${agent}, ${JOB} }\n`)], 5],
  [
    'of `provision`',
    () => ['provision', write('a.yaml', manifest('a').replace('"Support" }', `Support, cron: [{ ${JOB} }] }`))],
    0,
  ],
])('a repeat %s sends nothing', async (_, args, code) => {
  const { service, cron, path } = await startCronService();
  const argv = [...args(cron.agent_id), '--state', path];
  expect((await run(argv, { env: service.env })).code).toBe(0);
  await service.forget();
  for (const _ of [1, 2]) expect((await run(argv, { env: service.env })).code).toBe(code);
  expect(await service.posts()).toEqual([]);
  expect(await cron.idsOf('daily')).toHaveLength(1);
});

it('Of concurrent runs with one state file, all whose list was empty at the same moment are blocked but one', async () => {
  const { cron, gateway, run } = await startCronBehindGateway();
  const listed = createGate();
  gateway.onList(async (_, response) => {
    await listed.pass();
    sendJson(response, []);
  });
  const runs = Array.from({ length: 6 }, () => run(cron.create('daily')));
  await listed.arrived(6);
  listed.open();
  expect((await Promise.all(runs)).map(({ code }) => code).sort()).toEqual([0, 5, 5, 5, 5, 5]);
  expect(gateway.posts()).toHaveLength(1);
});

it('a lost response to `cron create` blocks the job until it is reconciled, and sends nothing again', async () => {
  const { service, cron, gateway, path, run, make } = await startCronBehindGateway();
  const other = (await createChat(service, 'session_workflow', { name: 'Sales' })).agent_id;
  await make({ name: 'daily', agent_id: other });
  await make({ name: 'weekly' });
  // Each other way to lose it is in no-duplicate-retry.test.ts.
  gateway.onPost(gateway.passThen((response) => response.socket?.resetAndDestroy()));
  // A list that shows the job would settle it at once.
  gateway.onList(json([]));
  const lost = await run(cron.create('daily'));
  gateway.onPost();
  gateway.onList();
  expect(lost.code).toBe(9);
  expect(lost.json()).toMatchObject({ cron_job_id: null, status: 'unknown', name: 'daily' });
  expect(lost.stderr).toContain('cron reconcile');
  const made = (await cron.jobs()).filter(({ name, agent_id }) => name === 'daily' && agent_id === cron.agent_id);
  expect(made).toHaveLength(1);
  await make({ name: 'daily', agent_id: other });
  await make({ name: 'monthly' });

  for (const more of [[], ['--ensure'], ['--dry-run']]) {
    expect((await run(cron.create('daily', ...more))).code).toBe(9);
  }
  expect(gateway.posts()).toHaveLength(1);

  const [job] = made;
  const reconciled = await run(RECONCILE);
  expect({ code: reconciled.code, stderr: reconciled.stderr }).toEqual({ code: 0, stderr: '' });
  expect(reconciled.json()).toMatchObject([{ cron_job_id: job?.cron_job_id, status: 'adopted', name: 'daily' }]);
  const there = await run(cron.create('daily', '--ensure'));
  expect(there.code).toBe(0);
  expect(there.json()).toMatchObject({ cron_job_id: job?.cron_job_id, status: 'exists' });
  expect((await run(cron.create('daily'))).code).toBe(5);
  expect(gateway.posts()).toHaveLength(1);
  expect(await readJobLog(path)).toMatchObject({ ids: [job?.cron_job_id], damage: [] });
});

it('a lost response to `cron create` is no loss if the list shows the one new job', async () => {
  const { cron, gateway, path, run } = await startCronBehindGateway();
  gateway.onPost(gateway.passThen((response) => response.socket?.resetAndDestroy()));
  const found = await run(cron.create('daily'));
  const [id] = await cron.idsOf('daily');
  expect({ code: found.code, json: found.json() }).toMatchObject({
    code: 0,
    json: { status: 'adopted', cron_job_id: id },
  });
  expect(await jobRecordKinds(path)).toEqual(['reserved', 'unknown', 'created']);
  expect((await run(cron.create('daily'))).code).toBe(5);
  expect(gateway.posts()).toHaveLength(1);
});

it('--ensure waits for a job that is being created, however old its reservation is by its own clock', async () => {
  const { cron, gateway, run } = await startCronBehindGateway();
  const waits = createGate();
  const ahead = fastClock(Date.now() + 3_600_000);
  const clock = {
    ...ahead,
    sleep: (ms: number, signal?: AbortSignal) => {
      waits.open();
      return ahead.sleep(ms, signal);
    },
  };
  let second: Promise<Ran> | undefined;
  const respond = gateway.passThen(async (response, { status, text }) => {
    second = run(cron.create('daily', '--ensure'), { clock });
    await Promise.race([waits.pass(), second]);
    sendJson(response, JSON.parse(text), status);
  });
  gateway.onPost(respond);
  const first = await run(cron.create('daily'), { clock: fasterClock(1) });
  expect(first.json()).toMatchObject({ status: 'created' });
  expect((await second)?.json()).toMatchObject({ status: 'exists', cron_job_id: first.json<JobAnswer>().cron_job_id });
  expect(gateway.posts()).toHaveLength(1);
});

it('--ensure finds at once a job that another run created after the list was read', async () => {
  const { cron, gateway, run } = await startCronBehindGateway();
  const listed = createGate();
  gateway.onList(async (_, response) => {
    await listed.pass();
    sendJson(response, []);
  });
  const clock = fastClock();
  const second = run(cron.create('daily', '--ensure'), { clock });
  await listed.arrived();
  gateway.onList();
  const first = await run(cron.create('daily'));
  listed.open();
  expect((await second).json()).toMatchObject({ status: 'exists', cron_job_id: first.json<JobAnswer>().cron_job_id });
  expect(clock.slept).toEqual([]);
  expect(gateway.posts()).toHaveLength(1);
});

it('Ctrl-C before the POST reserves nothing', async () => {
  const { cron, gateway, path, run } = await startCronBehindGateway();
  const signals = manualSignals();
  gateway.onList(() => signals.ctrlC());
  expect((await run(cron.create('daily'), { signals })).code).toBe(130);
  gateway.onList();
  expect(await jobRecordKinds(path)).toEqual([]);
  expect((await run(cron.create('daily'))).code).toBe(0);
  expect(gateway.posts()).toHaveLength(1);
});

describe('kill -9 after the POST', () => {
  /** Starts a `cron create` whose POST arrives, and is never answered. */
  async function startCreating({ cron, gateway, env }: CronBehindGateway) {
    const posted = createGate();
    gateway.onPost(() => posted.open());
    gateway.onList(json([]));
    const child = start(cron.create('daily'), { env });
    await posted.pass();
    return async () => {
      child.kill('SIGKILL');
      await child;
    };
  }

  it('during a reconcile does not make the job missing from a list that was read before', async () => {
    const at = await startCronBehindGateway();
    const { cron, gateway, run, make } = at;
    // The list is read because another job is unknown.
    gateway.onPost(reset);
    expect((await run(cron.create('weekly'))).code).toBe(9);
    const kill = await startCreating(at);
    gateway.onList(async (_, response) => {
      gateway.onList();
      await kill();
      await make(DAILY);
      sendJson(response, []);
    });
    const assuming = await run([...RECONCILE, '--assume-not-created'], { clock: fasterClock(60) });
    gateway.onPost();
    expect(assuming.code).toBe(0);
    expect(assuming.json()).toMatchObject([
      { name: 'weekly', status: 'released' },
      { name: 'daily', status: 'adopted' },
    ]);
    expect((await run(cron.create('daily'))).code).toBe(5);
    expect(await cron.idsOf('daily')).toHaveLength(1);
  });

  it('some time before a reconcile blocks the job, and gives it a full lease', async () => {
    const at = await startCronBehindGateway();
    const { cron, gateway, run, make } = at;
    const kill = await startCreating(at);
    await kill();
    gateway.onPost();
    expect((await run(cron.create('daily', '--ensure'))).code).toBe(9);
    expect(gateway.posts()).toHaveLength(1);
    // The service is slow: it creates the job more than a minute later.
    gateway.onList(async (_, response) => {
      gateway.onList();
      await make(DAILY);
      sendJson(response, []);
    });
    const clock = fastClock(Date.now() + 60_000);
    const reconciled = await run([...RECONCILE, '--assume-not-created'], { clock });
    expect(reconciled.json()).toMatchObject([{ name: 'daily', status: 'adopted' }]);
    expect(clock.slept.reduce((sum, ms) => sum + ms, 0)).toBeCloseTo(60_000, -3);
  });
});

const [NFC, NFD] = ['café', 'café'.normalize('NFD')];

it.each([
  [NFC, NFD, 'decomposed'],
  [NFD, NFC, 'composed'],
])(
  'a name is the same in NFC and NFD: a job created as %j exists when its name is %s, and the name was sent as it was typed',
  async (first, second) => {
    const service = await startFakeService({
      'GET *': json({ code: 'forbidden' }, 403),
      'POST *': (_, response, count) => sendJson(response, { id: `c${count}` }, 201),
    });
    const posts = () => service.posts().map((request) => request.json<{ name: string }>().name);
    const { run } = stateFile();
    const create = (name: string) => run(service, createArgs('a1', name));
    const created = await create(first);
    expect(created.json()).toMatchObject({ status: 'created', name: first });
    const again = await create(second);
    expect({ code: again.code, json: again.json() }).toMatchObject({
      code: 5,
      json: { status: 'blocked', cron_job_id: 'c1', key: created.json<{ key: string }>().key },
    });
    expect(posts()).toEqual([first]);
    const forgotten = await run(service, ['cron', 'forget', '--agent', 'a1', '--name', second, '--yes']);
    expect(forgotten.code).toBe(0);
    expect((await create(second)).code).toBe(0);
    expect(posts()).toEqual([first, second]);
  },
);
