import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { createProfileHome, TOKEN } from '../support/profile-home.ts';
import { run } from '../support/run.ts';
import { manifest, service, write } from '../support/service.ts';

/* Which service, which profile, and which token a command uses. */

const LIST = ['spaces', 'list'];

/** A service, a current profile `acme` with its token, and a file with a token that no service knows. */
async function setUp() {
  const { sandbox, token } = await service();
  const home = createProfileHome();
  home.store('acme', sandbox.baseUrl, token);
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
    expect(second.stderr).toContain('from PARTNER_BASE_URL, token from PARTNER_TOKEN');
    const args = ['--base-url', flag.sandbox.baseUrl, '--token-file', write('token', flag.token)];
    const third = await run([...args, ...LIST, '-v'], { env: both });
    expect(third.code).toBe(0);
    expect(third.stderr).toMatch(/from --base-url, token from --token-file /);
    expect((await run([...args, 'whoami', '-o', 'json'], { env: both })).json()).toMatchObject({
      base_url_from: '--base-url',
      token_from: expect.stringMatching(/^--token-file /),
    });
    expect([await flag.received(), await environment.received()]).toMatchObject([{ length: 2 }, { length: 1 }]);
    const piped = ['--base-url', sandbox.baseUrl, '--token-file', '-'];
    expect((await run([...LIST, ...piped], { env: both, stdin: `${token}\n` })).code).toBe(0);
  });

  test('come from the profile in --profile before PARTNER_PROFILE, and from that before the current one', async () => {
    const home = createProfileHome();
    for (const name of ['current', 'environment', 'flag']) home.store(name);
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
    home.store('other');
    await run(['logout', '--profile', 'other'], { env: home.env });
    for (const [args, code, says] of [
      [['--profile', 'acme'], 4, 'There is no profile "acme" (from --profile)'],
      [['--profile', 'other'], 3, '`partnerctl login --profile other`'],
    ] as const) {
      const stderr = expect.stringContaining(says);
      expect(await run([...LIST, ...args], { env: home.env })).toMatchObject({ code, stderr });
    }
    expect(await run(LIST)).toMatchObject({ code: 2, stderr: expect.stringContaining('No base URL') });
  });

  test('say the same of a protected profile in every command, where service and token are from the environment', async () => {
    const { sandbox, token, env } = await setUp();
    const { stderr } = await run(['profile', 'protect', 'acme'], { env });
    expect(stderr).toContain('With PARTNER_BASE_URL and PARTNER_TOKEN set and no --profile, no profile is used');
    const outside = { ...env, PARTNER_BASE_URL: sandbox.baseUrl, PARTNER_TOKEN: token };
    for (const [args, profile, says, code] of [
      [[], null, 'token from PARTNER_TOKEN, no profile', 0],
      [['--profile', 'acme'], 'acme', 'token from PARTNER_TOKEN, profile "acme" from --profile, which is protected', 2],
    ] as const) {
      const whoami = await run(['whoami', '-o', 'json', ...args], { env: outside });
      expect(whoami.json()).toMatchObject({ profile, protected: profile !== null });
      expect((await run(['doctor', ...args], { env: outside })).stdout.replace(/\s+/g, ' ')).toContain(`${says} `);
      expect((await run(['upload', write('a.txt', 'a'), ...args], { env: outside })).code).toBe(code);
    }
  });

  test('need no home directory: that of a service account may be /dev/null', async () => {
    const env = { HOME: '/dev/null' };
    expect(await run(['profile', 'list', '-o', 'json'], { env })).toMatchObject({ code: 0, stderr: '' });
    const path = await run(['state', 'path'], { env });
    expect(path).toMatchObject({ code: 0, stdout: '/dev/null/.local/state/partnerctl/state.jsonl\n' });
  });
});

