import { describe, expect, test } from 'vitest';
import { type Report, rehearse, space } from '../support/rehearse.ts';
import { run } from '../support/run.ts';
import { PROVISION, provisionBody, service, write } from '../support/service.ts';

/* Whole rehearsals take long: `slow/sandbox-rehearse` has the others. */

describe('A rehearsal with a service', () => {
  test('begins with what the state recorded, where the token cannot list the jobs', async () => {
    const { env, envFor } = await service();
    const path = write('acme.yaml', space('acme'));
    expect(await run(['provision', path], { env })).toMatchObject({ code: 0 });
    const blind = await envFor(['spaces.read', 'agents.read', 'spaces.provision', 'api_chat.setup', 'cron_jobs.write']);
    const ran = await rehearse(path, ['--seeds', '1', '-o', 'json'], { env: { ...blind, HOME: env.HOME ?? '' } });
    expect(ran).toMatchObject({ code: 0, stderr: expect.stringContaining('what the state recorded') });
    // The spaces, the agents, and that the jobs cannot be listed: nothing is created.
    expect(ran.json<Report>()).toMatchObject({ seeds: [{ problems: [] }], summary: { ended_well: 1 } });
    expect(ran.json<Report>().summary.requests).toBeLessThanOrEqual(3);
  });

  test('ends before the first seed where provisioning fails even without faults', async () => {
    const { env, partner } = await service();
    await partner('POST', PROVISION, { body: provisionBody('acme') });
    const edited = write('acme.yaml', space('acme').replace('name: Support', 'name: Helpdesk'));
    const ran = await rehearse(edited, ['--seeds', '1', '-o', 'json'], { env });
    expect(ran).toMatchObject({ code: 10, stdout: '' });
    expect(ran.error()).toMatchObject({
      message: 'Provisioning fails even without faults.',
      details: { why: expect.stringMatching(/^provision exited with 5: .*Helpdesk/s) },
    });
  });
});

describe('A rehearsal without a service', () => {
  test('finds the second job that --assume-not-created makes where a request is carried out after the lease', async () => {
    const on = 'POST /automation/partner-cron-jobs/';
    const faults = write('faults.json', JSON.stringify({ rules: [{ kind: 'late', ms: 300_000, on, times: 1 }] }));
    const ran = await rehearse(write('acme.yaml', space('acme')), ['--seeds', '1', '--faults', faults, '-o', 'json']);
    expect(ran.code).toBe(10);
    const message = expect.stringMatching(/^2 jobs "daily" of agent "Support"/);
    expect(ran.json<Report>().seeds[0]?.problems).toEqual([{ kind: 'twice', message }]);
  });

  test.each([
    ['a manifest', 'agents: []', [], /acme\.yaml:1:/],
    ['a setting', space('acme'), ['--settings', '{"rate_limt":1}'], /rate_limt/],
    ['a fault', space('acme'), ['--faults', '/nowhere.json'], /no such file/],
    ['standard input', '', ['-'], /cannot read standard input/],
    ['a number of seeds', space('acme'), ['--seeds', '0'], /from 1 to 10000/],
  ])('refuses %s that is not valid, and reads nothing from the service', async (_, text, args, message) => {
    const { env, received } = await service();
    const ran = await rehearse(write('acme.yaml', text), args, { env });
    expect(ran).toMatchObject({ code: 2, stdout: '', stderr: expect.stringMatching(message) });
    expect(await received()).toEqual([]);
  });
});
