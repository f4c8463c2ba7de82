import pLimit, { type LimitFunction } from 'p-limit';
import type { JsonObject } from '../contract/json.ts';
import { LocalError, PartnerctlError, provesNothingDone, StateUnavailableError } from '../errors.ts';
import { type Clock, startStopwatch } from '../platform/clock.ts';
import { LEASE_MS, PATIENCE_MS, REQUEST_MS } from './lease.ts';
import type { Log } from './log.ts';
import { type OnceKind, type Reservation, type Standing, standingOf, standings } from './standing.ts';

/*
 * Creates objects at most once (design §6). The law: the first open reservation of a key owns the key. A run that dies at any
 * instruction leaves nothing, or a reservation that blocks its key until somebody looks.
 *
 * An owner sends nothing once less than the time of one request is left of its lease, which began before it reserved.
 */

/** Small enough that all are sent within a lease, large enough that a push to git is worth it. */
const BATCH = 50;
/** How many requests are sent at a time, unless a feature says otherwise. */
const CONCURRENCY = 4;
/** How often an item whose lease ended before it was sent is tried. */
const MAX_TRIES = 3;

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
  readonly signal: AbortSignal;
}

/** What became of an item. */
export type Result<Data> =
  /** `unrecorded`: why the id could not be recorded. The reservation then stays open, and blocks the key. */
  | { readonly kind: 'created'; readonly id: string; readonly unrecorded?: unknown }
  /** Another process owns the key, or has created the object. Nothing was sent. */
  | { readonly kind: 'lost'; readonly standing: Standing<Data> }
  /** The error proves that nothing was created. `unreleased`: why the reservation may still be there, and block the key. */
  | { readonly kind: 'failed'; readonly error: PartnerctlError; readonly unreleased?: unknown }
  /** The object may exist. The reservation blocks the key. */
  | { readonly kind: 'unknown'; readonly error: unknown; readonly reservation: Reservation<Data> };

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
  readonly tries: number;
  readonly reservation: Reservation<Data>;
}

