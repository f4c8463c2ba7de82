import type { Context } from '../cli/context.ts';
import { PartnerctlError } from '../errors.ts';
import { appendRecord } from '../state-old/append.ts';
import { TAIL_TYPE } from '../state-old/checkpoint.ts';
import { readLog } from '../state-old/file-store.ts';
import { fieldText, isText, type LogRecord, randomRecordId, recordHead } from '../state-old/record.ts';
import { type SessionRef, sessionKey } from '../state-old/session-ref.ts';
import { MESSAGE_RECORDS } from './message-records.ts';

/** Names sessions that messages were sent to, or read in, and that no other record names: see `SessionMemory`. */
export const SESSIONS_TYPE = 'chat.sessions';

const { reserved: SENDING, created: SENT, released: RELEASED } = MESSAGE_RECORDS.types;

/** The records that name a session: a message was sent to it, or it was followed. */
const TYPES = [TAIL_TYPE, SENDING, SENT, SESSIONS_TYPE];

function toRef(source_id: unknown, session_id: unknown): readonly SessionRef[] {
  return isText(source_id) && isText(session_id) ? [{ source_id, session_id }] : [];
}

function sessionsOf({ type, source_id, session_id, sessions }: LogRecord): readonly SessionRef[] {
  if (type !== SESSIONS_TYPE) return toRef(source_id, session_id);
  if (!Array.isArray(sessions)) return [];
  return sessions.flatMap((pair: unknown) => (Array.isArray(pair) ? toRef(pair[0], pair[1]) : []));
}

/**
 * Reads which sessions of a service this machine has sent messages to, or followed. One whose only messages the service
 * rejected may not exist, and is left out.
 * @param path the state file
 * @param origin the base URL of the service
 * @throws LocalError if the file cannot be read
 */
export async function readKnownSessions(path: string, origin: string): Promise<readonly SessionRef[]> {
  const sessions = new Map<string, SessionRef>();
  const sending = new Map<string, SessionRef>();
  for await (const entry of readLog(path, {
    containing: [...TYPES, RELEASED].map((type) => fieldText('type', type)),
  })) {
    if (entry.kind !== 'record') continue;
    const { record } = entry;
    if (record.type === RELEASED) sending.delete(String(record[MESSAGE_RECORDS.reservationField]));
    if (!TYPES.includes(record.type) || record.origin !== origin) continue;
    for (const session of sessionsOf(record)) {
      if (record.type === SENDING) sending.set(record.id, session);
      else sessions.set(sessionKey(session), session);
    }
  }
  for (const session of sending.values()) sessions.set(sessionKey(session), session);
  return [...sessions.values()];
}

/** How many sessions a record names at most. */
const SESSIONS_PER_RECORD = 100;

/** Records sessions in this machine's state file, each once, so that `readKnownSessions` finds them. */
export class SessionMemory {
  private readonly context: Pick<Context, 'clock' | 'redact' | 'statePath'>;
  private readonly origin: string;
  private readonly added = new Set<string>();
  private known: Promise<ReadonlySet<string>> | undefined;
  private waiting: SessionRef[] = [];

  constructor(context: Pick<Context, 'clock' | 'redact' | 'statePath'>, origin: string) {
    this.context = context;
    this.origin = origin;
  }

  /** Adds a session, and saves when many wait. */
  async add({ source_id, session_id }: SessionRef): Promise<void> {
    const key = sessionKey({ source_id, session_id });
    if (this.added.has(key)) return;
    this.added.add(key);
    this.waiting.push({ source_id, session_id });
    if (this.waiting.length >= SESSIONS_PER_RECORD) await this.save();
  }

  /** Records the sessions that wait. A state file that cannot be used costs lines of `chat watch`, no more. */
  async save(): Promise<void> {
    const waiting = this.waiting.splice(0);
    if (waiting.length === 0) return;
    const { clock, redact, statePath } = this.context;
    try {
      const path = await statePath();
      this.known ??= readKnownSessions(path, this.origin).then((known) => new Set(known.map(sessionKey)));
      const known = await this.known;
      const sessions = waiting
        .filter((session) => !known.has(sessionKey(session)))
        .map(({ source_id, session_id }) => [source_id, session_id]);
      if (sessions.length === 0) return;
      const head = recordHead(SESSIONS_TYPE, { now: () => clock.now(), newId: randomRecordId });
      await appendRecord(path, { ...head, origin: this.origin, sessions }, redact);
    } catch (error) {
      if (!(error instanceof PartnerctlError)) throw error;
    }
  }
}
