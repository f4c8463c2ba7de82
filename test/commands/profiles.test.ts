import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { BASE, createProfileHome, TOKEN } from '../support/profile-home.ts';
import { run } from '../support/run.ts';
import { service, write } from '../support/service.ts';

describe('login', () => {
  test('verifies the token, stores it readable only by its owner, and never shows it', async () => {
    const { sandbox, token, received } = await service();
    const home = createProfileHome();
    const args = ['login', '--base-url', sandbox.baseUrl, '-o', 'json', '--debug'];
    const ran = await run(args, { env: home.env, stdin: `${token}\n` });
    const stored = { base_url: sandbox.baseUrl, token };
    const verified_by = `GET ${sandbox.baseUrl}/automation/spaces/`;
    expect(ran.code).toBe(0);
    expect(ran.json()).toMatchObject({ profile: 'default', token: 'stored', verified: true, verified_by });
    expect(await received()).toHaveLength(1);
    expect(home.read()).toEqual({ '.current': { current: 'default' }, default: stored });
    for (const file of readdirSync(home.path)) expect(statSync(join(home.path, file)).mode & 0o777).toBe(0o600);
    for (const path of [home.config, home.path]) expect(statSync(path).mode & 0o777).toBe(0o700);
    expect(ran.stdout + ran.stderr).not.toContain(token);
    const listed = await run(['spaces', 'list', '-o', 'json'], { env: home.env });
    expect(listed).toMatchObject({ code: 0, stdout: '[]\n', stderr: '' });
  });

  test('stores no token that the service rejects, but one that may not list spaces, with a warning', async () => {
    const { sandbox, createToken } = await service();
    const home = createProfileHome();
    const args = ['login', '--base-url', sandbox.baseUrl, '-q'];
    const rejected = await run(args, { env: home.env, stdin: TOKEN });
    expect(rejected).toMatchObject({ code: 3, stderr: expect.not.stringContaining(TOKEN) });
    expect(() => home.read()).toThrow();
    const token = await createToken({ scopes: ['cron_jobs.write'] });
    const ran = await run(args, { env: home.env, stdin: token });
    expect(ran).toMatchObject({ code: 0, stderr: expect.stringMatching(/^warning: .*403/) });
    expect(home.read().default?.token).toBe(token);
  });

  test('reads the token from --token-file, PARTNER_TOKEN, or standard input, in this order, and warns, even with -q, of one that it passes over', async () => {
    const file = write('token', `${TOKEN}\n`);
    for (const [args, env, stdin] of [
      [['--token-file', '-'], { PARTNER_TOKEN: 'another' }, TOKEN],
      [['--token-file', file], {}, ''],
      [[], { PARTNER_TOKEN: TOKEN }, 'another'],
    ] as const) {
      const home = createProfileHome();
      const login = ['login', '-q', '--base-url', BASE, '--no-verify', ...args];
      const ran = await run(login, { env: { ...home.env, ...env }, stdin });
      expect(ran.code).toBe(0);
      expect(home.read().default).toEqual({ base_url: BASE, token: TOKEN });
      expect(ran.stdout + ran.stderr).not.toContain(TOKEN);
      const passesOver = args.length === 0 && stdin !== '';
      const warning = /^warning: Storing the token from PARTNER_TOKEN\. .*--token-file <path\|->\.\n/;
      expect(warning.test(ran.stderr)).toBe(passesOver);
    }
  });

  test('stores the command of --token-command, not its output', async () => {
    const { sandbox, token } = await service();
    const home = createProfileHome();
    const command = `printf '%s\\nmore\\n' '${token}'`;
    const ran = await run(['login', '--base-url', sandbox.baseUrl, '--token-command', command], { env: home.env });
    expect(ran.code).toBe(0);
    expect(home.read().default).toEqual({ base_url: sandbox.baseUrl, token_command: command });
    expect((await run(['spaces', 'list'], { env: home.env })).code).toBe(0);
  });

  test('replaces the current profile with another service only if --profile names it', async () => {
    const home = createProfileHome();
    home.store('live');
    const before = home.read();
    const other = 'https://test.example.com/v1';
    const login = ['login', '--no-verify', '--base-url', other];
    const ran = await run([...login, '--no-input'], { env: home.env, stdin: 'pat_of-another-service' });
    expect(ran).toMatchObject({ code: 2, stdout: '' });
    expect(ran.stderr).toContain(`error: The current profile "live" is for ${BASE}, not for ${other}.\n`);
    expect(ran.stderr).toMatch(/add --profile <name> .* add --profile live$/m);
    expect(home.read()).toEqual(before);
    // The same service gets a new token.
    expect(await run(['login', '--no-verify'], { env: home.env, stdin: 'pat_renewed' })).toMatchObject({ code: 0 });
    const named = await run([...login, '--profile', 'live'], { env: home.env, stdin: 'pat_of-another-service' });
    expect(named).toMatchObject({ code: 0, stderr: '' });
    expect(home.read().live).toEqual({ base_url: other, token: 'pat_of-another-service' });
  });

  test('stores nothing, without a prompt, if it gets no valid token or no valid service', async () => {
    const home = createProfileHome();
    const based = ['--base-url', BASE];
    for (const [code, args, stdin, why] of [
      [3, based, 'secret args', 'contains invalid characters'],
      [3, [...based, '--token-command', 'exit 7'], '', 'exit code 7'],
      [2, [], TOKEN, 'No base URL is given.'],
      [2, [...based, '--token-command', 'x', '--token-file', 'y'], '', 'cannot be combined'],
    ] as const) {
      const ran = await run(['login', '--no-verify', ...args], { env: home.env, stdin });
      expect(ran, why).toMatchObject({ code, stdout: '', stderr: expect.stringContaining(why) });
      expect(ran.stderr).not.toContain('secret args');
    }
    expect(() => home.read()).toThrow();
  });
});