type Queued<Data, Each extends Item<Data>> = Pick<Attempt<Data, Each>, 'item' | 'tries'>;

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

  /** @returns the items to try again */
  async createBatch(queued: readonly Queued<Data, Each>[]): Promise<readonly Queued<Data, Each>[]> {
    const { keyOf } = this.kind;
    const tries = new Map(queued.map(({ item, tries }) => [keyOf(item.data), tries]));
    const items = queued.map(({ item }) => item);
    const prepared = this.steps.prepare ? await this.steps.prepare(items) : items;
    if (prepared.length === 0) return [];
    // The lease begins before anybody can see the reservation.
    const elapsed = startStopwatch(this.deps.clock);
    const leftMs = (): number => LEASE_MS - elapsed();
    const attempts = prepared.map((item) => ({
      item,
      tries: tries.get(keyOf(item.data)) ?? 0,
      reservation: this.reservation(item),
    }));
    const after = await this.reserve(attempts);
    const mine = attempts.filter(({ item, reservation }) =>
      isOwner(reservation, standingOf(after, reservation.key), item.replaces),
    );
    const lost = attempts.filter((attempt) => !mine.includes(attempt));
    const settling = [
      this.lose(lost, after),
      ...mine.map(async (attempt) => {
        const result = await this.settle(attempt, leftMs);
        if (result) await this.steps.settled(attempt.item, result);
        return result ? undefined : { item: attempt.item, tries: attempt.tries + 1 };
      }),
    ];
    // Wait for all of them, so that each request that was sent has its record.
    const settled = await Promise.allSettled(settling);
    const failure = settled.find((each) => each.status === 'rejected');
    if (failure) throw failure.reason;
    return settled.flatMap((each) => (each.status === 'fulfilled' && each.value) || []);
  }

  private reservation({ data, seen }: Each): Reservation<Data> {
    const key = this.kind.keyOf(data);
    const { id, at, by } = this.deps.log.newRecord(`${this.kind.type}.reserved`, {});
    return { id, at, by, key, data, ...(seen && { seen }), leaseMs: LEASE_MS, isUnknown: false };
  }

  /** Reserves, and reads the log back. @throws LocalError, and nothing was sent. What it may have left is settled */
  private async reserve(attempts: readonly Attempt<Data, Each>[]): Promise<ReadonlyMap<string, Standing<Data>>> {
    const { log } = this.deps;
    try {
      await log.append(
        attempts.map(({ reservation: { isUnknown: _, ...fields } }) => ({
          type: `${this.kind.type}.reserved`,
          ...fields,
        })),
      );
      const after = standings(await log.read(), this.kind);
      const missing = attempts.find(
        ({ reservation: { key, id } }) => !standingOf(after, key).open.some((open) => open.id === id),
      );
      if (!missing) return after;
      throw new LocalError(`A record that was just written is not in the state: ${log.label}`, {
        hint: 'Nothing was sent. Is it restored from a backup, or a copy that lags behind? Check it: partnerctl state verify',
      });
    } catch (error) {
      await this.withdraw(attempts, error);
      throw error;
    }
  }

  /** Releases reservations that may be in the log. Settles as failed those that are left there, and block their keys. */
  private async withdraw(attempts: readonly Attempt<Data, Each>[], error: unknown): Promise<void> {
    // If the log cannot be reached, a release would fail as well.
    const failure = error instanceof StateUnavailableError ? { error } : await failureOf(this.release(attempts));
    if (!failure || !(error instanceof PartnerctlError)) return;
    const all = await this.deps.log.read().then(
      (records) => standings(records, this.kind),
      () => undefined,
    );
    for (const { item, reservation } of attempts) {
      const isLeft = !all || standingOf(all, reservation.key).open.some(({ id }) => id === reservation.id);
      if (isLeft) await this.steps.settled(item, { kind: 'failed', error, unreleased: failure.error });
    }
  }

  private async lose(
    lost: readonly Attempt<Data, Each>[],
    after: ReadonlyMap<string, Standing<Data>>,
  ): Promise<undefined> {
    if (lost.length === 0) return;
    // Else it would block the key after the owner has finished. If this fails, `cron reconcile` ends it.
    await this.release(lost).catch(() => undefined);
    for (const { item, reservation } of lost) {
      const others = without(standingOf(after, reservation.key), [reservation.id, ...(item.replaces ?? [])]);
      await this.steps.settled(item, { kind: 'lost', standing: others });
    }
  }

  /** @returns undefined if the lease or the run ended before the request was sent: the item is to be tried again */
  private async settle(attempt: Attempt<Data, Each>, leftMs: () => number): Promise<Result<Data> | undefined> {
    const { item, tries, reservation } = attempt;
    const sent = await this.limit(() => this.send(item, leftMs));
    if (sent.kind === 'created') {
      const of = item.replaces?.length ? [reservation.id, ...item.replaces] : reservation.id;
      const fields = { key: reservation.key, of, object: sent.id, data: item.data };
      const unrecorded = await failureOf(this.record('created', [fields]));
      return { ...sent, ...(unrecorded && { unrecorded: unrecorded.error }) };
    }
    if (sent.kind === 'unknown') {
      // If this fails, the reservation is open all the same.
      await failureOf(this.record('unknown', [{ key: reservation.key, of: reservation.id }]));
      return { ...sent, reservation: { ...reservation, isUnknown: true } };
    }
    const unreleased = await failureOf(this.release([attempt]));
    const isInterrupted = this.deps.signal.aborted;
    if (sent.kind === 'late' && !unreleased && (isInterrupted || tries + 1 < MAX_TRIES)) return undefined;
    const error = sent.kind === 'failed' ? sent.error : this.tooSlow();
    return { kind: 'failed', error, ...(unreleased && { unreleased: unreleased.error }) };
  }

  private async send(item: Each, leftMs: () => number): Promise<Sent> {
    const { signal } = this.deps;
    let isHeldBack = false;
    const maySend = (): boolean => {
      isHeldBack ||= signal.aborted || leftMs() < REQUEST_MS;
      return !isHeldBack;
    };
    if (!maySend()) return { kind: 'late' };
    try {
      return { kind: 'created', id: await this.steps.act(item, { maySend, timeoutMs: REQUEST_MS, signal }) };
    } catch (error) {
      if (!provesNothingDone(error)) return { kind: 'unknown', error };
      return isHeldBack ? { kind: 'late' } : { kind: 'failed', error };
    }
  }

  private release(attempts: readonly Attempt<Data, Each>[]): Promise<void> {
    return this.record(
      'released',
      attempts.map(({ reservation: { key, id } }) => ({ key, of: id })),
    );
  }

  private record(what: 'created' | 'released' | 'unknown', records: readonly JsonObject[]): Promise<void> {
    const { log } = this.deps;
    return log.append(records.map((fields) => log.newRecord(`${this.kind.type}.${what}`, fields)));
  }

  private tooSlow(): LocalError {
    return new LocalError(`The state is too slow to create anything safely: ${this.deps.log.label}`, {
      why: `Between reserving and sending, ${PATIENCE_MS / 1000}s passed ${MAX_TRIES} times. Nothing was sent.`,
      hint: 'Run the command again when the state answers faster, with fewer at once.',
    });
  }
}

type Sent =
  | { readonly kind: 'created'; readonly id: string }
  | { readonly kind: 'failed'; readonly error: PartnerctlError }
  | { readonly kind: 'unknown'; readonly error: unknown }
  /** Nothing was sent: the lease ended, or the run was interrupted. */
  | { readonly kind: 'late' };

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

function without<Data>({ objects, open, live }: Standing<Data>, ids: readonly string[]): Standing<Data> {
  const isOther = ({ id }: { readonly id: string }): boolean => !ids.includes(id);
  return { objects: objects.filter(isOther), open: open.filter(isOther), live: live.filter((id) => !ids.includes(id)) };
}

function isOwner({ id }: Reservation<unknown>, standing: Standing<unknown>, replaces: readonly string[] = []): boolean {
  const { objects, open } = without(standing, replaces);
  return objects.length === 0 && open[0]?.id === id;
}

/**
 * Creates objects, each at most once, in batches: reserves the keys, reads the log back, sends the requests whose reservation
 * is the first of its key, and records the outcomes. Items must have different keys.
 * @throws LocalError if the state cannot be read or written before a batch is sent; the reason of the signal. The items of that
 *   batch and of later ones are not settled, and nothing was sent for them
 */
export async function createOnce<Data, Each extends Item<Data>>(
  deps: OnceDeps,
  kind: OnceKind<Data>,
  items: readonly Each[],
  steps: Steps<Data, Each>,
): Promise<void> {
  const run = new OnceRun(deps, kind, steps);
  const queue: Queued<Data, Each>[] = items.map((item) => ({ item, tries: 0 }));
  while (queue.length > 0) {
    deps.signal.throwIfAborted();
    queue.push(...(await run.createBatch(queue.splice(0, BATCH))));
  }
}
