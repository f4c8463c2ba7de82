import { isJsonObject } from '../contract/json.ts';
import { throttleMs } from '../domain/throttle.ts';
import type { Clock } from '../io.ts';
import { appendRecord, type LogEntry, readLog } from './log.ts';
import { fieldText, type LogRecord, recordHead, type Stamp } from './record.ts';

/** Where the following of a session left off: ids alone, no text. */
export interface TailPlace {
  /** The last message that was written out. */
  readonly message_id: string;
  /** Those written shortly before it, oldest first: a service may come back to them. */
  readonly recent: readonly string[];
}

/** The conversations of one command. */
export interface TailOf {
  /** The service: origin and base path. */
  readonly origin: string;
  readonly source_id: string;
}

const TYPE = 'tail';
const MOST_RECENT = 16;
/** The file only ever grows, so a lively conversation is noted no more often than this. */
const EVERY_MS = 5_000;

/** Records where a session's tail is. Resolves once it is on disk. @throws LocalError when it cannot be written */
export async function recordTail(
  path: string,
  { origin, source_id }: TailOf,
  session_id: string,
  { message_id, recent }: TailPlace,
  stamp: Stamp,
): Promise<void> {
  await appendRecord(path, { ...recordHead(TYPE, stamp), origin, source_id, session_id, message_id, recent });
}

function isText(value: unknown): value is string {
  return typeof value === 'string';
}

function placeOf({ message_id, recent }: LogRecord): TailPlace | undefined {
  if (!isText(message_id)) return undefined;
  return { message_id, recent: Array.isArray(recent) && recent.every(isText) ? recent : [] };
}

function isFor(entry: LogEntry, { origin, source_id }: TailOf): entry is Extract<LogEntry, { kind: 'record' }> {
  if (entry.kind !== 'record' || !isJsonObject(entry.record)) return false;
  const { type, ...record } = entry.record;
  return type === TYPE && record.origin === origin && record.source_id === source_id;
}

/**
 * Where the last tails of these sessions left off, by session; a session that was never followed is not in it.
 * @throws LocalError when the state file is there and cannot be read
 */
export async function lookUpTails(
  path: string,
  of: TailOf,
  sessionIds: readonly string[],
): Promise<ReadonlyMap<string, TailPlace>> {
  const places = new Map<string, TailPlace>();
  const wanted = new Set(sessionIds);
  for await (const entry of readLog(path, { containing: [fieldText('source_id', of.source_id)] })) {
    if (!isFor(entry, of)) continue;
    const { session_id } = entry.record;
    const place = placeOf(entry.record);
    if (place && isText(session_id) && wanted.has(session_id)) places.set(session_id, place);
  }
  return places;
}

/** Remembers where a command's tails are, for the next one. */
export interface TailMemory {
  /** To be called after a message was written out, and not before. */
  written(sessionId: string, messageId: string): void;
  /** Notes what is not noted yet; resolves once it is on disk. To be called at the end, however it comes. */
  close(): Promise<void>;
}

export interface TailMemoryParts {
  readonly path: string;
  readonly clock: Clock;
  readonly newId: Stamp['newId'];
  /** Told once, when the state file cannot be written; nothing is noted from then on. */
  readonly onTrouble: (error: unknown) => void;
}

/**
 * Opens the memory of a command's tails. Each session is noted at most once every five seconds, and once at the end.
 * @param places where the sessions were when the command began, as `lookUpTails` gives them
 */
export function openTailMemory(
  { path, clock, newId, onTrouble }: TailMemoryParts,
  of: TailOf,
  places: ReadonlyMap<string, TailPlace>,
): TailMemory {
  const current = new Map(places);
  const unnoted = new Set<string>();
  const closing = new AbortController();
  let notedAt: number | undefined;
  let noting: Promise<void> | undefined;
  let isBroken = false;

  async function note(): Promise<void> {
    notedAt = clock.now();
    for (const sessionId of [...unnoted]) {
      const place = current.get(sessionId);
      unnoted.delete(sessionId);
      if (place) await recordTail(path, of, sessionId, place, { now: clock.now, newId });
    }
  }

  /** Notes once it may, again and again until there is nothing left to note. */
  async function noteInTime(): Promise<void> {
    while (unnoted.size > 0 && !closing.signal.aborted) {
      const waitMs = throttleMs(notedAt, clock.now(), EVERY_MS);
      if (waitMs > 0) await clock.sleep(waitMs, closing.signal).catch(() => undefined);
      if (!closing.signal.aborted) await note();
    }
  }

  async function attempt(action: () => Promise<void>): Promise<void> {
    try {
      if (!isBroken) await action();
    } catch (error) {
      isBroken = true;
      onTrouble(error);
    }
  }

  function noteSoon(): void {
    if (isBroken || closing.signal.aborted) return;
    noting ??= attempt(noteInTime).finally(() => {
      noting = undefined;
      if (unnoted.size > 0) noteSoon();
    });
  }

  return {
    written(sessionId, messageId) {
      const before = current.get(sessionId);
      const recent = before ? [...before.recent, before.message_id].slice(-MOST_RECENT) : [];
      current.set(sessionId, { message_id: messageId, recent });
      unnoted.add(sessionId);
      noteSoon();
    },
    async close() {
      closing.abort();
      await noting;
      await attempt(note);
    },
  };
}
