import type { StoreDeps } from './log.ts';

/** How long a store is tried again before a command gives up: longer than the restart of a server. */
export const PERSISTENCE_MS = 30_000;

type Waiting = Pick<StoreDeps, 'clock' | 'random' | 'signal'>;

/** Pauses before a further attempt, at random and longer each time, so that several processes do not collide again. */
export async function backOff({ clock, random, signal }: Waiting, attempt: number): Promise<void> {
  await clock.sleep(random() * 25 * 2 ** Math.min(attempt, 6), signal);
}

/**
 * Calls `act` until it succeeds, for `PERSISTENCE_MS`, and twice at least: the first call may hang for as long.
 * @param recover called with each failure that may pass; throws for one that is final
 * @throws what `act` threw last; the reason of the signal
 */
export async function persist<Value>(
  deps: Waiting,
  act: () => Promise<Value>,
  recover: (error: unknown) => Promise<void> | void,
): Promise<Value> {
  const start = deps.clock.monotonic();
  for (let attempt = 0; ; attempt += 1) {
    try {
      return await act();
    } catch (error) {
      deps.signal.throwIfAborted();
      await recover(error);
      if (attempt > 0 && deps.clock.monotonic() - start > PERSISTENCE_MS) throw error;
      await backOff(deps, attempt);
    }
  }
}
