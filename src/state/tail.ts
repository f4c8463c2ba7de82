import type { Clock } from '../clock.ts';
import { isText } from './guards.ts';
import { appendRecord, readLog } from './log.ts';
import { encodeRecord, fieldText, type LogRecord, type NewRecord, recordHead, type Stamp } from './record.ts';
import { openSlot, readSlot, type Slot } from './slot.ts';
import { throttleMs } from './throttle.ts';

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

function recordOf(
  { origin, source_id }: TailOf,
  session_id: string,
  { message_id, recent }: TailPlace,
  stamp: Stamp,
): NewRecord {
  const fields = { origin, source_id, session_id, message_id, recent };
  return { ...recordHead(TYPE, stamp), ...fields };
}

/** Records where a session's tail is. Resolves once it is on disk. @throws LocalError when it cannot be written */
export async function recordTail(
  path: string,
  of: TailOf,
  session_id: string,
  place: TailPlace,
  stamp: Stamp,
): Promise<void> {
  await appendRecord(path, recordOf(of, session_id, place, stamp));
}

function slotName({ origin, source_id }: TailOf, session_id: string): string {
  return JSON.stringify([origin, source_id, session_id]);
}

function placeOf({ message_id, recent }: LogRecord): TailPlace | undefined {
  if (!isText(message_id)) return undefined;
  return { message_id, recent: Array.isArray(recent) && recent.every(isText) ? recent : [] };
}

function isOf(record: LogRecord, { origin, source_id }: TailOf): boolean {
  return record.type === TYPE && record.origin === origin && record.source_id === source_id;
}

interface Known {
  readonly at: string;
  readonly place: TailPlace;
}

async function tailsInLog(path: string, of: TailOf, wanted: ReadonlySet<string>): Promise<Map<string, Known>> {
  const known = new Map<string, Known>();
  for await (const entry of readLog(path, { containing: [fieldText('source_id', of.source_id)] })) {
    if (entry.kind !== 'record' || !isOf(entry.record, of)) continue;
    const { session_id, at } = entry.record;
    const place = placeOf(entry.record);
    if (place && isText(session_id) && wanted.has(session_id)) known.set(session_id, { at, place });
  }
  return known;
}

async function tailInSlot(path: string, of: TailOf, sessionId: string): Promise<Known | undefined> {
  const record = await readSlot(path, slotName(of, sessionId));
  const place = record && isOf(record, of) && record.session_id === sessionId ? placeOf(record) : undefined;
  return record && place && { at: record.at, place };
}

/**
 * Where the last tails of these sessions left off, by session; a session that was never followed is not in it.
 * @throws LocalError when what is there cannot be read
 */
export async function lookUpTails(
  path: string,
  of: TailOf,
  sessionIds: readonly string[],
): Promise<ReadonlyMap<string, TailPlace>> {
  const places = new Map<string, TailPlace>();
  const logged = await tailsInLog(path, of, new Set(sessionIds));
  for (const sessionId of sessionIds) {
    const log = logged.get(sessionId);
    const slot = await tailInSlot(path, of, sessionId);
    // The state file may have come from another machine, where the session was followed later.
    const known = slot && (!log || slot.at >= log.at) ? slot : log;
    if (known) places.set(sessionId, known.place);
  }
  return places;
}

/** Remembers where a command's tails are, for the next one. */
export interface TailMemory {
  /**
   * To be called after a message was written out, and not before. Once it resolves, a process that is killed has left
   * a note of the message; one whose machine loses its power, of what was written some seconds before.
   */
  written(sessionId: string, messageId: string): Promise<void>;
  /** Notes what is not noted yet; resolves once it is on disk. To be called at the end, however it comes. */
  close(): Promise<void>;
}

export interface TailMemoryParts {
  readonly path: string;
  readonly clock: Clock;
  readonly newId: Stamp['newId'];
  /** Told once, when a place cannot be noted; nothing is noted there from then on. */
  readonly onTrouble: (error: unknown) => void;
}

/**
 * Opens the memory of a command's tails. Each message is noted in the session's slot; in the log, which only ever grows
 * and is carried from machine to machine, each session is noted at most once every five seconds, and once at the end.
 * @param places where the sessions were when the command began, as `lookUpTails` gives them
 */
export function openTailMemory(
  { path, clock, newId, onTrouble }: TailMemoryParts,
  of: TailOf,
  places: ReadonlyMap<string, TailPlace>,
): TailMemory {
  const current = new Map(places);
  const unnoted = new Set<string>();
  const slots = new Map<string, Slot>();
  const closing = new AbortController();
  let notedAt: number | undefined;
  let noting: Promise<void> | undefined;
  let slotting = Promise.resolve();
  let stampedAt = 0;
  const broken = { log: false, slots: false };

  /** A clock that was set back must not make an older note the newer one. */
  function now(): number {
    stampedAt = Math.max(stampedAt, clock.now());
    return stampedAt;
  }

  async function noteInSlot(sessionId: string): Promise<void> {
    const place = current.get(sessionId);
    if (!place) return;
    const slot = slots.get(sessionId) ?? (await openSlot(path, slotName(of, sessionId)));
    slots.set(sessionId, slot);
    const wanted = [place, { ...place, recent: [] }].map((each) =>
      encodeRecord(recordOf(of, sessionId, each, { now, newId })),
    );
    // Ids that do not fit are left to the log.
    for (const line of wanted) if (await slot.write(line)) return;
  }

  async function note(): Promise<void> {
    notedAt = clock.now();
    for (const sessionId of [...unnoted]) {
      const place = current.get(sessionId);
      unnoted.delete(sessionId);
      if (place) await recordTail(path, of, sessionId, place, { now, newId });
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

  async function attempt(where: keyof typeof broken, action: () => Promise<void>): Promise<void> {
    if (broken[where]) return;
    try {
      await action();
    } catch (error) {
      const isFirst = !broken.log && !broken.slots;
      broken[where] = true;
      if (isFirst) onTrouble(error);
    }
  }

  function noteSoon(): void {
    if (broken.log || closing.signal.aborted) return;
    noting ??= attempt('log', noteInTime).finally(() => {
      noting = undefined;
      if (unnoted.size > 0) noteSoon();
    });
  }

  return {
    async written(sessionId, messageId) {
      const before = current.get(sessionId);
      const recent = before ? [...before.recent, before.message_id].slice(-MOST_RECENT) : [];
      current.set(sessionId, { message_id: messageId, recent });
      unnoted.add(sessionId);
      slotting = slotting.then(() => attempt('slots', () => noteInSlot(sessionId)));
      noteSoon();
      await slotting;
    },
    async close() {
      closing.abort();
      await Promise.all([noting, slotting]);
      await attempt('log', note);
      for (const slot of slots.values()) await slot.close();
    },
  };
}
