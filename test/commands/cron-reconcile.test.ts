import { describe, expect, test } from 'vitest';
import { sendJson } from '../support/fake-service.ts';
import { startCronBehindGateway } from '../support/gateway.ts';
import { fastClock, manualSignals } from '../support/run.ts';
import { CRON_JOBS } from '../support/sandbox-cron.ts';
import { type JobAnswer, type Schedules, schedules } from '../support/scheduling.ts';
import { jobRecordKinds } from '../support/state-file.ts';

const POST = `POST ${CRON_JOBS}`;

/** A service with a job whose response was lost. @param made whether the job was created nevertheless */
async function withLostResponse(made: boolean): Promise<Schedules & { readonly key: string }> {
  const service = await schedules();
  await service.faults({ kind: 'reset', stage: made ? 'after' : 'before', on: POST, times: 1 });
  const lost = await service.create(['-o', 'json']);
  expect(lost.code).toBe(9);
  await service.forget();
  return { ...service, key: lost.json<JobAnswer>().key ?? '' };
}

/** Settles everything immediately: the grace period is over. */
const NOW = ['--grace', '1ms'];

describe('cron reconcile', () => {
  test('adopts the one matching job, after which create works again', async () => {
    const service = await withLostResponse(true);
    await service.make({ name: 'another' });
    const [job] = await service.jobs();
    const ran = await service.cron(['reconcile', '-o', 'json']);
    expect(ran).toMatchObject({ code: 0, stderr: '' });
    expect(ran.json()).toEqual([
      {
        cron_job_id: job?.cron_job_id,
        status: 'adopted',
        agent_id: service.agent,
        name: 'daily',
        schedule: { type: 'cron', data: { minute: '0', hour: '9', day_of_week: '1-5' }, timezone: 'Europe/Berlin' },
        key: service.key,
        reserved_at: expect.any(String),
        candidates: [],
        note: 'created',
      },
    ]);
    expect((await service.create(['--ensure', '-o', 'json'])).json()).toMatchObject({ status: 'exists' });
    expect(await service.cron(['reconcile', '-o', 'json'])).toMatchObject({ code: 0, stdout: '[]\n' });
    expect(await service.records()).toEqual(['reserved', 'unknown', 'adopted']);
  });

  test('exits with 9 for a job that is not listed, and releases it with --assume-not-created after the grace period', async () => {
    const service = await withLostResponse(false);
    const open = await service.cron(['reconcile', '-o', 'json']);
    expect(open.code).toBe(9);
    expect(open.json()).toMatchObject([
      {
        status: 'unknown',
        note: expect.stringMatching(/it may still appear until .*: --assume-not-created waits until then/),
      },
    ]);
    expect(open.error()).toMatchObject({ hint: expect.stringContaining('--assume-not-created') });
    // The grace period counts from here, however long the first run took.
    const [{ reserved_at = '' } = {}] = open.json<{ reserved_at?: string }[]>();
    const clock = fastClock(Date.parse(reserved_at));
    const released = await service.cron(['reconcile', '--assume-not-created', '-o', 'json'], { clock });
    expect(released.code).toBe(0);
    expect(released.json()).toMatchObject([{ status: 'released', cron_job_id: null }]);
    expect(clock.slept.reduce((sum, ms) => sum + ms, 0)).toBeGreaterThan(5_000);
    expect((await service.create(['-o', 'json'])).json()).toMatchObject({ status: 'created' });
    expect(await service.jobs()).toHaveLength(1);
  });

  test('exits with 9 if several jobs match, until one is adopted manually', async () => {
    const service = await withLostResponse(true);
    const twin = await service.make({ name: 'daily', instructions: 'Sum up the day.' });
    for (const more of [[], ['--assume-not-created', ...NOW]]) {
      const ran = await service.cron(['reconcile', ...more, '-o', 'json']);
      expect(ran.code).toBe(9);
      expect(ran.json()).toMatchObject([{ status: 'unknown', candidates: [expect.any(String), twin] }]);
      expect(ran.error().hint).toContain('partnerctl cron adopt');
      expect(ran.error().hint).toMatch(/none of them.*partnerctl cron forget/);
    }
    const adopted = await service.cron(['adopt', twin, '--key', service.key, '--yes', '-o', 'json']);
    expect(adopted.json()).toMatchObject({ status: 'adopted', cron_job_id: twin });
    expect((await service.create(['--ensure', '-o', 'json'])).json()).toMatchObject({
      status: 'exists',
      cron_job_id: twin,
    });
    expect(await service.cron(['reconcile'])).toMatchObject({ code: 0, stdout: '' });
  });

  test('reconciles one job with --key, and exits with 4 for an unknown key', async () => {
    const service = await withLostResponse(true);
    await service.faults({ kind: 'reset', stage: 'after', on: POST, times: 1 });
    await service.create(['--name', 'other']);
    const ran = await service.cron(['reconcile', '--key', service.key, '-o', 'json']);
    expect(ran.json()).toMatchObject([{ name: 'daily', status: 'adopted' }]);
    expect((await service.create(['--name', 'other'])).code).toBe(9);
    expect(await service.cron(['reconcile', '--key', 'nope'])).toMatchObject({ code: 4, stdout: '' });
  });

  test('exits with 3 and suggests adopt and forget if the list is forbidden', async () => {
    const service = await withLostResponse(true);
    await service.faults({ kind: 'status', status: 403, on: 'GET' });
    const ran = await service.cron(['reconcile', '-o', 'json']);
    expect(ran).toMatchObject({ code: 3, stdout: '' });
    expect(ran.error().hint).toMatch(/cron adopt.* or .*cron forget/);
  });

  test('reports that there is nothing to reconcile', async () => {
    const service = await schedules();
    expect(await service.cron(['reconcile', '-o', 'table'])).toMatchObject({
      code: 0,
      stdout: '',
      stderr: 'There is nothing to reconcile.\n',
    });
    expect(await service.cron(['reconcile', '--grace', '5'])).toMatchObject({ code: 2 });
  });
});

