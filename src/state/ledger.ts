import { isJsonObject } from '../contract/json.ts';
import { type RecordStore, type UnusableLine, unusableLine } from './log.ts';
import type { OnceRecord, Owner } from './once-records.ts';
import { isText, isTextOrNull, isTexts, type LogRecord, type NewRecord } from './record.ts';

type Kind = OnceRecord<unknown>['kind'];

/** How one feature's records are stored in the log. */
export interface RecordFormat<Snapshot> {
  /** The `type` field of each kind of record. */
  readonly types: Readonly<Record<Kind, string>>;
  /** The field with the id of the reservation that a record ends. */
  readonly reservationField: string;
  readonly remoteIdField: string;
  /** What a record describes, for warnings: `a scheduled job`. */
  readonly noun: string;
  /**
   * Every record of the feature contains at least one of these texts. Several texts make it likely that a damaged line
   * still contains one, and is therefore read and reported.
   */
  readonly searchTexts: readonly string[];
  /** Reads the snapshot from a record's top-level fields; undefined if it is incomplete. */
  readonly decodeSnapshot: (record: LogRecord) => Snapshot | undefined;
}

/** Converts a once record to a log record. */
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
 * Converts a log record back to a once record; undefined if a field is missing. Copies fields one by one: a spread
 * would take three times the memory, and the log may have a record for each of many files.
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
  /** Returns the records with this key or index name, up to date as of the call. @throws LocalError */
  read(name: string): Promise<readonly OnceRecord<Snapshot>[]>;
  /** Returns the records of all keys. @throws LocalError */
  readAll(): Promise<readonly OnceRecord<Snapshot>[]>;
  /** Resolves once the record is durable. @throws LocalError; the log may still contain the record */
  append(record: OnceRecord<Snapshot>): Promise<void>;
  /** Lines read so far that a newer version of this program wrote. They may belong to any key. */
  readonly newer: readonly (UnusableLine & { readonly text: string })[];
}

export interface LedgerOptions<Snapshot> {
  /** Selects the records to keep; dropping the others saves memory. */
  readonly isWanted?: (record: OnceRecord<Snapshot>) => boolean;
  /** A second name, besides the key, under which a record can be read. */
  readonly indexName?: (record: OnceRecord<Snapshot>) => string | undefined;
  /** Called for each unusable line, possibly twice for a partial last line. */
  readonly onUnusable: (line: UnusableLine) => Promise<void>;
}

/** Opens the records of one feature in a log. Repeated reads decode only new lines. */
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

  /** Serializes reads: concurrent readers would each get only some of the new entries. */
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
