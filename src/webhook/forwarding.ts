import pLimit from 'p-limit';
import type { Clock } from '../clock.ts';
import type { Delivery } from './delivery.ts';
import type { Spool } from './spool.ts';
import { describeRefusal, isTaken, isTakenBy, type SendResult, type Target } from './target.ts';

export interface ForwardingDeps {
  readonly spool: Spool;
  readonly target: Target;
  readonly clock: Clock;
  readonly random: () => number;
  /** Whether only verified deliveries are forwarded. */
  readonly mustVerify: boolean;
  /** Aborts when no further attempt may begin. */
  readonly stopping: AbortSignal;
  /** Aborts when running attempts must end. */
  readonly ended: AbortSignal;
  warn(text: string): Promise<void>;
  notice(text: string): Promise<void>;
}

const CONCURRENCY = 8;

/** The pauses between attempts double from the first to the longest. In milliseconds. */
const FIRST_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 30_000;

/**
 * Returns the pause before the next attempt, in milliseconds.
 * @param attempt how many have failed
 * @param random from 0 to 1; decides half of the pause
 */
export function pauseBefore(attempt: number, random: number): number {
  const longest = Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** (attempt - 1));
  return Math.round(longest * (1 - random / 2));
}

/** How a first attempt ended: the HTTP status of a target that took the delivery; null otherwise. */
export type FirstAttempt = Promise<number | null>;

/** Forwards saved deliveries until the target has taken each of them. */
export class Forwarding {
  private readonly deps: ForwardingDeps;
  private readonly limit = pLimit(CONCURRENCY);
  private readonly running = new Set<Promise<void>>();
  private readonly untaken = new Set<string>();

  constructor(deps: ForwardingDeps) {
    this.deps = deps;
  }

  /** How many deliveries the target has not taken yet. */
  get pending(): number {
    return this.untaken.size;
  }

  /** Begins to forward a delivery that is on disk as pending. @param name as the spool names it */
  add(name: string): FirstAttempt {
    this.untaken.add(name);
    let tell = (_status: number | null): void => undefined;
    const first = new Promise<number | null>((resolve) => {
      tell = resolve;
    });
    const run: Promise<void> = this.forward(name, tell).finally(() => {
      tell(null);
      this.running.delete(run);
    });
    this.running.add(run);
    return first;
  }

  /** Sends a delivery once, for a sender that waits for the answer. Records it if the target took it. */
  async sendOnce(name: string, delivery: Delivery): Promise<SendResult> {
    return this.limit(() => this.attempt(name, delivery));
  }

  /** Resolves when nothing is pending, or when forwarding has ended. */
  async settled(): Promise<void> {
    while (this.running.size > 0) await Promise.all(this.running);
  }

  private async attempt(name: string, delivery: Delivery): Promise<SendResult> {
    const { spool, target, ended } = this.deps;
    let problem: unknown;
    const onStatus = (status: number): void => {
      if (!isTakenBy(status)) return;
      try {
        spool.markTaken(name);
      } catch (error) {
        problem = error;
      }
    };
    const result = await target.send(delivery, { signal: ended, onStatus });
    if (isTaken(result)) await this.record(name, delivery, result.answer.status, problem);
    return result;
  }

  /**
   * Records that the target took a delivery. A failure is only a warning: an error would send the delivery again.
   * @param problem the error of marking it as taken, if that failed
   */
  private async record(name: string, delivery: Delivery, status: number, problem: unknown): Promise<void> {
    const { spool, clock, warn } = this.deps;
    try {
      if (problem !== undefined) throw problem;
      await spool.markForwarded(name, delivery, { at: new Date(clock.now()).toISOString(), status });
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      const next = problem === undefined ? '' : ' The next run forwards it again.';
      await warn(`Delivery ${delivery.delivery_id} was forwarded, but that could not be recorded: ${reason}.${next}`);
    }
  }

  /** Reads the bytes for each attempt again, so that waiting deliveries hold no memory. */
  private async attemptSaved(name: string): Promise<{ id: string; result: SendResult } | undefined> {
    const { stopping, spool, mustVerify, warn } = this.deps;
    if (stopping.aborted) return undefined;
    const delivery = await spool.readPending(name);
    const { delivery_id: id, verification } = delivery;
    if (!mustVerify || verification === 'verified') return { id, result: await this.attempt(name, delivery) };
    this.untaken.delete(name);
    const state = `Delivery ${id} of an earlier run is not forwarded: it is ${verification}.`;
    await warn(`${state} Run without --verify once to forward it.`);
    return undefined;
  }

  private async forward(name: string, tell: (status: number | null) => void): Promise<void> {
    const { clock, random, stopping, warn, notice } = this.deps;
    for (let attempt = 1; !stopping.aborted; attempt += 1) {
      try {
        const made = await this.limit(() => this.attemptSaved(name));
        if (!made) return;
        const { id, result } = made;
        if (isTaken(result)) {
          this.untaken.delete(name);
          tell(result.answer.status);
          if (attempt > 1) await notice(`Delivery ${id} was forwarded on attempt ${attempt}.`);
          return;
        }
        if (attempt === 1 && !stopping.aborted) {
          await warn(`Delivery ${id} was not forwarded: ${describeRefusal(result)}. It is tried again.`);
        }
      } catch (error) {
        const reason = error instanceof Error ? error.message : String(error);
        await warn(`A delivery cannot be forwarded: ${reason}`);
        return;
      }
      tell(null);
      await clock.sleep(pauseBefore(attempt, random()), stopping).catch(() => undefined);
    }
  }
}
