import { mkdirSync, writeFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { run } from '../support/run.ts';
import { service, write } from '../support/service.ts';
import { BASE, createProfileHome, storeProfile, TOKEN } from './profile-home.ts';

describe('settings', () => {
  test('come from the flag before the environment, and from that before the profile, as -v shows', async () => {
    const flag = await service();
    const environment = await service();
    const profile = await service();
    const home = createProfileHome();
    await storeProfile(home, 'acme', profile.sandbox.baseUrl, profile.token);
    const counts = async () =>
      (await Promise.all([flag, environment, profile].map(({ received }) => received()))).map(({ length }) => length);

    expect((await run(['spaces', 'list'], { env: home.env })).code).toBe(0);
    expect(await counts()).toEqual([0, 0, 1]);

    const env = { ...home.env, PARTNER_BASE_URL: environment.sandbox.baseUrl, PARTNER_TOKEN: environment.token };
    const second = await run(['spaces', 'list', '-v'], { env });
    expect(second.code).toBe(0);
    expect(second.stderr).toContain('the token from PARTNER_TOKEN overrides profile "acme"');
    expect(await counts()).toEqual([0, 1, 1]);

    const args = ['--base-url', flag.sandbox.baseUrl, '--token-file', write('token', flag.token)];
    const third = await run([...args, 'spaces', 'list', '-v'], { env });
    expect(third.code).toBe(0);
    expect(third.stderr).toContain('the base URL from --base-url overrides PARTNER_BASE_URL');
    expect(third.stderr).toMatch(/the token from --token-file \S+ overrides PARTNER_TOKEN/);
    expect(await counts()).toEqual([1, 1, 1]);
  });

  test('come from the profile in --profile before PARTNER_PROFILE, and from that before the current one', async () => {
    const home = createProfileHome();
    for (const name of ['current', 'environment', 'flag']) await storeProfile(home, name);
    const shown = async (args: string[], env: Record<string, string>): Promise<string> =>
      (await run(['profile', 'show', '-o', 'json', ...args], { env: { ...home.env, ...env } })).json<{ name: string }>()
        .name;
    expect(await shown([], {})).toBe('current');
    expect(await shown([], { PARTNER_PROFILE: 'environment' })).toBe('environment');
    expect(await shown(['--profile', 'flag'], { PARTNER_PROFILE: 'environment' })).toBe('flag');
  });

  test('name a variable once that overrides an explicitly selected profile, with the way to undo that', async () => {
    const [environment, profile] = [await service(), await service()];
    const home = createProfileHome();
    await storeProfile(home, 'acme', profile.sandbox.baseUrl, profile.token);
    const both = { ...home.env, PARTNER_BASE_URL: environment.sandbox.baseUrl, PARTNER_TOKEN: environment.token };
    const list = async (env: Record<string, string>, ...args: string[]) =>
      (await run(['spaces', 'list', ...args], { env })).stderr.split('\n').filter((line) => line.startsWith('note:'));
    const note =
      'note: PARTNER_BASE_URL and PARTNER_TOKEN override the base URL and the token of profile "acme". To use the profile, run: unset PARTNER_BASE_URL PARTNER_TOKEN';
    expect(await list(both, '--profile', 'acme')).toEqual([note]);
    expect(await list({ ...both, PARTNER_PROFILE: 'acme' })).toEqual([note]);
    expect(await list({ ...home.env, PARTNER_TOKEN: environment.token }, '--profile', 'acme')).toEqual([
      'note: PARTNER_TOKEN overrides the token of profile "acme". To use the profile, run: unset PARTNER_TOKEN',
    ]);
    expect(await list({ ...home.env, PARTNER_BASE_URL: environment.sandbox.baseUrl }, '--profile', 'acme')).toEqual([
      expect.stringMatching(/^note: The token of .*, but PARTNER_BASE_URL is .* run: unset PARTNER_BASE_URL$/),
    ]);

    const same = { ...home.env, PARTNER_BASE_URL: profile.sandbox.baseUrl, PARTNER_TOKEN: profile.token };
    expect(await list(same, '--profile', 'acme')).toEqual([]);
    expect(await list(both)).toEqual([]);
    expect(await list(both, '--profile', 'acme', '--quiet')).toEqual([]);
    expect(await list(both, '--profile', 'acme', '--base-url', environment.sandbox.baseUrl)).toEqual([
      expect.stringContaining('PARTNER_TOKEN overrides the token'),
    ]);
  });

  test('reject an unknown profile with exit code 2, and send nothing', async () => {
    const { env, received } = await service();
    const ran = await run(['spaces', 'list', '--profile', 'acme'], { env });
    expect(ran).toMatchObject({ code: 2, stderr: expect.stringContaining('"acme"') });
    expect(await received()).toEqual([]);
  });

  test('do not send a stored token to another service', async () => {
    const home = createProfileHome();
    await storeProfile(home, 'acme');
    const ran = await run(['spaces', 'list', '--base-url', 'https://other.example.com/v1', '-o', 'json'], {
      env: home.env,
    });
    expect(ran.code).toBe(3);
    expect(ran.error().message).toBe('A stored token is not sent to another service.');
  });

  test('read the token from standard input with --token-file -', async () => {
    const { sandbox, token } = await service();
    const env = { PARTNER_BASE_URL: sandbox.baseUrl, PARTNER_TOKEN: 'another-token-altogether' };
    const ran = await run(['spaces', 'list', '--token-file', '-'], { env, stdin: `${token}\n` });
    expect(ran.code).toBe(0);
  });

  test('need no home directory: that of a service account may be /dev/null', async () => {
    const env = { HOME: '/dev/null' };
    expect(await run(['profile', 'list', '-o', 'json'], { env })).toMatchObject({ code: 0, stderr: '' });
    const path = await run(['state', 'path'], { env });
    expect(path).toMatchObject({ code: 0, stdout: '/dev/null/.local/state/partnerctl/state.jsonl\n' });
    expect(path.stderr).toMatch(/ A part of its path is a file, not a directory\. Name another file with --state /);
  });

  test('exit with 2 without a base URL, and with 3 without a token', async () => {
    const nothing = await run(['spaces', 'list']);
    expect(nothing).toMatchObject({ code: 2, stderr: expect.stringContaining('No base URL') });
    const noToken = await run(['spaces', 'list', '--base-url', BASE]);
    expect(noToken).toMatchObject({ code: 3, stderr: expect.stringContaining('No token') });
  });

  test('list the existing profiles in the hint if none is current', async () => {
    const home = createProfileHome();
    await storeProfile(home, 'acme');
    await storeProfile(home, 'other');
    await run(['profile', 'remove', 'acme'], { env: home.env });
    const ran = await run(['spaces', 'list'], { env: home.env });
    expect(ran).toMatchObject({ code: 2, stderr: expect.stringContaining('Choose a profile (other) with') });
    expect(ran.stderr).toContain('`partnerctl profile use <name>`');
  });

  test('hint at a login to the profile that has no token', async () => {
    const home = createProfileHome();
    await storeProfile(home, 'acme');
    await storeProfile(home, 'other');
    await run(['logout', '--profile', 'other'], { env: home.env });
    const ran = await run(['spaces', 'list', '--profile', 'other'], { env: home.env });
    expect(ran).toMatchObject({ code: 3, stderr: expect.stringContaining('`partnerctl login --profile other`') });
  });

  test('do not fall back to another token if token_command fails', async () => {
    const { sandbox, received } = await service();
    const home = createProfileHome();
    const profiles = { a: { base_url: sandbox.baseUrl, token: TOKEN, token_command: 'exit 7' } };
    mkdirSync(home.config);
    writeFileSync(home.path, JSON.stringify({ current: 'a', profiles }), { mode: 0o600 });
    const ran = await run(['spaces', 'list', '-o', 'json'], { env: home.env });
    expect(ran.code).toBe(3);
    expect(ran.error().message).toBe(`Profile "a"'s token_command failed.`);
    expect(await received()).toEqual([]);
  });
});
