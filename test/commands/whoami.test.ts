import { describe, expect, test } from 'vitest';
import { sendJson, startFakeService } from '../support/fake-service.ts';
import { run } from '../support/run.ts';
import { service, write } from '../support/service.ts';
import { createProfileHome, storeProfile, TOKEN } from './profile-home.ts';

describe('whoami', () => {
  test('shows a profile, the source of each setting, and that the service accepts the token', async () => {
    const { sandbox, token, received } = await service();
    const home = createProfileHome();
    await storeProfile(home, 'acme', sandbox.baseUrl, token);
    await run(['profile', 'protect', 'acme'], { env: home.env });
    const ran = await run(['whoami', '-o', 'json'], { env: home.env });
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
      overridden: [],
    });
    expect((await received()).map(({ method }) => method)).toEqual(['GET']);
    expect(ran.stdout).not.toContain(token);
  });

  test('does not claim that a call verified the token if it failed', async () => {
    const env = { PARTNER_BASE_URL: 'http://127.0.0.1:1/v1', PARTNER_TOKEN: TOKEN };
    const options = ['--retries', '0', '--color', 'never'];
    const ran = await run(['whoami', ...options], { env, columns: 80 });
    expect(ran.stdout).toMatch(/^TOKEN: +unknown\nVERIFIED BY: +not verified$/m);
    const json = await run(['whoami', ...options, '-o', 'json'], { env });
    expect(json.json()).toMatchObject({ verified_by: 'GET http://127.0.0.1:1/v1/automation/spaces/' });
  });

  test('shows nothing about protection in a table without a profile', async () => {
    const { env } = await service();
    const ran = await run(['whoami', '--color', 'never'], { env, columns: 80 });
    expect(ran.stdout).toMatch(/^SERVICE: /);
    expect(ran.stdout).not.toContain('PROTECTED');
  });

  test('prefers the flag to the environment, and that to the profile, and names the overridden settings', async () => {
    const { sandbox, token } = await service();
    const home = createProfileHome();
    await storeProfile(home, 'acme', sandbox.baseUrl, token);
    const env = { ...home.env, PARTNER_BASE_URL: 'https://elsewhere.example/v1', PARTNER_TOKEN: TOKEN };
    const flags = ['--profile', 'acme', '--base-url', sandbox.baseUrl, '--token-file', write('token', token)];
    const ran = await run(['whoami', '-o', 'json', ...flags], { env });
    expect(ran.json()).toMatchObject({
      profile_from: '--profile',
      base_url_from: '--base-url',
      token_from: expect.stringContaining('--token-file'),
      token_status: 'accepted',
      overridden: [
        'the base URL from --base-url overrides PARTNER_BASE_URL',
        'the base URL from --base-url overrides profile "acme"',
        expect.stringMatching(/^the token from --token-file .* overrides PARTNER_TOKEN$/),
        expect.stringMatching(/^the token from --token-file .* overrides profile "acme"$/),
      ],
    });
  });

  test('reports no profile for a service and a token from the environment', async () => {
    const { env } = await service();
    const ran = await run(['whoami', '-o', 'json'], { env });
    expect(ran.json()).toMatchObject({ profile: null, protected: false, base_url_from: 'PARTNER_BASE_URL' });
  });

  test('shows each value with its source, in a pipe as in a terminal', async () => {
    const { env, sandbox } = await service();
    const { stdout } = await run(['whoami', '--color', 'never'], { env, columns: 120 });
    expect((await run(['whoami'], { env })).stdout).toBe(stdout);
    expect(stdout).toContain(`${sandbox.baseUrl} (PARTNER_BASE_URL)`);
    expect(stdout).toMatch(/TOKEN: +accepted/);
  });

  test('shows the settings and exits with 3 if the service rejects the token', async () => {
    const { env } = await service();
    const ran = await run(['whoami', '-o', 'json'], { env: { ...env, PARTNER_TOKEN: TOKEN } });
    expect(ran.code).toBe(3);
    expect(ran.json()).toMatchObject({ token_from: 'PARTNER_TOKEN', token_status: 'rejected' });
    expect(ran.error()).toMatchObject({ type: 'credentials', status: 401 });
    expect(ran.stdout + ran.stderr).not.toContain(TOKEN);
  });

  test('checks a token that may not list spaces with the scheduled jobs', async () => {
    const { envFor, sandbox } = await service();
    const env = await envFor(['cron_jobs.read']);
    const ran = await run(['whoami', '-o', 'json'], { env });
    expect(ran.code).toBe(0);
    expect(ran.json()).toMatchObject({
      token_status: 'accepted',
      verified_by: `GET ${sandbox.baseUrl}/automation/partner-cron-jobs/`,
    });
  });

  test('exits with 3 if the token may read nothing', async () => {
    const { envFor } = await service();
    const ran = await run(['whoami', '-o', 'json'], { env: await envFor(['agents.read']) });
    expect(ran.code).toBe(3);
    expect(ran.json()).toMatchObject({ token_status: 'forbidden' });
    expect(ran.error()).toMatchObject({ status: 403 });
  });

  test('shows the settings and exits with 3 if there is no token', async () => {
    const ran = await run(['whoami', '-o', 'json'], { env: { PARTNER_BASE_URL: 'http://127.0.0.1:9/v1' } });
    expect(ran.code).toBe(3);
    expect(ran.json()).toMatchObject({ token_from: null, token_status: 'none', verified_by: null });
  });

  test('concludes nothing about the token from a failure of the service', async () => {
    const failing = await startFakeService((_, response) => sendJson(response, { message: 'down' }, 503));
    const env = { PARTNER_BASE_URL: failing.baseUrl, PARTNER_TOKEN: TOKEN };
    const ran = await run(['whoami', '-o', 'json', '--retries', '0'], { env });
    expect(ran.code).toBe(8);
    expect(ran.json()).toMatchObject({ token_status: 'unknown' });
    expect(failing.requests.every(({ method }) => method === 'GET')).toBe(true);
  });

  test('exits with 2 if no service is configured', async () => {
    expect(await run(['whoami'])).toMatchObject({ code: 2, stdout: '' });
  });
});
