import { chmodSync, readFileSync, truncateSync, watch, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type PostgresServer, postgresPrograms, startPostgres } from '../support/postgres.ts';
import { type Ran, run, tempDirectory, withDefaults } from '../support/run.ts';
import { bareRepository } from '../support/stores.ts';

async function prove(address: string, ...more: readonly string[]): Promise<Ran> {
  const env = { PATH: process.env.PATH };
  return await run(
    ['state', 'prove', address, ...withDefaults(['--keys', '5', '--processes', '2', '-o', 'json'], more)],
    { env },
  );
}

/** Checks that a table was rejected before anything was tried, because it cannot hold a log. */
function expectUnfit(ran: Ran): void {
  expect(ran.code).toBe(8);
  expect(ran.error()).toMatchObject({ type: 'state_unavailable', message: expect.stringContaining('refused a query') });
}

/** Checks that a store was rejected, and that people see what happened. */
function expectRefusal(ran: Ran, rule: RegExp): void {
  expect(ran.stdout, ran.stderr).not.toBe('');
  const proof = ran.json<{ proved: boolean; counterexample: { rule: string; message: string } }>();
  expect({ code: ran.code, proved: proof.proved }, ran.stderr).toEqual({ code: 1, proved: false });
  expect(proof.counterexample.rule).toMatch(rule);
  expect(ran.error()).toMatchObject({ hint: expect.stringContaining('--seed') });
  expect(ran.stderr).toContain(proof.counterexample.message.slice(0, 40));
}

describe('state prove of a file', () => {
  test('finds no counterexample, even if processes are killed, and leaves its records', async () => {
    const path = join(tempDirectory(), 'state.jsonl');
    const ran = await prove(path, '--seed', '7');
    expect(ran.code, ran.stderr).toBe(0);
    const proof = ran.json<Record<string, number>>();
    expect(proof).toMatchObject({ proved: true, keys: 5, processes: 2, seed: 7, counterexample: null });
    expect(proof.killed).toBeGreaterThan(0);
    expect(proof.acknowledged).toBeGreaterThan(5 * 2);
    expect(readFileSync(path, 'utf8').match(/"type":"proof\.reserved"/g)?.length).toBeGreaterThanOrEqual(5 * 2);
  });

  test('rejects one that loses records', async () => {
    const directory = tempDirectory();
    const path = join(directory, 'state.jsonl');
    writeFileSync(path, '');
    const watcher = watch(path, () => {
      if (readFileSync(path).length > 2000) truncateSync(path, 1000);
    });
    const ran = await prove(path);
    watcher.close();
    expectRefusal(ran, /lost|order|two_owners/);
  });
});

describe('state prove of a git repository', () => {
  /** A hook for each push that may reset an existing branch. @param condition in sh */
  async function lyingServer(condition: string): Promise<string> {
    const path = bareRepository();
    const init = await run(['state', 'init', `git+file://${path}#state`], { env: { PATH: process.env.PATH } });
    expect(init.code, init.stderr).toBe(0);
    const takeBack = `case $old in 0000*) ;; *) echo >> pushes; ${condition} && git update-ref "$ref" "$old";; esac`;
    const hook = join(path, 'hooks', 'post-receive');
    writeFileSync(hook, `#!/bin/sh\nread old new ref\n${takeBack}\nexit 0\n`);
    chmodSync(hook, 0o755);
    return `git+file://${path}#state`;
  }

  test('rejects one whose server reverts what it accepted', async () => {
    expectRefusal(await prove(await lyingServer('true')), /lost|order|two_owners|failed/);
  });

  test('rejects one whose server loses the last push once', async () => {
    const address = await lyingServer('[ $(wc -l < pushes) = 4 ]');
    expectRefusal(await prove(address, '--keys', '20', '--processes', '4'), /lost|order|two_owners|failed/);
  });
});

const programs = postgresPrograms();

describe.skipIf(programs === undefined)('state prove of a database', () => {
  let server: PostgresServer | undefined;
  beforeAll(async () => {
    server = await startPostgres(programs ?? '');
  });
  afterAll(() => server?.stop());

  /** A database whose table these statements make. */
  function database(...statements: readonly string[]): string {
    const address = server?.database() ?? '';
    for (const statement of statements) server?.sql(address, statement);
    return address;
  }

  const TABLE = 'create table partnerctl_state (position bigint primary key, line text not null)';

  test('rejects one that reports success without storing', async () => {
    const address = database(
      TABLE,
      'create function drop_some() returns trigger language plpgsql as $$ begin if new.position % 7 = 0 then delete from partnerctl_state where position = new.position; end if; return null; end $$',
      'create trigger lies after insert on partnerctl_state for each row execute function drop_some()',
    );
    expectRefusal(await prove(address), /lost|order|two_owners|failed/);
  });

  test('rejects one that loses the last record when it restarts', async () => {
    const address = database(
      TABLE,
      'create function lose_last() returns trigger language plpgsql as $$ begin if new.position = 10 then delete from partnerctl_state where position = 9; end if; return null; end $$',
      'create trigger lies after insert on partnerctl_state for each row execute function lose_last()',
    );
    expectRefusal(await prove(address), /lost|two_owners/);
  });

  test('rejects a table in which two rows can have one position', async () => {
    const address = database('create table partnerctl_state (position bigint, line text not null)');
    expectUnfit(await prove(address, '--keys', '20', '--processes', '4'));
  });

  test('rejects one that reads from a replica that lags behind', async () => {
    const address = database(
      'create table real_state (position bigint primary key, line text not null)',
      'create view partnerctl_state as select * from real_state where position < (select max(position) - 3 from real_state)',
      `create function insert_real() returns trigger language plpgsql as $$ begin
        insert into real_state select coalesce(max(position), 0) + 1, new.line from real_state; return new; end $$`,
      'create trigger lies instead of insert on partnerctl_state for each row execute function insert_real()',
    );
    expectUnfit(await prove(address));
  });

  test('names the triggers and rules of a table that adds no rows', async () => {
    const address = database(
      TABLE,
      'create function drop_all() returns trigger language plpgsql as $$ begin return null; end $$',
      'create trigger drops before insert on partnerctl_state for each row execute function drop_all()',
    );
    const ran = await prove(address);
    expect(ran.code).toBe(8);
    expect(ran.error()).toMatchObject({
      message: 'The store became unavailable during the test.',
      hint: expect.stringContaining('Check the triggers and rules'),
    });
  });

  test('says that a database cannot be tested completely', async () => {
    const ran = await prove(database());
    expect(ran.code).toBe(8);
    expect(ran.error()).toMatchObject({ type: 'state_unavailable' });
  });
});
