import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type PostgresServer, postgresPrograms, startPostgres } from '../support/postgres.ts';
import { run, tempDirectory } from '../support/run.ts';

const PASSWORD = 'pa:ss word#1';
const programs = postgresPrograms();

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
    ['PARTNER_STATE', () => ({ PARTNER_STATE: withPassword() })],
  ];

  test.each(SOURCES)('comes from %s, is rejected if it is wrong, and is never printed', async (_, envOf) => {
    const env = { HOME: tempDirectory(), ...envOf() };
    for (const command of ['init', 'verify']) {
      const ran = await run(['state', command, '-v', '--debug'], { env });
      expect(ran.code, ran.stderr).toBe(0);
      expect(ran.stdout + ran.stderr).not.toMatch(/pa:ss|pa%3Ass/);
    }
    server.sql(address, "alter role ops password 'another'");
    const ran = await run(['state', 'verify', '--debug', '-v', '-o', 'json'], { env });
    server.sql(address, `alter role ops password '${PASSWORD}'`);
    expect(ran.code, ran.stderr).toBe(8);
    expect(ran.stderr).toContain('password authentication failed');
    expect(ran.stdout + ran.stderr).not.toMatch(/pa:ss|pa%3Ass/);
  });

  test('passes doctor, which counts the records, and without a table it says how to make one', async () => {
    const state = async (at: string) => {
      const env = { HOME: tempDirectory(), PARTNER_STATE: at.replace('ops@', `ops:${encodeURIComponent(PASSWORD)}@`) };
      const { stdout } = await run(['doctor', '-q', '-o', 'json'], { env });
      const { checks }: { checks: { name: string }[] } = JSON.parse(stdout);
      return checks.find(({ name }) => name === 'state');
    };
    const hint = expect.stringContaining('partnerctl state init');
    expect(await state(server.overTcp(server.database()))).toMatchObject({ status: 'failed', hint });
    expect(await state(address)).toMatchObject({
      status: 'ok',
      message: expect.stringMatching(/^postgres:\/\/ops@127\.0\.0\.1:\d+\/\w+ \(PARTNER_STATE\): shared; records: 0$/),
    });
  });
});
