import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { expect } from 'vitest';
import { createCronAgent } from './cron.ts';
import { postgresPrograms, startPostgres } from './postgres.ts';
import { errorIn, type Ran, run, tempDirectory } from './run.ts';
import { service } from './service.ts';
import { readJobLog } from './state-file.ts';

type Variables = Readonly<Record<string, string | undefined>>;

/** Creates the table or the branch. @returns its URL */
export async function prepared(address: string, variables: Variables = {}): Promise<string> {
  const { code, stderr } = await run(['state', 'init', address], { env: { PATH: process.env.PATH, ...variables } });
  if (code !== 0) throw new Error(`state init ended with ${code}: ${stderr}`);
  return address;
}

/** Creates an empty repository. @returns its path */
export function bareRepository(): string {
  const path = join(tempDirectory(), 'state.git');
  execFileSync('git', ['init', '--quiet', '--bare', path]);
  return path;
}

/** A kind of store, for tests that each kind must pass. */
export interface StoreKind {
  readonly name: string;
  /** Why it cannot be tested here; undefined if it can. */
  readonly missing?: string | undefined;
  /** The URL of a store that is empty and initialized. */
  fresh(): Promise<string>;
  /** Stops its server, if it has one. */
  stop(): Promise<void>;
}

/** The kinds of stores. Each call returns new ones, with their own servers. */
export function storeKinds(): readonly StoreKind[] {
  const programs = postgresPrograms();
  let server: ReturnType<typeof startPostgres> | undefined;
  const nothing = async (): Promise<void> => undefined;
  return [
    { name: 'a file', fresh: async () => join(tempDirectory(), 'state.jsonl'), stop: nothing },
    {
      name: 'PostgreSQL',
      missing: programs === undefined ? 'PostgreSQL is not installed' : undefined,
      async fresh() {
        server ??= startPostgres(programs ?? '');
        return prepared((await server).database());
      },
      stop: async () => (await server)?.stop(),
    },
    { name: 'git', fresh: () => prepared(`git+file://${bareRepository()}#state`), stop: nothing },
  ];
}

export type Site = Awaited<ReturnType<typeof openSite>>;

/** A service whose jobs several machines create with one shared state. */
export async function openSite(address: string, variables: Variables = {}) {
  const sandbox = await service();
  const cron = await createCronAgent(sandbox);
  const common = { PATH: process.env.PATH, ...variables };
  /** Runs a command with the state, on a machine that has not used it before unless HOME says which. */
  const act = (args: readonly string[], machine: Variables = {}): Promise<Ran> =>
    run([...args, '--state', address], { env: { ...sandbox.env, HOME: tempDirectory(), ...common, ...machine } });
  return {
    sandbox,
    cron,
    run: act,
    /** Creates a job. */
    create: (name: string, machine?: Variables) => act(cron.create(name), machine),
    /** Checks that each job exists once, and that the state has each, and nothing that cannot be read. */
    async expectJobs(...names: readonly string[]): Promise<void> {
      const jobs = await cron.jobs();
      expect(jobs.map(({ name }) => name).toSorted()).toEqual(names.toSorted());
      const { ids, damage } = await readJobLog(address, common);
      expect(ids.toSorted()).toEqual(jobs.map(({ cron_job_id }) => cron_job_id).toSorted());
      expect(damage).toEqual([]);
    },
  };
}

/** What a command that failed says: its exit code, the message, the reason, and the hint. */
export function failureOf({ code, stderr }: Pick<Ran, 'code' | 'stderr'>): string {
  const error = errorIn(stderr);
  return [code, error.message, Object(error.details).why, error.hint].join(' | ');
}

/** Creates a job where that must be refused before anything is sent. @returns what the command says */
export async function refusalAt(address: string, variables: Variables = {}): Promise<string> {
  const { create, cron } = await openSite(address, variables);
  const ran = await create('daily');
  expect(await cron.posted()).toBe(0);
  return failureOf(ran);
}
