import { setMaxListeners } from 'node:events';
import { agentsOf, listAgents, listSpaces } from '../api/calls.ts';
import type { Http } from '../api/http.ts';
import { parseReference, resolveSpaceId } from '../api/references.ts';
import { NotFoundError, PartnerctlError, RefusedError, ShapeError, UsageError } from '../errors.ts';
import { type ChatContext, followDeps, openPlaces } from './context.ts';
import { createShared, followSession, type SessionEvent } from './follow-session.ts';
import { merge } from './merge.ts';
import { Pace } from './pace.ts';
import { readLimits } from './read-limits.ts';
import { type SessionRef, sessionKey } from './session.ts';
import { type AgentInput, findSource, parseSource, type SourceOptions } from './source.ts';
import { interruption } from './tail.ts';
import { checkInterval } from './tail-options.ts';

/** Which of the known sessions to watch. */
type WatchSelection =
  | { readonly by: 'all' }
  | { readonly by: 'source'; readonly source_id: string }
  | { readonly by: 'agent'; readonly agent: AgentInput }
  | { readonly by: 'space'; readonly space: string };

/** The names of a source's customer and agent. */
export interface SourceNames {
  readonly space: string | undefined;
  readonly agent: string | undefined;
}

export type WatchEvent =
  | SessionEvent
  /** A session to watch: one that is known at the start, or that began since. */
  | { readonly kind: 'session'; readonly ref: SessionRef }
  /** The session is not watched anymore. */
  | { readonly kind: 'unreadable'; readonly ref: SessionRef; readonly error: PartnerctlError }
  | { readonly kind: 'named'; readonly source_id: string; readonly names: SourceNames }
  /** A second has passed. */
  | { readonly kind: 'tick' };

interface WatchOptions {
  readonly selection: WatchSelection;
  /** Whether to end once every conversation was read. */
  readonly once: boolean;
  readonly intervalMs: number | undefined;
}

/** Reads the options of `chat watch`. @throws UsageError if they contradict each other */
export function parseWatch({
  follow,
  interval,
  ...named
}: SourceOptions & { readonly follow: boolean; readonly interval?: number | undefined }): WatchOptions {
  const options = { once: !follow, intervalMs: checkInterval(interval) };
  if (options.once && interval !== undefined) {
    throw new UsageError('--interval and --no-follow cannot be combined.');
  }
  const { source: typed, agent: typedAgent, space } = named;
  if (typed === undefined && typedAgent === undefined) {
    return { ...options, selection: space === undefined ? { by: 'all' } : { by: 'space', space } };
  }
  const source = parseSource(named);
  const isId = 'source_id' in source;
  return { ...options, selection: isId ? { by: 'source', ...source } : { by: 'agent', agent: source } };
}

/** How many earlier messages of each session are read to tell since when it is unanswered. */
const EARLIER_MESSAGES = 20;
const TICK_MS = 1_000;
/** How often to look for sessions that began meanwhile, and for the names of new sources, in ticks. */
const TICKS_BETWEEN_LOOKS = 2;

/** The sources of a space's agents. Warns of agents whose source the service does not show. */
async function sourcesOfSpace({ warn }: ChatContext, http: Http, spaceId: string): Promise<ReadonlySet<string>> {
  const sources = new Set<string>();
  const unknown: string[] = [];
  for await (const { agent_id, source_id } of agentsOf(http, spaceId)) {
    if (source_id === undefined) unknown.push(agent_id);
    else if (source_id !== null) sources.add(source_id);
  }
  if (unknown.length > 0) {
    await warn(
      `The service shows no API chat source for ${unknown.join(', ')}, so their conversations are left out. Name them with --source.`,
    );
  }
  return sources;
}

