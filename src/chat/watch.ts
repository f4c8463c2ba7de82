import { listAgents, listSpaces } from '../api/calls.ts';
import type { Http } from '../api/http.ts';
import { parseReference, resolveSpaceId } from '../api/references.ts';
import { NotFoundError, PartnerctlError, RefusedError, ShapeError } from '../errors.ts';
import type { Clock } from '../platform/clock.ts';
import type { ChatContext } from './context.ts';
import { Follower, type SessionEvent } from './follow.ts';
import { merge } from './merge.ts';
import { openPlaces } from './places.ts';
import { type SessionRef, sessionKey } from './session.ts';
import { findSource, parseSource, type SourceInput, type SourceOptions } from './source.ts';
import { checkInterrupt } from './tail.ts';

/** The names of a source's customer and agent. */
export interface SourceNames {
  readonly space: string | undefined;
  readonly agent: string | undefined;
}

export type WatchEvent =
  | SessionEvent
  /** The session is not watched anymore. */
  | { readonly kind: 'unreadable'; readonly ref: SessionRef; readonly error: PartnerctlError }
  | { readonly kind: 'named'; readonly source_id: string; readonly names: SourceNames }
  /** A second has passed. */
  | { readonly kind: 'tick' };

interface WatchOptions {
  /** Watch only this source, or else the sources of this space (as typed). */
  readonly source: SourceInput | undefined;
  readonly space: string | undefined;
  /** Whether to end once every conversation was read. */
  readonly once: boolean;
  readonly intervalMs: number | undefined;
}

/** How many earlier messages of each session are read to tell since when it is unanswered. */
const EARLIER_MESSAGES = 20;
/** How often to look for sessions that began meanwhile. */
const TICK_MS = 1_000;

/** Reads the options of `chat watch`. @throws UsageError if they contradict each other */
export function parseWatch({
  follow,
  interval: intervalMs,
  ...named
}: SourceOptions & { readonly follow: boolean; readonly interval?: number | undefined }): WatchOptions {
  const isNamed = named.source !== undefined || named.agent !== undefined;
  return { once: !follow, intervalMs, source: isNamed ? parseSource(named) : undefined, space: named.space };
}

/** The sources of a space's agents. Warns of agents whose source the service does not show. */
async function sourcesOfSpace({ warn }: ChatContext, http: Http, space: string): Promise<ReadonlySet<string>> {
  const sources = new Set<string>();
  for await (const { agent_id, source_id } of listAgents(http, await resolveSpaceId(http, parseReference(space)))) {
    if (source_id === undefined)
      await warn(`The service shows no API chat source for ${agent_id}. Name it with --source.`);
    if (source_id) sources.add(source_id);
  }
  return sources;
}

/** Looks for the names of sources in the lists of spaces and agents, until none is missing. */
async function* findNames(http: Http, missing: Set<string>): AsyncGenerator<WatchEvent, void, void> {
  try {
    for await (const { space_id, name } of listSpaces(http)) {
      for await (const agent of listAgents(http, space_id)) {
        const source_id = agent.source_id ?? undefined;
        if (source_id === undefined || !missing.delete(source_id)) continue;
        yield { kind: 'named', source_id, names: { space: name, agent: agent.name } };
      }
      if (missing.size === 0) return;
    }
  } catch (error) {
    // Without the lists, conversations are shown by their ids.
    if (!(error instanceof PartnerctlError)) throw error;
  }
}

/** Follows a session; one that cannot be read does not end the watch of the others. */
async function* watchSession(
  follower: Follower,
  ref: SessionRef,
  clock: Clock,
): AsyncGenerator<WatchEvent, void, void> {
  try {
    for await (const event of follower.follow(ref, { from: 'last', count: EARLIER_MESSAGES })) {
      // Messages that are missing at the beginning of a history do not matter here.
      if (event.kind !== 'gap') yield event;
    }
  } catch (error) {
    const isOwn = error instanceof NotFoundError || error instanceof RefusedError || error instanceof ShapeError;
    if (!isOwn) throw error;
    follower.health.succeed(sessionKey(ref), clock.now());
    yield { kind: 'unreadable', ref, error };
  }
}

/**
 * Watches the known sessions, and those that begin meanwhile.
 * @throws PartnerctlError if the selection cannot be resolved, for 401, 402, and 403, and after an outage with `once`
 */
export async function* watch(
  context: ChatContext,
  http: Http,
  { source, space, once, intervalMs }: WatchOptions,
): AsyncGenerator<WatchEvent, void, void> {
  const { clock, signals, command } = context;
  const places = await openPlaces(context, http);
  const ofSpace = source || space === undefined ? undefined : await sourcesOfSpace(context, http, space);
  const wanted = source ? new Set([await findSource(http, source, command)]) : ofSpace;
  const follower = new Follower(context, http, { once, intervalMs });
  const watched = new Set<string>();
  const events: AsyncGenerator<WatchEvent, void, void>[] = [];

  /** Starts to follow the sessions that are not followed yet. */
  function findSessions(): void {
    const found = places.list().filter((ref) => wanted?.has(ref.source_id) !== false && !watched.has(sessionKey(ref)));
    for (const ref of found) {
      watched.add(sessionKey(ref));
      events.push(watchSession(follower, ref, clock));
    }
    if (found.length > 0) events.push(findNames(http, new Set(found.map(({ source_id }) => source_id))));
  }

  async function* tick(): AsyncGenerator<WatchEvent, void, void> {
    while (!follower.signal.aborted && follower.remainingMs() > 0) {
      await clock.sleep(Math.min(TICK_MS, follower.remainingMs()), follower.signal).catch(() => undefined);
      findSessions();
      yield { kind: 'tick' };
    }
  }

  findSessions();
  if (!once) events.push(tick());
  yield* merge(events, () => follower.stop());
  checkInterrupt(signals);
}
