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

/** A record of something that exists, or that was reserved. */
type Entry<Data> = LogRecord & { readonly key: string; readonly data: Data & { readonly origin: string } };

const IDS = v.array(v.string());

/**
 * The standing of each key by the records of one feature, in the order of the log. An id that was recorded counts,
 * whatever became of its reservation, until it is forgotten. Reads each record once: a log may have very many.
 */
export class Standings<Data> {
  private readonly kind: OnceKind<Data>;
  private readonly created: Entry<Data>[] = [];
  private readonly reserved: Entry<Data>[] = [];
  private readonly byKey = new Map<string, Entry<Data>[]>();
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
      else if (type === created || ends.includes(type)) for (const id of [of].flat()) this.ended.add(id);
    }
    for (const record of records) {
      if (record.type === reserved || record.type === created) this.enter(record, record.type === created);
    }
    return this;
  }

  /** The standing of a key; of one that the log does not know, too. */
  of(key: string): Standing<Data> {
    const live = this.liveOf(this.byKey.get(key));
    const objects = new Map<string, RecordedObject<Data>>();
    for (const each of this.objectsOf(live)) {
      objects.delete(each.object);
      objects.set(each.object, each);
    }
    return { objects: [...objects.values()], open: this.openOf(live), live: live.map(({ id }) => id) };
  }

  /** The objects of all keys. */
  objects(): readonly RecordedObject<Data>[] {
    return this.objectsOf(this.liveOf(this.created));
  }

  /** The open reservations of all keys. */
  open(): readonly Reservation<Data>[] {
    return this.openOf(this.liveOf(this.reserved));
  }

  /** What was recorded last of an object of a service, even if it was forgotten; undefined if it never was. */
  dataOf(origin: string, object: string): Data | undefined {
    return this.everCreated.get(`${origin}\n${object}`);
  }

  private liveOf(entries: readonly Entry<Data>[] = []): readonly Entry<Data>[] {
    return entries.filter(({ id }) => !this.ended.has(id));
  }

  private objectsOf(live: readonly Entry<Data>[]): readonly RecordedObject<Data>[] {
    return live.flatMap(({ id, at, by, key, data, object }) =>
      typeof object === 'string' ? [{ id, at, by, key, data, object }] : [],
    );
  }

  private openOf(live: readonly Entry<Data>[]): readonly Reservation<Data>[] {
    return live.flatMap(({ id, at, by, key, data, object, seen, leaseMs }) => {
      if (typeof object === 'string') return [];
      const isUnknown = this.unknown.has(id);
      const own = { ...(v.is(IDS, seen) && { seen }), ...(typeof leaseMs === 'number' && { leaseMs }) };
      return [{ id, at, by, key, data, isUnknown, ...own }];
    });
  }

  private isEntry(record: LogRecord): record is Entry<Data> {
    return typeof record.key === 'string' && v.is(this.kind.schema, record.data);
  }

  private enter(record: LogRecord, isCreated: boolean): void {
    const { id, type, object } = record;
    const isEnded = this.ended.has(id);
    if (!this.isEntry(record) || (isCreated && typeof object !== 'string')) {
      if (isEnded) return;
      // It may be the record of something that exists.
      const hint = 'Update partnerctl: a newer version may have written it.';
      throw new LocalError(`The record ${id} (${type}) in the state lacks a field.`, { hint });
    }
    if (typeof object === 'string') this.everCreated.set(`${record.data.origin}\n${object}`, record.data);
    if (isEnded) return;
    (typeof object === 'string' ? this.created : this.reserved).push(record);
    const same = this.byKey.get(record.key);
    if (same) same.push(record);
    else this.byKey.set(record.key, [record]);
  }
}
