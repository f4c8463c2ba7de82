import type { Contract } from './contract.ts';
import { fieldsOf } from './fields.ts';
import type { JsonObject } from './json.ts';
import { UnknownShape } from './unknown-shape.ts';
import { canonicalId, isTextOrNumber } from './values.ts';

/** The session of a history request. */
export interface RequestedSession {
  readonly source_id: string;
  readonly session_id: string;
}

/**
 * Returns the entries of a history page that belong to the session: all of them, unless the history has no parameter
 * for it (`none`). An entry that names neither session nor source counts as one of the session.
 * @throws UnknownShape if an entry names another session or source, or none in a history of all sessions
 */
export function entriesOfSession(
  entries: readonly JsonObject[],
  requested: RequestedSession,
  contract: Contract,
): readonly JsonObject[] {
  const isFiltered = contract.parameter('messages.history.session_id') !== undefined;
  return entries.filter((entry) => {
    const fields = fieldsOf(entry, 'message', contract);
    const isOther = (field: keyof RequestedSession) => {
      const found = fields.all(`message.${field}`).find(({ value }) => isTextOrNumber(value));
      return found !== undefined && canonicalId(String(found.value)) !== canonicalId(requested[field]);
    };
    const isOfOther = isOther('session_id');
    if (isOfOther && isFiltered) throw foreignEntry('session_id');
    if (!isOfOther && isOther('source_id')) throw foreignEntry('source_id');
    if (isFiltered || fields.all('message.session_id').length > 0) return !isOfOther;
    const message = 'The history has the messages of all sessions, and one of them does not name its session.';
    throw fields.unreadable('message.session_id', message);
  });
}

function foreignEntry(field: keyof RequestedSession): UnknownShape {
  const message = 'The history contains messages of a session other than the requested one.';
  const fix = { leaf: `messages.history.${field}`, value: 'query:<name>', other: 'none' } as const;
  return new UnknownShape(message, `messages whose ${field} differs`, fix);
}
