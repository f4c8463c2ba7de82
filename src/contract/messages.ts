import { Contract } from './contract.ts';
import { byNormalName, normalizeName } from './field-names.ts';
import { type Fields, fieldsOf } from './fields.ts';
import { describeFields, isJsonObject, type JsonObject } from './json.ts';
import type { ValuesLeaf } from './leaves.ts';
import { readCreated } from './resource.ts';
import { UnknownShape } from './unknown-shape.ts';
import { isTextOrNumber } from './values.ts';

/** A message of a session's history. */
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
  /** The object as the service sent it. */
  readonly raw: JsonObject;
}

/** The response to registering a message (spec §4.3). */
export interface Acknowledgement {
  readonly message_id: string;
  /** False if the external_message_id existed before; undefined if the service does not say. */
  readonly created: boolean | undefined;
}

interface AuthorReading {
  readonly side?: 'assistant' | 'user' | undefined;
  readonly name?: string | undefined;
}

/** Normalized keys of an author object that tell the side. */
const AUTHOR_KEYS = ['role', 'type', 'kind', 'sendertype', 'authortype', 'usertype'];

/** Compares whole names: parts of one may be a person's (Agent Smith), or mean the opposite (to_agent). */
function sideOf(name: string, contract: Contract): AuthorReading['side'] {
  const isIn = (leaf: ValuesLeaf): boolean =>
    contract.values(leaf).some((each) => normalizeName(each) === normalizeName(name));
  const [isAgent, isUser] = [isIn('message.author.agent'), isIn('message.author.user')];
  if (isAgent === isUser) return undefined;
  return isAgent ? 'assistant' : 'user';
}

/** Reads a flag: `is_bot: false`, or `true` and `false` as names of the sides. */
function sideOfFlag(key: string, value: boolean, contract: Contract): AuthorReading['side'] {
  const whenTrue = sideOf(normalizeName(key).replace(/^(?:is|from)+/, ''), contract);
  const whenFalse = whenTrue && (whenTrue === 'assistant' ? 'user' : 'assistant');
  return sideOf(String(value), contract) ?? (value ? whenTrue : whenFalse);
}

/** Reads a name of a side, a flag such as `is_bot`, or an object with either. @param key under which the value is */
function readAuthor(key: string, value: unknown, contract: Contract): AuthorReading {
  if (typeof value === 'boolean') return { side: sideOfFlag(key, value, contract), name: String(value) };
  if (typeof value === 'string') return { name: value.trim() || undefined, side: sideOf(value.trim(), contract) };
  const entries = Object.entries(isJsonObject(value) ? value : {});
  const flags = entries.filter(([, each]) => typeof each === 'boolean');
  const names = entries.filter(
    ([inner, each]) => typeof each === 'string' && AUTHOR_KEYS.includes(normalizeName(inner)),
  );
  const readings = [...names, ...flags].map(([inner, each]) => readAuthor(inner, each, contract));
  return readings.find(({ side }) => side) ?? { name: names.length > 0 ? readings[0]?.name : undefined };
}

/** Fields that may hold the kind of message. Only a recognized author counts there. */
const KINDS = /(?:^|\.)(?:type|kind)$/i;

/** @throws UnknownShape if two fields name different sides, or if the author is under a suspicious name */
function roleOf(entry: JsonObject, fields: Fields, contract: Contract): string {
  const isChosen = contract.isChosen('message.author');
  const readings = fields.all('message.author').map(({ path, value }) => {
    // A number counts only at a path that is set for this service: elsewhere, it may be the id of a person.
    const text = isChosen && isTextOrNumber(value) ? String(value) : value;
    return { path, ...readAuthor(path.split('.').at(-1) ?? path, text, contract) };
  });
  const [first, ...others] = readings.filter(({ side }) => side !== undefined);
  const other = others.find(({ side }) => side !== first?.side);
  if (first && other) {
    const message = `The response names both sides as the author of a message: ${first.path} and ${other.path}.`;
    const fix = { leaf: 'message.author', value: first.path, other: other.path } as const;
    throw new UnknownShape(message, describeFields(entry), fix);
  }
  if (first?.side) return first.side;
  const named = readings.find(({ path, name }) => name !== undefined && (isChosen || !KINDS.test(path)));
  if (named?.name === undefined) fields.rejectSuspect('message.author');
  return named?.name ?? 'unknown';
}

/** Normalized keys of an object that hold its text, in order. */
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

/** Whether an object may hold a text that was not found. */
function mayHoldText(value: unknown): boolean {
  return isJsonObject(value) && Object.values(value).some((each) => typeof each === 'string');
}

/** @throws UnknownShape if the text is under a suspicious name, or in an object in which it cannot be found */
function textOf(fields: Fields): Pick<Message, 'text'> & { readonly isStep: boolean } {
  const candidates = fields.all('message.text').map(({ value }) => value);
  const text = candidates.map(extractText).find((each) => each !== undefined);
  if (text !== undefined) return { text, isStep: false };
  fields.rejectSuspect('message.text');
  if (candidates.some(mayHoldText)) {
    const message = 'The text of a message cannot be found in the object that holds it.';
    throw fields.unreadable('message.text', message);
  }
  // Null in every text field marks an intermediate step of the agent.
  return { text: null, isStep: candidates.length > 0 && candidates.every((value) => value === null) };
}

/** Returns a time in ISO 8601 if it is a number of seconds or milliseconds between 2001 and 2286; a text unchanged. */
function readTimestamp(value: unknown): string | undefined {
  if (typeof value === 'string') return value || undefined;
  const perMs = [0.001, 1].find((each) => Number(value) >= 1e12 * each && Number(value) < 1e13 * each);
  return typeof value === 'number' && perMs !== undefined ? new Date(value / perMs).toISOString() : undefined;
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

/**
 * Reads a history entry (spec §4.4).
 * @throws UnknownShape if it has no id, or if its author, text, or time is under a suspicious name
 */
export function readMessage(entry: JsonObject, contract: Contract): Message {
  const fields = fieldsOf(entry, 'message', contract);
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
    raw: entry,
  };
}

/**
 * Reads the response to registering a message. A name that is set for histories does not rename what the spec names here.
 * @throws UnknownShape as `readCreated`
 */
export function readAcknowledgement(body: unknown, contract: Contract): Acknowledgement {
  const { id, created } = readCreated(body, 'message', contract, new Contract());
  return { message_id: id, created };
}