describe('profiles', () => {
  test('are listed and shown without their tokens, and replaced one by one', async () => {
    const home = createProfileHome();
    home.store('acme');
    home.store('globex');
    const renew = ['login', '--profile', 'acme', '--base-url', BASE, '--no-verify'];
    expect((await run(renew, { env: home.env, stdin: `${TOKEN}-renewed` })).code).toBe(0);
    const acme = { base_url: BASE, token: `${TOKEN}-renewed` };
    const globex = { base_url: BASE, token: TOKEN };
    expect(home.read()).toEqual({ '.current': { current: 'acme' }, acme, globex });
    const listed = await run(['profile', 'list', '-o', 'json'], { env: home.env });
    expect(listed.json()).toEqual([
      { name: 'acme', base_url: BASE, token: 'stored', current: true, protected: false },
      { name: 'globex', base_url: BASE, token: 'stored', current: false, protected: false },
    ]);
    const tsv = await run(['profile', 'list'], { env: home.env });
    expect(tsv.stdout).toBe(`*\tacme\t${BASE}\tstored\t\n\tglobex\t${BASE}\tstored\t\n`);
    const shown = await run(['profile', 'show', '-o', 'json'], { env: home.env });
    expect(shown.json()).toMatchObject({
      name: 'acme',
      token: 'stored',
      token_command: null,
      file: join(home.path, 'acme.json'),
    });
    expect(listed.stdout + tsv.stdout + shown.stdout).not.toContain(TOKEN);
  });

  test('use changes the current profile, remove deletes one with its token, and logout only the token', async () => {
    const home = createProfileHome();
    home.store('acme');
    home.store('globex');
    expect((await run(['profile', 'use', 'globex', '-o', 'json'], { env: home.env })).json()).toEqual({
      profile: 'globex',
      base_url: BASE,
    });
    expect((await run(['profile', 'remove', 'globex'], { env: home.env })).code).toBe(0);
    expect(home.read()).toEqual({ '.current': { current: 'default' }, acme: { base_url: BASE, token: TOKEN } });
    const logout = async () => (await run(['logout', '--profile', 'acme', '-o', 'json'], { env: home.env })).json();
    expect(await logout()).toEqual({ profile: 'acme', forgotten: true });
    expect(home.read().acme).toEqual({ base_url: BASE });
    expect((await run(['spaces', 'list', '--profile', 'acme'], { env: home.env })).code).toBe(3);
    expect(await logout()).toMatchObject({ forgotten: false });
  });

  test('that do not exist exit with 4, and those that do are listed', async () => {
    const home = createProfileHome();
    home.store('acme');
    const before = home.read();
    for (const words of ['profile show', 'profile use', 'profile remove', 'logout --profile']) {
      for (const name of ['Acme', '../profiles/acme']) {
        const ran = await run([...words.split(' '), name], { env: home.env });
        expect(ran).toMatchObject({ code: 4, stdout: '', stderr: expect.stringContaining('Use one of: acme.') });
      }
    }
    for (const words of [
      'spaces list',
      'contract show',
      'contract set space.id id',
      'state path',
      'whoami',
      'doctor',
    ]) {
      const used = await run([...words.split(' '), '--profile', 'toString'], { env: home.env });
      expect(used, words).toMatchObject({ code: 4 });
      expect(used.stdout + used.stderr).toContain('There is no profile "toString" (from --profile)');
    }
    expect(home.read()).toEqual(before);
  });

  test('that are damaged are named, and not changed', async () => {
    const home = createProfileHome();
    home.store('acme', 'http://127.0.0.1:9/v1');
    home.store('globex', 'http://127.0.0.1:9/v1');
    const path = join(home.path, 'acme.json');
    writeFileSync(path, '[]');
    for (const args of ['profile list', 'spaces list', 'logout', `login --base-url ${BASE} --no-verify`]) {
      const ran = await run(args.split(' '), { env: home.env, stdin: TOKEN });
      expect(ran).toMatchObject({ code: 2, stdout: '', stderr: expect.stringContaining(path) });
    }
    expect(readFileSync(path, 'utf8')).toBe('[]');
    // Another profile can be used.
    expect((await run(['spaces', 'list', '--retries', '0', '--profile', 'globex'], { env: home.env })).code).toBe(8);
  });
});
