import pLimit, { type LimitFunction } from 'p-limit';
import type { JsonObject } from '../contract/json.ts';
import { LocalError, type PartnerctlError, provesNothingDone, StateUnavailableError } from '../errors.ts';
import { type Clock, startStopwatch } from '../platform/clock.ts';
import { LEASE_MS, PATIENCE_MS, REQUEST_MS } from './lease.ts';
import type { Log } from './log.ts';
import { type OnceKind, type Reservation, standingOf, standings } from './standing.ts';

/*
 * Creates objects at most once. The law: the first open reservation of a key owns the key. A run that dies at any
 * instruction leaves nothing, or a reservation that blocks its key until somebody looks.
 *
 * An owner sends nothing once less than the time of one request is left of its lease, which began before it reserved.
 */

/** Small enough that all are sent within a lease, large enough that a push to git is worth it. */
const BATCH = 50;
/** How many requests are sent at a time, unless a feature says otherwise. */
const CONCURRENCY = 4;
/** After so many batches of which nothing could be sent in time, the state is too slow. */
const MAX_LATE = 3;

/** An object to create. */
export interface Item<Data> {
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

/** What became of an item. `unrecorded`: why that could not be recorded, so that the reservation stays open, and blocks the key. */
export type Result<Data> =
  | { readonly kind: 'created'; readonly id: string; readonly unrecorded?: unknown }
  /** The error proves that nothing was created. */
  | { readonly kind: 'failed'; readonly error: PartnerctlError; readonly unrecorded?: unknown }
  /** The object may exist. The reservation blocks the key. */
  | {
      readonly kind: 'unknown';
      readonly error: unknown;
      readonly reservation: Reservation<Data>;
      readonly unrecorded?: unknown;
    }
  /** Another process owns the key, or has created the object. Nothing was sent. */
  | { readonly kind: 'taken' };

/** The record that ends a reservation. */
const RECORD = { created: 'created', failed: 'released', unknown: 'unknown', late: 'released' } as const;

/** What a feature does for each item. */
export interface Steps<Data, Each extends Item<Data>> {
  /**
   * Called before a batch is reserved: the time to read the service's list.
   * @returns the items to reserve. The feature has settled the others itself
   */
  readonly prepare?: (batch: readonly Each[]) => Promise<readonly Each[]>;
  /**
   * Sends the request once. @returns the id of the new object
   * @throws an error that `provesNothingDone` if nothing was created; any other leaves the outcome unknown
   */
  readonly act: (item: Each, options: SendOptions) => Promise<string>;
  /** Called with each result once it is recorded. */
  readonly settled: (item: Each, result: Result<Data>) => void | Promise<void>;
}

export interface OnceDeps {
  readonly log: Log;
  readonly clock: Clock;
  /** Once it aborts, nothing more is sent, and what was reserved is released. */
  readonly signal: AbortSignal;
  /** How many requests are sent at a time. */
  readonly concurrency?: number;
}

interface Attempt<Data, Each extends Item<Data>> {
  readonly item: Each;
  readonly reservation: Reservation<Data>;
  /** Whether the reservation is the first of its key. */
  readonly isOwner: boolean;
}

/** What became of an item that this process owns. `late`: nothing was sent, because the lease or the run ended. */
type Sent<Data> = Exclude<Result<Data>, { kind: 'taken' }> | { readonly kind: 'late' };

/** One call of `createOnce`. */
class OnceRun<Data, Each extends Item<Data>> {
  private readonly deps: OnceDeps;
  private readonly kind: OnceKind<Data>;
  private readonly steps: Steps<Data, Each>;
  private readonly limit: LimitFunction;

  constructor(deps: OnceDeps, kind: OnceKind<Data>, steps: Steps<Data, Each>) {
    this.deps = deps;
    this.kind = kind;
    this.steps = steps;
    this.limit = pLimit(deps.concurrency ?? CONCURRENCY);
  }

  /** @returns the items for which nothing was sent in time: they are to be tried again */
  async createBatch(batch: readonly Each[]): Promise<readonly Each[]> {
    const items = this.steps.prepare ? await this.steps.prepare(batch) : batch;
    if (items.length === 0) return [];
    // The lease begins before anybody can see the reservation.
    const elapsed = startStopwatch(this.deps.clock);
    const attempts = await this.reserve(items);
    const mine = attempts.filter(({ isOwner }) => isOwner);
    const taken = attempts.filter(({ isOwner }) => !isOwner);
    const running = [this.giveUp(taken), ...mine.map((attempt) => this.create(attempt, elapsed))];
    // Wait for all of them, so that each request that was sent has its record.
    const ended = await Promise.allSettled(running);
    const failure = ended.find((each) => each.status === 'rejected');
    if (failure) throw failure.reason;
    return ended.flatMap((each) => (each.status === 'fulfilled' && each.value) || []);
  }

