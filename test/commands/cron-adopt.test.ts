import { describe, expect, test } from 'vitest';
import { type JobAnswer, schedules, startCronBehindGateway } from '../support/cron.ts';
import { json, sendJson } from '../support/fake-service.ts';
import { jobRecordKinds } from '../support/state-file.ts';

describe('cron adopt', () => {
  test('records a job of the service, which create then finds', async () => {
    const service = await schedules();
    const id = await service.make({ name: 'daily', instructions: 'Sum up the day.' });
    const ran = await service.cron(['adopt', id, '--yes', '-o', 'json']);
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
      [[id], 2, '--yes'],
      [[id, '--key', 'k', ...named], 2, 'The job is named twice'],
      [[id, '--key', 'nope', '--yes'], 4, 'The state knows no job with the key nope.'],
      [[id, '--agent', service.agent], 2, '--name is missing.'],
      [[id, '--agent', 'name:Support', '--name', 'x'], 2, '--agent name:<name> needs --space'],
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
    const ran = await service.cron(['adopt', 'cron_x', '--agent', service.agent, '--name', 'daily', '--yes']);
    expect(ran.code).toBe(0);
    expect(ran.stderr).toContain('Cannot check whether the service has cron_x');
    expect(await service.cron(['adopt', 'cron_x', '--yes'])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('No job is named.'),
    });
    expect((await service.create(['--ensure', '-o', 'json'])).json()).toMatchObject({ cron_job_id: 'cron_x' });
  });

  test('records nothing if the list fails in passing', async () => {
    const service = await schedules();
    await service.faults({ kind: 'status', status: 503, on: 'GET' });
    const args = ['adopt', 'cron_x', '--agent', service.agent, '--name', 'daily', '--yes'];
    expect(await service.cron(args)).toMatchObject({ code: 8, stdout: '' });
    expect(await service.records()).toEqual([]);
  });

  test('is refused when the state changes while the prompt is open', async () => {
    const { cron, gateway, path, run } = await startCronBehindGateway();
    gateway.onPost(gateway.passThen((response) => response.socket?.resetAndDestroy()));
    gateway.onList(json([]));
    const { key } = (await run(cron.create('daily'))).json<{ key: string }>();
    gateway.onPost();
    const [job] = await cron.jobs();
    gateway.onList(async (_, response) => {
      expect((await run(['cron', 'forget', key, '--yes'])).code).toBe(0);
      sendJson(response, [job]);
    });
    const ran = await run(['cron', 'adopt', job?.cron_job_id ?? '', '--key', key, '--yes', '-o', 'json']);
    expect(ran.code).toBe(5);
    expect(ran.stderr).toContain('have changed since this command read them');
    expect(await jobRecordKinds(path)).not.toContain('created');
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
