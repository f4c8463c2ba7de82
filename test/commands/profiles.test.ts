import { chmodSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { run } from '../support/run.ts';
import { service, write } from '../support/service.ts';
import { BASE, createProfileHome, storeProfile, TOKEN } from './profile-home.ts';

describe('login', () => {
  test('verifies the token, stores it readable only by its owner, and never shows it', async () => {
    const { sandbox, token, received } = await service();
    const home = createProfileHome();
    const ran = await run(['login', '--base-url', sandbox.baseUrl, '-o', 'json', '--debug'], {
      env: home.env,
      stdin: `${token}\n`,
    });
    expect(ran.code).toBe(0);
    expect(ran.json()).toEqual({
      profile: 'default',
      base_url: sandbox.baseUrl,
      token: 'stored',
      verified: true,
      verified_by: `GET ${sandbox.baseUrl}/automation/spaces/`,
      current: 'default',
    });
    expect(await received()).toHaveLength(1);
    expect(home.read()).toEqual({
      current: 'default',
      profiles: { default: { base_url: sandbox.baseUrl, token } },
    });
    expect(statSync(home.path).mode & 0o777).toBe(0o600);
    expect(statSync(home.config).mode & 0o777).toBe(0o700);
    expect(ran.stdout + ran.stderr).not.toContain(token);

    const listed = await run(['spaces', 'list', '-o', 'json'], { env: home.env });
    expect(listed).toMatchObject({ code: 0, stdout: '[]\n', stderr: '' });
  });

  test('does not store a token that the service rejects', async () => {
    const { sandbox } = await service();
    const home = createProfileHome();
    const ran = await run(['login', '--base-url', sandbox.baseUrl, '-o', 'json'], { env: home.env, stdin: TOKEN });
    expect(ran.code).toBe(3);
    expect(() => home.read()).toThrow();
    expect(ran.stderr).not.toContain(TOKEN);
  });

  test('stores a token that cannot list spaces, with a warning', async () => {
    const { sandbox, createToken } = await service();
    const home = createProfileHome();
    const token = await createToken({ scopes: ['cron_jobs.write'] });
    const ran = await run(['login', '--base-url', sandbox.baseUrl, '-q'], { env: home.env, stdin: token });
    expect(ran).toMatchObject({ code: 0, stderr: expect.stringMatching(/^warning: .*403/) });
    expect(home.read().profiles.default.token).toBe(token);
  });

  test.each([
    ['standard input', () => ({ stdin: `\n ${TOKEN} \nsecond line\n` })],
    ['--token-file -', () => ({ args: ['--token-file', '-'], stdin: TOKEN })],
    ['--token-file', () => ({ args: ['--token-file', write('token', `${TOKEN}\n`)] })],
    ['PARTNER_TOKEN', () => ({ env: { PARTNER_TOKEN: TOKEN } })],
  ])('reads the token from %s', async (_, given) => {
    const home = createProfileHome();
    const { args = [], stdin, env = {} }: { args?: string[]; stdin?: string; env?: Record<string, string> } = given();
    const ran = await run(['login', '--base-url', BASE, '--no-verify', ...args], {
      env: { ...home.env, ...env },
      ...(stdin !== undefined && { stdin }),
    });
    expect(ran.code).toBe(0);
    expect(home.read().profiles.default).toEqual({ base_url: BASE, token: TOKEN });
    expect(ran.stdout + ran.stderr).not.toContain(TOKEN);
  });

  test('rejects a token on standard input if PARTNER_TOKEN has a different one, and each alternative in the hint works', async () => {
    const home = createProfileHome();
    const env = { ...home.env, PARTNER_TOKEN: TOKEN };
    const login = ['login', '--base-url', BASE, '--no-verify'];
    const ran = await run(login, { env, stdin: 'pat_another' });
    expect(ran).toMatchObject({ code: 2, stdout: '' });
    expect(ran.stderr).toBe(
      'error: Standard input and PARTNER_TOKEN hold different tokens.\nhint: To store the one from standard input, unset PARTNER_TOKEN or add --token-file -. To store the one from PARTNER_TOKEN, add < /dev/null.\n',
    );
    expect(() => home.read()).toThrow();
    const ways: [string[], Record<string, string>, string, string][] = [
      [[], home.env, 'pat_another', 'pat_another'],
      [['--token-file', '-'], env, 'pat_another', 'pat_another'],
      [[], env, '', TOKEN],
      [[], env, ` ${TOKEN}\n`, TOKEN],
    ];
    for (const [args, way, stdin, stored] of ways) {
      expect((await run([...login, ...args], { env: way, stdin })).code).toBe(0);
      expect(home.read().profiles.default.token).toBe(stored);
    }
  });

  test('reports what it verified, and which profile is current', async () => {
    const { sandbox, token } = await service();
    const home = createProfileHome();
    await storeProfile(home, 'acme');
    const ran = await run(['login', '--profile', 'other one', '--base-url', sandbox.baseUrl], {
      env: home.env,
      stdin: token,
    });
    const call = `GET ${sandbox.baseUrl}/automation/spaces/`;
    expect(ran.stdout).toContain(`\nVERIFIED BY:     ${call}\nCURRENT PROFILE: acme\n`);
    expect(ran.stderr).toBe("acme stays the current profile. To change that: partnerctl profile use 'other one'\n");
    expect((await run(['profile', 'use', 'other one'], { env: home.env })).code).toBe(0);
  });

  test('stores the command of --token-command, not its output', async () => {
    const { sandbox, token } = await service();
    const home = createProfileHome();
    const command = `printf '%s\\nmore\\n' '${token}'`;
    const ran = await run(['login', '--base-url', sandbox.baseUrl, '--token-command', command], { env: home.env });
    expect(ran.code).toBe(0);
    expect(home.read().profiles.default).toEqual({ base_url: sandbox.baseUrl, token_command: command });
    expect((await run(['spaces', 'list'], { env: home.env })).code).toBe(0);
  });

  test.each([
    ['nothing on standard input', [], ''],
    ['a token with a space in it', [], 'two args'],
    ['a missing token file', ['--token-file', '/nowhere/token'], ''],
    ['a command that fails', ['--token-command', 'exit 7'], ''],
    ['a command that prints nothing', ['--token-command', 'true'], ''],
  ])('exits with 3 for %s, without a prompt', async (_, args, stdin) => {
    const home = createProfileHome();
    const ran = await run(['login', '--base-url', BASE, '--no-verify', ...args], { env: home.env, stdin });
    expect(ran).toMatchObject({ code: 3, stdout: '' });
    expect(ran.stderr).not.toContain('two args');
    expect(() => home.read()).toThrow();
  });

  test.each([
    [[], 'No base URL is given.'],
    [['--base-url', 'http://api.example.com/v1'], 'plain http'],
    [['--base-url', 'https://api.example.com'], '/v1'],
    [['--base-url', 'api.example.com/v1'], 'not an https URL'],
    [['--base-url', 'https://me:secret-password@api.example.com/v1'], 'contains credentials'],
    [['--base-url', BASE, '--token-command', 'x', '--token-file', 'y'], 'cannot be combined'],
    [['--base-url', BASE, '--token-command', ''], '--token-command is empty.'],
    [
      ['--base-url', BASE, '--state', 'postgres://ops@db/ops', '--state-password-command', ''],
      '--state-password-command is empty.',
    ],
  ])('exits with 2 for %j', async (args, said) => {
    const home = createProfileHome();
    const ran = await run(['login', ...args], { env: home.env, stdin: TOKEN });
    expect(ran).toMatchObject({ code: 2, stdout: '', stderr: expect.stringContaining(said) });
    expect(ran.stderr).not.toContain('secret-password');
    expect(() => home.read()).toThrow();
  });

  test('replaces the profile, and keeps the others', async () => {
    const home = createProfileHome();
    await storeProfile(home, 'acme');
    await storeProfile(home, 'globex', 'https://globex.example.com/v1');
    await storeProfile(home, 'acme', BASE, `${TOKEN}-renewed`);
    expect(home.read()).toEqual({
      current: 'acme',
      profiles: {
        globex: { base_url: 'https://globex.example.com/v1', token: TOKEN },
        acme: { base_url: BASE, token: `${TOKEN}-renewed` },
      },
    });
  });

  test.each(['constructor', '__proto__', 'toString'])('accepts a profile named %s', async (name) => {
    const home = createProfileHome();
    await storeProfile(home, name);
    const shown = await run(['profile', 'show', name, '-o', 'json'], { env: home.env });
    expect(shown).toMatchObject({ code: 0 });
    expect(shown.json()).toMatchObject({ name, base_url: BASE, token: 'stored' });
  });
});

test('login to a directory that cannot hold profiles fails with the reason', async () => {
  // Nobody can create files there, not even root.
  const env = { PARTNER_CONFIG_DIR: '/proc/self', PARTNER_TOKEN: TOKEN };
  const ran = await run(['login', '--base-url', BASE, '--no-verify', '--quiet'], { env });
  expect(ran.code).toBe(1);
  expect(ran.stderr).toBe(
    'error: The profiles in /proc/self cannot be written.\n  there is no such file or directory\n',
  );
});

describe('profiles', () => {
  test('list marks the current profile and shows no token', async () => {
    const home = createProfileHome();
    await storeProfile(home, 'acme');
    await storeProfile(home, 'globex');
    const ran = await run(['profile', 'list', '-o', 'json'], { env: home.env });
    expect(ran.json()).toEqual([
      { name: 'acme', base_url: BASE, token: 'stored', current: true, protected: false },
      { name: 'globex', base_url: BASE, token: 'stored', current: false, protected: false },
    ]);
    expect(ran.stdout + ran.stderr).not.toContain(TOKEN);
    expect((await run(['profile', 'list'], { env: home.env })).stdout).toBe(
      `*\tacme\t${BASE}\tstored\t\n\tglobex\t${BASE}\tstored\t\n`,
    );
  });

  test('use changes the current profile', async () => {
    const home = createProfileHome();
    await storeProfile(home, 'acme');
    await storeProfile(home, 'globex', 'https://globex.example.com/v1');
    expect((await run(['profile', 'use', 'globex', '-o', 'json'], { env: home.env })).json()).toEqual({
      profile: 'globex',
      base_url: 'https://globex.example.com/v1',
    });
    const shown = await run(['profile', 'show', '-o', 'json'], { env: home.env });
    expect(shown.json()).toEqual({
      name: 'globex',
      base_url: 'https://globex.example.com/v1',
      token: 'stored',
      token_command: null,
      state: null,
      state_password_command: null,
      current: true,
      protected: false,
      file: home.path,
    });
    expect(shown.stdout).not.toContain(TOKEN);
  });

  test('remove deletes a profile and its token', async () => {
    const home = createProfileHome();
    await storeProfile(home, 'acme');
    await storeProfile(home, 'globex');
    expect(await run(['profile', 'remove', 'acme'], { env: home.env })).toMatchObject({
      code: 0,
      stderr:
        'warning: "acme" was the current profile. Now no profile is current. To choose another one: partnerctl profile use <name>\n',
    });
    expect(home.read()).toEqual({ current: 'default', profiles: { globex: { base_url: BASE, token: TOKEN } } });
    expect(statSync(home.path).mode & 0o777).toBe(0o600);
  });

  test('remove says that commands use the default profile from now on', async () => {
    const home = createProfileHome();
    await storeProfile(home, 'default');
    await storeProfile(home, 'acme');
    await run(['profile', 'use', 'acme'], { env: home.env });
    const removed = await run(['profile', 'remove', 'acme'], { env: home.env });
    expect(removed.stderr).toContain('"acme" was the current profile. Commands now use profile "default".');
    await storeProfile(home, 'globex');
    await run(['profile', 'use', 'default'], { env: home.env });
    expect((await run(['profile', 'remove', 'globex'], { env: home.env })).stderr).toBe('');
  });

  test('logout removes the token and keeps the base URL', async () => {
    const home = createProfileHome();
    await storeProfile(home, 'acme');
    const ran = await run(['logout', '-o', 'json'], { env: home.env });
    expect(ran.json()).toEqual({ profile: 'acme', forgotten: true });
    expect(home.read().profiles).toEqual({ acme: { base_url: BASE } });
    expect(readFileSync(home.path, 'utf8')).not.toContain(TOKEN);
    expect((await run(['spaces', 'list', '-o', 'json'], { env: home.env })).code).toBe(3);
    expect((await run(['logout', '-o', 'json'], { env: home.env })).json()).toMatchObject({ forgotten: false });
  });

  test.each([
    ['profile', 'show', 'acmee'],
    ['profile', 'use', 'acmee'],
    ['profile', 'remove', 'acmee'],
    ['logout', '--profile', 'acmee'],
  ])('%s %s %s lists the existing profiles', async (...args) => {
    const home = createProfileHome();
    await storeProfile(home, 'acme');
    const before = readFileSync(home.path, 'utf8');
    const ran = await run(args, { env: home.env });
    expect(ran).toMatchObject({ code: 4, stdout: '', stderr: expect.stringContaining('Use one of: acme.') });
    expect(readFileSync(home.path, 'utf8')).toBe(before);
  });

  test.each(['', '{', '[]', '{"profiles":{"acme":7}}', 'null'])(
    'a damaged file (%j) is named in the error and not changed',
    async (text) => {
      const home = createProfileHome();
      mkdirSync(home.config);
      writeFileSync(home.path, text);
      for (const args of [
        ['profile', 'list'],
        ['logout'],
        ['spaces', 'list'],
        ['login', '--base-url', BASE, '--no-verify'],
      ]) {
        const ran = await run(args, { env: home.env, stdin: TOKEN });
        expect(ran).toMatchObject({ code: 2, stdout: '', stderr: expect.stringContaining(home.path) });
      }
      expect(readFileSync(home.path, 'utf8')).toBe(text);
    },
  );

  test('a file that others can read causes a warning', async () => {
    const { sandbox, token } = await service();
    const home = createProfileHome();
    await storeProfile(home, 'acme', sandbox.baseUrl, token);
    chmodSync(home.path, 0o644);
    const ran = await run(['spaces', 'list', '-q'], { env: home.env });
    expect(ran).toMatchObject({ code: 0, stderr: expect.stringMatching(/^warning: .*chmod 600/) });
  });

  test('a directory that cannot be created is a local error', async () => {
    const blocked = write('file', '');
    const ran = await run(['login', '--base-url', BASE, '--no-verify', '-o', 'json'], {
      env: { PARTNER_CONFIG_DIR: join(blocked, 'config') },
      stdin: TOKEN,
    });
    expect(ran.code).toBe(1);
    expect(ran.error().type).toBe('local');
    expect(ran.stderr).not.toContain(TOKEN);
  });
});
