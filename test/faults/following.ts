import { follow } from '../../src/chat/follow.ts';
import type { FollowDeps, FollowEvent, FollowOptions, FollowStart } from '../../src/chat/follow-types.ts';
import type { Clock } from '../../src/clock.ts';
import type { HistoryServer } from '../support/history-server.ts';
import { fastClock } from '../support/run.ts';
import { client } from './http-client.ts';

/**
 * The dependencies of `follow`, with real HTTP. By default no time passes while a response is pending, so that a busy test
 * machine does not look like silence, an outage, or a machine that slept.
 */
export function followDeps(baseUrl: string, clock: Clock = fastClock()): FollowDeps & { stop(): void } {
  const control = new AbortController();
  const { http } = client(baseUrl, { clock });
  return { http, clock, random: Math.random, interrupt: control.signal, stop: () => control.abort() };
}

/** Summarizes events: `+id` for a message, otherwise the kind. Omits `caught-up`. */
export function summarize(events: readonly FollowEvent[]): string[] {
  const shown = events.filter(({ kind }) => kind !== 'caught-up');
  return shown.map((event) => {
    if (event.kind === 'message') return `+${event.message.message_id}`;
    return event.kind === 'end' ? `end:${event.reason}` : event.kind;
  });
}

/** Reads events up to the first one that matches. */
export async function until(
  events: AsyncGenerator<FollowEvent, void, void>,
  matches: (event: FollowEvent) => boolean,
): Promise<FollowEvent[]> {
  const pulled: FollowEvent[] = [];
  for (;;) {
    const { value, done } = await events.next();
    if (done) return pulled;
    pulled.push(value);
    if (matches(value)) return pulled;
  }
}

export function followOptions(
  start: FollowStart = { from: 'start' },
  changes: Partial<FollowOptions> = {},
): FollowOptions {
  return { sessions: [{ source_id: 'src', session_id: 's', start }], follow: true, ...changes };
}

export const isEnd = (event: FollowEvent): boolean => event.kind === 'end';

/** Reads the history of the session `s` to its end, without following it. */
export function readAll({ baseUrl }: HistoryServer, start: FollowStart): Promise<FollowEvent[]> {
  return until(follow(followDeps(baseUrl), followOptions(start, { follow: false })).events, isEnd);
}
