import { type ContractFix, UnknownShape } from './assumptions.ts';
import type { Contract } from './contract.ts';
import { normalizeName } from './field-names.ts';
import { fieldsOf } from './fields.ts';
import { isJsonObject, type JsonObject } from './json.ts';
import { isIdName, isSessionName } from './likely-names.ts';
import type { Message } from './messages.ts';
import { canonicalId } from './uuid.ts';

/** The session of a history request. */
export interface RequestedSession {
  readonly source_id: string;
  readonly session_id: string;
}

type SessionParameter = 'messages.history.session_id' | 'messages.history.source_id';

/** A page of the history with messages of other sessions. */
export class ForeignMessages extends UnknownShape {
  /** Whether the page also has messages of the requested session. */
  readonly hasOwn: boolean;

  constructor(message: string, seen: string, fix: ContractFix, hasOwn: boolean) {
    super('history.query', message, seen, fix);
    this.hasOwn = hasOwn;
  }
}

/** A page of a history that has the same messages for a session that does not exist. */
export class IgnoredSession extends ForeignMessages {
  /** What the messages themselves tell of their session. */
  readonly evidence: SessionEvidence;
  override readonly fix: ContractFix;

  constructor(seen: string, fix: ContractFix, evidence: SessionEvidence) {
    super(IGNORED, seen, fix, true);
    this.evidence = evidence;
    this.fix = fix;
  }
}

const IGNORED = 'The history ignores which session is requested, so its messages may be of any session.';

/** The name of a field, or of the object that has it: `session` for `session.id`. */
function nameIn(path: string): string {
  const names = path.split('.');
  return names.findLast((name) => !isIdName(name)) ?? path;
}

function toForeignMessages(hasOwn: boolean, path: string, leaf: SessionParameter, contract: Contract) {
  const named = `query:${nameIn(path)}`;
  const isSent = normalizeName(named) === normalizeName(contract.leaf(leaf).value);
  // A service that ignores the name that its own messages use has no parameter for it.
  const value = isSent && leaf === 'messages.history.session_id' ? 'none' : named;
  const message = 'The history contains messages of a session other than the requested one.';
  return new ForeignMessages(message, `messages whose ${path} differs`, { leaf, value }, hasOwn);
}

/**
 * The error for a history that has the same messages for a session that does not exist.
 * @param evidence what the messages tell of their session
 */
export function createIgnoredSession(
  entries: readonly JsonObject[],
  evidence: SessionEvidence,
  contract: Contract,
): IgnoredSession {
  const leaf = 'messages.history.session_id';
  const sent = contract.leaf(leaf).value;
  const paths = entries.flatMap(sessionFields).map(({ path }) => `query:${nameIn(path)}`);
  const value = paths.find((path) => normalizeName(path) !== normalizeName(sent)) ?? 'query:<name>';
  const seen = `the same messages for a session that does not exist, which was requested with ${sent}`;
  return new IgnoredSession(seen, { leaf, value }, evidence);
}

const SESSION_FIELDS = [
  ['session_id', 'message.session_id', 'messages.history.session_id'],
  ['source_id', 'message.source_id', 'messages.history.source_id'],
] as const;

function isId(value: unknown): value is string | number | bigint {
  return ['string', 'number', 'bigint'].includes(typeof value) && value !== '';
}

function isSame(value: unknown, requested: string): boolean {
  return canonicalId(String(value)) === canonicalId(requested);
}

/** Returns the first field of an entry that names another session or source than the requested one. */
function findForeignField(entry: JsonObject, requested: RequestedSession, contract: Contract) {
  const fields = fieldsOf(entry, 'message', contract);
  for (const [name, leaf, parameter] of SESSION_FIELDS) {
    const found = fields.all(leaf).find(({ value }) => isId(value));
    if (found !== undefined && !isSame(found.value, requested[name])) return { path: found.path, parameter };
  }
  return undefined;
}

/** A field that may name the session of a message. */
interface SessionField {
  readonly path: string;
  readonly value: string;
}

/** Returns the fields of an entry that may name its session, by their names: also `conversation.id`, `metadata.thread`. */
function sessionFields(entry: JsonObject): readonly SessionField[] {
  return Object.entries(entry).flatMap(([key, value]) => {
    const isSession = isSessionName(key);
    if (!isJsonObject(value)) return isSession && isId(value) ? [{ path: key, value: String(value) }] : [];
    return Object.entries(value).flatMap(([inner, id]) => {
      const isNamed = isSessionName(inner) || (isSession && isIdName(inner));
      return isNamed && isId(id) ? [{ path: `${key}.${inner}`, value: String(id) }] : [];
    });
  });
}

/**
 * Whether the entries of a page name the requested session: they do, they name none, or they name one or several by other ids,
 * which perhaps only the service knows.
 */
export type SessionEvidence = 'named' | 'unnamed' | 'one other' | 'several';

/**
 * Makes sure that no entry of a page is of another session or source: a service may ignore the parameters of the history. An
 * entry that names neither counts as one of the session.
 * @throws ForeignMessages
 */
export function rejectForeignMessages(
  entries: readonly JsonObject[],
  requested: RequestedSession,
  contract: Contract,
): SessionEvidence {
  const foreign = entries.map((entry) => findForeignField(entry, requested, contract));
  // A request without the session returns the messages of all sessions.
  const hasParameter = contract.parameter('messages.history.session_id') !== undefined;
  const first = foreign.find((found) => found?.parameter === 'messages.history.source_id' || (hasParameter && found));
  if (first) throw toForeignMessages(foreign.includes(undefined), first.path, first.parameter, contract);
  const isNamed = (entry: JsonObject) =>
    fieldsOf(entry, 'message', contract)
      .all('message.session_id')
      .some(({ value }) => isId(value));
  const unnamed = hasParameter ? entries.filter((entry) => !isNamed(entry)) : [];
  if (unnamed.length === 0) return 'named';
  return rejectOtherNames(unnamed.map(sessionFields), requested.session_id, contract);
}

/** Compares entries by fields that may name the session. @throws ForeignMessages */
function rejectOtherNames(
  entries: readonly (readonly SessionField[])[],
  session_id: string,
  contract: Contract,
): SessionEvidence {
  const isOwn = ({ value }: SessionField) => isSame(value, session_id);
  const paths = new Set(
    entries
      .flat()
      .filter(isOwn)
      .map(({ path }) => path),
  );
  const others = entries.filter((fields) => !fields.some(isOwn));
  const foreign = others.flat().find(({ path }) => paths.has(path));
  if (foreign) throw toForeignMessages(true, foreign.path, 'messages.history.session_id', contract);
  if (others.length === 0) return 'named';
  const values = new Map<string, string>();
  for (const { path, value } of entries.flat()) {
    const known = values.get(path) ?? value;
    if (known !== value) return 'several';
    values.set(path, value);
  }
  return values.size === 0 ? 'unnamed' : 'one other';
}

/**
 * Returns the messages of a page that belong to the session: all of them, unless the history has no parameter for the
 * session (`none`).
 * @throws UnknownShape if it has none, and a message does not name its session
 */
export function messagesOfSession(
  messages: readonly Message[],
  requested: RequestedSession,
  contract: Contract,
): readonly Message[] {
  if (contract.parameter('messages.history.session_id') !== undefined) return messages;
  return messages.filter(({ raw }) => {
    const fields = fieldsOf(raw, 'message', contract);
    if (fields.all('message.session_id').length > 0) return findForeignField(raw, requested, contract) === undefined;
    const message = 'The history has the messages of all sessions, and one of them does not name its session.';
    throw fields.unreadable('message.session_id', message);
  });
}
