import {
  compareTimestamps,
  isDescending,
  isNewestFirst,
  type MessageRef,
  parseTimestamp,
  sortOldestFirst,
  type Timestamp,
} from '../contract/message-order.ts';
import type { FollowStart } from './follow-types.ts';

/** How many messages behind the newest the cursor may lag. */
export const MAX_LAG = 8;
/** How long the cursor lags behind a message: one that becomes visible late does so within moments. */
export const LAG_MS = 10_000;
/** How many ids are remembered at least; at most twice as many are. */
export const REMEMBERED = 1_000;

interface CursorCandidate {
  /** Undefined for the start of the session. */
  readonly message_id: string | undefined;
  /** In milliseconds since the epoch. */
  readonly seenAt: number;
}

/**
 * The state of one followed session: which messages were seen, and which to use as the next cursor. Its size does not grow
 * with the session.
 *
 * When in doubt, a message is shown twice rather than never. A message counts as seen if its id is remembered. Otherwise
 * it counts as seen only if it is older than everything remembered and comes before something remembered, or if the
 * service ignores the cursor and starts over from the first message.
 */
export interface TailState {
  /** Ids of seen messages, oldest first. */
  readonly seen: ReadonlyMap<string, Timestamp | undefined>;
  /** The last messages in the order of the history, oldest first: the candidates for the cursor. */
  readonly candidates: readonly CursorCandidate[];
  readonly refused: ReadonlySet<string | undefined>;
  /**
   * `lagging` finds messages that become visible late, but a response may be too short to reach the new ones from there, so
   * it alternates with `newest`. `only-newest`: the service refused a cursor.
   */
  readonly cursorMode: 'lagging' | 'newest' | 'only-newest';
  /** The ids to start after; empty when the tail starts with the first message. */
  readonly startIds: ReadonlySet<string>;
  /** Timestamp of the oldest of `startIds` that has arrived. */
  readonly startTimestamp: Timestamp | undefined;
  /** The oldest remembered timestamp, once ids have been forgotten. */
  readonly oldestRemembered: Timestamp | undefined;
  /** The first message that ever arrived: a response with this id starts over from the beginning. */
  readonly firstId: string | undefined;
  /** Whether a response was newest first: messages older than the start then follow it. */
  readonly isDescending: boolean;
  /** Whether the current response starts over and has not reached a remembered message yet. */
  readonly isReplaying: boolean;
}

/** The state before the first response. @param now milliseconds since the epoch */
export function startTail(start: Exclude<FollowStart, { from: 'last' }>, now: number): TailState {
  const startIds = start.from === 'start' ? [] : [...(start.recent ?? []), start.message_id];
  const candidates = start.from === 'start' ? [undefined] : startIds.slice(-MAX_LAG);
  return {
    seen: new Map(startIds.map((id) => [id, undefined])),
    candidates: candidates.map((message_id) => ({ message_id, seenAt: now })),
    refused: new Set(),
    cursorMode: start.from === 'start' ? 'lagging' : 'newest',
    startIds: new Set(startIds),
    startTimestamp: undefined,
    oldestRemembered: undefined,
    firstId: undefined,
    isDescending: false,
    isReplaying: false,
  };
}

/** The last ids seen, oldest first; before the first response, the ids to start after. */
export function latestIds({ candidates }: TailState): readonly string[] {
  return candidates.flatMap(({ message_id }) => message_id ?? []);
}

/** Whether an empty response to this cursor proves that there is nothing new. */
export function isConclusive({ cursorMode, candidates }: TailState, cursor: string | undefined): boolean {
  return cursorMode === 'only-newest' || cursor === candidates.at(-1)?.message_id;
}

/** The cursor of the next request; undefined to request the whole session. @param now milliseconds since the epoch */
export function chooseCursor({ candidates, refused, cursorMode }: TailState, now: number): string | undefined {
  const usable = candidates.filter(({ message_id }) => !refused.has(message_id));
  if (cursorMode !== 'lagging') return usable.at(-1)?.message_id;
  const settled = usable.findLast(({ seenAt }) => seenAt <= now - LAG_MS);
  return (settled ?? usable[0])?.message_id;
}

/** Records that the service refused a cursor. A service that refuses one old cursor refuses others, so none lags anymore. */
export function refuseCursor(state: TailState, cursor: string): TailState {
  return { ...state, refused: new Set([...state.refused, cursor]), cursorMode: 'only-newest' };
}

/** Whether a cursor is left that the service did not refuse. */
export function hasUsableCursor({ startIds, candidates, refused }: TailState): boolean {
  return startIds.size === 0 || candidates.some(({ message_id }) => !refused.has(message_id));
}

/** Forgets the refusals: the service refuses every request, so the cursors were not the reason. */
export function forgiveCursors(state: TailState): TailState {
  return { ...state, refused: new Set(), cursorMode: 'newest' };
}

/**
 * Adds a page of the history.
 * @param isFurtherPage whether the page belongs to the same response as the previous one
 * @returns the next state, and the messages not seen before: oldest first if all have a timestamp, else in the order
 *   received
 */
