import pLimit from 'p-limit';
import type { Clock } from '../clock.ts';
import type { Delivery } from './delivery.ts';
import type { Spool } from './spool.ts';
import { describeRefusal, isAccepted, isAcceptedStatus, type SendResult, type Target } from './target.ts';

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

const FIRST_DELAY_MS = 500;
const MAX_DELAY_MS = 30_000;

/**
 * Returns the delay before the next attempt, in milliseconds. It doubles with each attempt, up to 30 seconds.
 * @param attempt how many attempts have failed
 * @param random from 0 to 1; the jitter, up to half of the delay
 */
export function retryDelayMs(attempt: number, random: number): number {
  const longest = Math.min(MAX_DELAY_MS, FIRST_DELAY_MS * 2 ** (attempt - 1));
  return Math.round(longest * (1 - random / 2));
}

/** The HTTP status with which the target accepted the delivery on the first attempt; null if it did not. */
export type FirstAttempt = Promise<number | null>;

/** Forwards saved deliveries until the target has accepted each of them. */
export class Forwarding {
  private readonly deps: ForwardingDeps;
  private readonly limit = pLimit(CONCURRENCY);
  private readonly running = new Set<Promise<void>>();
  private readonly unaccepted = new Set<string>();

  constructor(deps: ForwardingDeps) {
    this.deps = deps;
  }

  /** How many deliveries the target has not accepted yet. */
  get pending(): number {
    return this.unaccepted.size;
  }

  /** Begins to forward a delivery that is on disk as pending. @param name as the spool names it */
  add(name: string): FirstAttempt {
    this.unaccepted.add(name);
    let onFirstAttempt = (_status: number | null): void => undefined;
    const first = new Promise<number | null>((resolve) => {
      onFirstAttempt = resolve;
    });
    const run: Promise<void> = this.forward(name, onFirstAttempt).finally(() => {
      onFirstAttempt(null);
      this.running.delete(run);
    });
    this.running.add(run);
    return first;
  }

  /** Sends a delivery once, for a sender that waits for the response. Records it if the target accepted it. */
  async sendOnce(name: string, delivery: Delivery): Promise<SendResult> {
    return this.limit(() => this.attempt(name, delivery));
  }

  /** Resolves when nothing is pending, or when forwarding has ended. */
  async whenIdle(): Promise<void> {
    while (this.running.size > 0) await Promise.all(this.running);
  }

  private async attempt(name: string, delivery: Delivery): Promise<SendResult> {
    const { spool, target, ended } = this.deps;
    let markError: unknown;
    const onStatus = (status: number): void => {
      if (!isAcceptedStatus(status)) return;
      try {
        spool.markAccepted(name);
      } catch (error) {
        markError = error;
      }
    };
    const result = await target.send(delivery, { signal: ended, onStatus });
    if (isAccepted(result)) await this.record(name, delivery, result.response.status, markError);
    return result;
  }

  /**
   * Records that the target accepted a delivery. A failure is only a warning: an error would send the delivery again.
   * @param markError why it could not be marked as accepted
   */
  private async record(name: string, delivery: Delivery, status: number, markError: unknown): Promise<void> {
    const { spool, clock, warn } = this.deps;
    try {
      if (markError !== undefined) throw markError;
      await spool.markForwarded(name, delivery, { at: new Date(clock.now()).toISOString(), status });
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      const next = markError === undefined ? '' : ' The next run forwards it again.';
      await warn(`Delivery ${delivery.delivery_id} was forwarded, but that could not be recorded: ${reason}.${next}`);
    }
  }

  /** Reads the delivery from disk for each attempt, so that waiting deliveries hold no memory. */
  private async attemptSaved(name: string): Promise<{ id: string; result: SendResult } | undefined> {
    const { stopping, spool, mustVerify, warn } = this.deps;
    if (stopping.aborted) return undefined;
    const delivery = await spool.readPending(name);
    const { delivery_id: id, verification } = delivery;
    if (!mustVerify || verification === 'verified') return { id, result: await this.attempt(name, delivery) };
    this.unaccepted.delete(name);
    const state = `Delivery ${id} of an earlier run is not forwarded: it is ${verification}.`;
    await warn(`${state} Run without --verify once to forward it.`);
    return undefined;
  }

  private async forward(name: string, onFirstAttempt: (status: number | null) => void): Promise<void> {
    const { clock, random, stopping, warn, notice } = this.deps;
    for (let attempt = 1; !stopping.aborted; attempt += 1) {
      try {
        const attempted = await this.limit(() => this.attemptSaved(name));
        if (!attempted) return;
        const { id, result } = attempted;
        if (isAccepted(result)) {
          this.unaccepted.delete(name);
          onFirstAttempt(result.response.status);
          if (attempt > 1) await notice(`Delivery ${id} was forwarded on attempt ${attempt}.`);
          return;
        }
        if (attempt === 1 && !stopping.aborted) {
          await warn(`Delivery ${id} was not forwarded: ${describeRefusal(result)}. Trying again.`);
        }
      } catch (error) {
        const reason = error instanceof Error ? error.message : String(error);
        await warn(`A delivery cannot be forwarded: ${reason}`);
        return;
      }
      onFirstAttempt(null);
      await clock.sleep(retryDelayMs(attempt, random()), stopping).catch(() => undefined);
    }
  }
}
