import { execFileSync } from 'node:child_process';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type PostgresServer, postgresPrograms, startPostgres } from '../support/postgres.ts';
import { run, tempDirectory } from '../support/run.ts';
import { write } from '../support/service.ts';
import { BASE, createProfileHome, TOKEN } from './profile-home.ts';

const PASSWORD = 'pa:ss word#1';
const programs = postgresPrograms();

function passwordFile(mode: string): string {
  const path = write('pgpass', `127.0.0.1:*:*:ops:${PASSWORD.replace(':', '\\:')}\n`);
  execFileSync('chmod', [mode, path]);
  return path;
}

describe.skipIf(programs === undefined)('the password of a PostgreSQL state', () => {
  let server: PostgresServer;
  let address: string;
  beforeAll(async () => {
    server = await startPostgres(programs ?? '', { hostRules: ['host all all 127.0.0.1/32 scram-sha-256'] });
    const socket = server.database();
    server.sql(socket, `alter role ops password '${PASSWORD}'`);
    address = server.overTcp(socket);
  });
  afterAll(() => server?.stop());

  const withPassword = (): string => address.replace('ops@', `ops:${encodeURIComponent(PASSWORD)}@`);
  const SOURCES: readonly (readonly [string, () => Record<string, string>])[] = [
    ['PGPASSWORD', () => ({ PARTNER_STATE: address, PGPASSWORD: PASSWORD })],
    ['PGPASSFILE', () => ({ PARTNER_STATE: address, PGPASSFILE: passwordFile('600') })],
    ['PARTNER_STATE', () => ({ PARTNER_STATE: withPassword() })],
  ];

  test.each(SOURCES)('comes from %s, and is never printed', async (_, envOf) => {
    const env = { HOME: tempDirectory(), ...envOf() };
    for (const args of [
      ['state', 'init'],
      ['state', 'path', '-o', 'json'],
      ['state', 'verify', '-v', '--debug'],
    ]) {
      const ran = await run(args, { env });
      expect(ran.code, ran.stderr).toBe(0);
      expect(ran.stdout + ran.stderr).not.toMatch(/pa:ss|pa%3Ass/);
    }
  });

  test('passes doctor, which counts the records, and a wrong one fails with the reason', async () => {
    const state = async (PARTNER_STATE: string) => {
      const env = { HOME: tempDirectory(), PARTNER_STATE };
      const ran = await run(['doctor', '-q', '-o', 'json'], { env });
      expect(ran.stdout + ran.stderr).not.toMatch(/pa:ss|pa%3Ass/);
      const { checks } = ran.json<{
        checks: { name: string; status: string; message: string; hint: string | null }[];
      }>();
      return checks.find(({ name }) => name === 'state');
    };
    const other = server.overTcp(server.database());
    const withoutTable = await state(other.replace('ops@', `ops:${encodeURIComponent(PASSWORD)}@`));
    expect(withoutTable).toMatchObject({ status: 'failed', hint: expect.stringContaining('partnerctl state init') });
    expect((await run(['state', 'init'], { env: { HOME: tempDirectory(), PARTNER_STATE: withPassword() } })).code).toBe(
      0,
    );
    const sound = await state(withPassword());
    expect(sound).toMatchObject({ status: 'ok', hint: null });
    expect(sound?.message).toMatch(/^postgres:\/\/ops@127\.0\.0\.1:\d+\/\w+ from PARTNER_STATE: shared; 0 records$/);
    const refused = await state(address.replace('ops@', 'ops:wrong@'));
    expect(refused).toMatchObject({
      status: 'failed',
      message: expect.stringContaining('password authentication failed'),
    });
    expect(refused?.hint).toBeTruthy();
  });

  test.each(SOURCES)('is rejected if wrong, and never printed: from %s', async (_, envOf) => {
    server.sql(address, "alter role ops password 'another'");
    const env = { HOME: tempDirectory(), ...envOf() };
    const ran = await run(['state', 'verify', '--debug', '-v', '-o', 'json'], { env });
    server.sql(address, `alter role ops password '${PASSWORD}'`);
    expect(ran.code, ran.stderr).toBe(8);
    expect(ran.stderr).toContain('password authentication failed');
    expect(ran.stdout + ran.stderr).not.toMatch(/pa:ss|pa%3Ass/);
  });

  test('is not read from a password file that others can read, or that is missing', async () => {
    const env = { HOME: tempDirectory(), PARTNER_STATE: address };
    const open = await run(['state', 'verify'], { env: { ...env, PGPASSFILE: passwordFile('644') } });
    expect(open).toMatchObject({ code: 1, stderr: expect.stringContaining('chmod 600') });
    const missing = await run(['state', 'verify'], { env: { ...env, PGPASSFILE: '/nowhere/pgpass' } });
    expect(missing).toMatchObject({ code: 1, stderr: expect.stringContaining('PGPASSFILE') });
  });

  test("comes from the profile's command, only for the profile's state", async () => {
    const home = createProfileHome();
    const login = ['login', '--base-url', BASE, '--no-verify'];
    const command = write('say.sh', `echo ran >>"$(dirname "$0")/runs"; echo '${PASSWORD}'\n`);
    const options = { env: home.env, stdin: TOKEN };
    const stored = await run([...login, '--state', address, '--state-password-command', `sh '${command}'`], options);
    expect(stored.code, stored.stderr).toBe(0);
    // Another login keeps it.
    expect((await run(login, options)).code).toBe(0);
    expect(home.read().profiles.default).toMatchObject({ state: address, state_password_command: `sh '${command}'` });
    const ran = await run(['state', 'verify', '--debug', '-v'], { env: home.env });
    expect(ran.code, ran.stderr).toBe(0);
    expect(ran.stdout + ran.stderr).not.toContain(PASSWORD);
    // This password is sent to no other database.
    const elsewhere = await run(['state', 'verify'], { env: { ...home.env, PARTNER_STATE: address } });
    expect(elsewhere).toMatchObject({ code: 8, stderr: expect.stringContaining('password authentication failed') });
    expect((await run([...login, '--state', `${address}?table=other`], options)).code).toBe(0);
    expect(home.read().profiles.default).not.toHaveProperty('state_password_command');
  });

  test('is reported as missing if its command fails or prints nothing', async () => {
    const home = createProfileHome();
    for (const [command, said] of [
      ['exit 3', 'exit code 3'],
      ['true', 'printed nothing'],
    ] as const) {
      const login = [
        'login',
        '--base-url',
        BASE,
        '--no-verify',
        '--state',
        address,
        '--state-password-command',
        command,
      ];
      await run(login, { env: home.env, stdin: TOKEN });
      const ran = await run(['state', 'verify'], { env: home.env });
      expect(ran.code).toBe(3);
      expect(ran.stderr).toMatch(/rofile "default"'s state_password_command/);
      expect(ran.stderr).toContain(said);
    }
  });

  test('cannot come from a command if no state is in a database', async () => {
    const home = createProfileHome();
    const login = ['login', '--base-url', BASE, '--no-verify', '--state-password-command', 'true'];
    expect(await run(login, { env: home.env, stdin: TOKEN })).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('--state postgres://'),
    });
  });
});
