import pLimit from 'p-limit';
import type { JsonObject } from '../contract/json.ts';
import { LocalError, type PartnerctlError, provesNothingDone } from '../errors.ts';
import { startStopwatch } from '../platform/clock.ts';
import { LEASE_MS, type ObserverDeps, PATIENCE_MS, REQUEST_MS } from './lease.ts';
import type { OnceKind, Reservation, Standings } from './standing.ts';

/*
 * Creates objects at most once. The law: the first open reservation of a key owns the key. A run that dies at any
 * instruction leaves nothing, or a reservation that blocks its key until somebody looks.
 *
 * An owner sends nothing once less than the time of one request is left of its lease, which began before it reserved.
 */

/** How many requests are sent at a time, unless a feature says otherwise. */
export const CONCURRENCY = 4;

/** Something to create. */
export interface Creation<Wanted, Data> {
  readonly wanted: Wanted;
  readonly data: Data;
  /** The ids at the service that could be mistaken for the new object; undefined if they could not be read. */
  readonly seen?: readonly string[] | undefined;
  /** Records that do not block the new object, and end when it is created. */
  readonly replaces?: readonly string[];
}

/** For the transport. */
export interface SendOptions {
  /** Whether the request may still be sent. The transport asks in the tick that writes it. */
  readonly maySend: () => boolean;
  /** The time for the whole call. */
  readonly timeoutMs: number;
}

/** The object may exist. The reservation blocks the key. */
export interface Lost<Data> {
  readonly kind: 'unknown';
  readonly error: unknown;
  readonly reservation: Reservation<Data>;
}

export type Result<Data> =
  /** `unrecorded`: why the id could not be recorded. The reservation stays open, and blocks the key. */
  | { readonly kind: 'created'; readonly id: string; readonly unrecorded?: unknown }
  /** The error proves that nothing was created. */
  | { readonly kind: 'failed'; readonly error: PartnerctlError }
  | Lost<Data>
  /** Another process owns the key, or has created the object. Nothing was sent. */
  | { readonly kind: 'taken' }
  /** Nothing was sent, because the lease or the run ended. */
  | { readonly kind: 'late' };

/** Once the signal aborts, nothing more is sent, and what was reserved is released. */
export interface OnceDeps extends ObserverDeps {
  readonly concurrency?: number;
}

/** What is created, and how it is sent. */
export interface Sender<Wanted, Data> {
  readonly kind: OnceKind<Data>;
  /** Sends the request once. @returns the new id @throws what `provesNothingDone`, or leaves the outcome unknown */
  post(wanted: Wanted, options: SendOptions): Promise<string>;
}

/**
 * Reserves keys, reads the log back, sends the requests whose reservation is the first of its key, and records the
 * outcomes. The keys must differ. What is not sent is released, also if the log cannot be read back.
 * @param sender `read` reads the log
 * @param onResult called with each result once it is recorded
 * @throws LocalError if the state cannot be read or written before a request is sent
 */
export async function reserveAndSend<Wanted, Data>(
  { log, clock, signal, concurrency = CONCURRENCY }: OnceDeps,
  { kind, read, post }: Sender<Wanted, Data> & { readonly read: () => Promise<Standings<Data>> },
  creations: readonly Creation<Wanted, Data>[],
  onResult: (wanted: Wanted, result: Result<Data>) => void,
): Promise<void> {
  const newRecord = (what: string, fields: JsonObject) => log.newRecord(`${kind.type}.${what}`, fields);
  // The lease begins before anybody can see the reservation.
  const elapsed = startStopwatch(clock);
  const reserved = creations.map(({ data, seen }) =>
    newRecord('reserved', { key: kind.keyOf(data), data, seen, leaseMs: LEASE_MS }),
  );

  const send = async (wanted: Wanted, mine: Reservation<Data>): Promise<Result<Data>> => {
    let isHeldBack = false;
    const maySend = (): boolean => {
      isHeldBack ||= signal.aborted || elapsed() > PATIENCE_MS;
      return !isHeldBack;
    };
    if (!maySend()) return { kind: 'late' };
    try {
      return { kind: 'created', id: await post(wanted, { maySend, timeoutMs: REQUEST_MS }) };
    } catch (error) {
      if (!provesNothingDone(error)) return { kind: 'unknown', error, reservation: { ...mine, isUnknown: true } };
      return isHeldBack ? { kind: 'late' } : { kind: 'failed', error };
    }
  };

  /** Where recording fails, the reservation stays open, and blocks the key. */
  const record = async ({ data, replaces = [] }: Creation<Wanted, Data>, id: string, result: Result<Data>) => {
    const key = kind.keyOf(data);
    if (result.kind !== 'created') {
      const what = result.kind === 'unknown' ? 'unknown' : 'released';
      await log.append([newRecord(what, { key, of: id })]).catch(() => undefined);
      return result;
    }
    const of = replaces.length > 0 ? [id, ...replaces] : id;
    try {
      await log.append([newRecord('created', { key, of, object: result.id, data })]);
      return result;
    } catch (unrecorded) {
      return { ...result, unrecorded };
    }
  };

  let standings: Standings<Data>;
  try {
    await log.append(reserved);
    standings = await read();
  } catch (error) {
    await log.append(reserved.map(({ id: of, key }) => newRecord('released', { key, of }))).catch(() => undefined);
    throw error;
  }
  const owned = creations.map((creation, index) => {
    const { objects, open } = standings.of(kind.keyOf(creation.data));
    const isRival = ({ id }: { readonly id: string }): boolean => !creation.replaces?.includes(id);
    const rivals = open.filter(isRival);
    const mine = rivals.find(({ id }) => id === reserved[index]?.id);
    if (!mine) throw new LocalError(`A record that was just written is not in the state: ${log.label}`);
    return { creation, mine, isOwner: rivals[0] === mine && !objects.some(isRival) };
  });
  const limit = pLimit(concurrency);
  const running = owned.map(async ({ creation, mine, isOwner }) => {
    const { wanted } = creation;
    const result = isOwner ? await limit(() => send(wanted, mine)) : ({ kind: 'taken' } as const);
    onResult(wanted, await record(creation, mine.id, result));
  });
  await Promise.all(running);
}
