import { describe, expect, test } from 'vitest';
import { createProfileHome, TOKEN } from '../support/profile-home.ts';
import { run } from '../support/run.ts';
import { service } from '../support/service.ts';

const WHOAMI = ['whoami', '-o', 'json'];

describe('whoami', () => {
  test('shows a profile, the source of each setting, and that the service accepts the token', async () => {
    const { sandbox, token, received } = await service();
    const home = createProfileHome();
    home.store('acme', sandbox.baseUrl, token, { protected: true });
    const ran = await run(WHOAMI, { env: home.env });
    expect(ran).toMatchObject({ code: 0, stderr: '' });
    expect(ran.json()).toEqual({
      profile: 'acme',
      profile_from: 'the current profile',
      protected: true,
      base_url: sandbox.baseUrl,
      base_url_from: 'profile "acme"',
      token_from: 'profile "acme"',
      token_status: 'accepted',
      verified_by: `GET ${sandbox.baseUrl}/automation/spaces/`,
    });
    expect((await received()).map(({ method }) => method)).toEqual(['GET']);
    expect(ran.stdout).not.toContain(token);
  });

  test('exits with 3 if the service rejects the token, if it may read nothing, and if there is none', async () => {
    const { env, envFor } = await service();
    const rejected = await run(WHOAMI, { env: { ...env, PARTNER_TOKEN: TOKEN } });
    expect(rejected.code).toBe(3);
    expect(rejected.json()).toMatchObject({ token_from: 'PARTNER_TOKEN', token_status: 'rejected' });
    expect(rejected.error()).toMatchObject({ type: 'credentials', status: 401 });
    expect(rejected.stdout + rejected.stderr).not.toContain(TOKEN);
    const forbidden = await run(WHOAMI, { env: await envFor(['agents.read']) });
    expect(forbidden.code).toBe(3);
    expect(forbidden.json()).toMatchObject({ token_status: 'forbidden' });
    const none = await run(WHOAMI, { env: { PARTNER_BASE_URL: 'http://127.0.0.1:9/v1' } });
    expect(none.code).toBe(3);
    expect(none.json()).toMatchObject({ token_from: null, token_status: 'none', verified_by: null });
    expect(await run(['whoami'])).toMatchObject({ code: 2, stdout: '' });
  });

  test('checks a token that may not list spaces with the scheduled jobs, and concludes nothing from a failure', async () => {
    const { envFor, sandbox } = await service();
    const ran = await run(WHOAMI, { env: await envFor(['cron_jobs.read']) });
    const verified_by = `GET ${sandbox.baseUrl}/automation/partner-cron-jobs/`;
    expect([ran.code, ran.json()]).toEqual([0, expect.objectContaining({ token_status: 'accepted', verified_by })]);
    const env = { PARTNER_BASE_URL: 'http://127.0.0.1:1/v1', PARTNER_TOKEN: TOKEN };
    const failed = await run([...WHOAMI, '--retries', '0'], { env });
    expect([failed.code, failed.json()]).toEqual([8, expect.objectContaining({ token_status: 'unknown' })]);
    // Nobody can look up a request that was not sent.
    expect(failed.error()).toMatchObject({ message: expect.stringContaining('Could not reach'), request_id: null });
  });
});
