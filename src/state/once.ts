import pLimit from 'p-limit';
import type { JsonObject } from '../contract/json.ts';
import { LocalError, type PartnerctlError, provesNothingDone } from '../errors.ts';
import { type Clock, startStopwatch } from '../platform/clock.ts';
import { LEASE_MS, PATIENCE_MS, REQUEST_MS } from './lease.ts';
import type { Log } from './log.ts';
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

export type Result<Data> =
  /** `unrecorded`: why the id could not be recorded. The reservation stays open, and blocks the key. */
  | { readonly kind: 'created'; readonly id: string; readonly unrecorded?: unknown }
  /** The error proves that nothing was created. */
  | { readonly kind: 'failed'; readonly error: PartnerctlError }
  /** The object may exist. The reservation blocks the key. */
  | { readonly kind: 'unknown'; readonly error: unknown; readonly reservation: Reservation<Data> }
  /** Another process owns the key, or has created the object. Nothing was sent. */
  | { readonly kind: 'taken' }
  /** Nothing was sent, because the lease or the run ended. */
  | { readonly kind: 'late' };

export interface OnceDeps {
  readonly log: Log;
  readonly clock: Clock;
  /** Once it aborts, nothing more is sent, and what was reserved is released. */
  readonly signal: AbortSignal;
  readonly concurrency?: number;
}

/** How a feature sends. */
interface Sender<Wanted, Data> {
  readonly kind: OnceKind<Data>;
  /** Reads the log. */
  readonly read: () => Promise<Standings<Data>>;
  /** Sends the request once. @returns the new id @throws what `provesNothingDone`, or leaves the outcome unknown */
  readonly post: (wanted: Wanted, options: SendOptions) => Promise<string>;
  /** Called with each result once it is recorded. */
  readonly onResult: (creation: Creation<Wanted, Data>, result: Result<Data>) => void;
}

/**
 * Reserves keys, reads the log back, sends the requests whose reservation is the first of its key, and records the
 * outcomes. The keys must differ. What is not sent is released, also if the log cannot be read back.
 * @throws LocalError if the state cannot be read or written before a request is sent
 */
export async function createOnce<Wanted, Data>(
  { log, clock, signal, concurrency = CONCURRENCY }: OnceDeps,
  creations: readonly Creation<Wanted, Data>[],
  { kind, read, post, onResult }: Sender<Wanted, Data>,
): Promise<void> {
  const newRecord = (what: string, fields: JsonObject) => log.newRecord(`${kind.type}.${what}`, fields);
  const record = (what: string, fields: JsonObject) => log.append([newRecord(what, fields)]);
  // The lease begins before anybody can see the reservation.
  const elapsed = startStopwatch(clock);
  const reserved = creations.map(({ data, seen }) =>
    newRecord('reserved', { key: kind.keyOf(data), data, seen, leaseMs: LEASE_MS }),
  );

  const send = async ({ wanted }: Creation<Wanted, Data>, mine: Reservation<Data>): Promise<Result<Data>> => {
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

  /** Records a result. Where that fails, the reservation stays open, and blocks the key. */
  const settle = async (creation: Creation<Wanted, Data>, { key, id }: Reservation<Data>, result: Result<Data>) => {
    if (result.kind !== 'created') {
      await record(result.kind === 'unknown' ? 'unknown' : 'released', { key, of: id }).catch(() => undefined);
      return result;
    }
    const { data, replaces = [] } = creation;
    const of = replaces.length > 0 ? [id, ...replaces] : id;
    try {
      await record('created', { key, of, object: result.id, data });
      return result;
    } catch (unrecorded) {
      return { ...result, unrecorded };
    }
  };

  const limit = pLimit(concurrency);
  const create = async (creation: Creation<Wanted, Data>, mine: Reservation<Data>, isOwner: boolean) => {
    const result = isOwner ? await limit(() => send(creation, mine)) : ({ kind: 'taken' } as const);
    onResult(creation, await settle(creation, mine, result));
  };

  let standings: Standings<Data>;
  try {
    await log.append(reserved);
    standings = await read();
  } catch (error) {
    await log.append(reserved.map(({ id: of, key }) => newRecord('released', { key, of }))).catch(() => undefined);
    throw error;
  }
  const running = creations.map((creation, index) => {
    const { objects, open } = standings.of(kind.keyOf(creation.data));
    const isRival = ({ id }: { readonly id: string }): boolean => !creation.replaces?.includes(id);
    const rivals = open.filter(isRival);
    const mine = rivals.find(({ id }) => id === reserved[index]?.id);
    if (!mine) throw new LocalError(`A record that was just written is not in the state: ${log.label}`);
    return [creation, mine, rivals[0] === mine && !objects.some(isRival)] as const;
  });
  await Promise.all(running.map((each) => create(...each)));
}
