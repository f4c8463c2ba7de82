import type { FollowOptions } from './follow-session.ts';

/** Reading what exists may not wait for ever. */
const READ_OUTAGE_MS = 30_000;

/**
 * How long failures may last. Following has no limit by default. If nothing else says how long an outage of a one-time read may
 * be, --retries does.
 */
export function readLimits(
  once: boolean,
  maxOutageMs: number | undefined,
  retries: number | undefined,
): Pick<FollowOptions, 'maxOutageMs' | 'maxRetries'> {
  if (!once || maxOutageMs !== undefined) return { maxOutageMs };
  return { maxOutageMs: READ_OUTAGE_MS, maxRetries: retries };
}
