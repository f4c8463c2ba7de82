import { listAgents, listSpaces } from '../api/calls.ts';
import type { Http } from '../api/http.ts';
import { parseReference, resolveSpaceId } from '../api/references.ts';
import type { Message, SessionRef } from '../contract/messages.ts';
import { NotFoundError, PartnerctlError, RefusedError, ShapeError } from '../errors.ts';
import { type Emit, type FollowEnd, Follower, type SessionEvent } from './follow.ts';
import { followSession } from './followed-session.ts';
import { openPlaces } from './places.ts';
import { type ChatContext, sessionKey } from './session.ts';
import { findSource, parseSource, type SourceInput, type SourceOptions } from './source.ts';

export interface Conversation extends SessionRef {
  readonly status: (typeof STATUSES)[number];
  readonly last: Message | undefined;
  /**
   * When the first message of the customer after the last reply was created or, if the service does not say, first seen
   * (milliseconds since the epoch).
   */
  readonly unansweredSince: number | undefined;
  /** The names of the customer and the agent, once they are known. */
  readonly space?: string | undefined;
  readonly agent?: string | undefined;
}

type SourceNames = Pick<Conversation, 'space' | 'agent'>;

export type WatchEvent =
  | SessionEvent
  /** The session is not watched anymore. */
  | { readonly kind: 'unreadable'; readonly ref: SessionRef; readonly error: PartnerctlError }
  /** A second has passed. */
  | { readonly kind: 'tick' };

interface WatchOptions extends SourceOptions {
  readonly follow: boolean;
  readonly interval?: number | undefined;
}

/** From the most urgent to the least. */
const STATUSES = ['unanswered', 'cannot_be_read', 'answered', 'empty'] as const;

/** How many earlier messages of each session are read to tell since when it is unanswered. */
const EARLIER_MESSAGES = 20;
/** How often to look for sessions that began meanwhile. */
const TICK_MS = 1_000;

async function sourcesOfSpace({ warn }: ChatContext, http: Http, space: string): Promise<ReadonlySet<string>> {
  const sources = new Set<string>();
  const spaceId = await resolveSpaceId(http, parseReference(space));
  for await (const { agent_id, source_id } of listAgents(http, spaceId, 'show')) {
    if (source_id === undefined)
      await warn(`The service shows no API chat source for ${agent_id}. Name it with --source.`);
    if (source_id) sources.add(source_id);
  }
  return sources;
}

/** Looks for the names of sources in the lists of spaces and agents, until none is missing. */
async function findNames(http: Http, missing: Set<string>, names: Map<string, SourceNames>): Promise<void> {
  try {
    for await (const { space_id, name } of listSpaces(http, 'show')) {
      for await (const agent of listAgents(http, space_id, 'show')) {
        const source_id = agent.source_id ?? '';
        if (missing.delete(source_id)) names.set(source_id, { space: name, agent: agent.name });
      }
      if (missing.size === 0) return;
    }
  } catch (error) {
    // Without the lists, conversations are shown by their ids.
    if (!(error instanceof PartnerctlError)) throw error;
  }
}

/** Follows a session; one that cannot be read does not end the watch of the others. */
async function watchSession(follower: Follower, ref: SessionRef, emit: Emit<WatchEvent>): Promise<FollowEnd> {
  try {
    return await followSession(follower, ref, { from: 'last', count: EARLIER_MESSAGES }, emit);
  } catch (error) {
    const isOwn = error instanceof NotFoundError || error instanceof RefusedError || error instanceof ShapeError;
    if (!isOwn) throw error;
    const ended = follower.health.succeed(sessionKey(ref));
    if (ended) await emit({ kind: 'recovered', ref, ...ended });
    await emit({ kind: 'unreadable', ref, error });
    return 'complete';
  }
}

/** Adds the next message of a session. @param now when it was seen, in milliseconds since the epoch */
function addMessage(before: Conversation, last: Message, now: number): Conversation {
  const { unansweredSince, status } = before;
  if (last.isReply) return { ...before, last, unansweredSince: undefined, status: 'answered' };
  if (last.role !== 'user') return { ...before, last, status: status === 'empty' ? 'answered' : status };
  // The service may not say when, and its clock may be ahead.
  const since = Math.min(Date.parse(last.created_at ?? '') || now, now);
  return { ...before, last, unansweredSince: unansweredSince ?? since, status: 'unanswered' };
}

