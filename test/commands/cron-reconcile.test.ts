import { describe, expect, test } from 'vitest';
import { InterruptedError } from '../../src/errors.ts';
import { fastClock, manualSignals } from '../support/run.ts';
import { CRON_JOBS } from '../support/sandbox-cron.ts';
import { type JobAnswer, type Schedules, schedules } from '../support/scheduling.ts';

const POST = `POST ${CRON_JOBS}`;

/** A service with a job whose response was lost. @param made whether the job was created nevertheless */
async function withLostResponse(made: boolean): Promise<Schedules & { readonly key: string }> {
  const it = await schedules();
  await it.faults({ kind: 'reset', stage: made ? 'after' : 'before', on: POST, times: 1 });
  const lost = await it.create(['-o', 'json']);
  expect(lost.code).toBe(9);
  await it.forget();
  return { ...it, key: lost.json<JobAnswer>().key ?? '' };
}

/** Settles everything immediately: the grace period is over. */
const NOW = ['--grace', '1ms'];

describe('cron reconcile', () => {
  test('adopts the one matching job, after which create works again', async () => {
    const it = await withLostResponse(true);
    await it.make({ name: 'another' });
    const [job] = await it.jobs();
    const ran = await it.cron(['reconcile', '-o', 'json']);
    expect(ran).toMatchObject({ code: 0, stderr: '' });
    expect(ran.json()).toEqual([
      {
        cron_job_id: job?.cron_job_id,
        status: 'adopted',
        agent_id: it.agent,
        name: 'daily',
        schedule: { type: 'cron', data: { minute: '0', hour: '9', day_of_week: '1-5' }, timezone: 'Europe/Berlin' },
        key: it.key,
        reserved_at: expect.any(String),
        candidates: [],
        note: 'created',
      },
    ]);
    expect((await it.create(['--ensure', '-o', 'json'])).json()).toMatchObject({ status: 'exists' });
    expect(await it.cron(['reconcile', '-o', 'json'])).toMatchObject({ code: 0, stdout: '[]\n' });
    expect(it.records()).toEqual(['cron.reserved', 'cron.unknown', 'cron.adopted']);
  });

  test('exits with 9 for a job that is not listed, and releases it with --assume-not-created after the grace period', async () => {
    const it = await withLostResponse(false);
    const open = await it.cron(['reconcile', '-o', 'json']);
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
    const released = await it.cron(['reconcile', '--assume-not-created', '-o', 'json'], { clock });
    expect(released.code).toBe(0);
    expect(released.json()).toMatchObject([{ status: 'released', cron_job_id: null }]);
    expect(clock.slept.reduce((sum, ms) => sum + ms, 0)).toBeGreaterThan(5_000);
    expect((await it.create(['-o', 'json'])).json()).toMatchObject({ status: 'created' });
    expect(await it.jobs()).toHaveLength(1);
  });

  test('exits with 9 if several jobs match, until one is adopted manually', async () => {
    const it = await withLostResponse(true);
    const twin = await it.make({ name: 'daily', instructions: 'Sum up the day.' });
    for (const more of [[], ['--assume-not-created', ...NOW]]) {
      const ran = await it.cron(['reconcile', ...more, '-o', 'json']);
      expect(ran.code).toBe(9);
      expect(ran.json()).toMatchObject([{ status: 'unknown', candidates: [expect.any(String), twin] }]);
      expect(ran.error().hint).toContain('partnerctl cron adopt');
      expect(ran.error().hint).toMatch(/none of them.*partnerctl cron forget/);
    }
    const adopted = await it.cron(['adopt', twin, '--key', it.key, '--yes', '-o', 'json']);
    expect(adopted.json()).toMatchObject({ status: 'adopted', cron_job_id: twin });
    expect((await it.create(['--ensure', '-o', 'json'])).json()).toMatchObject({ status: 'exists', cron_job_id: twin });
    expect(await it.cron(['reconcile'])).toMatchObject({ code: 0, stdout: '' });
  });

  test('reconciles one job with --key, and exits with 4 for an unknown key', async () => {
    const it = await withLostResponse(true);
    await it.faults({ kind: 'reset', stage: 'after', on: POST, times: 1 });
    await it.create(['--name', 'other']);
    const ran = await it.cron(['reconcile', '--key', it.key, '-o', 'json']);
    expect(ran.json()).toMatchObject([{ name: 'daily', status: 'adopted' }]);
    expect((await it.create(['--name', 'other'])).code).toBe(9);
    expect(await it.cron(['reconcile', '--key', 'nope'])).toMatchObject({ code: 4, stdout: '' });
  });

  test('exits with 3 and suggests adopt and forget if the list is forbidden', async () => {
    const it = await withLostResponse(true);
    await it.faults({ kind: 'status', status: 403, on: 'GET' });
    const ran = await it.cron(['reconcile', '-o', 'json']);
    expect(ran).toMatchObject({ code: 3, stdout: '' });
    expect(ran.error().hint).toMatch(/cron adopt.* or .*cron forget/);
  });

  test('reports that there is nothing to reconcile', async () => {
    const it = await schedules();
    expect(await it.cron(['reconcile', '-o', 'table'])).toMatchObject({
      code: 0,
      stdout: '',
      stderr: 'There is nothing to reconcile.\n',
    });
    expect(await it.cron(['reconcile', '--grace', '5'])).toMatchObject({ code: 2 });
  });
});

