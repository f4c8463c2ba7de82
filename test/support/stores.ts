import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { systemClock } from '../../src/clock.ts';
import { openStore } from '../../src/state/open-store.ts';
import { type Environment, stateLocation } from '../../src/state/state-location.ts';
import type { StateStore } from '../../src/state/store.ts';
import { type PostgresServer, postgresPrograms, startPostgres } from './postgres.ts';
import { tempDirectory } from './run.ts';

/** A kind of store, for tests that each kind must pass. */
export interface StoreKind {
  readonly name: string;
  /** Why it cannot be tested here; undefined if it can. */
  readonly missing: string | undefined;
  /** The environment that it needs, once it is started. */
  readonly variables?: Environment;
  start(): Promise<void>;
  /** The URL of a store that is empty and initialized. */
  fresh(): Promise<string>;
  stop(): Promise<void>;
}

/**
 * Opens the store at a URL, as one command of one machine does.
 * @param home the machine's own directory
 * @param variables of the environment, in addition to those of this process
 */
export async function openAt(
  address: string,
  home: string,
  signal?: AbortSignal,
  variables: Environment = {},
): Promise<StateStore> {
  const env = { HOME: home, ...variables };
  return await openStore({
    location: stateLocation({ flag: address, env, platform: 'linux', home }),
    env: { ...process.env, ...env, XDG_CACHE_HOME: undefined },
    clock: systemClock,
    random: Math.random,
    redact: (text) => text,
    addSecret: () => undefined,
    author: { user: 'ada', host: 'laptop', version: '0.0.0' },
    abortSignal: signal ?? new AbortController().signal,
  });
}

/** Creates the table or the branch. @returns its URL */
async function prepared(address: string): Promise<string> {
  const store = await openAt(address, tempDirectory());
  await store.init();
  await store.close();
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