describe('cron adopt', () => {
  test('records a job of the service, which create then finds', async () => {
    const service = await schedules();
    const id = await service.make({ name: 'daily', instructions: 'Sum up the day.' });
    const args = ['adopt', id, '--agent', 'name:Support', '--space', 'ext:acme', '--name', 'daily', '--yes'];
    const ran = await service.cron([...args, '-o', 'json']);
    expect(ran).toMatchObject({ code: 0, stderr: '' });
    expect(ran.json()).toEqual({
      cron_job_id: id,
      status: 'adopted',
      agent_id: service.agent,
      name: 'daily',
      schedule: expect.objectContaining({ type: 'cron', timezone: 'Europe/Berlin' }),
      key: expect.stringMatching(/^[0-9a-f]{24}$/),
    });
    await service.forget();
    expect((await service.create(['--ensure', '-o', 'json'])).json()).toMatchObject({
      status: 'exists',
      cron_job_id: id,
    });
    expect(await service.posts()).toEqual([]);
  });

  test('rejects invalid, unknown, and unconfirmed jobs, and records nothing', async () => {
    const service = await schedules();
    const id = await service.make({ name: 'stranger' });
    const named = ['--agent', service.agent, '--name', 'daily'];
    const refused: readonly [readonly string[], number, string][] = [
      [[id, ...named, '--yes'], 2, 'is another job.'],
      [['cron_nope', ...named, '--yes'], 4, 'does not list a job cron_nope'],
      [[id, '--agent', service.agent, '--name', 'stranger'], 2, '--yes'],
      [[id], 2, 'No job is named.'],
      [[id, '--key', 'k', ...named], 2, 'The job is named twice'],
      [[id, '--key', 'nope', '--yes'], 4, 'The state knows no job with the key nope.'],
      [[id, '--agent', service.agent], 2, '--name is missing.'],
      [[id, '--agent', 'name:Support', '--name', 'x'], 2, '--agent name:<name> needs --space'],
      [[], 2, 'cron_job_id'],
      [['', ...named, '--yes'], 2, 'is not the id of a job'],
      [[`${id} `, ...named, '--yes'], 2, 'is not the id of a job'],
    ];
    for (const [args, code, said] of refused) {
      const ran = await service.cron(['adopt', ...args]);
      expect([args, ran.code]).toEqual([args, code]);
      expect(ran.stderr).toContain(said);
      expect(ran.stderr).toMatch(/^error: .*\n(.*\n)*hint: /);
    }
    expect(await service.records()).toEqual([]);
  });

  test('adopts an unverified job with a warning if the list is forbidden', async () => {
    const service = await schedules();
    await service.faults({ kind: 'status', status: 403, on: 'GET' });
    const ran = await service.cron([
      'adopt',
      'cron_x',
      '--agent',
      service.agent,
      '--name',
      'daily',
      '--yes',
      '-o',
      'json',
    ]);
    expect(ran.code).toBe(0);
    expect(ran.stderr).toContain('cannot check whether the service has cron_x');
    expect((await service.create(['--ensure', '-o', 'json'])).json()).toMatchObject({ cron_job_id: 'cron_x' });
  });

  test.each([
    ['fails in passing', { kind: 'status', status: 503 }, 8],
    ['is no list for once', { kind: 'garbage' }, 8],
    ['is refused with the token', { kind: 'status', status: 401 }, 3],
  ])('records nothing if the list %s', async (_, fault, code) => {
    const service = await schedules();
    await service.faults({ ...fault, on: 'GET' });
    const args = ['adopt', 'cron_x', '--agent', service.agent, '--name', 'daily', '--yes'];
    expect(await service.cron(args)).toMatchObject({ code, stdout: '' });
    expect(await service.records()).toEqual([]);
  });

  test('records nothing after Ctrl-C while reading the list', async () => {
    const service = await schedules();
    await service.faults({ kind: 'stall', on: 'GET' });
    const signals = manualSignals();
    const args = ['adopt', 'cron_x', '--agent', service.agent, '--name', 'daily', '--yes'];
    const adopting = service.cron(args, { signals });
    while ((await service.received()).length === 0) await new Promise(setImmediate);
    signals.ctrlC();
    expect(await adopting).toMatchObject({ code: 130, stdout: '' });
    expect(await service.records()).toEqual([]);
  });

  test('is refused when the state changes while the prompt is open', async () => {
    const { cron, gateway, path, run } = await startCronBehindGateway();
    gateway.onPost(gateway.passThen((response) => response.socket?.resetAndDestroy()));
    const { key } = (await run(cron.create('daily'))).json<{ key: string }>();
    gateway.onPost();
    const [job] = await cron.jobs();
    gateway.onList(async (_, response) => {
      expect((await run(['cron', 'forget', key, '--yes'])).code).toBe(0);
      sendJson(response, [job]);
    });
    const ran = await run(['cron', 'adopt', job?.cron_job_id ?? '', '--key', key, '--yes', '-o', 'json']);
    expect(ran.code).toBe(5);
    expect(ran.stderr).toContain('changed while you were asked');
    expect(await jobRecordKinds(path)).not.toContain('adopted');
  });

  test('rejects a job that the state file has under another name', async () => {
    const service = await schedules();
    await service.faults({ kind: 'status', status: 403, on: 'GET' });
    const made = (await service.create(['-o', 'json'])).json<JobAnswer>();
    const args = ['adopt', made.cron_job_id ?? '', '--agent', service.agent, '--name', 'other', '--yes'];
    const ran = await service.cron(args);
    expect(ran).toMatchObject({ code: 2, stdout: '' });
    expect(ran.stderr).toContain(`error: ${made.cron_job_id} is another job.\n  The state has it as "daily"`);
    expect(ran.stderr).toContain(`cron forget ${made.key}`);
    expect(await service.records()).toEqual(['reserved', 'created']);
    expect(await service.cron(['forget', made.key ?? '', '--yes'])).toMatchObject({ code: 0 });
    expect(await service.cron(args)).toMatchObject({ code: 0 });
  });
});