describe('cron adopt', () => {
  test('records a job of the service, which create then finds', async () => {
    const it = await schedules();
    const id = await it.make({ name: 'daily', instructions: 'Sum up the day.' });
    const args = ['adopt', id, '--agent', 'name:Support', '--space', 'ext:acme', '--name', 'daily', '--yes'];
    const ran = await it.cron([...args, '-o', 'json']);
    expect(ran).toMatchObject({ code: 0, stderr: '' });
    expect(ran.json()).toEqual({
      cron_job_id: id,
      status: 'adopted',
      agent_id: it.agent,
      name: 'daily',
      schedule: expect.objectContaining({ type: 'cron', timezone: 'Europe/Berlin' }),
      key: expect.stringMatching(/^[0-9a-f]{24}$/),
    });
    await it.forget();
    expect((await it.create(['--ensure', '-o', 'json'])).json()).toMatchObject({ status: 'exists', cron_job_id: id });
    expect(await it.posts()).toEqual([]);
  });

  test('rejects invalid, unknown, and unconfirmed jobs, and records nothing', async () => {
    const it = await schedules();
    const id = await it.make({ name: 'stranger' });
    const named = ['--agent', it.agent, '--name', 'daily'];
    const refused: readonly [readonly string[], number, string][] = [
      [[id, ...named, '--yes'], 2, 'is another job.'],
      [['cron_nope', ...named, '--yes'], 4, 'does not list a job cron_nope'],
      [[id, '--agent', it.agent, '--name', 'stranger'], 2, '--yes'],
      [[id], 2, 'No job is named.'],
      [[id, '--key', 'k', ...named], 2, 'The job is named twice'],
      [[id, '--key', 'nope', '--yes'], 4, 'The state knows no job with the key nope.'],
      [[id, '--agent', it.agent], 2, '--name is missing.'],
      [[id, '--agent', 'name:Support', '--name', 'x'], 2, '--agent name:<name> needs --space'],
      [[], 2, 'cron_job_id'],
      [['', ...named, '--yes'], 2, 'is not the id of a job'],
      [[`${id} `, ...named, '--yes'], 2, 'is not the id of a job'],
    ];
    for (const [args, code, said] of refused) {
      const ran = await it.cron(['adopt', ...args]);
      expect([args, ran.code]).toEqual([args, code]);
      expect(ran.stderr).toContain(said);
      expect(ran.stderr).toMatch(/^error: .*\n(.*\n)*hint: /);
    }
    expect(it.records()).toEqual([]);
  });

  test('adopts an unverified job with a warning if the list is forbidden', async () => {
    const it = await schedules();
    await it.faults({ kind: 'status', status: 403, on: 'GET' });
    const ran = await it.cron(['adopt', 'cron_x', '--agent', it.agent, '--name', 'daily', '--yes', '-o', 'json']);
    expect(ran.code).toBe(0);
    expect(ran.stderr).toContain('cannot check whether the service has cron_x');
    expect((await it.create(['--ensure', '-o', 'json'])).json()).toMatchObject({ cron_job_id: 'cron_x' });
  });

  test.each([
    ['fails in passing', { kind: 'status', status: 503 }, 8],
    ['is no list for once', { kind: 'garbage' }, 8],
    ['is refused with the token', { kind: 'status', status: 401 }, 3],
  ])('records nothing if the list %s', async (_, fault, code) => {
    const it = await schedules();
    await it.faults({ ...fault, on: 'GET' });
    const args = ['adopt', 'cron_x', '--agent', it.agent, '--name', 'daily', '--yes'];
    expect(await it.cron(args)).toMatchObject({ code, stdout: '' });
    expect(it.records()).toEqual([]);
  });

  test('records nothing after Ctrl-C while reading the list', async () => {
    const it = await schedules();
    await it.faults({ kind: 'stall', on: 'GET' });
    const signals = manualSignals();
    const args = ['adopt', 'cron_x', '--agent', it.agent, '--name', 'daily', '--yes'];
    const adopting = it.cron(args, { signals });
    while ((await it.received()).length === 0) await new Promise(setImmediate);
    signals.abort(new InterruptedError('Interrupted.'));
    expect(await adopting).toMatchObject({ code: 130, stdout: '' });
    expect(it.records()).toEqual([]);
  });

  test('rejects a job that the state file has under another name', async () => {
    const it = await schedules();
    await it.faults({ kind: 'status', status: 403, on: 'GET' });
    const made = (await it.create(['-o', 'json'])).json<JobAnswer>();
    const args = ['adopt', made.cron_job_id ?? '', '--agent', it.agent, '--name', 'other', '--yes'];
    const ran = await it.cron(args);
    expect(ran).toMatchObject({ code: 2, stdout: '' });
    expect(ran.stderr).toContain(`error: ${made.cron_job_id} is another job.\n  The state has it as "daily"`);
    expect(ran.stderr).toContain(`cron forget ${made.key}`);
    expect(it.records()).toEqual(['cron.reserved', 'cron.created']);
    expect(await it.cron(['forget', made.key ?? '', '--yes'])).toMatchObject({ code: 0 });
    expect(await it.cron(args)).toMatchObject({ code: 0 });
  });
});

