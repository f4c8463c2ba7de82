import pLimit from 'p-limit';
import { LocalError, PartnerctlError, ServiceError, stopsRun } from '../errors.ts';
import { type ObserverDeps, waitOutLeases } from './lease.ts';
import { CONCURRENCY, type Creation, createOnce, type OnceDeps, type Result, type SendOptions } from './once.ts';
import type { OnceKind, Reservation, Standings } from './standing.ts';

/* The one loop of jobs and of uploads. A feature judges, sends, and finds what was lost; it does not loop. */

/** How many batches in a row may miss their leases entirely. */
const MAX_LATE = 3;

/** What a feature says about what is wanted. What it does not mention is judged again. */
export interface Verdict<Wanted, Data, Outcome> {
  readonly settled: readonly (readonly [Wanted, Outcome])[];
  /** The reservations of others, whose end decides. */
  readonly wait: readonly Reservation<Data>[];
  readonly create: readonly Creation<Wanted, Data>[];
}

/** A request whose response was lost, or has no id. */
export interface Lost<Wanted, Data> {
  readonly wanted: Wanted;
  readonly error: unknown;
  readonly reservation: Reservation<Data>;
}

export interface Feature<Wanted, Data, Outcome> {
  readonly kind: OnceKind<Data>;
  /** Decides by the log and by what it reads at the service. @param read reads the log again */
  judge(
    wanted: readonly Wanted[],
    standings: Standings<Data>,
    read: () => Promise<Standings<Data>>,
  ): Promise<Verdict<Wanted, Data, Outcome>>;
  /** Sends the request once. @returns the new id @throws what `provesNothingDone`, or leaves the outcome unknown */
  post(wanted: Wanted, options: SendOptions): Promise<string>;
  /** Whether sending takes so long that it is reserved alone. */
  isLarge(wanted: Wanted): boolean;
  /** Looks for all that a batch lost at once. @returns the outcome of each; undefined for what is not found */
  find(lost: readonly Lost<Wanted, Data>[]): Promise<readonly (Outcome | undefined)[]>;
  toOutcome(
    wanted: Wanted,
    result:
      | Exclude<Result<Data>, { readonly kind: 'unknown' | 'taken' | 'late' }>
      | (Lost<Wanted, Data> & { kind: 'unknown' }),
  ): Outcome;
  /** The outcome of what was not sent, because the run ended. @param isTold whether another outcome has the error */
  notSent(wanted: Wanted, error: PartnerctlError, isTold: boolean): Outcome;
}

export type EnsureDeps = OnceDeps & ObserverDeps;

function* chunks<Item>(items: readonly Item[], size: number): Generator<readonly Item[]> {
  for (let from = 0; from < items.length; from += size) yield items.slice(from, from + size);
}

/** The error of what is not sent into an outage. */
class OutageError extends ServiceError {}

function outageError({ error }: Lost<unknown, unknown>, count: number): OutageError {
  const why =
    error instanceof PartnerctlError ? [error.message, error.info.why].filter(Boolean).join('\n') : String(error);
  return new OutageError(`Not sent: the last ${count} requests in a row got no usable response.`, {
    why,
    hint: 'Run it again when the service answers.',
  });
}

class EnsureRun<Wanted, Data, Outcome> {
  private readonly deps: EnsureDeps;
  private readonly feature: Feature<Wanted, Data, Outcome>;
  private readonly emit: (wanted: Wanted, outcome: Outcome) => void;
  private readonly left: Set<Wanted>;
  private readonly read: () => Promise<Standings<Data>>;
  /** Aborts with an error that every further request would get. */
  private readonly stop = new AbortController();
  private readonly signal: AbortSignal;
  private isTold = false;
  /** How many batches in a row were late, and how many requests in a row were lost. */
  private streak = { late: 0, lost: 0 };

  constructor(
    deps: EnsureDeps,
    feature: Feature<Wanted, Data, Outcome>,
    wanted: readonly Wanted[],
    emit: EnsureRun<Wanted, Data, Outcome>['emit'],
  ) {
    this.deps = deps;
    this.feature = feature;
    this.emit = emit;
    this.left = new Set(wanted);
    this.read = deps.log.follow(feature.kind);
    this.signal = AbortSignal.any([deps.signal, this.stop.signal]);
  }

  async run(): Promise<void> {
    let standings = await this.read();
    try {
      while (this.left.size > 0) {
        const { wait, create } = await this.judge([...this.left], standings);
        const later = await this.createAll(create, standings);
        const ids = new Set([...wait, ...later].map(({ id }) => id));
        await waitOutLeases({ ...this.deps, signal: this.signal }, this.feature.kind, ids, { skipUnknown: true });
        if (this.left.size > 0) standings = await this.read();
      }
    } catch (error) {
      if (!(error instanceof PartnerctlError)) throw error;
      for (const each of this.left) {
        this.settle(each, this.feature.notSent(each, error, this.isTold));
        this.isTold ||= !(error instanceof OutageError);
      }
    }
  }

