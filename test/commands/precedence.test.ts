import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { type Ran, run } from '../support/run.ts';
import { service, write } from '../support/service.ts';
import { createProfileHome, storeProfile, TOKEN } from './profile-home.ts';

/* Which service, which profile, and which token a command uses. */

const LIST = ['spaces', 'list'];

function hintOf({ stderr }: Ran): string {
  return /^hint: (.*)$/m.exec(stderr)?.[1] ?? '';
}

/** A service, a current profile `acme` with its token, and a file with a token that no service knows. */
async function setUp() {
  const { sandbox, token } = await service();
  const home = createProfileHome();
  await storeProfile(home, 'acme', sandbox.baseUrl, token);
  const file = join(home.env.HOME, 'token.txt');
  writeFileSync(file, `${TOKEN}\n`);
  return { sandbox, token, home, file, env: { ...home.env } };
}

describe('settings', () => {
  test('come from the flag before the environment, and from that before the profile, as -v shows', async () => {
    const { token, sandbox, env } = await setUp();
    const [flag, environment] = [await service(), await service()];
    expect((await run(LIST, { env })).code).toBe(0);
    const both = { ...env, PARTNER_BASE_URL: environment.sandbox.baseUrl, PARTNER_TOKEN: environment.token };
    const second = await run([...LIST, '-v'], { env: both });
    expect(second.code).toBe(0);
    expect(second.stderr).toContain('the token from PARTNER_TOKEN overrides profile "acme"');
    const args = ['--base-url', flag.sandbox.baseUrl, '--token-file', write('token', flag.token)];
    const third = await run([...args, ...LIST, '-v'], { env: both });
    expect(third.code).toBe(0);
    expect(third.stderr).toContain('the base URL from --base-url overrides PARTNER_BASE_URL');
    expect(third.stderr).toMatch(/the token from --token-file \S+ overrides PARTNER_TOKEN/);
    expect([await flag.received(), await environment.received()]).toMatchObject([{ length: 1 }, { length: 1 }]);
    const piped = ['--base-url', sandbox.baseUrl, '--token-file', '-'];
    expect((await run([...LIST, ...piped], { env: both, stdin: `${token}\n` })).code).toBe(0);
  });

  test('come from the profile in --profile before PARTNER_PROFILE, and from that before the current one', async () => {
    const home = createProfileHome();
    for (const name of ['current', 'environment', 'flag']) await storeProfile(home, name);
    const shown = async (args: string[], more: Record<string, string>) =>
      (await run(['profile', 'show', '--query', 'name', ...args], { env: { ...home.env, ...more } })).stdout.trim();
    expect(await shown([], {})).toBe('current');
    expect(await shown([], { PARTNER_PROFILE: 'environment' })).toBe('environment');
    expect(await shown(['--profile', 'flag'], { PARTNER_PROFILE: 'environment' })).toBe('flag');
  });

  test('that would send a stored token to another service are refused, with the way to undo that', async () => {
    const { env, sandbox } = await setUp();
    const PARTNER_BASE_URL = 'http://127.0.0.1:9/v1';
    const ran = await run(LIST, { env: { ...env, PARTNER_BASE_URL } });
    expect(ran.code).toBe(3);
    expect(ran.stderr).toContain(
      `error: A stored token is not sent to another service.\n  The token of profile "acme" is for ${sandbox.baseUrl}, but PARTNER_BASE_URL is ${PARTNER_BASE_URL}.\n`,
    );
  });

  test('that are missing are named: a profile, a base URL, or a token', async () => {
    const home = createProfileHome();
    await storeProfile(home, 'other');
    await run(['logout', '--profile', 'other'], { env: home.env });
    for (const [args, code, says] of [
      [['--profile', 'acme'], 2, 'There is no profile "acme" (from --profile)'],
      [['--profile', 'other'], 3, '`partnerctl login --profile other`'],
    ] as const) {
      const stderr = expect.stringContaining(says);
      expect(await run([...LIST, ...args], { env: home.env })).toMatchObject({ code, stderr });
    }
    expect(await run(LIST)).toMatchObject({ code: 2, stderr: expect.stringContaining('No base URL') });
  });

  test('need no home directory: that of a service account may be /dev/null', async () => {
    const env = { HOME: '/dev/null' };
    expect(await run(['profile', 'list', '-o', 'json'], { env })).toMatchObject({ code: 0, stderr: '' });
    const path = await run(['state', 'path'], { env });
    expect(path).toMatchObject({ code: 0, stdout: '/dev/null/.local/state/partnerctl/state.jsonl\n' });
  });

  test('do not fall back to another token if token_command fails', async () => {
    const { sandbox, received } = await service();
    const home = createProfileHome();
    const profiles = { a: { base_url: sandbox.baseUrl, token: TOKEN, token_command: 'exit 7' } };
    mkdirSync(home.config);
    writeFileSync(home.path, JSON.stringify({ current: 'a', profiles }), { mode: 0o600 });
    const ran = await run([...LIST, '-o', 'json'], { env: home.env });
    expect(ran.code).toBe(3);
    expect(ran.error().message).toBe(`Profile "a"'s token_command failed.`);
    expect(await received()).toEqual([]);
  });
});

