import { expect, test } from 'vitest';
import { argumentsOf, COMMAND_LINES, startScene } from '../support/command-lines.ts';
import { run } from '../support/run.ts';
import { manifest, service, write } from '../support/service.ts';
import { createProfileHome, storeProfile } from './profile-home.ts';

/** A service with a space and an agent, and a protected profile `live` for it, which is current. */
async function setUp() {
  const it = await service();
  const home = createProfileHome();
  await storeProfile(home, 'live', it.sandbox.baseUrl, it.token);
  expect((await run(['profile', 'protect', 'live'], { env: home.env })).code).toBe(0);
  const manifests = write('acme.yaml', manifest('acme-001'));
  expect((await run(['provision', manifests], { env: it.env })).code).toBe(0);
  const setup = await run(['chat', 'setup', 'ext:acme-001', 'name:Support', '--query', 'source_id'], { env: it.env });
  await it.forget();
  return { ...it, home, env: home.env, source: setup.stdout.trim() };
}

const ADDRESS = ['--space', 'ext:acme-001', '--agent', 'name:Support'];
const JOB = [...ADDRESS, '--name', 'daily', '--instructions', 'Sum up the day.', '--schedule', '0 9 * * 1'];

const WRITES = COMMAND_LINES.filter(({ sends }) => sends === 'writes');

test('Exactly the commands that write have --confirm, and login, which replaces a token.', async () => {
  const help = await run(['help', '-o', 'json']);
  const { commands } = help.json<{ commands: readonly { command: string; writes: boolean }[] }>();
  const writing = commands.filter(({ command }) => WRITES.some(({ words }) => `${words} `.startsWith(`${command} `)));
  expect(commands.filter(({ writes }) => writes)).toEqual(
    commands.filter((each) => each.command === 'login' || writing.includes(each)),
  );
});

test('A write through a protected profile is sent only with --confirm and its name.', async () => {
  for (const { words, after, runs } of WRITES) {
    const { things, env: given, sandbox, token, received, posts, forget } = await startScene();
    if (after !== undefined) await run(argumentsOf(after, things), { env: given });
    const home = createProfileHome();
    await storeProfile(home, 'live', sandbox.baseUrl, token);
    await run(['profile', 'protect', 'live'], { env: home.env });
    await forget();
    const env = { ...home.env, PARTNER_STATE: given.PARTNER_STATE };
    const args = argumentsOf(words, things);
    const ran = await run(args, { env });
    expect(ran, words).toMatchObject({ code: 2, stdout: '' });
    expect(ran.stderr, words).toMatch(
      `error: Profile "live" is protected, and this command is about to write to ${sandbox.baseUrl}.\n  Nothing was sent.\nhint: To confirm this, add --confirm live\n`,
    );
    const other = await run([...args, '--confirm', 'test'], { env });
    expect(other).toMatchObject({ code: 2, stderr: expect.stringContaining('but the command uses profile "live"') });
    expect(await received(), words).toEqual([]);
    const confirmed = await run([...args, '--confirm', 'live'], { env });
    if (runs === 'in a terminal') expect(confirmed.stderr).toContain('terminal');
    else {
      expect(confirmed.code, words).toBe(0);
      expect((await posts()).length, words).toBeGreaterThan(0);
    }
  }
});

test('Reads and dry runs need no confirmation.', async () => {
  const { env, source, posts } = await setUp();
  const file = write('new.yaml', manifest('acme-002'));
  const reads = [
    ['spaces', 'list'],
    ['plan', file],
    ['plan', file],
    ['provision', '--schema'],
    ['upload', file, '--dry-run'],
    ['cron', 'create', ...JOB, '--dry-run'],
    ['chat', 'tail', '--source', source, '--session', 'one', '--no-follow'],
    ['api', 'GET', '/automation/spaces/'],
  ];
  for (const args of reads) {
    const ran = await run(args, { env });
    expect([args.join(' '), ran.stderr]).toEqual([args.join(' '), expect.not.stringContaining('protected')]);
  }
  expect(await posts()).toEqual([]);
});

test('The protection of a profile does not cover a service and a token from the environment.', async () => {
  const it = await setUp();
  const env = { ...it.env, PARTNER_BASE_URL: it.sandbox.baseUrl, PARTNER_TOKEN: it.token };
  expect((await run(['upload', write('notes.txt', 'some notes')], { env })).code).toBe(0);
  const named = await run(['upload', write('more.txt', 'more notes'), '--profile', 'live'], { env });
  expect(named).toMatchObject({ code: 2, stderr: expect.stringContaining('--confirm live') });
});

test('A confirmed login and logout keep the protection, and unprotect ends it.', async () => {
  const { sandbox, token, home, env } = await setUp();
  const login = ['login', '--profile', 'other', '--base-url', sandbox.baseUrl];
  await run(login, { env, stdin: token });
  await run(['profile', 'protect', 'other'], { env });
  expect(home.read().other).toEqual({ base_url: sandbox.baseUrl, token, protected: true });
  const unconfirmed = await run(login, { env, stdin: 'another' });
  const stderr = expect.stringMatching(
    /"other" is protected, and .* to replace its token\.\n.*\nhint: .* --confirm other\n$/,
  );
  expect(unconfirmed).toMatchObject({ code: 2, stdout: '', stderr });
  expect(home.read().other).toMatchObject({ token });
  expect((await run([...login, '--confirm', 'other'], { env, stdin: token })).code).toBe(0);
  await run(['logout', '--profile', 'other'], { env });
  expect(home.read().other).toEqual({ base_url: sandbox.baseUrl, protected: true });
  expect((await run(['profile', 'unprotect', 'other'], { env })).code).toBe(0);
  expect(home.read().other).toEqual({ base_url: sandbox.baseUrl });
});
