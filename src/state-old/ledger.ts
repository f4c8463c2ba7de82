import { isJsonObject } from '../contract/json.ts';
import type { LineFilter } from './line-reader.ts';
import { groupByKey, keyHistory, type OnceRecord, type Owner } from './once-records.ts';
import { isText, isTextOrNull, isTexts, type LogRecord, type NewRecord } from './record.ts';
import { createOtherLineFilter, type ObjectIdentity, type RecordFamily } from './relevant-lines.ts';
import type { RecordRole, RecordStore } from './store.ts';
import { type BlockingLine, type UnusableLine, UnusableLines, unusableLine } from './unusable-lines.ts';

type Kind = OnceRecord<unknown>['kind'];

/** The format of a feature's records in the log. */
export interface RecordFormat<Snapshot> {
  /** The `type` field of each kind of record. */
  readonly types: Readonly<Record<Kind, string>>;
  /** The field with the id of the reservation that a record ends. */
  readonly reservationField: string;
  readonly remoteIdField: string;
  /** What a record describes, for warnings: `a scheduled job`. */
  readonly noun: string;
  /** The beginning of all of its types: `cron.` */
  readonly family: string;
  /** The current key of an object, if earlier versions may have written another one; otherwise undefined. */
  readonly canonicalKey?: (snapshot: Snapshot) => string | undefined;
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
      return withFields({ records: record.records, ...(record.lines.length > 0 && { lines: record.lines }) });
  }
}

