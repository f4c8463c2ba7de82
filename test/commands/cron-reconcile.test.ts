import { describe, expect, test } from 'vitest';
import { CRON_JOBS, type JobAnswer, type Schedules, schedules } from '../support/cron.ts';
import { fastClock, run } from '../support/run.ts';
import { manifest } from '../support/service.ts';

const POST = `POST ${CRON_JOBS}`;

/** A service with a job whose response was lost. @param made whether the job was created nevertheless */
async function withLostResponse(made: boolean): Promise<Schedules & { readonly key: string }> {
  const service = await schedules();
  const lose = { kind: 'reset', stage: made ? 'after' : 'before', on: POST, times: 1 } as const;
  // A list that shows the job would settle it at once.
  await service.faults(lose, { kind: 'status', status: 403, on: 'GET' });
  const lost = await service.create(['-o', 'json']);
  expect(lost.code).toBe(9);
  await service.faults();
  await service.forget();
  return { ...service, key: lost.json<JobAnswer>().key ?? '' };
}

describe('cron reconcile', () => {
  test('names the agent and the customer of a job that the state knows from provision', async () => {
    const service = await schedules();
    const job = "{ name: a, instructions: Sum up., schedule: '0 9 * * *' }";
    const text = manifest('globex').replace('"Support"', `"Support", cron: [${job}]`);
    await service.faults({ kind: 'reset', on: POST, times: 1 });
    const lost = await run(['provision', '-', '--state', service.state], { env: service.env, stdin: text });
    expect(lost.code).toBe(9);
    const options = { clock: fastClock(), columns: 80 };
    const ran = await service.cron(['reconcile', '-o', 'table', '--color', 'never'], options);
    expect(ran.code).toBe(9);
    expect(ran.stdout).toMatch(/^STATUS +AGENT +SPACE +NAME +RESERVED\nunknown +Support +globex +a +\S/);
    expect(ran.stderr).toMatch(/^ {2}a of Support in globex \(key [0-9a-f]{24}\): not listed$/m);
  });

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
    const nothing = { code: 0, stdout: '', stderr: 'There is nothing to reconcile.\n' };
    expect(await service.cron(['reconcile', '-o', 'table'])).toMatchObject(nothing);
    expect(await service.records()).toEqual(['reserved', 'unknown', 'created']);
  });

  test('exits with 9 for a job that is not listed a lease later, and releases it with --assume-not-created', async () => {
    const service = await withLostResponse(false);
    for (const [more, code, status] of [
      [[], 9, 'unknown'],
      [['--assume-not-created'], 0, 'released'],
    ] as const) {
      // Each run watches for a whole lease, however long an earlier one took.
      const clock = fastClock(Date.now());
      const ran = await service.cron(['reconcile', ...more, '-o', 'json'], { clock });
      expect(ran.code).toBe(code);
      expect(ran.json()).toMatchObject([{ status, cron_job_id: null }]);
      if (code === 9) expect(ran.error().hint).toContain('--assume-not-created');
      expect(clock.slept.reduce((sum, ms) => sum + ms, 0)).toBeCloseTo(60_000, -3);
    }
    expect((await service.create(['-o', 'json'])).json()).toMatchObject({ status: 'created' });
    expect(await service.jobs()).toHaveLength(1);
  });

  test('exits with 9 if several jobs match, until one is adopted manually', async () => {
    const service = await withLostResponse(true);
    const twin = await service.make({ name: 'daily', instructions: 'Sum up the day.' });
    const ran = await service.cron(['reconcile', '--assume-not-created', '-o', 'json']);
    expect(ran.code).toBe(9);
    expect(ran.json()).toMatchObject([{ status: 'unknown', candidates: [expect.any(String), twin] }]);
    expect(ran.error().hint).toMatch(/partnerctl cron adopt.*not created.*partnerctl cron forget/s);
    const named = ['--agent', service.agent, '--name', 'daily'];
    const adopted = await service.cron(['adopt', twin, ...named, '--yes', '-o', 'json']);
    expect(adopted.json()).toMatchObject({ status: 'adopted', cron_job_id: twin });
    expect(await service.cron(['reconcile'])).toMatchObject({ code: 0, stdout: '' });
  });
});
