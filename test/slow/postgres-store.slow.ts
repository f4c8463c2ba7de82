import { connect as connectTcp, createServer, type Socket } from 'node:net';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { systemClock } from '../../src/clock.ts';
import { PartnerctlError } from '../../src/errors.ts';
import { postgresTarget } from '../../src/state/postgres-address.ts';
import type { ConnectionLimits } from '../../src/state/postgres-connection.ts';
import { postgresStore } from '../../src/state/postgres-store.ts';
import { encodeRecord, type NewRecord } from '../../src/state/record.ts';
import { type ReadOptions, type RecordStore, readStore, type StateStore } from '../../src/state/store.ts';
import { CERTIFICATE, KEY } from '../support/certificate.ts';
import {
  hasPgBouncer,
  type PostgresServer,
  postgresPrograms,
  startPgBouncer,
  startPostgres,
} from '../support/postgres.ts';
import { findClosedPort, listen, UNRESOLVABLE_HOST } from '../support/tcp-server.ts';

const record = (id: string): NewRecord => ({ type: 'note', at: '2026-01-01T00:00:00.000Z', id });
const OTHER = { kind: 'other' } as const;
const QUICK: ConnectionLimits = { silence: 500, persistence: 15_000, firstPersistence: 1000 };

interface Access {
  readonly password?: string;
  readonly ca?: string;
  readonly limits?: ConnectionLimits;
}

function openStore(address: string, { password, ca, limits = QUICK }: Access = {}): StateStore {
  const target = postgresTarget(address, { password, ca });
  const { signal } = new AbortController();
  const deps = { clock: systemClock, random: Math.random, redact: (text: string) => text, abortSignal: signal };
  const store = postgresStore({ ...deps, target, limits });
  onTestFinished(() => store.close());
  return store;
}

async function newIds(log: RecordStore): Promise<string[]> {
  const found: string[] = [];
  for await (const entry of log.readNew()) {
    if (entry.kind !== 'duplicate') found.push(entry.kind === 'record' ? entry.record.id : entry.kind);
  }
  return found;
}

const idsIn = (store: StateStore, options?: ReadOptions) => newIds(store.open(options));

/** How a store fails: the message, why, and what to do. */
async function failureOf(act: Promise<unknown>): Promise<string> {
  const error: unknown = await act.catch((thrown: unknown) => thrown);
  if (!(error instanceof PartnerctlError)) throw error ?? new Error('it works');
  return [error.exitCode, error.message, error.info.why, error.info.hint].join(' | ');
}

/** The effect on the bytes of a connection through the proxy. */
type Fault = (client: Socket, server: Socket, connection: number) => void;

/** A proxy to the server. @returns its port */
async function startProxy(to: number, fault: Fault): Promise<number> {
  let connections = 0;
  const proxy = createServer((client) => {
    connections += 1;
    const server = connectTcp({ port: to, host: '127.0.0.1' });
    for (const [from, into] of [
      [client, server],
      [server, client],
    ] as const) {
      from.on('error', () => undefined);
      from.on('close', () => into.destroy());
    }
    fault(client, server, connections);
  });
  return (await listen(proxy)).port;
}

/** Cuts a connection after that many bytes in one of its directions. */
function cutAfter(bytes: number, from: Socket, into: Socket): void {
  let left = bytes;
  from.on('data', (chunk) => {
    into.write(chunk.subarray(0, left));
    left -= chunk.length;
    if (left <= 0) into.destroySoon();
  });
}

const programs = postgresPrograms();

