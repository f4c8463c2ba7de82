import pLimit, { type LimitFunction } from 'p-limit';
import type { JsonObject } from '../contract/json.ts';
import { LocalError, type PartnerctlError, provesNothingDone } from '../errors.ts';
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
/** How many batches in a row may miss their leases entirely. */
const MAX_LATE = 3;

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

export type Result<Data> =
  /** `unrecorded`: why the id could not be recorded. The reservation stays open, and blocks the key. */
  | { readonly kind: 'created'; readonly id: string; readonly unrecorded?: unknown }
  /** The error proves that nothing was created. */
  | { readonly kind: 'failed'; readonly error: PartnerctlError }
  /** The object may exist. The reservation blocks the key. */
  | { readonly kind: 'unknown'; readonly error: unknown; readonly reservation: Reservation<Data> }
  /** Another process owns the key, or has created the object. Nothing was sent. */
  | { readonly kind: 'taken' };

export interface Steps<Data, Each extends Item<Data>> {
  /** Called before a batch is reserved, to read the list. @returns the items to reserve: others are settled already */
  readonly prepare?: (batch: readonly Each[]) => Promise<readonly Each[]>;
  /** Sends the request once. @returns the new id @throws what `provesNothingDone`, or leaves the outcome unknown */
  readonly act: (item: Each, options: SendOptions) => Promise<string>;
  /** Called with each result once it is recorded. */
  readonly settled: (item: Each, result: Result<Data>) => void | Promise<void>;
}

export interface OnceDeps {
  readonly log: Log;
  readonly clock: Clock;
  /** Once it aborts, nothing more is sent, and what was reserved is released. */
  readonly signal: AbortSignal;
  readonly concurrency?: number;
}

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
    const { log, clock } = this.deps;
    const items = this.steps.prepare ? await this.steps.prepare(batch) : batch;
    if (items.length === 0) return [];
    // The lease begins before anybody can see the reservation.
    const elapsed = startStopwatch(clock);
    const reserved = items.map(({ data, seen }) =>
      this.newRecord('reserved', { key: this.kind.keyOf(data), data, seen, leaseMs: LEASE_MS }),
    );
    await log.append(reserved);
    const after = standings(await log.read(), this.kind);
    const running = items.map((item, index) => {
      const { objects, open } = standingOf(after, this.kind.keyOf(item.data));
      const isRival = ({ id }: { readonly id: string }): boolean => !item.replaces?.includes(id);
      const rivals = open.filter(isRival);
      const mine = rivals.find(({ id }) => id === reserved[index]?.id);
      if (!mine) throw new LocalError(`A record that was just written is not in the state: ${log.label}`);
      return { item, mine, isOwner: rivals[0] === mine && !objects.some(isRival) };
    });
    // Wait for all of them, so that each request that was sent has its record.
    const ended = await Promise.allSettled(
      running.map(({ item, mine, isOwner }) => (isOwner ? this.create(item, mine, elapsed) : this.giveUp(item, mine))),
    );
    return ended.flatMap((each) => {
      if (each.status === 'rejected') throw each.reason;
      return each.value ?? [];
    });
  }

  private async giveUp(item: Each, { key, id }: Reservation<Data>): Promise<undefined> {
    // Else it would block the key after the owner has finished. If this fails, `cron reconcile` ends it.
    await this.record('released', { key, of: id }).catch(() => undefined);
    await this.steps.settled(item, { kind: 'taken' });
  }

  /** Sends the request, and records its outcome. @returns the item if nothing was sent in time */
  private async create(item: Each, mine: Reservation<Data>, elapsed: () => number): Promise<Each | undefined> {
    const { key, id } = mine;
    const sent = await this.limit(() => this.send(item, mine, elapsed));
    if (sent === 'late') {
      await this.record('released', { key, of: id });
      return item;
    }
    if (sent.kind === 'created') {
      const of = item.replaces?.length ? [id, ...item.replaces] : id;
      const recording = this.record('created', { key, of, object: sent.id, data: item.data });
      const result = await recording.then(
        () => sent,
        (unrecorded: unknown) => ({ ...sent, unrecorded }),
      );
      await this.steps.settled(item, result);
    } else {
      // If this fails, the reservation stays open, and blocks the key.
      const what = sent.kind === 'failed' ? 'released' : 'unknown';
      await this.record(what, { key, of: id }).catch(() => undefined);
      await this.steps.settled(item, sent);
    }
    return undefined;
  }

  /** @returns `late` if nothing was sent, because the lease or the run ended */
  private async send(
    item: Each,
    reservation: Reservation<Data>,
    elapsed: () => number,
  ): Promise<Exclude<Result<Data>, { kind: 'taken' }> | 'late'> {
    const { signal } = this.deps;
    let isHeldBack = false;
    const maySend = (): boolean => {
      isHeldBack ||= signal.aborted || elapsed() > PATIENCE_MS;
      return !isHeldBack;
    };
    if (!maySend()) return 'late';
    try {
      return { kind: 'created', id: await this.steps.act(item, { maySend, timeoutMs: REQUEST_MS }) };
    } catch (error) {
      if (!provesNothingDone(error))
        return { kind: 'unknown', error, reservation: { ...reservation, isUnknown: true } };
      return isHeldBack ? 'late' : { kind: 'failed', error };
    }
  }

  private newRecord(what: 'reserved' | 'created' | 'released' | 'unknown', fields: JsonObject) {
    return this.deps.log.newRecord(`${this.kind.type}.${what}`, fields);
  }

  private record(what: 'created' | 'released' | 'unknown', fields: JsonObject): Promise<void> {
    return this.deps.log.append([this.newRecord(what, fields)]);
  }
}

/**
 * Creates objects, each at most once, in batches: reserves the keys, reads the log back, sends the requests whose
 * reservation is the first of its key, and records the outcomes. Items must have different keys.
 * @throws LocalError if the state cannot be read or written before a request is sent, or if that takes too long; the
 *   reason of the signal. Nothing was sent for the items that are not settled then
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
    throw new LocalError(`Too much time passed, ${MAX_LATE} times, between reserving and sending.`, {
      why: `The state (${deps.log.label}) or the service is too slow, or the connection was lost each time.`,
      hint: 'Nothing was created. Run the command again later.',
    });
  }
}
