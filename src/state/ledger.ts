import { isJsonObject } from '../contract/json.ts';
import { type RecordStore, type UnusableLine, unusableLine } from './log.ts';
import type { OnceRecord, Owner } from './once-records.ts';
import { isText, isTextOrNull, isTexts, type LogRecord, type NewRecord } from './record.ts';

type Kind = OnceRecord<unknown>['kind'];

/** How the records of one feature are written in the log. */
export interface RecordFormat<Snapshot> {
  /** The `type` field of each kind of record. */
  readonly types: Readonly<Record<Kind, string>>;
  /** The field that names the reservation a record ends. */
  readonly reservationField: string;
  readonly remoteIdField: string;
  /** What a record is about, for a warning: `a scheduled job`. */
  readonly noun: string;
  /**
   * Text of which each record of the feature contains some. More than one, so that a line is still read, and found to be
   * damaged, when the damage hit one of them.
   */
  readonly searchTexts: readonly string[];
  /** The snapshot among a record's fields, which hold it as it is; undefined where it is not complete. */
  readonly decodeSnapshot: (record: LogRecord) => Snapshot | undefined;
}

/** A once record as the fields of a log record. */
export function toLogRecord<Snapshot extends object>(
  record: OnceRecord<Snapshot>,
  { types, reservationField, remoteIdField }: RecordFormat<Snapshot>,
): NewRecord {
  const { kind, id, at, key } = record;
  const withFields = (fields: object): NewRecord => {
    const head = { type: types[kind], at, id, key };
    return { ...head, ...fields };
  };
  switch (record.kind) {
    case 'reserved': {
      const { snapshot, owner, deadline, remoteIdsSeen } = record;
      return withFields({ ...snapshot, owner, until: deadline, seen: remoteIdsSeen });
    }
    case 'created':
    case 'adopted': {
      const { snapshot, reservation, remoteId } = record;
      return withFields({ ...snapshot, [reservationField]: reservation, [remoteIdField]: remoteId });
    }
    case 'released':
    case 'unknown':
      return withFields({ [reservationField]: record.reservation, why: record.reason });
    case 'forgotten':
      return withFields({ records: record.records });
  }
}

function isOwner(value: unknown): value is Owner {
  return isJsonObject(value) && isText(value.machine) && typeof value.pid === 'number' && isTextOrNull(value.started);
}

/**
 * The opposite of `toLogRecord`; undefined where a field is missing. Fields are copied one by one: a spread would cost three
 * times the memory, and a log may have a record for each of very many files.
 */
export function fromLogRecord<Snapshot>(
  record: LogRecord,
  { types, reservationField, remoteIdField, decodeSnapshot }: RecordFormat<Snapshot>,
): OnceRecord<Snapshot> | undefined {
  const { id, at, key, type, why, owner, until = null, seen = null, records } = record;
  const reservation = record[reservationField];
  const remoteId = record[remoteIdField];
  if (!isText(key)) return undefined;
  switch (type) {
    case types.forgotten:
      return isTexts(records) ? { kind: 'forgotten', id, at, key, records } : undefined;
    case types.released:
    case types.unknown: {
      if (!isText(reservation) || !isText(why)) return undefined;
      return { kind: type === types.released ? 'released' : 'unknown', id, at, key, reservation, reason: why };
    }
    case types.reserved: {
      const snapshot = decodeSnapshot(record);
      if (!snapshot || !isOwner(owner) || !isTextOrNull(until) || !(seen === null || isTexts(seen))) return undefined;
      return { kind: 'reserved', id, at, key, snapshot, owner, deadline: until, remoteIdsSeen: seen };
    }
    case types.created:
    case types.adopted: {
      const snapshot = decodeSnapshot(record);
      if (!snapshot || !isTextOrNull(reservation) || !isText(remoteId)) return undefined;
      return { kind: type === types.created ? 'created' : 'adopted', id, at, key, snapshot, reservation, remoteId };
    }
    default:
      return undefined;
  }
}

/** The once records of one feature, in log order. */
export interface Ledger<Snapshot> {
  /** Those of a key or index name, everything that is in the log at the time of the call included. @throws LocalError */
  read(name: string): Promise<readonly OnceRecord<Snapshot>[]>;
  /** Those of all keys. @throws LocalError */
  readAll(): Promise<readonly OnceRecord<Snapshot>[]>;
  /** Resolves once the record is durable. @throws LocalError; the record may be in the log all the same */
  append(record: OnceRecord<Snapshot>): Promise<void>;
  /** Lines of a newer version of this program that were read so far; they may be about any of the keys. */
  readonly newer: readonly (UnusableLine & { readonly text: string })[];
}

export interface LedgerOptions<Snapshot> {
  /** Leaves records out that are of no interest, to save memory. */
  readonly isWanted?: (record: OnceRecord<Snapshot>) => boolean;
  /** A second name under which a record can be read, beside its key. */
  readonly indexName?: (record: OnceRecord<Snapshot>) => string | undefined;
  /** Called for each line that cannot be used; for a torn last line perhaps twice. */
  readonly onUnusable: (line: UnusableLine) => Promise<void>;
}

/** Opens the records of one feature in a log. However often it is read, each line is read once. */
export function openLedger<Snapshot extends object>(
  store: RecordStore,
  format: RecordFormat<Snapshot>,
  { isWanted = () => true, indexName = () => undefined, onUnusable }: LedgerOptions<Snapshot>,
): Ledger<Snapshot> {
  const types = new Set<string>(Object.values(format.types));
  const newer: (UnusableLine & { readonly text: string })[] = [];
  const byName = new Map<string, OnceRecord<Snapshot>[]>();
  let all: OnceRecord<Snapshot>[] = [];
  let reading: Promise<unknown> = Promise.resolve();

  function add(record: OnceRecord<Snapshot>): void {
    if (!isWanted(record)) return;
    all.push(record);
    for (const name of [record.key, indexName(record)]) {
      if (name === undefined) continue;
      const own = byName.get(name);
      if (own) own.push(record);
      else byName.set(name, [record]);
    }
  }

  async function readNew(): Promise<void> {
    for await (const entry of store.readNew()) {
      if (entry.kind === 'restart') {
        all = [];
        byName.clear();
        newer.length = 0;
        continue;
      }
      const unusable = unusableLine(entry);
      if (unusable) await onUnusable(unusable);
      if (unusable && entry.kind === 'newer') newer.push({ ...unusable, text: entry.text });
      if (entry.kind !== 'record' || !types.has(entry.record.type)) continue;
      const record = fromLogRecord(entry.record, format);
      if (record) add(record);
      else await onUnusable({ line: entry.line, why: `not a complete record of ${format.noun}` });
    }
  }

  /** One after the other: two readers would each get a part. */
  async function catchUp(): Promise<void> {
    const mine = reading.then(readNew);
    reading = mine.catch(() => undefined);
    await mine;
  }

  return {
    newer,
    async read(name) {
      await catchUp();
      return [...(byName.get(name) ?? [])];
    },
    async readAll() {
      await catchUp();
      return [...all];
    },
    append: (record) => store.append(toLogRecord(record, format)),
  };
}
