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
  readonly schema: v.GenericSchema<unknown, Data>;
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
  /** Whether its owner recorded that the outcome is unknown. */
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

const IDS = v.array(v.string());

function targetsOf(records: readonly LogRecord[], ...types: readonly string[]): ReadonlySet<unknown> {
  return new Set(records.filter(({ type }) => types.includes(type)).flatMap((record) => record.of));
}

/**
 * Reduces the records of one feature to the standing of each key, in the order in which the keys first appear. An id
 * that was recorded counts, whatever became of its reservation, until it is forgotten.
 * @throws LocalError if a record lacks a field
 */
export function standings<Data>(
  records: readonly LogRecord[],
  { type, schema, keyOf }: OnceKind<Data>,
): ReadonlyMap<string, Standing<Data>> {
  const [reserved, created] = [`${type}.reserved`, `${type}.created`];
  const ended = targetsOf(records, created, `${type}.released`, `${type}.forgotten`);
  const unknown = targetsOf(records, `${type}.unknown`);
  const found = new Map<string, { objects: RecordedObject<Data>[]; open: Reservation<Data>[]; live: string[] }>();
  for (const record of records) {
    const { id, at, by, object, seen, leaseMs } = record;
    if (ended.has(id) || (record.type !== reserved && record.type !== created)) continue;
    const { success, output: data } = v.safeParse(schema, record.data);
    if (!success || (record.type === created && typeof object !== 'string')) {
      // It may be the record of something that exists.
      const hint = 'Update partnerctl: a newer version may have written it.';
      throw new LocalError(`The record ${id} (${record.type}) in the state lacks a field.`, { hint });
    }
    const key = keyOf(data);
    const standing = found.get(key) ?? { objects: [], open: [], live: [] };
    found.set(key, standing);
    standing.live.push(id);
    const recorded = { id, at, by, key, data };
    if (typeof object === 'string') {
      standing.objects = [...standing.objects.filter((other) => other.object !== object), { ...recorded, object }];
    } else {
      const known = { ...(v.is(IDS, seen) && { seen }), ...(typeof leaseMs === 'number' && { leaseMs }) };
      standing.open.push({ ...recorded, ...known, isUnknown: unknown.has(id) });
    }
  }
  return found;
}

/** The standing of a key; of one that the log does not know, too. */
export function standingOf<Data>(all: ReadonlyMap<string, Standing<Data>>, key: string): Standing<Data> {
  return all.get(key) ?? { objects: [], open: [], live: [] };
}
