import type { Clock } from '../clock.ts';
import { groupBy } from '../contract/group-by.ts';

/**
 * The process that owns a reservation. Processes on the same machine can check whether it still runs.
 */
export interface Owner {
  /** Opaque. Equal for processes that can see each other. */
  readonly machine: string;
  readonly pid: number;
  /** When the process started, in the system's own unit; null if unknown. */
  readonly started: string | null;
}

interface RecordBase {
  /** A random id, unique to this record. */
  readonly id: string;
  /** ISO 8601. */
  readonly at: string;
  /** Identifies the object that must exist at most once: a hash of its identifying fields. */
  readonly key: string;
}

/** Returns the id and the time of a new record. */
export function stampRecord({
  clock,
  newId,
}: {
  readonly clock: Pick<Clock, 'now'>;
  readonly newId: () => string;
}): Pick<RecordBase, 'id' | 'at'> {
  return { id: newId(), at: new Date(clock.now()).toISOString() };
}

/** Written before the request is sent. The first live reservation of a key owns the key (design §6). */
export interface Reservation<Snapshot> extends RecordBase {
  readonly kind: 'reserved';
  readonly snapshot: Snapshot;
  readonly owner: Owner;
  /** ISO 8601. The owner sends nothing after this time. Null if there is no deadline. */
  readonly deadline: string | null;
  /** Ids of existing remote objects that could be mistaken for this one; null if they could not be listed. */
  readonly remoteIdsSeen: readonly string[] | null;
}

/** An existing remote object: created by this tool, or found at the service. */
export interface RecordedObject<Snapshot> extends RecordBase {
  readonly kind: 'created' | 'adopted';
  /** The id of the reservation that this record ends, if any. */
  readonly reservation: string | null;
  readonly remoteId: string;
  readonly snapshot: Snapshot;
}

/** The reason of an unknown outcome if the service accepted the request, and its response has no id that can be read. */
export const NO_ID = 'no_id';

/** The end of a reservation without an id: nothing was created (`released`), or the outcome is unknown (`unknown`). */
export interface Ending extends RecordBase {
  readonly kind: 'released' | 'unknown';
  readonly reservation: string;
  /** A short code, never text from the service. */
  readonly reason: string;
}

/**
 * Voids records at the user's request. Lists their ids, so that it does not void others after two copies of the log are
 * merged.
 */
export interface Forgotten extends RecordBase {
  readonly kind: 'forgotten';
  readonly records: readonly string[];
  /** The digests of damaged lines that are not about an object of this key, or whose object does not exist. */
  readonly lines: readonly string[];
}

/** A record about an operation that must happen at most once. `Snapshot` holds the feature's own data about it. */
export type OnceRecord<Snapshot> = Reservation<Snapshot> | RecordedObject<Snapshot> | Ending | Forgotten;

export interface OpenReservation<Snapshot> {
  readonly reservation: Reservation<Snapshot>;
  /** The record that marks its outcome as unknown, if any. */
  readonly unknown: Ending | undefined;
}

/** The state of one key, derived from its records in log order. */
export interface KeyHistory<Snapshot> {
  /** The existing remote objects: the last record of each id. Merged logs or adoption can leave several. */
  readonly objects: readonly RecordedObject<Snapshot>[];
  /** Reservations that have not ended. The first one owns the key, unless an object exists. */
  readonly open: readonly OpenReservation<Snapshot>[];
}

/**
 * Reduces the records of one key to its history. Log order decides, not timestamps. A recorded remote id always counts,
 * regardless of other records about its reservation.
 */
export function keyHistory<Snapshot>(records: readonly OnceRecord<Snapshot>[]): KeyHistory<Snapshot> {
  const ended = new Set<string>();
  const voided = new Set<string>();
  const unknown = new Map<string, Ending>();
  for (const record of records) {
    if (record.kind === 'forgotten') for (const id of record.records) voided.add(id);
    else if (record.kind === 'unknown') unknown.set(record.reservation, record);
    else if (record.kind !== 'reserved' && record.reservation !== null) ended.add(record.reservation);
  }
  const objects = new Map<string, RecordedObject<Snapshot>>();
  const open: OpenReservation<Snapshot>[] = [];
  for (const record of records) {
    if (voided.has(record.id)) continue;
    if (record.kind === 'created' || record.kind === 'adopted') {
      objects.delete(record.remoteId);
      objects.set(record.remoteId, record);
    }
    if (record.kind === 'reserved' && !ended.has(record.id)) {
      open.push({ reservation: record, unknown: unknown.get(record.id) });
    }
  }
  return { objects: [...objects.values()], open };
}

/** Groups records by key, in order. */
export function groupByKey<Snapshot>(
  records: readonly OnceRecord<Snapshot>[],
): ReadonlyMap<string, readonly OnceRecord<Snapshot>[]> {
  return groupBy(records, ({ key }) => key);
}

/** Returns the history of every key, in the order in which the keys first appear in the log. */
export function keyHistories<Snapshot>(
  records: readonly OnceRecord<Snapshot>[],
): ReadonlyMap<string, KeyHistory<Snapshot>> {
  return new Map([...groupByKey(records)].map(([key, own]) => [key, keyHistory(own)]));
}

/** Returns the ids of the records that forgetting a key must void. */
export function liveRecordIds<Snapshot>(records: readonly OnceRecord<Snapshot>[]): readonly string[] {
  const objects = records.filter(({ kind }) => kind === 'created' || kind === 'adopted');
  const { open } = keyHistory(records);
  return [...objects.map(({ id }) => id), ...open.map(({ reservation }) => reservation.id)];
}
