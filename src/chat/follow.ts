import { setMaxListeners } from 'node:events';
import {
  createShared,
  type FollowDeps,
  type FollowOptions,
  followSession,
  type SessionEvent,
  type Shared,
} from './follow-session.ts';
import { merge } from './merge.ts';
import { Pace } from './pace.ts';
import type { SessionStart } from './session.ts';

/**
 * Follows sessions at the same time.
 * @param intervalMs a fixed pause between two polls of a session; adaptive by default
 * @returns the events, which can be read once and throw as `followSession` does; and the health of the connection
 */
export function follow(
  deps: FollowDeps,
  sessions: readonly SessionStart[],
  { intervalMs, ...options }: FollowOptions & { readonly intervalMs?: number | undefined } = {},
): Pick<Shared, 'health'> & { readonly events: AsyncGenerator<SessionEvent, void, void> } {
  const shared = createShared(deps.http);
  const control = new AbortController();
  const signal = AbortSignal.any([deps.signal, control.signal]);
  // Every session listens to it.
  setMaxListeners(0, signal);
  const followed = sessions.map((session) => {
    const pace = new Pace(deps.clock, deps.random, { fixedMs: intervalMs, sessions: () => sessions.length });
    return followSession({ ...deps, ...shared, signal, pace }, session, options);
  });
  return { health: shared.health, events: merge(followed, () => control.abort()) };
}