  /** Reserves, and reads the log back. @throws LocalError, and nothing was sent. What it may have left is released */
  private async reserve(items: readonly Each[]): Promise<readonly Attempt<Data, Each>[]> {
    const { log } = this.deps;
    const { type, keyOf } = this.kind;
    const reserved = items.map((item) => {
      const { data, seen } = item;
      const key = keyOf(data);
      return { item, key, record: log.newRecord(`${type}.reserved`, { key, data, seen, leaseMs: LEASE_MS }) };
    });
    try {
      await log.append(reserved.map(({ record }) => record));
      const after = standings(await log.read(), this.kind);
      return reserved.map(({ item, key, record }) => {
        const { objects, open } = standingOf(after, key);
        const isRival = ({ id }: { readonly id: string }): boolean => !item.replaces?.includes(id);
        const rivals = open.filter(isRival);
        const reservation = rivals.find(({ id }) => id === record.id);
        if (reservation) return { item, reservation, isOwner: rivals[0] === reservation && !objects.some(isRival) };
        throw new LocalError(`A record that was just written is not in the state: ${log.label}`, {
          hint: 'Nothing was sent. Is it restored from a backup, or a copy that lags behind? Check it: partnerctl state verify',
        });
      });
    } catch (error) {
      // They may have arrived. What cannot be released blocks its key until `cron reconcile`.
      const releases = reserved.map(({ key, record }) => ({ key, of: record.id }));
      if (!(error instanceof StateUnavailableError)) await failureOf(this.record('released', releases));
      throw error;
    }
  }

  private async giveUp(taken: readonly Attempt<Data, Each>[]): Promise<undefined> {
    // Else it would block the key after the owner has finished. If this fails, `cron reconcile` ends it.
    await failureOf(
      this.record(
        'released',
        taken.map(({ reservation: { key, id } }) => ({ key, of: id })),
      ),
    );
    for (const { item } of taken) await this.steps.settled(item, { kind: 'taken' });
  }

  /** Sends the request, and records its outcome. @returns the item if nothing was sent in time */
  private async create({ item, reservation }: Attempt<Data, Each>, elapsed: () => number): Promise<Each | undefined> {
    const { key, id } = reservation;
    const sent = await this.limit(() => this.send(item, reservation, elapsed));
    const of = sent.kind === 'created' && item.replaces?.length ? [id, ...item.replaces] : id;
    const created = sent.kind === 'created' && { object: sent.id, data: item.data };
    const unrecorded = await failureOf(this.record(RECORD[sent.kind], [{ key, of, ...created }]));
    if (sent.kind === 'late') {
      if (unrecorded) throw unrecorded.error;
      return item;
    }
    await this.steps.settled(item, unrecorded ? { ...sent, unrecorded: unrecorded.error } : sent);
    return undefined;
  }

  private async send(item: Each, reservation: Reservation<Data>, elapsed: () => number): Promise<Sent<Data>> {
    const { signal } = this.deps;
    let isHeldBack = false;
    const maySend = (): boolean => {
      isHeldBack ||= signal.aborted || elapsed() > PATIENCE_MS;
      return !isHeldBack;
    };
    if (!maySend()) return { kind: 'late' };
    try {
      return { kind: 'created', id: await this.steps.act(item, { maySend, timeoutMs: REQUEST_MS }) };
    } catch (error) {
      if (!provesNothingDone(error))
        return { kind: 'unknown', error, reservation: { ...reservation, isUnknown: true } };
      return isHeldBack ? { kind: 'late' } : { kind: 'failed', error };
    }
  }

  private record(what: 'created' | 'released' | 'unknown', records: readonly JsonObject[]): Promise<void> {
    const { log } = this.deps;
    return log.append(records.map((fields) => log.newRecord(`${this.kind.type}.${what}`, fields)));
  }
}

export interface Failure {
  readonly error: unknown;
}

/** Waits for something. @returns its failure; undefined if it did not fail */
export async function failureOf(act: Promise<unknown>): Promise<Failure | undefined> {
  return await act.then(
    () => undefined,
    (error: unknown) => ({ error }),
  );
}

/**
 * Creates objects, each at most once, in batches: reserves the keys, reads the log back, sends the requests whose reservation
 * is the first of its key, and records the outcomes. Items must have different keys.
 * @throws LocalError if the state cannot be read or written before a request is sent, or is too slow; the reason of the signal.
 *   Nothing was sent for the items that are not settled then
 */
export async function createOnce<Data, Each extends Item<Data>>(
  deps: OnceDeps,
  kind: OnceKind<Data>,
  items: readonly Each[],
  steps: Steps<Data, Each>,
): Promise<void> {
  const run = new OnceRun(deps, kind, steps);
  const queue = [...items];
  for (let late = 0; queue.length > 0; ) {
    deps.signal.throwIfAborted();
    const batch = queue.splice(0, BATCH);
    const again = await run.createBatch(batch);
    queue.push(...again);
    late = again.length === batch.length ? late + 1 : 0;
    if (late < MAX_LATE || deps.signal.aborted) continue;
    throw new LocalError(`The state is too slow to create anything safely: ${deps.log.label}`, {
      why: `Between reserving and sending, ${PATIENCE_MS / 1000}s passed ${MAX_LATE} times. Nothing was sent.`,
      hint: 'Run the command again when the state answers faster, with fewer at once.',
    });
  }
}
