import type { Safety } from '../contract/operations.ts';

export const BACKOFF_BASE_MS = 500;
export const BACKOFF_CAP_MS = 20_000;
export const DEFAULT_RETRIES = 3;
/** More is no wait but a refusal, and its end would be no date. */
const LONGEST_WAIT_MS = 365 * 24 * 3_600_000;

/** What one attempt ended with, as far as a repeat depends on it. */
export type AttemptOutcome =
  | {
      readonly kind: 'response';
      readonly status: number;
      readonly retryAfterMs?: number;
      /** Whether it came before all of the request was sent. */
      readonly early?: boolean;
    }
  | {
      readonly kind: 'failure';
      /** Whether any of the request may have left this machine. */
      readonly left: boolean;
      /** False for what a repeat cannot mend, a certificate that is not trusted for one. */
      readonly transient: boolean;
    };

export interface RetryQuestion {
  readonly safety: Safety;
  /** The attempts made so far, this one included. */
  readonly attempt: number;
  readonly retries: number;
  readonly outcome: AttemptOutcome;
  /** Milliseconds until the deadline. */
  readonly timeLeftMs: number;
  /** In [0, 1). */
  readonly random: number;
}

export type RetryDecision =
  | { readonly retry: true; readonly delayMs: number }
  /** `final`: a repeat is not allowed or pointless; `exhausted`: no attempts left; `deadline`: no time left. */
  | { readonly retry: false; readonly why: 'final' | 'exhausted' | 'deadline' };

const RETRIED_STATUSES = new Set([408, 429, 500, 502, 503, 504]);

/** Full jitter: anything up to the exponential step, so that many callers spread out. */
export function backoffMs(attempt: number, random: number): number {
  return random * Math.min(BACKOFF_CAP_MS, BACKOFF_BASE_MS * 2 ** (attempt - 1));
}

function mayRepeat(safety: Safety, outcome: AttemptOutcome): boolean {
  if (outcome.kind === 'response')
    return (safety !== 'once' || outcome.early === true) && RETRIED_STATUSES.has(outcome.status);
  return outcome.transient && (safety !== 'once' || !outcome.left);
}

/**
 * Whether an attempt is followed by another, and after how long. Pure (spec §4.6, §7).
 * A `once` call is repeated only when its request never left this machine, or not all of it did; an answer to the whole
 * of it ends it, a 429 too.
 * Retry-After is a floor; when it passes the deadline there is no point in waiting.
 */
export function decideRetry(question: RetryQuestion): RetryDecision {
  const { safety, attempt, retries, outcome, timeLeftMs, random } = question;
  if (!mayRepeat(safety, outcome)) return { retry: false, why: 'final' };
  const floor = outcome.kind === 'response' ? (outcome.retryAfterMs ?? 0) : 0;
  if (floor > timeLeftMs) return { retry: false, why: 'deadline' };
  if (attempt > retries) return { retry: false, why: 'exhausted' };
  const jitter = backoffMs(attempt, random);
  if (floor === 0 && jitter > timeLeftMs) return { retry: false, why: 'deadline' };
  // The jitter goes on top: callers that were held back together must not come back in the same millisecond.
  return { retry: true, delayMs: Math.min(floor + jitter, timeLeftMs) };
}

/**
 * A Retry-After header in milliseconds: whole seconds, or a date that is read against the response's own Date header,
 * so that a wrong clock on either side does no harm.
 * @param now milliseconds since the epoch, used where the response carries no Date
 * @returns undefined when the header is absent or unreadable
 */
export function parseRetryAfter(header: string | undefined, date: string | undefined, now: number): number | undefined {
  if (header === undefined) return undefined;
  if (/^\s*\d+(\.\d+)?\s*$/.test(header)) return Math.min(LONGEST_WAIT_MS, Math.ceil(Number(header) * 1000));
  const until = parseDate(header);
  if (until === undefined) return undefined;
  return Math.min(LONGEST_WAIT_MS, Math.max(0, until - (parseDate(date) ?? now)));
}

/** The forms of HTTP (RFC 9110 §5.6.7) and ISO 8601. Date.parse alone makes a date of almost any text with a number. */
function parseDate(text: string | undefined): number | undefined {
  const trimmed = text?.trim() ?? '';
  const asctime = /^\w{3} \w{3} [ \d]\d \d\d:\d\d:\d\d \d{4}$/.test(trimmed);
  const known =
    asctime || /^\w{3,9}, \d\d[ -]\w{3}[ -]\d{2,4} .*GMT$/.test(trimmed) || /^\d{4}-\d\d-\d\dT/.test(trimmed);
  const ms = known ? Date.parse(asctime ? `${trimmed} GMT` : trimmed) : Number.NaN;
  return Number.isNaN(ms) ? undefined : ms;
}

/**
 * The retry budget of the process: a long outage costs a bounded number of repeats, however many calls are under way.
 * Every repeat takes one, every success gives one back.
 */
export class RetryBudget {
  private left: number;
  private readonly size: number;

  constructor(size = 100) {
    this.size = size;
    this.left = size;
  }

  /** Takes one repeat out of the budget; false when it is spent. */
  take(): boolean {
    if (this.left === 0) return false;
    this.left -= 1;
    return true;
  }

  giveBack(): void {
    this.left = Math.min(this.size, this.left + 1);
  }
}
