/** A process that owns a reservation, described so that other processes of the machine can tell whether it still runs. */
export interface Owner {
  /** Opaque; equal for processes that can see each other. */
  readonly machine: string;
  readonly pid: number;
  /** When the process started, as the system counts; null where that is not known. */
  readonly started: string | null;
}

interface RecordBase {
  /** Random, the record's own. */
  readonly id: string;
  /** ISO 8601. */
  readonly at: string;
  /** What must exist at most once: a hash over what identifies it. */
  readonly key: string;
}

/** Written before the request is sent. The first live reservation of a key owns the key (design §6). */
export interface Reservation<Snapshot> extends RecordBase {
  readonly kind: 'reserved';
  readonly snapshot: Snapshot;
  readonly owner: Owner;
  /** ISO 8601: the owner sends nothing after this moment. Null where there is no such moment. */
  readonly deadline: string | null;
  /** Ids of remote objects that already existed and could be taken for this one; null where they could not be listed. */
  readonly remoteIdsSeen: readonly string[] | null;
}

/** A remote object that exists: created by us, or found at the service. */
export interface RecordedObject<Snapshot> extends RecordBase {
  readonly kind: 'created' | 'adopted';
  /** The id of the reservation that it ends, where there is one. */
  readonly reservation: string | null;
  readonly remoteId: string;
  readonly snapshot: Snapshot;
}

/** How a reservation ended without an id: proven not to have created anything (`released`), or not known (`unknown`). */
export interface Ending extends RecordBase {
  readonly kind: 'released' | 'unknown';
  readonly reservation: string;
  /** A short code, never text from the service. */
  readonly reason: string;
}

/** Voids records by hand. It names them, so that it voids no others after two copies of the log are merged. */
export interface Forgotten extends RecordBase {
  readonly kind: 'forgotten';
  readonly records: readonly string[];
}

/** A record about something that must happen at most once. `Snapshot` is what the feature keeps about it. */
export type OnceRecord<Snapshot> = Reservation<Snapshot> | RecordedObject<Snapshot> | Ending | Forgotten;

export interface OpenReservation<Snapshot> {
  readonly reservation: Reservation<Snapshot>;
  /** The record that says its outcome is unknown, where there is one. */
  readonly unknown: Ending | undefined;
}

/** What the records of one key say, in log order. */
export interface KeyHistory<Snapshot> {
  /** The remote objects that exist, each id once, by its last record. Merged logs or adopting can leave several. */
  readonly objects: readonly RecordedObject<Snapshot>[];
  /** Reservations without an end: the first one owns the key unless there is an object. */
  readonly open: readonly OpenReservation<Snapshot>[];
}

/**
 * Reduces the records of one key. The order of the log is the law; a recorded id always counts, whatever else was recorded
 * about its reservation.
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

/** The history of every key, in the order in which the log first names the keys. */
export function keyHistories<Snapshot>(
  records: readonly OnceRecord<Snapshot>[],
): ReadonlyMap<string, KeyHistory<Snapshot>> {
  const byKey = new Map<string, OnceRecord<Snapshot>[]>();
  for (const record of records) {
    const own = byKey.get(record.key);
    if (own) own.push(record);
    else byKey.set(record.key, [record]);
  }
  return new Map([...byKey].map(([key, own]) => [key, keyHistory(own)]));
}

/** The ids of the records of one key that still count: what forgetting the key has to void. */
export function liveRecordIds<Snapshot>(records: readonly OnceRecord<Snapshot>[]): readonly string[] {
  const objects = records.filter(({ kind }) => kind === 'created' || kind === 'adopted');
  const { open } = keyHistory(records);
  return [...objects.map(({ id }) => id), ...open.map(({ reservation }) => reservation.id)];
}
