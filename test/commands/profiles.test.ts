import { chmodSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { run, tempDirectory } from '../helpers/run.ts';
import { service, write } from '../helpers/service.ts';

const BASE = 'https://api.example.com/v1';
const TOKEN = 'pat_a-token-that-nobody-may-see-0123456789';

/** A home of its own, whose commands say where the profiles are. */
function home() {
  const directory = tempDirectory();
  const config = join(directory, 'config');
  return {
    config,
    path: join(config, 'config.json'),
    env: { HOME: directory, PARTNER_CONFIG_DIR: config },
    stored: () => JSON.parse(readFileSync(join(config, 'config.json'), 'utf8')),
  };
}

type Home = ReturnType<typeof home>;

async function stored(at: Home, name: string, baseUrl = BASE, token = TOKEN): Promise<void> {
  const ran = await run(['login', '--profile', name, '--base-url', baseUrl, '--no-verify'], {
    env: at.env,
    stdin: `${token}\n`,
  });
  expect(ran).toMatchObject({ code: 0 });
}

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
    [[], 'No base address is given.'],
    [['--base-url', 'http://api.example.com/v1'], 'plain http'],
    [['--base-url', 'https://api.example.com'], '/v1'],
    [['--base-url', 'api.example.com/v1'], 'not an https address'],
    [['--base-url', 'https://me:secret-password@api.example.com/v1'], 'holds credentials'],
    [['--base-url', BASE, '--token-command', 'x', '--token-file', 'y'], 'exclude each other'],
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
    expect(ran).toMatchObject({ code: 4, stdout: '', stderr: expect.stringContaining('There are: acme.') });
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
    expect(second.stderr).toContain('the token from profile acme gives way to PARTNER_TOKEN');
    expect(await counts()).toEqual([0, 1, 1]);

    const words = ['--base-url', flag.sandbox.baseUrl, '--token-file', write('token', flag.token)];
    const third = await run([...words, 'spaces', 'list', '-v'], { env });
    expect(third.code).toBe(0);
    expect(third.stderr).toContain('the base address from PARTNER_BASE_URL gives way to --base-url');
    expect(third.stderr).toContain('the token from PARTNER_TOKEN gives way to --token-file');
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
    expect(nothing).toMatchObject({ code: 2, stderr: expect.stringContaining('No base address') });
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
