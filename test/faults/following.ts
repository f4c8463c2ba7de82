import { type FollowDeps, follow, type SessionEvent } from '../../src/chat/follow.ts';
import type { FollowStart, SessionStart } from '../../src/chat/session.ts';
import type { Clock } from '../../src/clock.ts';
import type { HistoryServer } from '../support/history-server.ts';
import { fastClock } from '../support/run.ts';
import { client } from '../unit/api/http-client.ts';

/**
 * The dependencies of `follow`, with real HTTP. By default no time passes while a response is pending, so that a busy test
 * machine does not look like silence, an outage, or a machine that slept.
 */
export function followDeps(
  baseUrl: string,
  clock: Clock = fastClock(),
  timeoutMs = Number.POSITIVE_INFINITY,
): FollowDeps & { stop(): void } {
  const control = new AbortController();
  const { http } = client(baseUrl, { clock });
  const endsAt = clock.now() + timeoutMs;
  const remainingMs = () => endsAt - clock.now();
  return { http, clock, random: Math.random, signal: control.signal, remainingMs, stop: () => control.abort() };
}

/** Summarizes events: `+id` for a message, otherwise the kind. Omits `caught-up` and `polled`. */
export function summarize(events: readonly SessionEvent[]): string[] {
  const shown = events.filter(({ kind }) => kind !== 'caught-up' && kind !== 'polled');
  return shown.map((event) => (event.kind === 'message' ? `+${event.message.message_id}` : event.kind));
}

/** Reads events up to the first one that matches. */
export async function until(
  events: AsyncGenerator<SessionEvent, void, void>,
  matches: (event: SessionEvent) => boolean,
): Promise<SessionEvent[]> {
  const pulled: SessionEvent[] = [];
  for (;;) {
    const { value, done } = await events.next();
    if (done) return pulled;
    pulled.push(value);
    if (matches(value)) return pulled;
  }
}

/** Follows sessions of the source `src`, each from a start. */
export function followSessions(
  deps: FollowDeps,
  starts: Readonly<Record<string, FollowStart>>,
  options: Parameters<typeof follow>[2] = {},
): AsyncGenerator<SessionEvent, void, void> {
  const sessions = Object.entries(starts).map(
    ([session_id, start]): SessionStart => ({ source_id: 'src', session_id, start }),
  );
  return follow(deps, sessions, options).events;
}

export const untilEnd = (events: AsyncGenerator<SessionEvent, void, void>): Promise<SessionEvent[]> =>
  until(events, () => false);

/** Reads the history of the session `s` to its end, without following it. */
export function readAll({ baseUrl }: HistoryServer, start: FollowStart): Promise<SessionEvent[]> {
  return untilEnd(followSessions(followDeps(baseUrl), { s: start }, { once: true, maxOutageMs: 30_000 }));
}
