import { systemClock } from '../../src/platform/clock.ts';
import type { Environment } from '../../src/platform/io.ts';
import { copyRecords } from '../../src/state/copy.ts';
import { stateLocation } from '../../src/state/location.ts';
import type { Log } from '../../src/state/log.ts';
import { openLog } from '../../src/state/open-log.ts';
import type { LogRecord } from '../../src/state/record.ts';
import { tempDirectory } from './run.ts';

/* Binds the contract of the stores to the engine. */

/** A record: its id, and whatever else it says. */
interface Note {
  readonly id: string;
  readonly [field: string]: unknown;
}

/** A store as one command of one machine opens it. */
export interface TestStore {
  readonly log: Log;
  /** Resolves once the records are durable. */
  append(...notes: readonly Note[]): Promise<void>;
  /** All ids, in order; each once. */
  ids(): Promise<string[]>;
  /** All records, in order. */
  notes(): Promise<readonly LogRecord[]>;
  /** Copies the records that the target lacks. */
  copyTo(target: TestStore): Promise<{ readonly copied: number; readonly present: number }>;
  close(): Promise<void>;
}

/** Who wrote the records of every test store. */
export const AUTHOR = { user: 'ada', pid: process.pid, version: '0.0.0' };

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
  return {
    log,
    append: (...notes) => log.append(notes.map((note) => log.newRecord('note', note))),
    ids: async () => (await log.read()).map(({ id }) => id),
    notes: () => log.read(),
    copyTo: (target) => copyRecords(log, target.log),
    close: () => log.close(),
  };
}
