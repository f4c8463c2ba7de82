import type { Clock } from '../platform/clock.ts';
import type { Log } from './log.ts';
import { type OnceKind, type Reservation, standings } from './standing.ts';

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

/**
 * Waits until some reservations have ended, or until their owners can no longer send: this process has then watched
 * them for a whole lease.
 * @param ids of open reservations that this process has read
 * @param options `skipUnknown` whether not to wait for owners that recorded an unknown outcome: they have sent their
 *   request; `onWait` is called once, before the first pause, with the milliseconds that it may take
 * @returns those that are still open
 * @throws LocalError; the reason of the signal
 */
export async function waitOutLeases<Data>(
  { log, clock, signal }: { readonly log: Log; readonly clock: Clock; readonly signal: AbortSignal },
  kind: OnceKind<Data>,
  ids: ReadonlySet<string>,
  { skipUnknown = false, onWait }: { readonly skipUnknown?: boolean; readonly onWait: (leftMs: number) => void },
): Promise<readonly Reservation<Data>[]> {
  // Not the wall clock: set forward, it would shorten the wait.
  const start = clock.monotonic();
  for (let pollMs = FIRST_POLL_MS; ; pollMs = Math.min(1.5 * pollMs, MAX_POLL_MS)) {
    const elapsed = clock.monotonic() - start;
    const all = [...standings(await log.read(), kind).values()].flatMap(({ open }) => open);
    const open = all.filter(({ id }) => ids.has(id));
    const awaited = open.filter(({ isUnknown }) => !(skipUnknown && isUnknown));
    const leases = awaited.map(({ leaseMs = LEASE_MS }) => leaseMs);
    const leftMs = Math.max(0, ...leases) - elapsed;
    if (leases.length === 0 || leftMs <= 0) return open;
    if (pollMs === FIRST_POLL_MS) onWait(leftMs);
    await clock.sleep(Math.min(leftMs, pollMs), signal);
  }
}
