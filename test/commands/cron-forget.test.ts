import { describe, expect, test } from 'vitest';
import { CRON_JOBS, type JobAnswer, schedules } from '../support/cron.ts';
import { fastClock } from '../support/run.ts';

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
    const note = `note: The API deletes no job: if the service still has ${job?.cron_job_id}, it keeps running.\n`;
    expect(ran).toMatchObject({ code: 0, stderr: note });
    expect(ran.json()).toEqual({ status: 'forgotten', key, agent_id: service.agent, name: 'daily' });
    expect((await service.create(['-o', 'json'])).json()).toMatchObject({ status: 'created' });
    expect(await service.jobs()).toHaveLength(1);
    expect(await service.records()).toEqual(['reserved', 'created', 'forgotten', 'reserved', 'created']);
  });

  test('takes an id in place of the key, and makes the next create adopt the job if the service still lists it', async () => {
    const service = await schedules();
    const made = (await service.create(['-o', 'json'])).json<JobAnswer>();
    await service.forget();
    const args = ['forget', made.cron_job_id ?? '', '--yes', '-o', 'json'];
    const ran = await service.cron(args, { env: { PARTNER_TOKEN: undefined } });
    expect(ran.json()).toMatchObject({ status: 'forgotten', key: made.key, name: 'daily' });
    expect(await service.received()).toEqual([]);
    expect((await service.create(['-o', 'json'])).json()).toMatchObject({ status: 'adopted' });
  });

  test('gives a request whose response was lost a lease to create its job, and forgets what was recorded meanwhile', async () => {
    const service = await schedules();
    await service.faults({ kind: 'reset', on: 'POST', times: 1 });
    expect((await service.create(['--name', 'lost'])).code).toBe(9);
    const alone = fastClock();
    const lost = ['forget', '--agent', service.agent, '--name', 'lost', '--yes'];
    expect(await service.cron(lost, { clock: alone })).toMatchObject({ code: 0 });
    expect(alone.slept.reduce((sum, ms) => sum + ms, 0)).toBeCloseTo(60_000, -3);

    await service.faults(
      { kind: 'reset', stage: 'after', on: `POST ${CRON_JOBS}`, times: 1 },
      { kind: 'status', status: 403, on: `GET ${CRON_JOBS}` },
    );
    expect((await service.create()).code).toBe(9);
    await service.faults();
    const [job] = await service.jobs();
    const named = ['--agent', service.agent, '--name', 'daily', '--yes'];
    const clock = fastClock();
    const sleep = async (ms: number, signal?: AbortSignal) => {
      if (clock.slept.length === 0) await service.cron(['adopt', job?.cron_job_id ?? '', ...named]);
      await clock.sleep(ms, signal);
    };
    expect(await service.cron(['forget', ...named], { clock: { ...clock, sleep } })).toMatchObject({ code: 0 });
    expect((await service.create(['-o', 'json'])).json()).toMatchObject({ status: 'adopted' });
  });

  test('changes nothing without a confirmation or for an unknown job', async () => {
    const service = await schedules();
    await service.create();
    const before = await service.records();
    const refused: readonly [readonly string[], number, string][] = [
      [['--agent', service.agent, '--name', 'daily'], 2, '--yes'],
      [['--agent', service.agent, '--name', 'nope', '--yes'], 4, 'The state knows no job "nope".'],
      [['nope', '--yes'], 4, `partnerctl state show --state ${service.state}\n`],
      [[], 2, 'No job is named.'],
      [['nope', '--agent', service.agent, '--name', 'daily', '--yes'], 2, 'but not by both'],
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
