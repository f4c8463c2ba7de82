import { UsageError } from '../errors.ts';
import type { TailOptions } from './tail.ts';

const MIN_INTERVAL_MS = 100;
const DEFAULT_TAIL = 10;

/** The options of `chat tail` that say where to start and how to go on, as typed. */
export interface TypedTail {
  readonly session: readonly string[];
  readonly after?: string | undefined;
  readonly tail?: number | undefined;
  readonly fromStart?: boolean | undefined;
  readonly resume?: boolean | undefined;
  readonly follow: boolean;
  readonly interval?: number | undefined;
  readonly maxOutage?: number | undefined;
}

/** Checks --interval. @throws UsageError if it is too short */
export function checkInterval(interval: number | undefined): number | undefined {
  if (interval === undefined || interval >= MIN_INTERVAL_MS) return interval;
  throw new UsageError(`--interval must be ${MIN_INTERVAL_MS}ms or more.`);
}

function parseStart({ session, after, tail, fromStart, resume }: TypedTail): TailOptions['start'] {
  const starts = Object.entries({ after, tail, 'from-start': fromStart, resume }).filter(
    ([, value]) => value !== undefined,
  );
  if (starts.length > 1) throw new UsageError(`--${starts.map(([flag]) => flag).join(' and --')} cannot be combined.`);
  if (after !== undefined && new Set(session).size > 1) {
    throw new UsageError('--after names a message of one session, but several sessions are given.');
  }
  if (after !== undefined) return { from: 'after', message_id: after };
  if (fromStart) return { from: 'start' };
  return resume ? { from: 'place' } : { from: 'last', count: tail ?? DEFAULT_TAIL };
}

/** Reads the options of `chat tail`. @throws UsageError if they contradict each other */
export function parseTail(typed: TypedTail): TailOptions {
  const { follow, interval, maxOutage: maxOutageMs } = typed;
  return { start: parseStart(typed), once: !follow, intervalMs: checkInterval(interval), maxOutageMs };
}