describe('the hint for a rejected token names its source', () => {
  test('PARTNER_TOKEN: set a valid token, or unset it to use the profile if that is for the same service', async () => {
    const { env } = await setUp();
    const ran = await run(LIST, { env: { ...env, PARTNER_TOKEN: TOKEN } });
    expect(ran).toMatchObject({ code: 3 });
    expect(ran.stderr).toContain('error: The service rejected the token from PARTNER_TOKEN (401).\n');
    expect(hintOf(ran)).toBe('Set a valid token, or unset it to use profile "acme".');
    const malformed = await run(LIST, { env: { ...env, PARTNER_TOKEN: 'two words' } });
    expect(hintOf(malformed)).toBe(hintOf(ran));
    const { sandbox } = await service();
    const elsewhere = { ...env, PARTNER_BASE_URL: sandbox.baseUrl, PARTNER_TOKEN: TOKEN };
    expect(hintOf(await run(LIST, { env: elsewhere }))).toBe('Set a valid token.');
  });

  test('--token-file: put a valid token into the file or pipe, or omit the flag', async () => {
    const { env, file } = await setUp();
    const ran = await run([...LIST, '--token-file', file], { env });
    expect(ran.stderr).toContain(`error: The service rejected the token from --token-file ${file} (401).\n`);
    expect(hintOf(ran)).toBe(`Put a valid token into ${file}, or omit --token-file to use profile "acme".`);
    const piped = await run([...LIST, '--token-file', '-'], { env, stdin: TOKEN });
    expect(hintOf(piped)).toBe('Pipe a valid token to standard input, or omit --token-file to use profile "acme".');
  });

  test('a profile: log in to it', async () => {
    const { env, home, sandbox } = await setUp();
    await storeProfile(home, 'customers of acme', sandbox.baseUrl, TOKEN);
    const ran = await run([...LIST, '--profile', 'customers of acme'], { env });
    expect(ran.stderr).toContain('error: The service rejected the token from profile "customers of acme" (401).\n');
    expect(hintOf(ran)).toBe("Store a valid token with: partnerctl login --profile 'customers of acme'");
  });

  test('token_command: print a valid token, or store one', async () => {
    const { env, file, sandbox } = await setUp();
    const login = ['login', '--profile', 'vault', '--base-url', sandbox.baseUrl];
    const rejected = await run([...login, '--token-command', `cat ${file}`], { env });
    expect(rejected.stderr).toContain('error: The service rejected the token from --token-command (401).\n');
    expect((await run([...login, '--token-command', `cat ${file}`, '--no-verify'], { env })).code).toBe(0);
    const ran = await run([...LIST, '--profile', 'vault'], { env });
    expect(ran.stderr).toContain(`error: The service rejected the token from profile "vault"'s token_command (401).\n`);
    expect(hintOf(ran)).toBe(
      `Make it print a valid token (cat ${file}), or store a token with: partnerctl login --profile vault`,
    );
  });
});

test('The error for a 403 names the source of the token.', async () => {
  const { sandbox, createToken } = await service();
  const env = { PARTNER_BASE_URL: sandbox.baseUrl, PARTNER_TOKEN: await createToken({ scopes: [] }) };
  const ran = await run(LIST, { env });
  expect(ran).toMatchObject({ code: 3 });
  expect(ran.stderr).toContain('error: The token from PARTNER_TOKEN is not allowed to do this (403).\n');
});
