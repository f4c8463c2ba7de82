import { readCreated } from './body.ts';
import { Contract } from './contract.ts';
import { byNormalName, normalizeName } from './field-names.ts';
import { Fields } from './fields.ts';
import { describeFields, isJsonObject, type JsonObject } from './json.ts';
import { UnknownShape } from './unknown-shape.ts';
import { canonicalId, isTextOrNumber } from './values.ts';

export interface Message {
  readonly message_id: string;
  /** `assistant` for a reply, `user` for a message to the agent; otherwise the service's own value, or `unknown`. */
  readonly role: string;
  /** Whether an agent wrote it. An intermediate step without text is not a reply. */
  readonly isReply: boolean;
  /** The unchanged text; null if the message has none. */
  readonly text: string | null;
  /** Usually ISO 8601. A string from the service is kept unchanged, even if it is not a date. */
  readonly created_at: string | null;
  readonly external_message_id: string | null;
  /** Null if the entry does not name its session. */
  readonly session_id: string | null;
  /** The object as the service sent it. */
  readonly raw: JsonObject;
}

/** The response to registering a message (spec §4.3). */
export interface Acknowledgement {
  readonly message_id: string;
  /** False if the external_message_id existed before; undefined if the service does not say. */
  readonly created: boolean | undefined;
}

type Side = 'assistant' | 'user';

interface Author {
  readonly side?: Side | undefined;
  readonly name?: string | undefined;
}

const AUTHOR_KEYS = ['role', 'type', 'kind', 'sendertype', 'authortype', 'usertype'];
/** Fields that may hold the kind of message. Only a recognized author counts there. */
const KINDS = /(?:^|\.)(?:type|kind)$/i;

/** Compares whole names: parts of one may be a person's (Agent Smith), or mean the opposite (to_agent). */
function sideOf(name: string, contract: Contract): Side | undefined {
  const isAgent = contract.values('message.author.agent').has(normalizeName(name));
  const isUser = contract.values('message.author.user').has(normalizeName(name));
  if (isAgent === isUser) return undefined;
  return isAgent ? 'assistant' : 'user';
}

/** Reads a name of a side, a flag such as `is_bot`, or an object with either. @param key under which the value is */
function readAuthor(key: string, value: unknown, contract: Contract): Author {
  if (typeof value === 'string') return { side: sideOf(value.trim(), contract), name: value.trim() || undefined };
  if (typeof value === 'boolean') {
    const whenTrue = sideOf(normalizeName(key).replace(/^(?:is|from)+/, ''), contract);
    const whenFalse = whenTrue && (whenTrue === 'assistant' ? 'user' : 'assistant');
    return { side: sideOf(`${value}`, contract) ?? (value ? whenTrue : whenFalse), name: `${value}` };
  }
  const authors = Object.entries(isJsonObject(value) ? value : {})
    .filter(([inner, each]) => typeof each === 'boolean' || AUTHOR_KEYS.includes(normalizeName(inner)))
    .map(([inner, each]) => readAuthor(inner, each, contract));
  return authors.find(({ side }) => side) ?? authors.find(({ name }) => name && !/^(?:true|false)$/.test(name)) ?? {};
}

/** @throws UnknownShape if two fields name different sides, or if the author is under a suspicious name */
function roleOf(entry: JsonObject, fields: Fields, contract: Contract): string {
  const isChosen = contract.isChosen('message.author');
  const authors = fields.all('message.author').map(({ path, value }) => {
    // A number counts only at a path that is set for this service: elsewhere, it may be the id of a person.
    const text = isChosen && isTextOrNumber(value) ? String(value) : value;
    return { path, ...readAuthor(path.split('.').at(-1) ?? path, text, contract) };
  });
  const first = authors.find(({ side }) => side);
  const other = authors.find(({ side }) => side && side !== first?.side);
  if (first && other) {
    const message = `The response names both sides as the author of a message: ${first.path} and ${other.path}.`;
    const fix = { leaf: 'message.author', value: first.path, other: other.path } as const;
    throw new UnknownShape(message, describeFields(entry), fix);
  }
  const named = first ?? authors.find(({ path, name }) => name !== undefined && (isChosen || !KINDS.test(path)));
  if (named === undefined) fields.rejectSuspect('message.author');
  return named?.side ?? named?.name ?? 'unknown';
}

const TEXT_KEYS = 'text plaintext plain value content body message markdown rendered parts'.split(' ');

/** Returns the text of a string, a list of parts, or an object with either, one after the other. */
function extractText(value: unknown): string | undefined {
  if (typeof value === 'string') return value;
  if (Array.isArray(value)) {
    const texts = value.map(extractText).filter((text) => text !== undefined);
    return texts.length === 0 ? undefined : texts.join('');
  }
  if (!isJsonObject(value)) return undefined;
  const named = byNormalName(value);
  return TEXT_KEYS.map((key) => extractText(named.get(key))).find((found) => found !== undefined);
}

