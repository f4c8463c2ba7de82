import { systemClock } from '../../src/clock.ts';
import { PartnerctlError } from '../../src/errors.ts';
import { copyRecords } from '../../src/state-old/copy-records.ts';
import { openStore } from '../../src/state-old/open-store.ts';
import { encodeRecord, type NewRecord } from '../../src/state-old/record.ts';
import { type Environment, stateLocation } from '../../src/state/location.ts';
import { type LogEntry, readStore, type StateStore, type StoreEntry } from '../../src/state-old/store.ts';
import { tempDirectory } from './run.ts';

/*
 * Binds the contract of the stores to the engine. Nothing else in test/support imports src/state.
 */

/** A record: its id, and whatever else it says. */
interface Note {
  readonly id: string;
  readonly [field: string]: unknown;
}

/** A reader and writer with its own position. */
interface TestLog {
  /** Resolves once the record is durable. @param ends the id of the reservation that it ends */
  append(note: Note, ends?: string): Promise<void>;
  /** The ids of the records since the last call, including those of other writers. */
  newIds(): Promise<string[]>;
}

/** A store as one command of one machine opens it. */
export interface TestStore {
  /** @param containing selects the lines that have this text */
  open(containing?: string): TestLog;
  /** All ids, from the beginning. */
  ids(): Promise<string[]>;
  /** All records, from the beginning. */
  notes(): Promise<Note[]>;
  /** Appends lines that another store may have, too, as an interrupted copy or a merge of files does. */
  appendLines(...ids: readonly string[]): Promise<void>;
  /** Copies the records that the target lacks. */
  copyTo(target: TestStore): Promise<{ readonly copied: number; readonly present: number }>;
  close(): Promise<void>;
}

/** The author of the records of every test store. */
export const AUTHOR = { user: 'ada', host: 'laptop', version: '0.0.0' };

const TIME = '2026-01-01T00:00:00.000Z';
const record = (note: Note): NewRecord => ({ type: 'note', at: TIME, ...note });

/** Why a store refused: the reason, below the message. */
export function reasonOf(error: unknown): string {
  if (!(error instanceof PartnerctlError)) throw error;
  return error.info.why ?? '';
}

const stores = new WeakMap<TestStore, StateStore>();

function storeOf(store: TestStore): StateStore {
  const opened = stores.get(store);
  if (!opened) throw new Error('This store was not opened here.');
  return opened;
}

/** The ids of records; a line that is not read as a record has its kind. Repeated lines have none. */
function idsOf(entries: readonly StoreEntry[]): string[] {
  return entries.flatMap((entry) => {
    if (entry.kind === 'duplicate') return [];
    return [entry.kind === 'record' ? entry.record.id : entry.kind];
  });
}

async function allOf<Entry>(entries: AsyncIterable<Entry>): Promise<Entry[]> {
  const all: Entry[] = [];
  for await (const entry of entries) all.push(entry);
  return all;
}

interface OpenOptions {
  /** The machine's own directory. */
  readonly home?: string;
  readonly signal?: AbortSignal;
  /** Variables of the environment, in addition to those of this process. */
  readonly variables?: Environment;
}

/** Opens the store at a URL, as one command of one machine does. */
export async function openAt(
  address: string,
  { home = tempDirectory(), signal = new AbortController().signal, variables = {} }: OpenOptions = {},
): Promise<TestStore> {
  const env = { HOME: home, ...variables };
  const opened = await openStore({
    location: stateLocation({ flag: address, env, platform: 'linux', home }),
    env: { ...process.env, ...env, XDG_CACHE_HOME: undefined },
    clock: systemClock,
    random: Math.random,
    redact: (text) => text,
    addSecret: () => undefined,
    author: AUTHOR,
    abortSignal: signal,
  });
  const store: TestStore = {
    open(containing) {
      const log = opened.open(containing === undefined ? {} : { containing: [containing] });
      return {
        append: (note, ends) =>
          log.append(record(note), ends === undefined ? { kind: 'other' } : { kind: 'ends', reservation: ends }),
        newIds: async () => idsOf(await allOf(log.readNew())),
      };
    },
    ids: async () => idsOf(await allOf(readStore(opened))),
    notes: async () => {
      const entries: LogEntry[] = await allOf(readStore(opened));
      return entries.flatMap((entry) => (entry.kind === 'record' ? [entry.record] : []));
    },
    appendLines: (...ids) => opened.appendLines(ids.map((id) => encodeRecord(record({ id })))),
    copyTo: (target) => copyRecords(opened, storeOf(target)),
    close: () => opened.close(),
  };
  stores.set(store, opened);
  return store;
}
