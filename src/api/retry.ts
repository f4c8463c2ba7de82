import type { Safety } from '../contract/operations.ts';
import type { HttpResponse, TransportFailure } from './transport.ts';

const BACKOFF_BASE_MS = 500;
const BACKOFF_CAP_MS = 20_000;
/** Caps Retry-After: a longer wait is effectively a refusal, and could exceed the range of dates. */
const LONGEST_WAIT_MS = 365 * 24 * 3_600_000;

export interface RetryQuestion {
  readonly safety: Safety;
  /** The number of attempts so far, including this one. */
  readonly attempt: number;
  readonly retries: number;
  /** The least wait that the service asks for. */
  readonly retryAfterMs: number | undefined;
  /** Milliseconds until the deadline. */
  readonly timeLeftMs: number;
  /** In [0, 1). */
  readonly random: number;
}

type AttemptResult =
  | Pick<HttpResponse, 'kind' | 'status' | 'sent'>
  | Pick<TransportFailure, 'kind' | 'sent' | 'isTransient'>;

/** Whether another attempt may get another status: any failure of the service but the two that say what it cannot do. */
function isTransientStatus(status: number): boolean {
  return status === 408 || status === 429 || (status >= 500 && status < 600 && status !== 501 && status !== 505);
}

/** Returns the wait before the next attempt in milliseconds: exponential backoff with full jitter. */
export function backoffMs(attempt: number, random: number): number {
  return random * Math.min(BACKOFF_CAP_MS, BACKOFF_BASE_MS * 2 ** (attempt - 1));
}

/**
 * Decides whether to make another attempt, and after what delay (spec §4.6, §7). A `once` call is retried only if part of
 * its request provably stayed on this machine. Retry-After is a minimum; if it exceeds the time left, the call ends.
 * @returns the delay in milliseconds, or why there is no other attempt
 */
export function decideRetry(result: AttemptResult, question: RetryQuestion): number | 'final' | 'out of time' {
  const { safety, attempt, retries, retryAfterMs = 0, timeLeftMs, random } = question;
  const isTransient = result.kind === 'response' ? isTransientStatus(result.status) : result.isTransient;
  if (!isTransient || (safety === 'once' && result.sent === 'all')) return 'final';
  if (retryAfterMs > timeLeftMs) return 'out of time';
  if (attempt > retries) return 'final';
  const jitter = backoffMs(attempt, random);
  if (retryAfterMs === 0 && jitter > timeLeftMs) return 'out of time';
  // Add the jitter to Retry-After, so that calls that failed together do not all retry in the same millisecond.
  return Math.min(retryAfterMs + jitter, timeLeftMs);
}

/**
 * Reads how long a response asks to wait: `retry-after-ms`, or Retry-After in seconds or as a date, which counts from the
 * response's own Date, because the clocks may differ.
 * @returns milliseconds; undefined if nothing readable is there
 */
export function retryAfterOf(headers: Readonly<Record<string, string>>, now: number): number | undefined {
  const { 'retry-after-ms': exact = '', 'retry-after': text = '', date = '' } = headers;
  // Date.parse alone would accept almost any text with a number.
  const dateOf = (header: string): number => (/ GMT$/.test(header) ? Date.parse(header) : Number.NaN);
  const isNumber = (header: string): boolean => /^\d+(\.\d+)?$/.test(header);
  const untilDate = dateOf(text) - (dateOf(date) || now);
  const ms = isNumber(exact) ? Number(exact) : isNumber(text) ? Number(text) * 1000 : untilDate;
  return Number.isNaN(ms) ? undefined : Math.min(LONGEST_WAIT_MS, Math.max(0, Math.ceil(ms)));
}
