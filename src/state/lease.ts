import type { Clock } from '../platform/clock.ts';
import type { Log } from './log.ts';
import type { OnceKind, Reservation } from './standing.ts';

/*
 * The observer's lease. No clock or process id of another process is trusted: before ending the reservation of
 * another process, watch it for as long as its owner may act on it.
 */

export const REQUEST_MS = 30_000;
/** How long an owner may take before it sends. */
export const PATIENCE_MS = 30_000;
/** How long an owner may act on its reservation. */
export const LEASE_MS = REQUEST_MS + PATIENCE_MS;
/** How long `waitOutLeases` waits before it reads the log again, at first and at most. */
const [FIRST_POLL_MS, MAX_POLL_MS] = [100, 2_000];

export interface ObserverDeps {
  readonly log: Log;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** Called once, before the first pause, with the milliseconds that the wait may take. */
  readonly onWait: (leftMs: number) => void;
}

/**
 * Waits until some reservations have ended, or until their owners can no longer send: this process has then watched
 * them for a whole lease, and records that their outcome is unknown, so that nobody has to watch them again.
 * @param ids of open reservations that this process has read
 * @param options `skipUnknown` whether not to wait for those whose outcome is recorded as unknown: nothing more is sent
 *   on their account, but the service may still list what was
 * @returns those that are still open
 * @throws LocalError; the reason of the signal
 */
export async function waitOutLeases<Data>(
  { log, clock, signal, onWait }: ObserverDeps,
  kind: OnceKind<Data>,
  ids: ReadonlySet<string>,
  { skipUnknown = false }: { readonly skipUnknown?: boolean } = {},
): Promise<readonly Reservation<Data>[]> {
  if (ids.size === 0) return [];
  const read = log.follow(kind);
  // Not the wall clock: set forward, it would shorten the wait.
  const start = clock.monotonic();
  for (let pollMs = FIRST_POLL_MS; ; pollMs = Math.min(1.5 * pollMs, MAX_POLL_MS)) {
    const elapsed = clock.monotonic() - start;
    const open = (await read()).open().filter(({ id }) => ids.has(id));
    const awaited = open.filter(({ isUnknown }) => !(skipUnknown && isUnknown));
    const leaseMs = awaited.reduce((longest, each) => Math.max(longest, each.leaseMs ?? LEASE_MS), 0);
    const leftMs = leaseMs - elapsed;
    if (awaited.length === 0 || leftMs <= 0) {
      const silent = open.filter(({ isUnknown }) => !isUnknown);
      await log.append(silent.map(({ key, id: of }) => log.newRecord(`${kind.type}.unknown`, { key, of })));
      return open;
    }
    if (pollMs === FIRST_POLL_MS) onWait(leftMs);
    await clock.sleep(Math.min(leftMs, pollMs), signal);
  }
}
