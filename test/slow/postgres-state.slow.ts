import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { CERTIFICATE, KEY, TRUST_CERTIFICATE } from '../support/certificate.ts';
import {
  type PostgresServer,
  postgresPrograms,
  postgresUser,
  startCuttingProxy,
  startPostgres,
} from '../support/postgres.ts';
import { start, startDaemon } from '../support/program.ts';
import { run, tempDirectory } from '../support/run.ts';
import { failureOf, openSite, prepared, refusalAt, type Site } from '../support/stores.ts';
import { findClosedPort, UNRESOLVABLE_HOST } from '../support/tcp-server.ts';

/* What the operators of a state in PostgreSQL meet: servers that refuse, crash, cut connections, or say nothing. */

const programs = postgresPrograms();
const PGBOUNCER = '/usr/sbin/pgbouncer';

const hasPgBouncer = existsSync(PGBOUNCER);

/** Starts PgBouncer in transaction mode, with two connections to a server, until the test ends. @returns its loopback port */
async function startPgBouncer(server: PostgresServer): Promise<number> {
  const port = await findClosedPort();
  const settings = [
    '[databases]',
    `* = host=${server.directory} port=${server.port} user=ops`,
    '[pgbouncer]',
    'listen_addr = 127.0.0.1',
    `listen_port = ${port}`,
    'unix_socket_dir =',
    'auth_type = any',
    'pool_mode = transaction',
    'default_pool_size = 2',
  ];
  const path = join(server.directory, 'pgbouncer.ini');
  writeFileSync(path, `${settings.join('\n')}\n`, { mode: 0o644 });
  const end = await startDaemon(PGBOUNCER, [path], 'process up', postgresUser());
  onTestFinished(() => end('SIGTERM'));
  return port;
}

