import pLimit from 'p-limit';
import { LocalError, PartnerctlError, ServiceError, stopsRun } from '../errors.ts';
import { waitOutLeases } from './lease.ts';
import {
  CONCURRENCY,
  type Creation,
  type Lost,
  type OnceDeps,
  type Result,
  reserveAndSend,
  type Sender,
  type SendOptions,
} from './reserve-and-send.ts';
import type { Reservation, Standings } from './standing.ts';

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

/** `unsent`: the run ended before. `isTold`: another outcome has the error. */
export type Ending<Data> =
  | Exclude<Result<Data>, { readonly kind: 'taken' | 'late' }>
  | { readonly kind: 'unsent'; readonly error: PartnerctlError; readonly isTold: boolean };

export interface Feature<Wanted, Data, Outcome> extends Sender<Wanted, Data> {
  /** Decides by the log and by what it reads at the service. @param read reads the log again */
  judge(
    wanted: readonly Wanted[],
    standings: Standings<Data>,
    read: () => Promise<Standings<Data>>,
  ): Promise<Verdict<Wanted, Data, Outcome>>;
  /** Whether sending takes so long that it is reserved alone. */
  isLarge?(wanted: Wanted): boolean;
  /** Looks for all that a batch lost at once. @returns the outcomes of what is found */
  find?(lost: readonly Lost<Data>[]): Promise<ReadonlyMap<Lost<Data>, Outcome>>;
  toOutcome(wanted: Wanted, ending: Ending<Data>): Outcome;
}

function* chunks<Item>(items: readonly Item[], size: number): Generator<readonly Item[]> {
  for (let from = 0; from < items.length; from += size) yield items.slice(from, from + size);
}

/** The error of what is not sent into an outage. */
class OutageError extends ServiceError {}

function outageError(error: unknown, count: number): OutageError {
  const why =
    error instanceof PartnerctlError ? [error.message, error.info.why].filter(Boolean).join('\n') : String(error);
  return new OutageError(`Not sent: the last ${count} requests in a row got no usable response.`, {
    why,
    hint: 'Run it again when the service answers.',
  });
}

function tooLateError(label: string): LocalError {
  return new LocalError(`Too much time passed, ${MAX_LATE} times, between reserving and sending.`, {
    why: `The state (${label}) or the service is too slow, or the connection was lost each time.`,
    hint: 'Nothing was created. Run the command again later.',
  });
}

class EnsureRun<Wanted, Data, Outcome> {
  private readonly deps: OnceDeps;
  private readonly feature: Feature<Wanted, Data, Outcome>;
  private readonly emit: (wanted: Wanted, outcome: Outcome) => void;
  private readonly left: Set<Wanted>;
  private readonly read: () => Promise<Standings<Data>>;
  /** Aborts with an error that every further request would get. */
  private readonly stop = new AbortController();
  private isTold = false;
  /** How many batches in a row were late, and how many requests in a row were lost. */
  private streak = { late: 0, lost: 0 };

  constructor(
    deps: OnceDeps,
    feature: Feature<Wanted, Data, Outcome>,
    wanted: readonly Wanted[],
    emit: EnsureRun<Wanted, Data, Outcome>['emit'],
  ) {
    this.deps = { ...deps, signal: AbortSignal.any([deps.signal, this.stop.signal]) };
    this.feature = feature;
    this.emit = emit;
    this.left = new Set(wanted);
    this.read = deps.log.follow(feature.kind);
  }

  async run(): Promise<void> {
    let standings = await this.read();
    try {
      while (this.left.size > 0) {
        const { wait, create } = await this.judge([...this.left], standings);
        const later = await this.createAll(create, standings);
        const ids = new Set([...wait, ...later].map(({ id }) => id));
        await waitOutLeases(this.deps, this.feature.kind, ids, { skipUnknown: true });
        if (this.left.size > 0) standings = await this.read();
      }
    } catch (error) {
      if (!(error instanceof PartnerctlError)) throw error;
      for (const each of this.left) {
        this.settle(each, this.feature.toOutcome(each, { kind: 'unsent', error, isTold: this.isTold }));
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
    const isLarge = ({ wanted }: Creation<Wanted, Data>) => this.feature.isLarge?.(wanted) === true;
    const later: Reservation<Data>[] = [];
    const small = creations.filter((each) => !isLarge(each)).map(({ wanted }) => wanted);
    for (const batch of chunks(small, Math.max(log.batch, concurrency))) {
      // The list is older by the time that the batches before this one took.
      const { wait, create } = await this.judge(batch, standings);
      for (const each of wait) later.push(each);
      await this.createBatch(create, Math.min(create.length, concurrency));
    }
    const limit = pLimit(concurrency);
    const running = creations.filter(isLarge).map((each) => limit(() => this.createBatch([each], concurrency)));
    await Promise.allSettled(running);
    await Promise.all(running);
    return later;
  }

  /** @param atOnce how many are sent at once: if as many in a row are lost, the service is not there */
  private async createBatch(creations: readonly Creation<Wanted, Data>[], atOnce: number): Promise<void> {
    if (creations.length === 0) return;
    const { deps, feature, streak } = this;
    deps.signal.throwIfAborted();
    const lost = new Map<Lost<Data>, Wanted>();
    let [late, answered] = [0, 0];
    const post = (wanted: Wanted, options: SendOptions) => this.post(wanted, options);
    await reserveAndSend(deps, { kind: feature.kind, read: this.read, post }, creations, (wanted, result) => {
      if (result.kind === 'late') late += 1;
      else if (result.kind === 'unknown') lost.set(result, wanted);
      else if (result.kind !== 'taken') {
        if (!(result.kind === 'failed' && result.error instanceof ServiceError)) answered += 1;
        this.settle(wanted, feature.toOutcome(wanted, result));
      }
    });
    const found = lost.size > 0 ? await feature.find?.([...lost.keys()]) : undefined;
    for (const [each, wanted] of lost) this.settle(wanted, found?.get(each) ?? feature.toOutcome(wanted, each));
    streak.late = late === creations.length ? streak.late + 1 : 0;
    streak.lost = answered > 0 || found?.size ? 0 : streak.lost + lost.size;
    const [first] = lost.keys();
    if (first && streak.lost >= Math.max(2, atOnce)) this.end(outageError(first.error, streak.lost));
    if (streak.late >= MAX_LATE && !deps.signal.aborted) this.end(tooLateError(deps.log.label));
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

/**
 * Creates what is wanted and does not exist, each at most once: judges, creates in batches, finds what was lost, and
 * waits for others. Tells the outcome of each as soon as it is recorded. Keys must differ.
 * @throws LocalError if the state cannot be read, and nothing was sent
 */
export async function ensureOnce<Wanted, Data, Outcome>(
  deps: OnceDeps,
  feature: Feature<Wanted, Data, Outcome>,
  wanted: readonly Wanted[],
  emit: (wanted: Wanted, outcome: Outcome) => void,
): Promise<void> {
  await new EnsureRun(deps, feature, wanted, emit).run();
}
