import { sanitizeLine } from '../output/sanitize.ts';
import { truncateMiddle } from '../output/width.ts';
import { type SessionRef, sessionKey } from '../state-old/session-ref.ts';

const SOURCE_WIDTH = 12;

function countBy(values: readonly string[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const value of values) counts.set(value, (counts.get(value) ?? 0) + 1);
  return counts;
}

/** Shortens source_ids, unless two would look the same. */
function shortenSources(ids: readonly string[]): ReadonlyMap<string, string> {
  const short = new Map(ids.map((id) => [id, truncateMiddle(sanitizeLine(id), SOURCE_WIDTH)]));
  const isDistinct = new Set(short.values()).size === short.size;
  return isDistinct ? short : new Map(ids.map((id) => [id, sanitizeLine(id)]));
}

/**
 * Labels sessions for people, each differently: with the session_id, and where several sources have such a session, also
 * with the source.
 * @returns the sanitized labels by key (see `sessionKey`)
 */
export function labelSessions(sessions: readonly SessionRef[]): ReadonlyMap<string, string> {
  const unique = [...new Map(sessions.map((session) => [sessionKey(session), session])).values()];
  const counts = countBy(unique.map(({ session_id }) => sanitizeLine(session_id)));
  const sources = shortenSources(unique.map(({ source_id }) => source_id));
  return new Map(
    unique.map((session) => {
      const name = sanitizeLine(session.session_id);
      const source = sources.get(session.source_id) ?? session.source_id;
      return [sessionKey(session), counts.get(name) === 1 ? name : `${name} ${source}`];
    }),
  );
}
