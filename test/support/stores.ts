import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { type PostgresServer, postgresPrograms, startPostgres } from './postgres.ts';
import { run, tempDirectory } from './run.ts';

/** A kind of store, for tests that each kind must pass. */
export interface StoreKind {
  readonly name: string;
  /** Why it cannot be tested here; undefined if it can. */
  readonly missing: string | undefined;
  /** The environment that it needs, once it is started. */
  readonly variables?: Readonly<Record<string, string>>;
  start(): Promise<void>;
  /** The URL of a store that is empty and initialized. */
  fresh(): Promise<string>;
  stop(): Promise<void>;
}

/** Creates the table or the branch. @returns its URL */
export async function prepared(address: string, variables: StoreKind['variables'] = {}): Promise<string> {
  const { code, stderr } = await run(['state', 'init', address], { env: { PATH: process.env.PATH, ...variables } });
  if (code !== 0) throw new Error(`state init ended with ${code}: ${stderr}`);
  return address;
}

function gitVersion(): string | undefined {
  try {
    return execFileSync('git', ['--version'], { encoding: 'utf8' });
  } catch {
    return undefined;
  }
}

/** Creates an empty repository. @returns its path */
export function bareRepository(): string {
  const path = join(tempDirectory(), 'state.git');
  execFileSync('git', ['init', '--quiet', '--bare', path]);
  return path;
}

/** The kinds of stores. Each call returns new ones, with their own servers. */
export function storeKinds(): readonly StoreKind[] {
  const nothing = async (): Promise<void> => undefined;
  let server: PostgresServer | undefined;
  const programs = postgresPrograms();
  return [
    {
      name: 'a file',
      missing: undefined,
      start: nothing,
      fresh: async () => join(tempDirectory(), 'state.jsonl'),
      stop: nothing,
    },
    {
      name: 'PostgreSQL',
      missing: programs === undefined ? 'PostgreSQL is not installed' : undefined,
      async start() {
        server = await startPostgres(programs ?? '');
      },
      fresh: () => prepared(server?.database() ?? ''),
      stop: async () => server?.stop(),
    },
    {
      name: 'git',
      missing: gitVersion() === undefined ? 'git is not installed' : undefined,
      start: nothing,
      fresh: async () => `git+file://${bareRepository()}#state`,
      stop: nothing,
    },
  ];
}
