import { mkdirSync, writeFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { run } from '../helpers/run.ts';
import { service, write } from '../helpers/service.ts';
import { BASE, home, stored, TOKEN } from './homes.ts';

describe('precedence', () => {
  test('a flag wins over the environment, the environment over the profile, and -v says so', async () => {
    const flag = await service();
    const environment = await service();
    const profile = await service();
    const at = home();
    await stored(at, 'acme', profile.sandbox.baseUrl, profile.token);
    const counts = async () =>
      (await Promise.all([flag, environment, profile].map(({ received }) => received()))).map(({ length }) => length);

    expect((await run(['spaces', 'list'], { env: at.env })).code).toBe(0);
    expect(await counts()).toEqual([0, 0, 1]);

    const env = { ...at.env, PARTNER_BASE_URL: environment.sandbox.baseUrl, PARTNER_TOKEN: environment.token };
    const second = await run(['spaces', 'list', '-v'], { env });
    expect(second.code).toBe(0);
    expect(second.stderr).toContain('the token from PARTNER_TOKEN overrides profile acme');
    expect(await counts()).toEqual([0, 1, 1]);

    const words = ['--base-url', flag.sandbox.baseUrl, '--token-file', write('token', flag.token)];
    const third = await run([...words, 'spaces', 'list', '-v'], { env });
    expect(third.code).toBe(0);
    expect(third.stderr).toContain('the base URL from --base-url overrides PARTNER_BASE_URL');
    expect(third.stderr).toContain('the token from --token-file overrides PARTNER_TOKEN');
    expect(await counts()).toEqual([1, 1, 1]);
  });

  test('--profile wins over PARTNER_PROFILE, which wins over the current one', async () => {
    const at = home();
    for (const name of ['current', 'environment', 'flag']) await stored(at, name);
    const shown = async (words: string[], env: Record<string, string>): Promise<string> =>
      (await run(['profile', 'show', '-o', 'json', ...words], { env: { ...at.env, ...env } })).json<{ name: string }>()
        .name;
    expect(await shown([], {})).toBe('current');
    expect(await shown([], { PARTNER_PROFILE: 'environment' })).toBe('environment');
    expect(await shown(['--profile', 'flag'], { PARTNER_PROFILE: 'environment' })).toBe('flag');
  });

  test('a profile that there is not costs no request', async () => {
    const { env, received } = await service();
    const ran = await run(['spaces', 'list', '--profile', 'acme'], { env });
    expect(ran).toMatchObject({ code: 2, stderr: expect.stringContaining('"acme"') });
    expect(await received()).toEqual([]);
  });

  test('a stored token stays with its service', async () => {
    const at = home();
    await stored(at, 'acme');
    const ran = await run(['spaces', 'list', '--base-url', 'https://other.example.com/v1', '-o', 'json'], {
      env: at.env,
    });
    expect(ran.code).toBe(3);
    expect(ran.error().message).toBe('A stored token is not sent to another service.');
  });

  test('--token-file - reads the token from standard input', async () => {
    const { sandbox, token } = await service();
    const env = { PARTNER_BASE_URL: sandbox.baseUrl, PARTNER_TOKEN: 'another-token-altogether' };
    const ran = await run(['spaces', 'list', '--token-file', '-'], { env, stdin: `${token}\n` });
    expect(ran.code).toBe(0);
  });

  test('no token and no address are told apart', async () => {
    const nothing = await run(['spaces', 'list']);
    expect(nothing).toMatchObject({ code: 2, stderr: expect.stringContaining('No base URL') });
    const noToken = await run(['spaces', 'list', '--base-url', BASE]);
    expect(noToken).toMatchObject({ code: 3, stderr: expect.stringContaining('No token') });
  });

  test('a token_command that fails never falls back to another token', async () => {
    const { sandbox, received } = await service();
    const at = home();
    const profiles = { a: { base_url: sandbox.baseUrl, token: TOKEN, token_command: 'exit 7' } };
    mkdirSync(at.config);
    writeFileSync(at.path, JSON.stringify({ current: 'a', profiles }), { mode: 0o600 });
    const ran = await run(['spaces', 'list', '-o', 'json'], { env: at.env });
    expect(ran.code).toBe(3);
    expect(ran.error().message).toContain('token_command');
    expect(await received()).toEqual([]);
  });
});