/** Returns the test for the sessions to watch. @throws as `findSource` and `resolveSpaceId` do */
async function selectionTest(
  context: ChatContext,
  http: Http,
  selection: WatchSelection,
): Promise<(ref: SessionRef) => boolean> {
  switch (selection.by) {
    case 'all':
      return () => true;
    case 'source':
      return ({ source_id }) => source_id === selection.source_id;
    case 'agent': {
      const wanted = await findSource(http, selection.agent, context.command);
      return ({ source_id }) => source_id === wanted;
    }
    case 'space': {
      const sources = await sourcesOfSpace(context, http, await resolveSpaceId(http, parseReference(selection.space)));
      return ({ source_id }) => sources.has(source_id);
    }
  }
}

/** Looks for the names of sources in the lists of spaces and agents, until all are found. */
async function* findNames(http: Http, sources: ReadonlySet<string>): AsyncGenerator<WatchEvent, void, void> {
  const missing = new Set(sources);
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
  events: AsyncGenerator<SessionEvent, void, void>,
  ref: SessionRef,
  onEnd: () => void,
): AsyncGenerator<WatchEvent, void, void> {
  try {
    yield* events;
  } catch (error) {
    const isOwn = error instanceof NotFoundError || error instanceof RefusedError || error instanceof ShapeError;
    if (!isOwn) throw error;
    onEnd();
    yield { kind: 'unreadable', ref, error };
  }
}

/**
 * Watches the known sessions, and those that begin meanwhile.
 * @throws PartnerctlError if the selection cannot be resolved, for 401, 402, and 403 and, with `once`, if the service is out of
 *   reach
 */
export async function* watch(
  context: ChatContext,
  http: Http,
  { selection, once, intervalMs }: WatchOptions,
): AsyncGenerator<WatchEvent, void, void> {
  const deps = followDeps(context, http);
  const { clock, random, remainingMs } = deps;
  const places = await openPlaces(context, http);
  const isWanted = await selectionTest(context, http, selection);
  const shared = createShared(http);
  const control = new AbortController();
  const signal = AbortSignal.any([deps.signal, control.signal]);
  // Every session listens to it.
  setMaxListeners(0, signal);
  const watched = new Set<string>();
  const unnamed = new Set<string>();
  const sourcesSeen = new Set<string>();
  const events: AsyncGenerator<WatchEvent, void, void>[] = [];

  /** Starts to follow the sessions that are not followed yet. @returns them */
  async function findSessions(): Promise<readonly SessionRef[]> {
    const found = (await places.list()).filter((ref) => isWanted(ref) && !watched.has(sessionKey(ref)));
    for (const ref of found) {
      watched.add(sessionKey(ref));
      if (!sourcesSeen.has(ref.source_id)) unnamed.add(ref.source_id);
      sourcesSeen.add(ref.source_id);
      const pace = new Pace(clock, random, { fixedMs: intervalMs, sessions: () => watched.size });
      const start = { ...ref, start: { from: 'last', count: EARLIER_MESSAGES } } as const;
      const options = { once, ...readLimits(once, undefined, context.flags.retries) };
      const followed = followSession({ ...deps, ...shared, signal, pace }, start, options);
      const forget = (): unknown => shared.health.succeed(sessionKey(ref), clock.now());
      events.push(watchSession(followed, ref, forget));
    }
    return found;
  }

  function lookUpNames(): void {
    if (unnamed.size > 0) events.push(findNames(http, new Set(unnamed)));
    unnamed.clear();
  }

  async function* tick(): AsyncGenerator<WatchEvent, void, void> {
    for (let ticks = 1; !signal.aborted && remainingMs() > 0; ticks += 1) {
      await clock.sleep(Math.min(TICK_MS, remainingMs()), signal).catch(() => undefined);
      yield { kind: 'tick' };
      if (ticks % TICKS_BETWEEN_LOOKS !== 0) continue;
      for (const ref of await findSessions()) yield { kind: 'session', ref };
      lookUpNames();
    }
  }

  for (const ref of await findSessions()) yield { kind: 'session', ref };
  lookUpNames();
  if (!once) events.push(tick());
  yield* merge(events, () => control.abort());
  const failure = interruption(deps.signal);
  if (failure) throw failure;
}