  private settle(wanted: Wanted, outcome: Outcome): void {
    this.left.delete(wanted);
    this.emit(wanted, outcome);
  }

  private async judge(wanted: readonly Wanted[], standings: Standings<Data>): Promise<Verdict<Wanted, Data, Outcome>> {
    const verdict = await this.feature.judge(wanted, standings, this.read);
    for (const [each, outcome] of verdict.settled) this.settle(each, outcome);
    return verdict;
  }

  /** @returns what to wait for in the end */
  private async createAll(
    creations: readonly Creation<Wanted, Data>[],
    standings: Standings<Data>,
  ): Promise<readonly Reservation<Data>[]> {
    const { log, concurrency = CONCURRENCY } = this.deps;
    const isLarge = ({ wanted }: Creation<Wanted, Data>) => this.feature.isLarge(wanted);
    const wait: Reservation<Data>[] = [];
    const small = creations.filter((each) => !isLarge(each));
    let isJudged = true;
    for (const batch of chunks(small, Math.max(log.batch, concurrency))) {
      const wanted = batch.map((each) => each.wanted);
      // The list is older by the time that the batches before this one took.
      const verdict = isJudged ? { wait: [], create: batch } : await this.judge(wanted, standings);
      isJudged = false;
      for (const each of verdict.wait) wait.push(each);
      await this.createBatch(verdict.create, verdict.create.length);
    }
    const limit = pLimit(concurrency);
    const ended = await Promise.allSettled(
      creations.filter(isLarge).map((each) => limit(() => this.createBatch([each], concurrency))),
    );
    for (const each of ended) if (each.status === 'rejected') throw each.reason;
    return wait;
  }

  /** @param atOnce how many are sent at once: if as many in a row are lost, the service is not there */
  private async createBatch(creations: readonly Creation<Wanted, Data>[], atOnce: number): Promise<void> {
    if (creations.length === 0) return;
    const { deps, feature, signal } = this;
    signal.throwIfAborted();
    const lost: Lost<Wanted, Data>[] = [];
    let [late, answered] = [0, 0];
    await createOnce({ ...deps, signal }, creations, {
      kind: feature.kind,
      read: this.read,
      post: (wanted, options) => this.post(wanted, options),
      onResult: ({ wanted }, result) => {
        if (result.kind === 'late') late += 1;
        else if (result.kind === 'unknown') lost.push({ wanted, ...result });
        else if (result.kind !== 'taken') {
          if (!(result.kind === 'failed' && result.error instanceof ServiceError)) answered += 1;
          this.settle(wanted, feature.toOutcome(wanted, result));
        }
      },
    });
    const found = lost.length > 0 ? await feature.find(lost) : [];
    const missing = lost.filter((_, index) => found[index] === undefined);
    for (const [index, each] of lost.entries()) {
      this.settle(each.wanted, found[index] ?? feature.toOutcome(each.wanted, { kind: 'unknown', ...each }));
    }
    this.streak.late = late === creations.length ? this.streak.late + 1 : 0;
    this.streak.lost = answered > 0 || missing.length < lost.length ? 0 : this.streak.lost + missing.length;
    const [last] = missing;
    if (last && this.streak.lost >= Math.max(2, atOnce)) this.end(outageError(last, this.streak.lost));
    if (this.streak.late >= MAX_LATE && !signal.aborted) this.end(tooLateError(deps.log.label));
  }

  private async post(wanted: Wanted, options: SendOptions): Promise<string> {
    try {
      return await this.feature.post(wanted, options);
    } catch (error) {
      // Before the release is recorded: that may take a second, in which others would be sent.
      if (stopsRun(error) && !this.stop.signal.aborted) {
        this.isTold = true;
        this.stop.abort(error);
      }
      throw error;
    }
  }

  private end(error: PartnerctlError): never {
    this.stop.abort(error);
    throw error;
  }
}

function tooLateError(label: string): LocalError {
  return new LocalError(`Too much time passed, ${MAX_LATE} times, between reserving and sending.`, {
    why: `The state (${label}) or the service is too slow, or the connection was lost each time.`,
    hint: 'Nothing was created. Run the command again later.',
  });
}

/**
 * Creates what is wanted and does not exist, each at most once: judges, creates in batches, finds what was lost, and
 * waits for others. Tells the outcome of each as soon as it is recorded. Keys must differ.
 * @throws LocalError if the state cannot be read, and nothing was sent
 */
export async function ensureOnce<Wanted, Data, Outcome>(
  deps: EnsureDeps,
  feature: Feature<Wanted, Data, Outcome>,
  wanted: readonly Wanted[],
  emit: (wanted: Wanted, outcome: Outcome) => void,
): Promise<void> {
  await new EnsureRun(deps, feature, wanted, emit).run();
}
