import { rejectErrorInBody, UnknownShape } from './assumptions.ts';
import { describeJson, isJsonObject, type JsonObject } from './json.ts';
import { readList } from './lists.ts';
import { findField, findId, findText } from './plain-fields.ts';

/** A message of a session's history. */
export interface Message {
  readonly message_id: string;
  /** `assistant` for a reply, `user` for a message to the agent, otherwise the service's own value, or `unknown`. */
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

const AUTHOR_FIELDS = ['role', 'author', 'sender', 'sender_type', 'direction'] as const;
const AUTHOR_KEYS = ['role', 'type', 'kind', 'sender_type', 'author_type'] as const;
const AGENT_ROLES: readonly string[] = ['assistant', 'agent', 'bot', 'ai', 'outbound'];
const USER_ROLES: readonly string[] = [
  'user',
  'human',
  'customer',
  'client',
  'contact',
  'visitor',
  'end_user',
  'inbound',
];
const TEXT_FIELDS = ['text', 'content', 'body', 'message'] as const;
const TIMESTAMP_FIELDS = ['created_at', 'timestamp', 'sent_at'] as const;
/** Text parts may be nested (`{text: {value}}`). */
const MAX_TEXT_DEPTH = 3;

function authorName(value: unknown): string | undefined {
  if (typeof value === 'string') return value.trim() === '' ? undefined : value.trim();
  if (!isJsonObject(value)) return undefined;
  return AUTHOR_KEYS.map((key) => value[key]).find((name) => typeof name === 'string');
}

/** A recognized role in any field wins over an earlier field, which may hold a person's name. */
function findRole(message: JsonObject): string {
  const names = AUTHOR_FIELDS.flatMap((field) => authorName(findField(message, 'message', field)) ?? []);
  for (const name of names) {
    if (AGENT_ROLES.includes(name.toLowerCase())) return 'assistant';
    if (USER_ROLES.includes(name.toLowerCase())) return 'user';
  }
  return names[0] ?? 'unknown';
}

function extractText(value: unknown, depth: number): string | undefined {
  if (typeof value === 'string') return value;
  if (depth === 0) return undefined;
  if (Array.isArray(value)) {
    const parts = value.map((part) => extractText(part, depth - 1)).filter((part) => part !== undefined);
    return parts.length === 0 ? undefined : parts.join('');
  }
  if (!isJsonObject(value)) return undefined;
  return (
    extractText(value.text, depth - 1) ?? extractText(value.value, depth - 1) ?? extractText(value.content, depth - 1)
  );
}

function findMessageText(message: JsonObject): string | null {
  for (const field of TEXT_FIELDS) {
    const text = extractText(findField(message, 'message', field), MAX_TEXT_DEPTH);
    if (text !== undefined) return text;
  }
  return null;
}

/** Whether all text fields present are null, which marks an intermediate step of the agent. */
function isExplicitlyEmpty(message: JsonObject): boolean {
  const values = TEXT_FIELDS.map((field) => findField(message, 'message', field)).filter(
    (value) => value !== undefined,
  );
  return values.length > 0 && values.every((value) => value === null);
}

/** Smaller numbers are seconds since the epoch (up to the year 2286); others are milliseconds. */
const MAX_SECONDS = 1e10;
/** The range of `Date`. */
const MAX_DATE_MS = 8.64e15;

function findTimestamp(message: JsonObject): string | null {
  for (const field of TIMESTAMP_FIELDS) {
    const value = findField(message, 'message', field);
    if (typeof value === 'string' && value !== '') return value;
    if (typeof value !== 'number') continue;
    const ms = Math.abs(value) < MAX_SECONDS ? value * 1000 : value;
    if (Math.abs(ms) <= MAX_DATE_MS) return new Date(ms).toISOString();
  }
  return null;
}

/**
 * Decodes a history entry (assumptions `message.author`, `message.text`, `message.created_at`).
 * @throws UnknownShape if it has no message_id
 */
export function decodeMessage(entry: JsonObject): Message {
  const message_id = findId(entry, 'message');
  if (message_id === undefined) {
    throw new UnknownShape('history.messages', 'An entry of the history has no message_id.', describeJson(entry));
  }
  const role = findRole(entry);
  return {
    message_id,
    role,
    isReply: role === 'assistant' && !isExplicitlyEmpty(entry),
    text: findMessageText(entry),
    created_at: findTimestamp(entry),
    external_message_id: findText(entry, 'message', 'external_message_id') ?? null,
    raw: entry,
  };
}

/** Returns the list of messages (`messages` or `history`) in a history response. @throws UnknownShape if it has none */
export function findHistoryEntries(body: unknown): readonly JsonObject[] {
  if (!isJsonObject(body) || body.history === undefined) return readList(body, 'messages');
  return isJsonObject(body.history) ? readList(body.history, 'messages') : readList(body, 'history');
}

/**
 * Decodes the response to registering a message (assumption `chat.acknowledgement`).
 * @throws UnknownShape if the response has no message_id or reports an error
 */
export function decodeAcknowledgement(body: unknown): Acknowledgement {
  const top = isJsonObject(body) ? body : {};
  const layers = [top, top.data, top.result].filter(isJsonObject);
  rejectErrorInBody(body, layers, 'chat.acknowledgement');
  const layer = layers.find((candidate) => findId(candidate, 'message') !== undefined);
  const message_id = layer && findId(layer, 'message');
  if (layer === undefined || message_id === undefined) {
    throw new UnknownShape('chat.acknowledgement', 'The response has no message_id.', describeJson(body));
  }
  const created = [findField(layer, 'message', 'created'), top.created].find((value) => typeof value === 'boolean');
  return { message_id, created };
}