describe.skipIf(programs === undefined)('the state in PostgreSQL, when something fails,', () => {
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

  async function fresh(options?: string): Promise<string> {
    const address = server.database(options);
    await openStore(address).init();
    return address;
  }
  const as = (user: string, address: string): string => server.overTcp(address).replace('ops@', `${user}@`);

  test('loses and duplicates nothing if connections are cut anywhere', async () => {
    const address = await fresh();
    let cuts = 0;
    const port = await startProxy(server.port, (client, upstream, connection) => {
      // Every second connection works, so that the writers make progress.
      const bytes = connection % 2 === 0 ? 1e9 : 20 + ((connection * 37) % 700);
      cuts += connection % 2;
      const isAnswer = connection % 4 === 1;
      cutAfter(isAnswer ? 1e9 : bytes, client, upstream);
      cutAfter(isAnswer ? bytes : 1e9, upstream, client);
    });
    const wanted: string[] = [];
    await Promise.all(
      Array.from({ length: 4 }, async (_, writer) => {
        const limits = { ...QUICK, firstPersistence: 15_000 };
        for (let n = 0; n < 10; n += 1) {
          const log = openStore(server.overTcp(address, port), { limits }).open();
          wanted.push(`${writer}-${n}`);
          await log.append(record(`${writer}-${n}`), OTHER);
          expect(await newIds(log)).toContain(`${writer}-${n}`);
        }
      }),
    );
    expect(cuts).toBeGreaterThan(10);
    expect((await idsIn(openStore(address))).sort()).toEqual(wanted.sort());
  });

  test('counts a record at its first position if its response was lost and it is committed later', async () => {
    const address = await fresh();
    const store = openStore(address);
    // Holds the first INSERT inside of the server.
    const blocker = openStore(address);
    await blocker.open().append(record('first'), OTHER);
    server.sql(
      address,
      `create function hold() returns trigger language plpgsql as
      'begin if current_setting(''application_name'') = ''partnerctl'' and not exists (select from held) then
        perform pg_sleep(1.5); end if; return new; end';
      create table held (); create trigger hold before insert on partnerctl_state for each row execute function hold()`,
    );
    const slow = store.open().append(record('slow'), OTHER);
    await systemClock.sleep(700);
    server.sql(address, 'alter table held add column n int; insert into held values (1)');
    await slow;
    await expect
      .poll(() => server.sql(address, "select count(*) from partnerctl_state where line like '%slow%'"))
      .not.toBe('0');
    expect(await idsIn(store)).toEqual(['first', 'slow']);
  });

  test('does not wait forever for a server that accepts connections and stays silent, or closes them', async () => {
    const silent = await startProxy(server.port, () => undefined);
    const closing = await startProxy(server.port, (client) => client.destroy());
    const [address, limits] = [await fresh(), { silence: 100, persistence: 300, firstPersistence: 300 }];
    const failure = (port: number) => failureOf(openStore(server.overTcp(address, port), { limits }).check());
    expect(await failure(silent)).toMatch(/^8 .*cannot be reached.* \| The server sent nothing for 0.1s/);
    expect(await failure(closing)).toMatch(/^8 .*cannot be reached.* \| .*(closed|reset|ECONNRESET)/i);
  });

  test('survives a server that crashes and restarts, and keeps what was acknowledged', async () => {
    const address = await fresh();
    server.sql(address, `alter role ops set synchronous_commit = off`);
    const store = openStore(address);
    const log = store.open();
    await log.append(record('before'), OTHER);
    const crashed = server.crash();
    await log.append(record('after'), OTHER);
    await crashed;
    server.sql(address, `alter role ops reset synchronous_commit`);
    expect(await newIds(log)).toEqual(['before', 'after']);
  });

  test.each([
    'default_transaction_isolation = serializable',
    'statement_timeout = 5000; alter role ops set idle_in_transaction_session_timeout = 1',
  ])('orders sixteen concurrent writers with: alter role set %s', async (setting) => {
    const address = await fresh();
    server.sql(address, `alter role ops set ${setting}`);
    onTestFinished(() => void server.sql(address, 'alter role ops reset all'));
    const stores = Array.from({ length: 16 }, () => openStore(address, { limits: { ...QUICK, silence: 10_000 } }));
    const seen = await Promise.all(
      stores.map(async (store, writer) => {
        const [log, own]: [RecordStore, string[]] = [store.open(), []];
        for (let n = 0; n < 3; n += 1) {
          await log.append(record(`${writer}-${n}`), OTHER);
          own.push(...(await newIds(log)));
        }
        return own;
      }),
    );
    const order = await idsIn(openStore(address));
    expect(new Set(order).size).toBe(48);
    for (const own of seen) expect(own).toEqual(order.slice(0, own.length));
  });

  test('retries connections that the administrator ends, and a server without a free one', async () => {
    const address = await fresh();
    const log = openStore(address).open();
    await log.append(record('a'), OTHER);
    const end = "select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'partnerctl'";
    server.sql(address, end);
    await log.append(record('b'), OTHER);
    expect(await newIds(log)).toEqual(['a', 'b']);
    server.sql(address, `alter database ${new URL(address).pathname.slice(1)} connection limit 0`);
    const limited = openStore(as('trusted', address), { password: 'S3cret-word' });
    expect(await failureOf(limited.check())).toMatch(/^8 .*too many connections for database.*53300/);
  });

  test('has a hint for each error of the server', async () => {
    const address = await fresh();
    const limits = { silence: 5000, persistence: 300, firstPersistence: 300 };
    const check = (to: string, access: Access = {}) => failureOf(openStore(to, { limits, ...access }).check());
    const password = 'S3cret-word';
    expect(await check(as('trusted', address), { password })).toMatch(
      /^8 .*refused.*permission denied.*42501.*GRANT SELECT, INSERT ON "partnerctl_state" TO "trusted";/,
    );
    expect(await check(`${address}&table=other`)).toMatch(/^8 .*42P01.*partnerctl state init/);
    expect(await check(`${address}&table=other.table_of`)).toMatch(/^8 .*partnerctl state init/);
    const wrong = await check(as('trusted', address), { password: 'Wr0ng-word' });
    expect(wrong).toMatch(/^8 .*password authentication failed.*PGPASSWORD, PGPASSFILE/);
    expect(wrong).not.toContain('Wr0ng-word');
    expect(await check(as('trusted', address))).toMatch(/^8 .*28P01.*PGPASSWORD, PGPASSFILE/);
    expect(await check(address.replace(/state\d+/, 'nowhere'))).toMatch(
      /^8 .*"nowhere" does not exist.*Check the database/,
    );
    expect(await check(`postgres://ops@${UNRESOLVABLE_HOST}/main?sslmode=require`)).toMatch(/^8 .*(ENOTFOUND|EAI_).*/);
    expect(await check(server.overTcp(address, await findClosedPort()))).toMatch(/^8 .*ECONNREFUSED/);
    server.sql(address, `alter database ${new URL(address).pathname.slice(1)} set default_transaction_read_only = on`);
    expect(await check(address)).toMatch(/^8 .*25006.*name the primary/);
  });

  test('verifies certificates unless the URL says otherwise, and sends nothing in plain text', async () => {
    const address = await fresh();
    const limits = { silence: 5000, persistence: 300, firstPersistence: 300 };
    const at = (parameters: string, ca?: string) =>
      openStore(`${server.overTcp(address)}?${parameters}`, { limits, ...(ca !== undefined && { ca }) });
    await at('sslmode=verify-full', CERTIFICATE).check();
    await at('sslmode=require').check();
    expect(server.sql(address, 'select count(*) from pg_stat_ssl where ssl')).toBe('2');
    expect(await failureOf(at('sslmode=verify-full').check())).toMatch(/^8 .*SELF_SIGNED.*sslrootcert=<path>/);
    const renamed = `${server.overTcp(address).replace('127.0.0.1', '127.0.0.2')}?sslmode=verify-full`;
    expect(await failureOf(openStore(renamed, { ca: CERTIFICATE, limits }).check())).toMatch(/^8 /);
    const plain = as('encrypted', address);
    expect(await failureOf(openStore(plain, { limits }).check())).toMatch(/^8 .*no encryption.*sslmode=require/);
    const received: string[] = [];
    const refusing = await startProxy(server.port, (client) => {
      client.on('data', (chunk) => {
        received.push(chunk.toString('latin1'));
        client.write('N');
      });
    });
    const asked = openStore(`${server.overTcp(address, refusing)}?sslmode=require`, { password: 'S3cret', limits });
    expect(await failureOf(asked.check())).toMatch(/^8 .*does not offer TLS/);
    expect(received.join('')).not.toMatch(/ops|S3cret/);
  });

  test('rejects a database that cannot store every name, but not one that keeps bytes as they are', async () => {
    const latin = server.database("encoding 'LATIN1' template template0");
    expect(await failureOf(openStore(latin).init())).toMatch(/encoding is LATIN1.*UTF8/);
    server.sql(latin, 'create table partnerctl_state (position bigint primary key, line text not null)');
    expect(await failureOf(openStore(latin).open().append(record('日本'), OTHER))).toMatch(/^8 .*UTF8/);
    const ascii = await fresh("encoding 'SQL_ASCII' template template0");
    await openStore(ascii).open().append(record('Zoë 日本 🎉'), OTHER);
    expect(await idsIn(openStore(ascii))).toEqual(['Zoë 日本 🎉']);
  });

  test.each([
    ['other columns', 'create table partnerctl_state (id bigint primary key, text text)'],
    ['positions that are not unique', 'create table partnerctl_state (position bigint, line text)'],
    ['positions that are texts', 'create table partnerctl_state (position text primary key, line text)'],
  ])('rejects a table with %s', async (_, statement) => {
    const address = server.database();
    server.sql(address, statement);
    expect(await failureOf(openStore(address).init())).toMatch(/^8 .*\?table=<name>/);
    expect(await failureOf(openStore(address).open().append(record('a'), OTHER))).toMatch(/^8 .*\?table=<name>/);
    expect(server.sql(address, 'select count(*) from partnerctl_state')).toBe('0');
  });

  test('rejects a table that drops inserted rows', async () => {
    const address = await fresh();
    server.sql(address, 'create rule drop_all as on insert to partnerctl_state do instead nothing');
    const limits = { silence: 5000, persistence: 200, firstPersistence: 200 };
    expect(await failureOf(openStore(address, { limits }).open().append(record('a'), OTHER))).toMatch(
      /^8 .*(did not store the record.*triggers and rules|refused a query)/,
    );
  });

  test('makes a reader start again if rows were deleted, or lost in a failover', async () => {
    const address = await fresh();
    const [mine, theirs] = [openStore(address), openStore(address)];
    const log = mine.open();
    for (const id of ['a', 'b', 'c']) await log.append(record(id), OTHER);
    expect(await newIds(log)).toEqual(['a', 'b', 'c']);
    server.sql(address, 'delete from partnerctl_state where position >= 2');
    await theirs.open().append(record('d'), OTHER);
    await theirs.open().append(record('e'), OTHER);
    expect(await newIds(log)).toEqual(['restart', 'a', 'd', 'e']);
    server.sql(address, 'delete from partnerctl_state');
    expect(await newIds(log)).toEqual(['restart']);
  });

  test('reports damaged rows, whatever a reader searches for', async () => {
    const address = await fresh();
    const store = openStore(address);
    for (const id of ['a', 'b', 'c', 'd']) await store.open().append(record(id), OTHER);
    const change = (id: string, line: string) =>
      server.sql(address, `update partnerctl_state set line = ${line} where line like '%"id":"${id}"%'`);
    change('b', "replace(line, '2026', '2027')");
    change('c', 'left(line, 40)');
    expect(await idsIn(store)).toEqual(['a', 'damaged', 'damaged', 'd']);
    // As in a file: damage inside of a line that is skipped goes unnoticed, but one that looks like no record is not skipped.
    expect(await idsIn(store, { containing: ['"id":"d"'] })).toEqual(['damaged', 'd']);
    expect(await idsIn(store, { isSkipped: (bytes) => bytes.includes('"id":"b"') })).toEqual(['a', 'damaged', 'd']);
  });

  test('reads twenty thousand rows in a few seconds and little memory, and does not duplicate repeated ones', async () => {
    const address = await fresh();
    const store = openStore(address);
    const lines = Array.from({ length: 20_000 }, (_, n) => encodeRecord({ ...record(`r${n}`), fill: 'x'.repeat(300) }));
    await store.appendLines([...lines, ...lines.slice(0, 10)]);
    const before = process.memoryUsage().rss;
    const started = performance.now();
    const log = store.open();
    expect(await newIds(log)).toHaveLength(20_000);
    expect(performance.now() - started).toBeLessThan(10_000);
    expect((process.memoryUsage().rss - before) / 1024 ** 2).toBeLessThan(100);
    for await (const entry of store.open().readNew()) {
      expect(entry).toMatchObject({ kind: 'record', record: { id: 'r0' } });
      break;
    }
    expect(await newIds(log)).toEqual([]);
    for await (const _ of readStore(store)) break;
  });

  test('lets a second user find the table initialized', async () => {
    const address = await fresh();
    const grants = await openStore(`${address}&table=public.partnerctl_state`).init();
    expect(grants).toBe(
      'GRANT USAGE ON SCHEMA "public" TO <user>; GRANT SELECT, INSERT ON "public"."partnerctl_state" TO <user>;',
    );
    for (const grant of grants?.split('; ') ?? []) server.sql(address, grant.replace('<user>', 'trusted'));
    const other = openStore(as('trusted', address), { password: 'S3cret-word' });
    await other.init();
    await other.open().append(record('theirs'), OTHER);
    expect(await idsIn(openStore(address))).toEqual(['theirs']);
  });

  test.skipIf(!hasPgBouncer())(
    'shares two connections of PgBouncer in transaction mode among many writers',
    async () => {
      const address = await fresh();
      const bouncer = await startPgBouncer(server);
      onTestFinished(() => bouncer.stop());
      const through = server.overTcp(address, bouncer.port);
      await openStore(through).init();
      const seen = await Promise.all(
        Array.from({ length: 8 }, async (_, writer) => {
          const log = openStore(through, { limits: { ...QUICK, silence: 10_000 } }).open();
          for (const n of [0, 1, 2]) await log.append(record(`${writer}-${n}`), OTHER);
          return await newIds(log);
        }),
      );
      const order = await idsIn(openStore(address));
      expect(new Set(order).size).toBe(24);
      for (const own of seen) expect(own).toEqual(order.slice(0, own.length));
      expect(server.sql(address, 'select count(*) from pg_prepared_statements')).toBe('0');
    },
  );

  test('is read correctly after a connection was cut in the middle of the rows', async () => {
    const address = await fresh();
    const store = openStore(address);
    await store.appendLines(
      Array.from({ length: 300 }, (_, n) => encodeRecord({ ...record(`r${n}`), fill: 'x'.repeat(300) })),
    );
    const port = await startProxy(server.port, (client, upstream, connection) => {
      cutAfter(1e9, client, upstream);
      cutAfter(connection === 1 ? 60_000 : 1e9, upstream, client);
    });
    expect(await idsIn(openStore(server.overTcp(address, port)))).toHaveLength(300);
  });
});