describe('cron forget', () => {
  test('allows a job that is gone from the service to be created again', async () => {
    const service = await schedules();
    await service.create();
    const [job] = await service.jobs();
    await service.admin('DELETE', `/cron-jobs/${job?.cron_job_id}`);
    const clock = fastClock(Date.now() + 120_000);
    const gone = await service.create(['--ensure', '-o', 'json'], { clock });
    expect(gone.code).toBe(5);
    expect(gone.error()).toMatchObject({ details: { reason: 'gone' }, hint: expect.stringContaining('cron forget') });
    const key = gone.json<JobAnswer>().key ?? '';
    const ran = await service.cron(['forget', key, '--yes', '-o', 'json']);
    expect(ran).toMatchObject({ code: 0, stderr: '' });
    expect(ran.json()).toEqual({ status: 'forgotten', key, agent_id: service.agent, name: 'daily' });
    expect((await service.create(['-o', 'json'])).json()).toMatchObject({ status: 'created' });
    expect(await service.jobs()).toHaveLength(1);
    expect(await service.records()).toEqual(['reserved', 'created', 'forgotten', 'reserved', 'created']);
  });

  test('makes the next create adopt the job if the service still lists it', async () => {
    const service = await schedules();
    await service.create();
    await service.forget();
    const args = ['forget', '--agent', service.agent, '--name', 'daily', '--yes'];
    expect(await service.cron(args, { env: { PARTNER_TOKEN: undefined } })).toMatchObject({ code: 0 });
    expect(await service.received()).toEqual([]);
    expect((await service.create(['-o', 'json'])).json()).toMatchObject({ status: 'adopted' });
    expect(await service.jobs()).toHaveLength(1);
  });

  test('takes the id that cron list shows in place of the key', async () => {
    const service = await schedules();
    const made = (await service.create(['-o', 'json'])).json<JobAnswer>();
    const ran = await service.cron(['forget', made.cron_job_id ?? '', '--yes', '-o', 'json']);
    expect(ran.json()).toMatchObject({ status: 'forgotten', key: made.key, name: 'daily' });
    expect(await service.cron(['forget', made.cron_job_id ?? '', '--yes'])).toMatchObject({
      code: 4,
      stderr: expect.stringContaining(`The state knows no job with the key or id ${made.cron_job_id}.`),
    });
  });

  test('changes nothing without a confirmation or for an unknown job', async () => {
    const service = await schedules();
    await service.create();
    const before = await service.records();
    const refused: readonly [readonly string[], number, string][] = [
      [['--agent', service.agent, '--name', 'daily'], 2, '--yes'],
      [
        ['--agent', service.agent, '--name', 'nope', '--yes'],
        4,
        `The state knows no job "nope" of agent ${service.agent}.`,
      ],
      [['nope', '--yes'], 4, 'knows no job'],
      [[], 2, 'No job is named.'],
      [['k', '--name', 'x'], 2, 'The job is named twice'],
    ];
    for (const [args, code, said] of refused) {
      const ran = await service.cron(['forget', ...args]);
      expect([args, ran.code]).toEqual([args, code]);
      expect(ran.stderr).toContain(said);
      expect(ran.stderr).toMatch(/^error: .*\n(.*\n)*hint: /);
    }
    expect(await service.records()).toEqual(before);
  });
});