describe.skipIf(programs === undefined)('A state in PostgreSQL', () => {
  let server: PostgresServer;
  beforeAll(async () => {
    server = await startPostgres(programs ?? '', {
      settings: ['ssl=on', 'wal_writer_delay=10s'],
      hostRules: [
        'host all trusted 127.0.0.1/32 scram-sha-256',
        'hostssl all encrypted 127.0.0.1/32 trust',
        'host all encrypted 127.0.0.1/32 reject',
        'host all all 127.0.0.1/32 trust',
      ],
      files: { 'server.crt': CERTIFICATE, 'server.key': KEY },
    });
    server.sql(
      'postgres://ops@localhost/postgres',
      "create role trusted login password 'S3cret-word'; create role encrypted login",
    );
  });
  afterAll(() => server?.stop());

  const fresh = (options?: string): Promise<string> => prepared(server.database(options));
  const as = (user: string, address: string): string => server.overTcp(address).replace('ops@', `${user}@`);
  const nameOf = (address: string): string => new URL(address).pathname.slice(1);
  const names = Array.from({ length: 12 }, (_, n) => `job${n}`);

  /** Creates twelve jobs on twelve machines at once. */
  async function createAll({ create, expectJobs }: Site): Promise<void> {
    for (const ran of await Promise.all(names.map((name) => create(name)))) expect(ran.code, ran.stderr).toBe(0);
    await expectJobs(...names);
  }

  test('loses and duplicates nothing if connections are cut anywhere', async () => {
    const address = await fresh();
    // Most connections are cut in the middle of a command, and every fifth one outlives it.
    const lives = [0.02, 0.1, 0.05, 0.2, 0.9];
    let connections = 0;
    const { port, cuts } = await startCuttingProxy(server.port, () => {
      connections += 1;
      return lives[connections % lives.length] ?? 0;
    });
    const { create, expectJobs } = await openSite(server.overTcp(address, port));
    for (const name of names) {
      const ran = await create(name);
      expect(ran.code, ran.stderr).toBe(0);
    }
    expect(cuts()).toBeGreaterThan(4);
    await expectJobs(...names);
  });

  test('survives a server that crashes and restarts, and keeps what was acknowledged', async () => {
    const address = await fresh();
    const { create, expectJobs } = await openSite(address);
    expect((await create('before')).code).toBe(0);
    const crashed = server.crash();
    const ran = await create('after');
    await crashed;
    expect(ran.code, ran.stderr).toBe(0);
    await expectJobs('before', 'after');
  });

  test.each([
    'default_transaction_isolation = serializable',
    'statement_timeout = 5000; alter role ops set idle_in_transaction_session_timeout = 1',
  ])('creates the jobs of twelve machines once with: alter role set %s', async (setting) => {
    const address = await fresh();
    server.sql(address, `alter role ops set ${setting}`);
    onTestFinished(() => void server.sql(address, 'alter role ops reset all'));
    await createAll(await openSite(address));
  });

  test.skipIf(!hasPgBouncer)('is reached through two connections of PgBouncer in transaction mode', async () => {
    const address = await fresh();
    await createAll(await openSite(server.overTcp(address, await startPgBouncer(server))));
    expect(server.sql(address, 'select count(*) from pg_prepared_statements')).toBe('0');
  });

  test('is initialized for other users by the grants that state init prints', async () => {
    const address = await fresh();
    const other = as('trusted', address);
    const variables = { PGPASSWORD: 'S3cret-word' };
    expect(await refusalAt(other, variables)).toMatch(/^8 \| .*permission denied.*42501.*partnerctl state init/s);
    const { grant } = (await run(['state', 'init', address, '-o', 'json'], { env: {} })).json<{ grant: string }>();
    server.sql(address, grant.replaceAll('<user>', 'trusted'));
    const { create, expectJobs } = await openSite(other, variables);
    expect(await create('daily')).toMatchObject({ code: 0 });
    await expectJobs('daily');
  });

  test('reports what the server says, and how to check the address', async () => {
    const address = await fresh();
    const password = { PGPASSWORD: 'S3cret-word' };
    expect(await refusalAt(`${address}&table=other`)).toMatch(/^8 .*42P01.*partnerctl state init/s);
    const wrong = await refusalAt(as('trusted', address), { PGPASSWORD: 'Wr0ng-word' });
    expect(wrong).toMatch(/^8 .*password authentication failed.*PGPASSWORD/s);
    expect(wrong).not.toContain('Wr0ng-word');
    expect(await refusalAt(as('trusted', address))).toMatch(/^8 .*28P01.*PGPASSWORD/s);
    expect(await refusalAt(address.replace(/state\d+/, 'nowhere'))).toMatch(
      /^8 .*"nowhere" does not exist.*Check the address/s,
    );
    expect(await refusalAt(`postgres://ops@${UNRESOLVABLE_HOST}/main?sslmode=require`)).toMatch(
      /^8 .*(ENOTFOUND|EAI_).*Check the address/s,
    );
    expect(await refusalAt(server.overTcp(address, await findClosedPort()))).toMatch(/^8 .*ECONNREFUSED/s);
    const full = await fresh();
    server.sql(full, `alter database ${nameOf(full)} connection limit 0`);
    expect(await refusalAt(as('trusted', full), password)).toMatch(/^8 .*too many connections for database.*53300/s);
  });

  test('verifies certificates unless the URL says otherwise', async () => {
    const address = await fresh();
    const at = (parameters: string): string => `${server.overTcp(address)}?${parameters}`;
    const verified = await start(['state', 'verify', '--state', at('sslmode=verify-full')], {
      env: { HOME: tempDirectory(), ...TRUST_CERTIFICATE },
    });
    expect(verified.exitCode, verified.stderr).toBe(0);
    const { run } = await openSite(at('sslmode=require'));
    expect(await run(['state', 'verify'])).toMatchObject({ code: 0 });
    expect(await refusalAt(at('sslmode=verify-full'))).toMatch(/^8 .*SELF_SIGNED.*NODE_EXTRA_CA_CERTS/s);
    expect(await refusalAt(as('encrypted', address))).toMatch(/^8 .*no encryption/s);
  });

  test('is refused if its table has other columns', async () => {
    const address = server.database();
    server.sql(address, 'create table partnerctl_state (id bigint primary key, text text)');
    expect(failureOf(await run(['state', 'init', address, '-o', 'json'], { env: {} }))).toMatch(
      /^8 .*partnerctl state init/s,
    );
    expect(await refusalAt(address)).toMatch(/^8 .*partnerctl state init/s);
    expect(server.sql(address, 'select count(*) from partnerctl_state')).toBe('0');
  });
});