/** @throws UnknownShape if the text is under a suspicious name, or in an object in which it cannot be found */
function textOf(fields: Fields): Pick<Message, 'text'> & { readonly isStep: boolean } {
  const candidates = fields.all('message.text').map(({ value }) => value);
  const text = candidates.map(extractText).find((each) => each !== undefined);
  if (text !== undefined) return { text, isStep: false };
  fields.rejectSuspect('message.text');
  if (candidates.some((value) => isJsonObject(value) && Object.values(value).some((each) => typeof each === 'string')))
    throw fields.unreadable('message.text', 'The text of a message cannot be found in the object that holds it.');
  // Null in every text field marks an intermediate step of the agent.
  return { text: null, isStep: candidates.length > 0 && candidates.every((value) => value === null) };
}

/** Returns a time in ISO 8601 if it is a number of seconds or milliseconds between 2001 and 2286; a text unchanged. */
function readTimestamp(value: unknown): string | undefined {
  if (typeof value === 'string') return value || undefined;
  if (typeof value !== 'number' || value < 1e9) return undefined;
  const ms = value < 1e10 ? value * 1000 : value;
  return ms >= 1e12 && ms < 1e13 ? new Date(ms).toISOString() : undefined;
}

/** @throws UnknownShape if the time is under a suspicious name, in an object, or a number in an unknown unit */
function timeOf(fields: Fields): string | null {
  const values = fields.all('message.created_at').map(({ value }) => value);
  const time = values.map(readTimestamp).find((each) => each !== undefined);
  if (time !== undefined) return time;
  fields.rejectSuspect('message.created_at');
  if (values.some((value) => Boolean(value) && value !== true))
    throw fields.unreadable('message.created_at', 'The time of a message cannot be read.');
  return null;
}

/** Reads a history entry (spec §4.4). @throws UnknownShape without an id, or for a suspicious author, text, or time */
export function readMessage(entry: JsonObject, contract: Contract): Message {
  const fields = new Fields(entry, 'message', contract);
  const message_id = fields.readId('message.id');
  const role = roleOf(entry, fields, contract);
  const { text, isStep } = textOf(fields);
  return {
    message_id,
    role,
    isReply: role === 'assistant' && !isStep,
    text,
    created_at: timeOf(fields),
    external_message_id: fields.text('message.external_message_id') ?? null,
    session_id: nameOf(fields, 'session_id') ?? null,
    raw: entry,
  };
}

/** Reads the response to a message. Names set for histories do not rename those of spec §4.3. @throws UnknownShape */
export function readAcknowledgement(body: unknown, contract: Contract): Acknowledgement {
  const { id, created } = readCreated(body, 'message', contract, new Contract());
  return { message_id: id, created };
}

export interface SessionRef {
  readonly source_id: string;
  readonly session_id: string;
}

function nameOf(fields: Fields, field: keyof SessionRef): string | undefined {
  const found = fields.all(`message.${field}`).find(({ value }) => isTextOrNumber(value));
  return found && canonicalId(String(found.value));
}

/**
 * Reads the entries of a history page that belong to the session: all of them, unless the history has no parameter
 * for it (`none`). An entry that names neither session nor source counts as one of the session.
 * @throws UnknownShape as `readMessage`; if an entry names another session or source, or none in a history of all sessions
 */
export function readSession(entries: readonly JsonObject[], requested: SessionRef, contract: Contract) {
  const isFiltered = contract.parameter('messages.history.session_id') !== undefined;
  return entries.flatMap((entry): readonly Message[] => {
    const fields = new Fields(entry, 'message', contract);
    const isOther = (field: keyof SessionRef) =>
      ![undefined, canonicalId(requested[field])].includes(nameOf(fields, field));
    if (isOther('session_id')) {
      if (isFiltered) throw foreignEntry('session_id');
      return [];
    }
    if (isOther('source_id')) throw foreignEntry('source_id');
    if (nameOf(fields, 'session_id') === undefined && !isFiltered) throw unnamedSession(entry, contract);
    return [readMessage(entry, contract)];
  });
}

function foreignEntry(field: keyof SessionRef): UnknownShape {
  const message = 'The history contains messages of a session other than the requested one.';
  const fix = { leaf: `messages.history.${field}`, value: 'query:<name>', other: 'none' } as const;
  return new UnknownShape(message, `messages whose ${field} differs`, fix);
}

/** The error for an entry that does not name its session, in a history of all sessions. Its fix says where it may. */
export function unnamedSession(entry: JsonObject, contract: Contract): UnknownShape {
  const message = 'The history has the messages of all sessions, and one of them does not name its session.';
  return new Fields(entry, 'message', contract).unreadable('message.session_id', message);
}
