import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Clock } from '../../src/platform/clock.ts';
import { createArgs, jobService } from '../support/cron.ts';
import { sendJson } from '../support/fake-service.ts';
import { type PostgresServer, postgresPrograms, startCuttingProxy, startPostgres } from '../support/postgres.ts';
import { fastClock, partnerctl, run, tempDirectory } from '../support/run.ts';
import { prepared } from '../support/stores.ts';

const PASSWORD = 'pa:ss word#1';
const programs = postgresPrograms();

describe.skipIf(programs === undefined)('A PostgreSQL state', () => {
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

  test.each(SOURCES)('takes its password from %s: a wrong one is rejected, and none is printed', async (_, envOf) => {
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

  /** Creates a job while the server is away: from the first read on, or from the request for the job on. */
  async function createWhileAway(from: 'read' | 'write', awayMs: number) {
    const database = await prepared(server.database());
    const proxy = await startCuttingProxy(server.port, () => Number.POSITIVE_INFINITY);
    const clock = fastClock();
    let back = Number.POSITIVE_INFINITY;
    const leave = async (): Promise<void> => {
      back = clock.monotonic() + awayMs;
      await proxy.stop();
    };
    const sleep: Clock['sleep'] = async (ms, signal) => {
      await clock.sleep(ms, signal);
      if (clock.monotonic() < back) return;
      back = Number.POSITIVE_INFINITY;
      await proxy.restart();
    };
    const service = await jobService();
    service.meet(async (request, response) => {
      if (request.method === 'POST' && from === 'write') await leave();
      sendJson(response, request.method === 'POST' ? service.made.at(-1) : []);
    });
    if (from === 'read') await leave();
    const env = { PARTNER_STATE: server.overTcp(database, proxy.port), PGPASSWORD: PASSWORD, HOME: tempDirectory() };
    const ran = await partnerctl(service.baseUrl, createArgs('a1', 'daily'), { env, clock: { ...clock, sleep } });
    const log = server.sql(database, 'select line from partnerctl_state order by position');
    return { ran, made: service.made, types: [...log.matchAll(/"type":"cron\.(\w+)"/g)].map(([, type]) => type) };
  }

  test.each(['read', 'write'] as const)('that is away for 20 s at a %s is waited for', async (from) => {
    const { ran, made, types } = await createWhileAway(from, 20_000);
    expect(ran.code, ran.stderr).toBe(0);
    expect(made).toHaveLength(1);
    expect(types).toEqual(['reserved', 'created']);
  });

  test('that stays away ends a command before it sends, and an id that cannot be recorded is in the error', async () => {
    const read = await createWhileAway('read', 60_000);
    expect({ code: read.ran.code, made: read.made, types: read.types }).toEqual({ code: 8, made: [], types: [] });
    const { ran, made, types } = await createWhileAway('write', 60_000);
    expect(ran).toMatchObject({ code: 9, stderr: expect.stringContaining('The job was created as 1, but') });
    expect(made).toHaveLength(1);
    expect(types).toEqual(['reserved']);
  });
});