test('A command reads its token once, however often it needs the service.', async () => {
  const { sandbox, token, file, env } = await setUp();
  writeFileSync(file, token);
  const [agent, count] = [['--agent', 'name:Support', '--space', 'ext:acme-001'], `${file}.count`];
  expect((await run(['provision', write('acme.yaml', manifest('acme-001'))], { env })).code).toBe(0);
  const command = `echo read >> ${count}; cat ${file}`;
  const service = ['--base-url', sandbox.baseUrl, '--no-verify'];
  const login = ['login', ...service, '--profile', 'vault', '--token-command', command];
  expect((await run(login, { env })).code).toBe(0);
  const job = ['--name', 'daily', '--instructions', 'Sum up.', '--schedule', '0 9 * * *', '--ensure'];
  for (const words of [
    ['chat', 'setup', 'ext:acme-001', 'name:Support'],
    ['chat', 'send', ...agent, '--session', 's1', 'hello'],
    ['cron', 'list', ...agent],
    ['cron', 'create', ...agent, ...job],
  ]) {
    const piped = await run([...words, '--token-file', '-'], { env, stdin: token });
    expect(piped, words.join(' ')).toMatchObject({ code: 0 });
    writeFileSync(count, '');
    const ran = await run([...words, '--profile', 'vault'], { env });
    expect([words.join(' '), ran.code, readFileSync(count, 'utf8')]).toEqual([words.join(' '), 0, 'read\n']);
  }
});

test.each([
  ['PARTNER_TOKEN', [], { PARTNER_TOKEN: TOKEN }, 'Set a valid token, or unset it to use that of a profile.'],
  ['--token-file FILE', ['--token-file', 'FILE'], {}, 'Put a valid token into FILE.'],
  ['profile "the stale"', ['--profile', 'the stale'], {}, "partnerctl login --profile 'the stale'"],
  [`profile "vault"'s token_command`, ['--profile', 'vault'], {}, 'partnerctl login --profile vault'],
] as const)(
  'A rejected token from %s is named with its source, and how to replace it.',
  async (from, args, more, hint) => {
    const { env, file, home, sandbox } = await setUp();
    const login = ['login', '--no-verify', '--profile', 'vault', '--base-url', sandbox.baseUrl];
    expect((await run([...login, '--token-command', `cat ${file}`], { env })).code).toBe(0);
    home.store('the stale', sandbox.baseUrl, TOKEN);
    const words = args.map((word) => word.replace('FILE', file));
    const ran = await run([...LIST, ...words], { env: { ...env, ...more }, stdin: TOKEN });
    expect(ran.code).toBe(3);
    expect(ran.stderr).toContain(`error: The service rejected the token from ${from.replace('FILE', file)} (401).\n`);
    expect(ran.stderr).toContain(hint.replace('FILE', file));
  },
);

test('A token that lacks a scope is named with its source, and the scope is named.', async () => {
  const { env, createToken } = await service();
  for (const [words, scope] of [
    [['spaces', 'list'], 'spaces.read'],
    [['upload', write('note.txt', 'Hello.')], 'the one for uploads'],
  ] as const) {
    const ran = await run(words, { env: { ...env, PARTNER_TOKEN: await createToken({ scopes: ['agents.read'] }) } });
    expect(ran.code).toBe(3);
    expect(ran.stderr).toContain('The token from PARTNER_TOKEN is not allowed to do this (403).');
    expect(ran.stderr).toContain(`Check the token's scopes (this call needs ${scope}), and that allowed_ip_cidrs`);
  }
});

test('A --profile whose service PARTNER_BASE_URL overrides is warned of.', async () => {
  const { env, sandbox } = await service();
  const home = createProfileHome();
  await home.store('prod', 'https://api.example.com/v1', TOKEN);
  const ran = await run(['spaces', 'list', '--profile', 'prod'], { env: { ...env, ...home.env } });
  expect(ran).toMatchObject({
    code: 0,
    stderr: `warning: PARTNER_BASE_URL (${sandbox.baseUrl}) overrides profile "prod" (https://api.example.com/v1).\n`,
  });
  // A slash at the end is no difference.
  await home.store('same', `${sandbox.baseUrl}/`, TOKEN);
  expect(await run(['spaces', 'list', '--profile', 'same'], { env: { ...env, ...home.env } })).toMatchObject({
    code: 0,
    stderr: '',
  });
});
