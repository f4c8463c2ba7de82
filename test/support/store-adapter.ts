import { systemClock } from '../../src/platform/clock.ts';
import type { Environment } from '../../src/platform/io.ts';
import { stateLocation } from '../../src/state/location.ts';
import type { Log } from '../../src/state/log.ts';
import { openLog } from '../../src/state/open-log.ts';
import { tempDirectory } from './run.ts';

/*
 * Binds the contract of the stores to the engine. Nothing else in test/support imports src/state.
 */

/** A record: its id, and whatever else it says. */
interface Note {
  readonly id: string;
  readonly [field: string]: unknown;
}

/** A store as one command of one machine opens it. */
export interface TestStore {
  /** Resolves once the records are durable. */
  append(...notes: readonly Note[]): Promise<void>;
  /** All ids, in order; each once. */
  ids(): Promise<string[]>;
  /** All records, in order. */
  notes(): Promise<Note[]>;
  /** Copies the records that the target lacks. */
  copyTo(target: TestStore): Promise<{ readonly copied: number; readonly present: number }>;
  close(): Promise<void>;
}

/** Who wrote the records of every test store. */
export const AUTHOR = { user: 'ada', pid: process.pid, version: '0.0.0' };

const logs = new WeakMap<TestStore, Log>();

function logOf(store: TestStore): Log {
  const log = logs.get(store);
  if (!log) throw new Error('This store was not opened here.');
  return log;
}

interface OpenOptions {
  readonly signal?: AbortSignal;
  /** Variables of the environment, in addition to those of this process. */
  readonly variables?: Environment;
}

/** Opens the store at a URL, as one command of one machine does. */
export async function openAt(
  address: string,
  { signal = new AbortController().signal, variables = {} }: OpenOptions = {},
): Promise<TestStore> {
  const home = tempDirectory();
  const env = { HOME: home, GITHUB_ACTOR: AUTHOR.user, ...variables };
  const log = await openLog({
    location: stateLocation({ flag: address, env, platform: 'linux', home }),
    env: { ...process.env, ...env },
    clock: systemClock,
    random: Math.random,
    redact: (text) => text,
    addSecret: () => undefined,
    warn: async () => undefined,
    version: AUTHOR.version,
    signal,
  });
  const store: TestStore = {
    append: (...notes) => log.append(notes.map((note) => log.newRecord('note', note))),
    ids: async () => (await log.read()).map(({ id }) => id),
    notes: async () => [...(await log.read())],
    copyTo: async (target) => logOf(target).copyFrom((await log.inspect()) ?? []),
    close: () => log.close(),
  };
  logs.set(store, log);
  return store;
}
