import { chmodSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { run } from '../helpers/run.ts';
import { service, write } from '../helpers/service.ts';
import { BASE, home, stored, TOKEN } from './homes.ts';

describe('login', () => {
  test('tries the token, stores it where only its owner reads it, and never shows it', async () => {
    const { sandbox, token, received } = await service();
    const at = home();
    const ran = await run(['login', '--base-url', sandbox.baseUrl, '-o', 'json', '--debug'], {
      env: at.env,
      stdin: `${token}\n`,
    });
    expect(ran.code).toBe(0);
    expect(ran.json()).toEqual({ profile: 'default', base_url: sandbox.baseUrl, token: 'stored', verified: true });
    expect(await received()).toHaveLength(1);
    expect(at.stored()).toEqual({
      current: 'default',
      profiles: { default: { base_url: sandbox.baseUrl, token } },
    });
    expect(statSync(at.path).mode & 0o777).toBe(0o600);
    expect(statSync(at.config).mode & 0o777).toBe(0o700);
    expect(ran.stdout + ran.stderr).not.toContain(token);

    const listed = await run(['spaces', 'list', '-o', 'json'], { env: at.env });
    expect(listed).toMatchObject({ code: 0, stdout: '[]\n', stderr: '' });
  });

  test('a token that the service does not know is not stored', async () => {
    const { sandbox } = await service();
    const at = home();
    const ran = await run(['login', '--base-url', sandbox.baseUrl, '-o', 'json'], { env: at.env, stdin: TOKEN });
    expect(ran.code).toBe(3);
    expect(() => at.stored()).toThrow();
    expect(ran.stderr).not.toContain(TOKEN);
  });

  test('a token that may not list spaces is stored with a warning', async () => {
    const { sandbox } = await service();
    const at = home();
    const token = await sandbox.createToken({ scopes: ['cron_jobs.write'] });
    const ran = await run(['login', '--base-url', sandbox.baseUrl, '-q'], { env: at.env, stdin: token });
    expect(ran).toMatchObject({ code: 0, stderr: expect.stringMatching(/^warning: .*403/) });
    expect(at.stored().profiles.default.token).toBe(token);
  });

  test.each([
    ['standard input', () => ({ stdin: `\n ${TOKEN} \nsecond line\n` })],
    ['--token-file -', () => ({ words: ['--token-file', '-'], stdin: TOKEN })],
    ['--token-file', () => ({ words: ['--token-file', write('token', `${TOKEN}\n`)] })],
    ['PARTNER_TOKEN', () => ({ env: { PARTNER_TOKEN: TOKEN }, stdin: 'another' })],
  ])('takes the token from %s', async (_, given) => {
    const at = home();
    const { words = [], stdin, env = {} }: { words?: string[]; stdin?: string; env?: Record<string, string> } = given();
    const ran = await run(['login', '--base-url', BASE, '--no-verify', ...words], {
      env: { ...at.env, ...env },
      ...(stdin !== undefined && { stdin }),
    });
    expect(ran.code).toBe(0);
    expect(at.stored().profiles.default).toEqual({ base_url: BASE, token: TOKEN });
    expect(ran.stdout + ran.stderr).not.toContain(TOKEN);
  });

  test('--token-command stores the command and not what it prints', async () => {
    const { sandbox, token } = await service();
    const at = home();
    const command = `printf '%s\\nmore\\n' '${token}'`;
    const ran = await run(['login', '--base-url', sandbox.baseUrl, '--token-command', command], { env: at.env });
    expect(ran.code).toBe(0);
    expect(at.stored().profiles.default).toEqual({ base_url: sandbox.baseUrl, token_command: command });
    expect((await run(['spaces', 'list'], { env: at.env })).code).toBe(0);
  });

  test.each([
    ['nothing on standard input', [], ''],
    ['a token with a space in it', [], 'two words'],
    ['a token file that is not there', ['--token-file', '/nowhere/token'], ''],
    ['a command that fails', ['--token-command', 'exit 7'], ''],
    ['a command that prints nothing', ['--token-command', 'true'], ''],
  ])('%s is exit 3, without a question', async (_, words, stdin) => {
    const at = home();
    const ran = await run(['login', '--base-url', BASE, '--no-verify', ...words], { env: at.env, stdin });
    expect(ran).toMatchObject({ code: 3, stdout: '' });
    expect(ran.stderr).not.toContain('two words');
    expect(() => at.stored()).toThrow();
  });

  test.each([
    [[], 'No base URL is given.'],
    [['--base-url', 'http://api.example.com/v1'], 'plain http'],
    [['--base-url', 'https://api.example.com'], '/v1'],
    [['--base-url', 'api.example.com/v1'], 'not an https URL'],
    [['--base-url', 'https://me:secret-password@api.example.com/v1'], 'contains credentials'],
    [['--base-url', BASE, '--token-command', 'x', '--token-file', 'y'], 'cannot be combined'],
  ])('%j is a usage error', async (words, said) => {
    const at = home();
    const ran = await run(['login', ...words], { env: at.env, stdin: TOKEN });
    expect(ran).toMatchObject({ code: 2, stdout: '', stderr: expect.stringContaining(said) });
    expect(ran.stderr).not.toContain('secret-password');
    expect(() => at.stored()).toThrow();
  });

  test('a second login renews the profile and leaves the others alone', async () => {
    const at = home();
    await stored(at, 'acme');
    await stored(at, 'globex', 'https://globex.example.com/v1');
    await stored(at, 'acme', BASE, `${TOKEN}-renewed`);
    expect(at.stored()).toEqual({
      current: 'acme',
      profiles: {
        globex: { base_url: 'https://globex.example.com/v1', token: TOKEN },
        acme: { base_url: BASE, token: `${TOKEN}-renewed` },
      },
    });
  });

  test.each(['constructor', '__proto__', 'toString'])('a profile may be called %s', async (name) => {
    const at = home();
    await stored(at, name);
    const shown = await run(['profile', 'show', name, '-o', 'json'], { env: at.env });
    expect(shown).toMatchObject({ code: 0 });
    expect(shown.json()).toMatchObject({ name, base_url: BASE, token: 'stored' });
  });
});

describe('profiles', () => {
  test('list marks the current one and shows no token', async () => {
    const at = home();
    await stored(at, 'acme');
    await stored(at, 'globex');
    const ran = await run(['profile', 'list', '-o', 'json'], { env: at.env });
    expect(ran.json()).toEqual([
      { name: 'acme', base_url: BASE, token: 'stored', current: true },
      { name: 'globex', base_url: BASE, token: 'stored', current: false },
    ]);
    expect(ran.stdout + ran.stderr).not.toContain(TOKEN);
    expect((await run(['profile', 'list'], { env: at.env })).stdout).toBe(
      `*\tacme\t${BASE}\tstored\n\tglobex\t${BASE}\tstored\n`,
    );
  });

  test('there may be none', async () => {
    const ran = await run(['profile', 'list', '-o', 'json'], { env: home().env });
    expect(ran).toMatchObject({ code: 0, stdout: '[]\n', stderr: '' });
  });

  test('use changes the current one, which show and the other commands follow', async () => {
    const at = home();
    await stored(at, 'acme');
    await stored(at, 'globex', 'https://globex.example.com/v1');
    expect((await run(['profile', 'use', 'globex', '-o', 'json'], { env: at.env })).json()).toEqual({
      profile: 'globex',
      base_url: 'https://globex.example.com/v1',
    });
    const shown = await run(['profile', 'show', '-o', 'json'], { env: at.env });
    expect(shown.json()).toEqual({
      name: 'globex',
      base_url: 'https://globex.example.com/v1',
      token: 'stored',
      token_command: null,
      current: true,
      file: at.path,
    });
    expect(shown.stdout).not.toContain(TOKEN);
  });

  test('remove takes a profile with its token away', async () => {
    const at = home();
    await stored(at, 'acme');
    await stored(at, 'globex');
    expect((await run(['profile', 'remove', 'acme'], { env: at.env })).code).toBe(0);
    expect(at.stored()).toEqual({ current: 'default', profiles: { globex: { base_url: BASE, token: TOKEN } } });
    expect(statSync(at.path).mode & 0o777).toBe(0o600);
  });

  test('logout forgets the token and keeps the address', async () => {
    const at = home();
    await stored(at, 'acme');
    const ran = await run(['logout', '-o', 'json'], { env: at.env });
    expect(ran.json()).toEqual({ profile: 'acme', forgotten: true });
    expect(at.stored().profiles).toEqual({ acme: { base_url: BASE } });
    expect(readFileSync(at.path, 'utf8')).not.toContain(TOKEN);
    expect((await run(['spaces', 'list', '-o', 'json'], { env: at.env })).code).toBe(3);
    expect((await run(['logout', '-o', 'json'], { env: at.env })).json()).toMatchObject({ forgotten: false });
  });

  test.each([
    ['profile', 'show', 'acmee'],
    ['profile', 'use', 'acmee'],
    ['profile', 'remove', 'acmee'],
    ['logout', '--profile', 'acmee'],
  ])('%s %s %s names the profiles that there are', async (...words) => {
    const at = home();
    await stored(at, 'acme');
    const before = readFileSync(at.path, 'utf8');
    const ran = await run(words, { env: at.env });
    expect(ran).toMatchObject({ code: 4, stdout: '', stderr: expect.stringContaining('Use one of: acme.') });
    expect(readFileSync(at.path, 'utf8')).toBe(before);
  });

  test.each(['', '{', '[]', '{"profiles":{"acme":7}}', 'null'])(
    'a damaged file (%j) is reported by name and left as it is',
    async (text) => {
      const at = home();
      mkdirSync(at.config);
      writeFileSync(at.path, text);
      for (const words of [
        ['profile', 'list'],
        ['logout'],
        ['spaces', 'list'],
        ['login', '--base-url', BASE, '--no-verify'],
      ]) {
        const ran = await run(words, { env: at.env, stdin: TOKEN });
        expect(ran).toMatchObject({ code: 2, stdout: '', stderr: expect.stringContaining(at.path) });
      }
      expect(readFileSync(at.path, 'utf8')).toBe(text);
    },
  );

  test('a file that others may read is warned about', async () => {
    const { sandbox, token } = await service();
    const at = home();
    await stored(at, 'acme', sandbox.baseUrl, token);
    chmodSync(at.path, 0o644);
    const ran = await run(['spaces', 'list', '-q'], { env: at.env });
    expect(ran).toMatchObject({ code: 0, stderr: expect.stringMatching(/^warning: .*chmod 600/) });
  });

  test('a directory that cannot be made is an error of this machine', async () => {
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
