import * as v from 'valibot';
import { LocalError } from '../errors.ts';
import type { LogRecord } from './record.ts';

/*
 * What the log says about the objects of one feature. Its records are `reserved`, `created`, `released`, `unknown`, and
 * `forgotten`; the order of the log decides, never a time.
 */

export interface OnceKind<Data> {
  /** The types of its records are `<type>.reserved`, `<type>.created`, … */
  readonly type: string;
  readonly schema: v.GenericSchema<Data & { readonly origin: string }>;
  /** The key of an object: at most one object per key is created. */
  readonly keyOf: (data: Data) => string;
}

interface Recorded<Data> {
  /** The id of the record. */
  readonly id: string;
  /** ISO 8601, for people. */
  readonly at: string;
  readonly key: string;
  readonly data: Data;
  /** Who wrote the record, for people: see `Author`. */
  readonly by?: unknown;
}

/** A reservation that has not ended. */
export interface Reservation<Data> extends Recorded<Data> {
  /** The ids of jobs or files that existed before; undefined if they could not be read. */
  readonly seen?: readonly string[];
  /** Whether it is recorded that the outcome is unknown: its owner sends nothing any more. */
  readonly isUnknown: boolean;
  /** How long its owner may take: another version may take longer than this one. */
  readonly leaseMs?: number;
}

/** An object that exists at the service. */
export interface RecordedObject<Data> extends Recorded<Data> {
  readonly object: string;
}

/** What the log says about a key. */
export interface Standing<Data> {
  /** What exists: the last record of each id. Merged copies or adoption can leave several. */
  readonly objects: readonly RecordedObject<Data>[];
  /** The open reservations, in the order of the log: the first owns the key, unless an object exists. */
  readonly open: readonly Reservation<Data>[];
  /** The ids of all records that count. What ends them names them, so that merging two copies voids no others. */
  readonly live: readonly string[];
}

type Entry<Data> = RecordedObject<Data> | Omit<Reservation<Data>, 'isUnknown'>;

const IDS = v.array(v.string());

/**
 * The standing of each key by the records of one feature, in the order of the log. An id that was recorded counts,
 * whatever became of its reservation, until it is forgotten. Reads each record once: a log may have very many.
 */
export class Standings<Data> {
  private readonly kind: OnceKind<Data>;
  private readonly live = new Map<unknown, Entry<Data>>();
  /** The ids of all records of a key. */
  private readonly idsOf = new Map<string, string[]>();
  private readonly ended = new Set<unknown>();
  private readonly unknown = new Set<unknown>();
  /** What was recorded last of each object, whether or not it was forgotten. */
  private readonly everCreated = new Map<string, Data>();

  constructor(kind: OnceKind<Data>) {
    this.kind = kind;
  }

  /** Adds the next records of the log. @throws LocalError if one that counts lacks a field */
  add(records: readonly LogRecord[]): this {
    const [created, reserved, unknown, ...ends] = ['created', 'reserved', 'unknown', 'released', 'forgotten'].map(
      (what) => `${this.kind.type}.${what}`,
    );
    // The end of a record may stand before it: copies of a log are merged.
    for (const { type, of = [] } of records) {
      if (type === unknown) this.unknown.add(of);
      else if (type === created || ends.includes(type)) for (const id of Array.isArray(of) ? of : [of]) this.end(id);
    }
    for (const record of records) {
      if (record.type === reserved || record.type === created) this.enter(record, record.type === created);
    }
    return this;
  }

  /** The standing of a key; of one that the log does not know, too. */
  of(key: string): Standing<Data> {
    const entries = (this.idsOf.get(key) ?? []).flatMap((id) => this.live.get(id) ?? []);
    const objects = new Map<string, RecordedObject<Data>>();
    for (const entry of entries.filter(isObject)) {
      objects.delete(entry.object);
      objects.set(entry.object, entry);
    }
    return { objects: [...objects.values()], open: this.openOf(entries), live: entries.map(({ id }) => id) };
  }

  /** The objects of all keys. */
  objects(): readonly RecordedObject<Data>[] {
    return [...this.live.values()].filter(isObject);
  }

  /** The open reservations of all keys. */
  open(): readonly Reservation<Data>[] {
    return this.openOf([...this.live.values()]);
  }

  /** What was recorded last of an object of a service, even if it was forgotten; undefined if it never was. */
  dataOf(origin: string, object: string): Data | undefined {
    return this.everCreated.get(`${origin}\n${object}`);
  }

  private openOf(entries: readonly Entry<Data>[]): readonly Reservation<Data>[] {
    return entries.flatMap((entry) => (isObject(entry) ? [] : [{ ...entry, isUnknown: this.unknown.has(entry.id) }]));
  }

  private end(id: unknown): void {
    this.ended.add(id);
    this.live.delete(id);
  }

  private enter({ type, id, at, by, data, object, seen, leaseMs }: LogRecord, isCreated: boolean): void {
    const { schema, keyOf } = this.kind;
    const isEnded = this.ended.has(id);
    if (!v.is(schema, data) || (isCreated && typeof object !== 'string')) {
      if (isEnded) return;
      // It may be the record of something that exists.
      const hint = 'Update partnerctl: a newer version may have written it.';
      throw new LocalError(`The record ${id} (${type}) in the state lacks a field.`, { hint });
    }
    if (typeof object === 'string') this.everCreated.set(`${data.origin}\n${object}`, data);
    if (isEnded) return;
    const recorded = { id, at, by, key: keyOf(data), data };
    const reservation = {
      ...recorded,
      ...(v.is(IDS, seen) && { seen }),
      ...(typeof leaseMs === 'number' && { leaseMs }),
    };
    this.live.set(id, typeof object === 'string' ? { ...recorded, object } : reservation);
    const ids = this.idsOf.get(recorded.key);
    if (ids) ids.push(id);
    else this.idsOf.set(recorded.key, [id]);
  }
}

function isObject<Data>(entry: Entry<Data>): entry is RecordedObject<Data> {
  return 'object' in entry;
}