export function acceptPage<Message extends MessageRef>(
  state: TailState,
  messages: readonly Message[],
  now: number,
  isFurtherPage = false,
): { readonly state: TailState; readonly fresh: readonly Message[] } {
  const { replayed, isReplaying } = findReplay(state, messages, isFurtherPage);
  const entries = messages.map((message, index) => ({ message, index, timestamp: parseTimestamp(message) }));
  const updated: TailState = {
    ...state,
    isReplaying,
    isDescending: state.isDescending || isDescending(messages),
    startTimestamp: state.startTimestamp ?? findStartIds(state, entries).oldest,
    firstId: state.firstId ?? messages[0]?.message_id,
  };
  const isOld = createOldMessageTest(updated, entries);
  const added = new Map<string, Timestamp | undefined>();
  const fresh: Message[] = [];
  for (const index of sortOldestFirst(messages)) {
    const entry = entries[index];
    if (!entry) continue;
    const { message, timestamp } = entry;
    const isKnown = state.seen.has(message.message_id) || added.has(message.message_id);
    if (isKnown || index < replayed || isOld(entry)) continue;
    added.set(message.message_id, timestamp);
    fresh.push(message);
  }
  // Most polls find nothing new.
  const seen = added.size === 0 ? state.seen : new Map([...state.seen, ...added]);
  const candidates = extendCandidates(state, messages, fresh, now);
  const next = { ...updated, candidates, seen, refused: pruneRefused(state, candidates, fresh.length) };
  return { fresh, state: forgetOldest(isFurtherPage ? next : { ...next, cursorMode: alternate(state.cursorMode) }) };
}

function alternate(mode: TailState['cursorMode']): TailState['cursorMode'] {
  if (mode === 'only-newest') return mode;
  return mode === 'newest' ? 'lagging' : 'newest';
}

/** Counts the messages at the start of a page that only repeat the session up to the first remembered message. */
function findReplay(
  { seen, firstId, isReplaying }: TailState,
  messages: readonly MessageRef[],
  isFurtherPage: boolean,
): { readonly replayed: number; readonly isReplaying: boolean } {
  const startsOver =
    firstId !== undefined && !seen.has(firstId) && messages.some(({ message_id }) => message_id === firstId);
  if (!startsOver && !(isFurtherPage && isReplaying)) return { replayed: 0, isReplaying: false };
  const firstSeen = messages.findIndex(({ message_id }) => seen.has(message_id));
  return firstSeen === -1
    ? { replayed: messages.length, isReplaying: true }
    : { replayed: firstSeen, isReplaying: false };
}

interface Entry {
  readonly message: MessageRef;
  /** The position in the page. */
  readonly index: number;
  readonly timestamp: Timestamp | undefined;
}

/** Finds the ids to start after in a page; indexes are -1 if there are none. */
function findStartIds({ startIds }: TailState, entries: readonly Entry[]) {
  const found = entries.filter(({ message }) => startIds.has(message.message_id));
  return {
    first: found[0]?.index ?? -1,
    last: found.at(-1)?.index ?? -1,
    oldest: found.flatMap(({ timestamp }) => timestamp ?? []).toSorted(compareTimestamps)[0],
  };
}

/** Creates a test for messages whose ids are not remembered because they were seen long ago or precede the start. */
function createOldMessageTest(state: TailState, entries: readonly Entry[]): (entry: Entry) => boolean {
  const { seen, startTimestamp, oldestRemembered } = state;
  const lastSeen = entries.findLast(({ message }) => seen.has(message.message_id))?.index ?? -1;
  const start = findStartIds(state, entries);
  return ({ timestamp, index }) => {
    if (timestamp === undefined) return index < start.first;
    if (state.isDescending && startTimestamp && index > start.last) {
      const distance = compareTimestamps(timestamp, startTimestamp);
      // Newest first, a message with the timestamp of the start that comes after it is older.
      if (distance < 0 || (distance === 0 && start.last !== -1)) return true;
    }
    if (start.oldest && index < start.first && compareTimestamps(timestamp, start.oldest) <= 0) return true;
    return oldestRemembered !== undefined && index < lastSeen && compareTimestamps(timestamp, oldestRemembered) < 0;
  };
}

function extendCandidates(
  state: TailState,
  messages: readonly MessageRef[],
  fresh: readonly MessageRef[],
  now: number,
): readonly CursorCandidate[] {
  if (fresh.length === 0) return state.candidates;
  const freshIds = new Set(fresh.map(({ message_id }) => message_id));
  const added = messages.flatMap(({ message_id }) =>
    freshIds.delete(message_id) ? [{ message_id, seenAt: now }] : [],
  );
  if (isNewestFirst(messages)) added.reverse();
  const isOlderPage = leadsBack(state, messages);
  return (isOlderPage ? [...added, ...state.candidates] : [...state.candidates, ...added]).slice(-MAX_LAG);
}

/** Whether a page leads toward the beginning, as the pages of a history that comes newest first do. */
function leadsBack(state: TailState, messages: readonly MessageRef[]): boolean {
  const latestId = latestIds(state).at(-1);
  const latest = latestId === undefined ? undefined : state.seen.get(latestId);
  const newest = messages[0] && parseTimestamp(messages[0]);
  return (
    isNewestFirst(messages) && newest !== undefined && latest !== undefined && compareTimestamps(newest, latest) < 0
  );
}

function pruneRefused(
  { refused }: TailState,
  candidates: readonly CursorCandidate[],
  freshCount: number,
): ReadonlySet<string | undefined> {
  if (freshCount === 0 || refused.size === 0) return refused;
  return new Set(candidates.map(({ message_id }) => message_id).filter((id) => refused.has(id)));
}

function forgetOldest(state: TailState): TailState {
  if (state.seen.size <= 2 * REMEMBERED) return state;
  const seen = new Map([...state.seen].slice(-REMEMBERED));
  const timestamps = [...seen.values()].flatMap((timestamp) => timestamp ?? []);
  return { ...state, seen, oldestRemembered: timestamps.toSorted(compareTimestamps)[0] };
}
