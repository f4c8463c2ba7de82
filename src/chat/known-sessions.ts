import { readLog } from '../state/file-store.ts';
import { fieldText, isText } from '../state/record.ts';
import { type SessionRef, sessionKey } from '../state/session-ref.ts';
import { MESSAGE_RECORDS } from './message-records.ts';

/** The records that name a session: a message was sent to it, or it was followed. */
const TYPES = ['tail', MESSAGE_RECORDS.types.reserved, MESSAGE_RECORDS.types.created];

/**
 * Reads which sessions of a service this machine has sent messages to, or followed.
 * @param path the state file
 * @param origin the base URL of the service
 * @throws LocalError if the file cannot be read
 */
export async function readKnownSessions(path: string, origin: string): Promise<readonly SessionRef[]> {
  const sessions = new Map<string, SessionRef>();
  for await (const entry of readLog(path, { containing: TYPES.map((type) => fieldText('type', type)) })) {
    if (entry.kind !== 'record' || !TYPES.includes(entry.record.type) || entry.record.origin !== origin) continue;
    const { source_id, session_id } = entry.record;
    if (!isText(source_id) || !isText(session_id)) continue;
    const session = { source_id, session_id };
    sessions.set(sessionKey(session), session);
  }
  return [...sessions.values()];
}
