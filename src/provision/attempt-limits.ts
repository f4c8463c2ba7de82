import { backoffMs } from '../api/retry.ts';
import type { Clock } from '../clock.ts';
import { PartnerctlError, RateLimitError, ServiceError } from '../errors.ts';
import { unusableResponse } from './space-errors.ts';

/**
 * What failed in an attempt to apply a document: a read, a POST that was not carried out, or a POST whose response was lost
 * and that then turned out not to have been carried out.
 */
export type FailedStep = 'read' | 'post' | 'lost post';

const MAX_BACKOFF_MS = 4_000;
/** How many times a read is repeated after its own retries failed. */
const MAX_FAILED_READS = 2;

interface LimitDeps {
  readonly clock: Pick<Clock, 'now'>;
  readonly random: () => number;
  readonly retries: number;
}

/** Counts the failed attempts to apply one document. */
export class AttemptLimits {
  private readonly deps: LimitDeps;
  private lostPosts = 0;
  private failedReads = 0;
  private failures = 0;

  constructor(deps: LimitDeps) {
    this.deps = deps;
  }

  /** Counts a failure. @returns whether another attempt may succeed */
  mayRepeat(step: FailedStep, error: unknown): boolean {
    const { retries } = this.deps;
    if (step === 'lost post') {
      this.lostPosts += 1;
      return this.lostPosts <= retries && error instanceof PartnerctlError && unusableResponse(error) === undefined;
    }
    this.failures += 1;
    // Twice the retries: an attempt sends one POST at most, and needs a read before it.
    if (this.failures > 2 * retries) return false;
    if (error instanceof RateLimitError) return true;
    if (!(error instanceof ServiceError) || error.info.permanent === true) return false;
    // A POST is sent once, whereas a read has used up all of its retries.
    if (step === 'post') return true;
    this.failedReads += 1;
    return this.failedReads <= MAX_FAILED_READS;
  }

  /** Milliseconds to wait after a failure: at least Retry-After. */
  pauseMs(error: unknown): number {
    const { clock, random } = this.deps;
    const retryAt = error instanceof PartnerctlError ? error.info.retryAt : undefined;
    const requestedMs = retryAt === undefined ? 0 : Math.max(0, Date.parse(retryAt) - clock.now());
    return requestedMs + Math.min(MAX_BACKOFF_MS, backoffMs(this.failures, random()));
  }
}