describe('cron forget', () => {
  test('allows a job that is gone from the service to be created again', async () => {
    const it = await schedules();
    await it.create();
    const [job] = await it.jobs();
    await it.admin('DELETE', `/cron-jobs/${job?.cron_job_id}`);
    const clock = fastClock(Date.now() + 120_000);
    const gone = await it.create(['--ensure', '-o', 'json'], { clock });
    expect(gone.code).toBe(5);
    expect(gone.error()).toMatchObject({ details: { reason: 'gone' }, hint: expect.stringContaining('cron forget') });
    const key = gone.json<JobAnswer>().key ?? '';
    const ran = await it.cron(['forget', key, '--yes', '-o', 'json']);
    expect(ran).toMatchObject({ code: 0, stderr: '' });
    expect(ran.json()).toEqual({ status: 'forgotten', key, agent_id: it.agent, name: 'daily' });
    expect((await it.create(['-o', 'json'])).json()).toMatchObject({ status: 'created' });
    expect(await it.jobs()).toHaveLength(1);
    expect(it.records()).toEqual(['cron.reserved', 'cron.created', 'cron.forgotten', 'cron.reserved', 'cron.created']);
  });

  test('makes the next create adopt the job if the service still lists it', async () => {
    const it = await schedules();
    await it.create();
    await it.forget();
    const args = ['forget', '--agent', it.agent, '--name', 'daily', '--yes'];
    expect(await it.cron(args, { env: { PARTNER_TOKEN: undefined } })).toMatchObject({ code: 0 });
    expect(await it.received()).toEqual([]);
    expect((await it.create(['-o', 'json'])).json()).toMatchObject({ status: 'adopted' });
    expect(await it.jobs()).toHaveLength(1);
  });

  test('takes the id that cron list shows in place of the key', async () => {
    const it = await schedules();
    const made = (await it.create(['-o', 'json'])).json<JobAnswer>();
    const ran = await it.cron(['forget', made.cron_job_id ?? '', '--yes', '-o', 'json']);
    expect(ran.json()).toMatchObject({ status: 'forgotten', key: made.key, name: 'daily' });
    expect(await it.cron(['forget', made.cron_job_id ?? '', '--yes'])).toMatchObject({
      code: 4,
      stderr: expect.stringContaining(`The state knows no job with the key or id ${made.cron_job_id}.`),
    });
  });

  test('changes nothing without a confirmation or for an unknown job', async () => {
    const it = await schedules();
    await it.create();
    const before = it.records();
    const refused: readonly [readonly string[], number, string][] = [
      [['--agent', it.agent, '--name', 'daily'], 2, '--yes'],
      [['--agent', it.agent, '--name', 'nope', '--yes'], 4, `The state knows no job "nope" of agent ${it.agent}.`],
      [['nope', '--yes'], 4, 'knows no job'],
      [[], 2, 'No job is named.'],
      [['k', '--name', 'x'], 2, 'The job is named twice'],
    ];
    for (const [args, code, said] of refused) {
      const ran = await it.cron(['forget', ...args]);
      expect([args, ran.code]).toEqual([args, code]);
      expect(ran.stderr).toContain(said);
      expect(ran.stderr).toMatch(/^error: .*\n(.*\n)*hint: /);
    }
    expect(it.records()).toEqual(before);
  });
});