/** Orders conversations: the longest unanswered first, and among the answered those with the newest messages. */
function compareUrgency(first: Conversation, second: Conversation): number {
  const byStatus = STATUSES.indexOf(first.status) - STATUSES.indexOf(second.status);
  const timeOf = ({ last }: Conversation): number => Date.parse(last?.created_at ?? '') || 0;
  const bySilence = (first.unansweredSince ?? 0) - (second.unansweredSince ?? 0);
  return byStatus || bySilence || timeOf(second) - timeOf(first);
}

/** Watches the known sessions, and those that begin meanwhile. */
export class Watch {
  private readonly context: ChatContext;
  private readonly options: WatchOptions;
  /** Watch only this source, or else the sources of a space, or else all. */
  private readonly source: SourceInput | undefined;
  private readonly sessions = new Map<string, Conversation>();
  private readonly names = new Map<string, SourceNames>();
  /** The sessions that existed at the start, by key. */
  private readonly existing = new Set<string>();

  /** @throws UsageError if the options contradict each other */
  constructor(context: ChatContext, options: WatchOptions) {
    const isNamed = options.source !== undefined || options.agent !== undefined;
    this.context = context;
    this.options = options;
    this.source = isNamed ? parseSource(options) : undefined;
  }

  /** Returns the conversations that were read so far, the most urgent first. */
  conversations(): readonly Conversation[] {
    return [...this.sessions.values()].map((each) => ({ ...each, ...this.namesOf(each) })).sort(compareUrgency);
  }

  isOld(event: Extract<SessionEvent, { kind: 'message' }>): boolean {
    return event.isBacklog && this.existing.has(sessionKey(event.ref));
  }

  namesOf({ source_id }: SessionRef): SourceNames {
    return this.names.get(source_id) ?? {};
  }

  /** @throws PartnerctlError if the selection cannot be resolved, for 401, 402, and 403, and if not all was read without `follow` */
  async *events(): AsyncGenerator<WatchEvent, void, void> {
    const { context, options, names } = this;
    const { clock } = context;
    const http = await context.http();
    const places = openPlaces(context, http);
    const wanted = await this.wantedSources(http);
    const follower = new Follower(context, http, { once: !options.follow, intervalMs: options.interval });
    const watched = new Set<string>();
    const watching: Promise<unknown>[] = [];
    let isWhole = true;

    /** The first one that fails ends all. */
    function begin(work: Promise<unknown>): void {
      watching.push(work);
      work.catch(() => follower.stop());
    }

    /** Watches the sessions that are not watched yet. */
    function watchNew(emit: Emit<WatchEvent>): void {
      const isNew = (ref: SessionRef) => !watched.has(sessionKey(ref)) && (wanted?.has(ref.source_id) ?? true);
      const found = places.list().filter(isNew);
      for (const ref of found) watched.add(sessionKey(ref));
      const unnamed = new Set(found.map(({ source_id }) => source_id).filter((source_id) => !names.has(source_id)));
      // A source that no list has is not looked for again.
      for (const source_id of unnamed) names.set(source_id, {});
      if (unnamed.size > 0) begin(findNames(http, unnamed, names));
      for (const ref of found) begin(watchSession(follower, ref, emit));
    }

    const events = follower.events<WatchEvent>(async (emit) => {
      watchNew(emit);
      for (const key of watched) this.existing.add(key);
      while (options.follow && !follower.isOver()) {
        await clock.sleep(Math.min(TICK_MS, follower.remainingMs()), follower.signal).catch(() => undefined);
        watchNew(emit);
        await emit({ kind: 'tick' });
      }
      const ends = await Promise.allSettled(watching);
      for (const end of ends) if (end.status === 'rejected') throw end.reason;
      isWhole = ends.every((end) => end.status === 'fulfilled' && end.value !== 'cut short');
    });
    for await (const event of events) {
      this.apply(event);
      yield event;
    }
    follower.checkEnd(options.follow || isWhole);
  }

  private async wantedSources(http: Http): Promise<ReadonlySet<string> | undefined> {
    const { context, options, source } = this;
    if (source) return new Set([await findSource(http, source, context.command)]);
    return options.space === undefined ? undefined : await sourcesOfSpace(context, http, options.space);
  }

  private apply(event: WatchEvent): void {
    if (event.kind !== 'message' && event.kind !== 'caught-up' && event.kind !== 'unreadable') return;
    const { source_id, session_id } = event.ref;
    const status = event.kind === 'unreadable' ? 'cannot_be_read' : 'empty';
    const unread: Conversation = { source_id, session_id, status, last: undefined, unansweredSince: undefined };
    const key = sessionKey(event.ref);
    const before = this.sessions.get(key) ?? unread;
    const isMessage = event.kind === 'message';
    this.sessions.set(key, isMessage ? addMessage(before, event.message, this.context.clock.now()) : before);
  }
}
