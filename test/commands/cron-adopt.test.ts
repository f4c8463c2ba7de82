import { describe, expect, test } from 'vitest';
import { schedules } from '../support/cron.ts';

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
      [
        [id, '--space', 'ext:acme', '--agent', 'agt_of_another', '--name', 'x', '--yes'],
        4,
        'No agent has the agent_id',
      ],
      [[id, '--agent', service.agent], 2, '--name is missing.'],
      [[id, '--agent', 'name:Support', '--name', 'x'], 2, '--agent name:<name> needs --space'],
    ];
    for (const [args, code, said] of refused) {
      const ran = await service.cron(['adopt', ...args]);
      expect([args, ran.code]).toEqual([args, code]);
      expect(ran.stderr).toContain(said);
      expect(ran.stderr).toMatch(/^error: .*\n(.*\n)*hint: /);
    }
    expect(await service.records()).toEqual([]);
  });

  test('adopts nothing with a token that the service rejects, or while the list fails in passing, and an unverified job with a warning if it is forbidden', async () => {
    const service = await schedules();
    for (const [status, code] of [
      [401, 3],
      [503, 8],
    ] as const) {
      await service.faults({ kind: 'status', status, on: 'GET' });
      const ran = await service.cron(['adopt', 'cron_x', '--agent', service.agent, '--name', 'daily', '--yes']);
      expect(ran).toMatchObject({ code, stdout: '', stderr: expect.stringContaining('Nothing was changed.') });
    }
    expect(await service.records()).toEqual([]);
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
});
