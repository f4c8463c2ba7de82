import type { Contract } from './contract.ts';
import { normalizeName } from './field-names.ts';
import { fieldsOf } from './fields.ts';
import type { JsonObject } from './json.ts';
import { UnknownShape } from './unknown-shape.ts';
import { canonicalId, isTextOrNumber } from './values.ts';

/** The session of a history request. */
export interface RequestedSession {
  readonly source_id: string;
  readonly session_id: string;
}

const FIELDS = [
  ['session_id', 'message.session_id', 'messages.history.session_id'],
  ['source_id', 'message.source_id', 'messages.history.source_id'],
] as const;

/** Returns the field of an entry that names another session or source than the requested one. */
function findForeignField(entry: JsonObject, requested: RequestedSession, contract: Contract) {
  const fields = fieldsOf(entry, 'message', contract);
  for (const [name, leaf, parameter] of FIELDS) {
    const found = fields.all(leaf).find(({ value }) => isTextOrNumber(value));
    const isForeign = found && canonicalId(String(found.value)) !== canonicalId(requested[name]);
    if (isForeign) return { path: found.path, parameter };
  }
  return undefined;
}

/**
 * Returns the entries of a history page that belong to the session: all of them, unless the history has no parameter for the
 * session (`none`). An entry that names neither session nor source counts as one of the session.
 * @throws UnknownShape if an entry names another session or source: the service may ignore the parameters of the history. Also
 *   if the history has the messages of all sessions, and one of them does not name its own
 */
export function entriesOfSession(
  entries: readonly JsonObject[],
  requested: RequestedSession,
  contract: Contract,
): readonly JsonObject[] {
  const isFiltered = contract.parameter('messages.history.session_id') !== undefined;
  return entries.filter((entry) => {
    const foreign = findForeignField(entry, requested, contract);
    if (foreign?.parameter === 'messages.history.source_id' || (foreign && isFiltered))
      throw toForeign(foreign, contract);
    const fields = fieldsOf(entry, 'message', contract);
    if (isFiltered || fields.all('message.session_id').length > 0) return foreign === undefined;
    const message = 'The history has the messages of all sessions, and one of them does not name its session.';
    throw fields.unreadable('message.session_id', message);
  });
}

function toForeign(
  { path, parameter }: { readonly path: string; readonly parameter: (typeof FIELDS)[number][2] },
  contract: Contract,
): UnknownShape {
  const steps = path.split('.');
  const place = contract.parameter(parameter)?.place ?? 'query';
  const named = `${place}:${steps.findLast((step) => !/^(id|key)$/i.test(step)) ?? path}`;
  const isSent = normalizeName(named) === normalizeName(contract.leaf(parameter).value);
  // A service that ignores the name that its own messages use has no parameter for it.
  const value = isSent && parameter === 'messages.history.session_id' ? 'none' : named;
  const message = 'The history contains messages of a session other than the requested one.';
  return new UnknownShape(message, `messages whose ${path} differs`, { leaf: parameter, value });
}