function roleOf(record: OnceRecord<unknown>): RecordRole {
  if (record.kind === 'reserved') return { kind: 'reserves', reservation: record.id };
  if (record.kind === 'forgotten') return { kind: 'voids' };
  if (record.reservation === null) return { kind: 'other' };
  return { kind: 'ends', reservation: record.reservation };
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
  const { id, at, key, type, why, owner, until = null, seen = null, records, lines = [] } = record;
  const reservation = record[reservationField];
  const remoteId = record[remoteIdField];
  if (!isText(key)) return undefined;
  switch (type) {
    case types.forgotten:
      return isTexts(records) && isTexts(lines) ? { kind: 'forgotten', id, at, key, records, lines } : undefined;
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
  /** Returns the current key for one of an earlier version, by the log read so far; any other key unchanged. */
  resolveKey(key: string): string;
  /**
   * Returns the unusable lines read so far that may be about an object, except damaged lines that `forgotten` records of its
   * keys list, and damaged reservations that have ended.
   */
  blockingLines(identity: ObjectIdentity): readonly BlockingLine[];
}

export interface LedgerOptions<Snapshot> {
  /** Selects the records to keep; dropping the others saves memory. */
  readonly isWanted?: (record: OnceRecord<Snapshot>) => boolean;
  /** A second name, besides the key, under which a record can be read. */
  readonly indexName?: (record: OnceRecord<Snapshot>) => string | undefined;
  /** Called for each unusable line, possibly twice for a partial last line. */
  readonly onUnusable: (line: UnusableLine) => Promise<void>;
}

function recordFamily({ family, types }: Pick<RecordFormat<unknown>, 'family' | 'types'>): RecordFamily {
  return { family, endingTypes: [types.released, types.unknown, types.forgotten] };
}

/**
 * Returns a filter for the raw lines of a log that a ledger of these keys does not decode.
 * @param keys undefined for all keys
 */
export function otherLines(
  format: Pick<RecordFormat<unknown>, 'family' | 'types'>,
  keys?: readonly string[],
): LineFilter {
  return createOtherLineFilter(recordFamily(format), keys);
}

/** Records in log order, by key and by index name. */
class RecordIndex<Snapshot> {
  all: OnceRecord<Snapshot>[] = [];
  private readonly byName = new Map<string, OnceRecord<Snapshot>[]>();
  /** Current keys, by the keys that earlier versions wrote. */
  private readonly aliases = new Map<string, string>();
  private readonly canonicalKey: NonNullable<RecordFormat<Snapshot>['canonicalKey']>;
  private readonly indexName: NonNullable<LedgerOptions<Snapshot>['indexName']>;

  constructor(
    { canonicalKey = () => undefined }: RecordFormat<Snapshot>,
    indexName: RecordIndex<Snapshot>['indexName'],
  ) {
    this.canonicalKey = canonicalKey;
    this.indexName = indexName;
  }

  clear(): void {
    this.all = [];
    this.byName.clear();
  }

  read(name: string): readonly OnceRecord<Snapshot>[] {
    return this.byName.get(name) ?? [];
  }

  resolveKey(key: string): string {
    return this.aliases.get(key) ?? key;
  }

  add(record: OnceRecord<Snapshot>): void {
    const key = 'snapshot' in record ? this.canonicalKey(record.snapshot) : undefined;
    if (key !== undefined && this.resolveKey(record.key) !== key) {
      this.aliases.set(record.key, key);
      const known = this.all;
      this.clear();
      for (const each of known) this.insert(each);
    }
    this.insert(record);
  }

  private insert(record: OnceRecord<Snapshot>): void {
    const key = this.resolveKey(record.key);
    const inserted = key === record.key ? record : { ...record, key };
    this.all.push(inserted);
    for (const name of [key, this.indexName(inserted)]) {
      if (name === undefined) continue;
      const own = this.byName.get(name);
      if (own) own.push(inserted);
      else this.byName.set(name, [inserted]);
    }
  }
}

/** Opens the records of one feature in a log. Repeated reads decode only new lines. */
export function openLedger<Snapshot extends object>(
  store: RecordStore,
  format: RecordFormat<Snapshot>,
  { isWanted = () => true, indexName = () => undefined, onUnusable }: LedgerOptions<Snapshot>,
): Ledger<Snapshot> {
  const types = new Set<string>(Object.values(format.types));
  const unusableLines = new UnusableLines(recordFamily(format));
  const index = new RecordIndex(format, indexName);
  let reading: Promise<unknown> = Promise.resolve();
  /** The read that has not started yet. */
  let next: Promise<void> | undefined;

  async function readNew(): Promise<void> {
    for await (const entry of store.readNew()) {
      if (entry.kind === 'restart') {
        index.clear();
        unusableLines.clear();
        continue;
      }
      const unusable = unusableLine(entry);
      if (unusable) await onUnusable(unusable);
      unusableLines.add(entry);
      if (entry.kind !== 'record' || !types.has(entry.record.type)) continue;
      const record = fromLogRecord(entry.record, format);
      if (record && isWanted(record)) index.add(record);
      if (record) continue;
      const why = `not a complete record of ${format.noun}`;
      await onUnusable({ line: entry.line, why });
      unusableLines.addIncomplete(entry.line, why, entry.record);
    }
  }

  /**
   * Reads what was appended before this call. Reads run one at a time, because concurrent ones would each get only some of
   * the new entries; waiting calls share one read.
   */
  async function catchUp(): Promise<void> {
    next ??= reading.then(() => {
      next = undefined;
      return readNew();
    });
    const current = next;
    reading = current.catch(() => undefined);
    await current;
  }

  return {
    resolveKey: (key) => index.resolveKey(key),
    blockingLines: (identity) =>
      unusableLines.about(
        identity,
        identity.keys.flatMap((key) => index.read(key)),
      ),
    async read(name) {
      await catchUp();
      return [...index.read(name)];
    },
    async readAll() {
      await catchUp();
      return [...index.all];
    },
    append: (record) => store.append(toLogRecord(record, format), roleOf(record)),
  };
}

/**
 * Reads a ledger once, for a command that only reads: each read may be a request to a server. Reads a key with an open
 * reservation again, because its owner may have recorded the outcome since.
 * @throws LocalError
 */
export async function readOnce<Snapshot>(
  ledger: Ledger<Snapshot>,
): Promise<Pick<Ledger<Snapshot>, 'read' | 'readAll'>> {
  const all = await ledger.readAll();
  const byKey = groupByKey(all);
  return {
    async read(name) {
      const records = byKey.get(ledger.resolveKey(name)) ?? [];
      return keyHistory(records).open.length > 0 ? await ledger.read(name) : records;
    },
    readAll: async () => all,
  };
}
