import { rejectErrorInBody, UnknownShape } from './assumptions.ts';
import { findField, findId, findText } from './fields.ts';
import { describeJson, isJsonObject, type JsonObject } from './json.ts';
import { readList } from './lists.ts';

/** One message of a session's history. */
export interface Message {
  readonly message_id: string;
  /** `assistant` for a reply, `user` for what went to the agent, else the service's own word; `unknown` without one. */
  readonly role: string;
  /** Whether an agent said it; a step of its work that has no text is none. */
  readonly isReply: boolean;
  /** The exact text; null where none can be made out. */
  readonly text: string | null;
  /** ISO 8601, or whatever text the service puts there. */
  readonly created_at: string | null;
  readonly external_message_id: string | null;
  /** The object as it came. */
  readonly raw: JsonObject;
}

/** The answer to registering a message (spec §4.3). */
export interface Acknowledgement {
  readonly message_id: string;
  /** False when the external_message_id existed already; undefined when the service does not say. */
  readonly created: boolean | undefined;
}

const AUTHOR_FIELDS = ['role', 'author', 'sender', 'sender_type', 'direction'] as const;
const AUTHOR_KINDS = ['role', 'type', 'kind', 'sender_type', 'author_type'] as const;
const REPLY_WORDS: readonly string[] = ['assistant', 'agent', 'bot', 'ai', 'outbound'];
const USER_WORDS: readonly string[] = [
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
const MOMENT_FIELDS = ['created_at', 'timestamp', 'sent_at'] as const;
/** Parts may hold parts (`{text: {value}}`), but not without end. */
const TEXT_DEPTH = 3;

function wordOf(value: unknown): string | undefined {
  if (typeof value === 'string') return value.trim() === '' ? undefined : value.trim();
  if (!isJsonObject(value)) return undefined;
  return AUTHOR_KINDS.map((kind) => value[kind]).find((kind) => typeof kind === 'string');
}

/** A known word in any of the fields counts more than an earlier one that may be a name. */
function roleOf(message: JsonObject): string {
  const words = AUTHOR_FIELDS.flatMap((field) => wordOf(findField(message, 'message', field)) ?? []);
  for (const word of words) {
    if (REPLY_WORDS.includes(word.toLowerCase())) return 'assistant';
    if (USER_WORDS.includes(word.toLowerCase())) return 'user';
  }
  return words[0] ?? 'unknown';
}

function textIn(value: unknown, depth: number): string | undefined {
  if (typeof value === 'string') return value;
  if (depth === 0) return undefined;
  if (Array.isArray(value)) {
    const parts = value.map((part) => textIn(part, depth - 1)).filter((part) => part !== undefined);
    return parts.length === 0 ? undefined : parts.join('');
  }
  if (!isJsonObject(value)) return undefined;
  return textIn(value.text, depth - 1) ?? textIn(value.value, depth - 1) ?? textIn(value.content, depth - 1);
}

function textOf(message: JsonObject): string | null {
  for (const field of TEXT_FIELDS) {
    const text = textIn(findField(message, 'message', field), TEXT_DEPTH);
    if (text !== undefined) return text;
  }
  return null;
}

/** Whether an entry says that it has no text: a step of the agent's work, and no answer to anybody. */
function isSilent(message: JsonObject): boolean {
  const said = TEXT_FIELDS.map((field) => findField(message, 'message', field)).filter((value) => value !== undefined);
  return said.length > 0 && said.every((value) => value === null);
}

/** Seconds since the epoch until 2286, milliseconds from then on: no service is that far off. */
const MOST_SECONDS = 1e10;
const LAST_MOMENT_MS = 8.64e15;

function momentOf(message: JsonObject): string | null {
  for (const field of MOMENT_FIELDS) {
    const value = findField(message, 'message', field);
    if (typeof value === 'string' && value !== '') return value;
    if (typeof value !== 'number') continue;
    const ms = Math.abs(value) < MOST_SECONDS ? value * 1000 : value;
    if (Math.abs(ms) <= LAST_MOMENT_MS) return new Date(ms).toISOString();
  }
  return null;
}

/**
 * One entry of the history (assumptions `message.author`, `message.text`, `message.created_at`).
 * @throws UnknownShape when no message_id can be made out
 */
export function readMessage(entry: JsonObject): Message {
  const message_id = findId(entry, 'message');
  if (message_id === undefined) {
    throw new UnknownShape(
      'history.messages',
      'The history holds something without a message_id.',
      describeJson(entry),
    );
  }
  const role = roleOf(entry);
  return {
    message_id,
    role,
    isReply: role === 'assistant' && !isSilent(entry),
    text: textOf(entry),
    created_at: momentOf(entry),
    external_message_id: findText(entry, 'message', 'external_message_id') ?? null,
    raw: entry,
  };
}

/**
 * The entries of a history answer: a list of messages, by that name or as `history`.
 * @throws UnknownShape when no list can be made out
 */
export function readHistoryEntries(body: unknown): readonly JsonObject[] {
  if (!isJsonObject(body) || body.history === undefined) return readList(body, 'messages');
  return readList(
    isJsonObject(body.history) ? body.history : body,
    isJsonObject(body.history) ? 'messages' : 'history',
  );
}

/**
 * Reads the answer to registering a message (assumption `chat.acknowledgement`).
 * @throws UnknownShape when no message_id can be made out, or the answer speaks of a failure
 */
export function readAcknowledgement(body: unknown): Acknowledgement {
  const top = isJsonObject(body) ? body : {};
  const layers = [top, top.data, top.result].filter(isJsonObject);
  rejectErrorInBody(body, layers, 'chat.acknowledgement');
  const layer = layers.find((candidate) => findId(candidate, 'message') !== undefined);
  const message_id = layer && findId(layer, 'message');
  if (layer === undefined || message_id === undefined) {
    throw new UnknownShape(
      'chat.acknowledgement',
      'No message_id can be made out in the acknowledgement.',
      describeJson(body),
    );
  }
  const created = [findField(layer, 'message', 'created'), top.created].find((value) => typeof value === 'boolean');
  return { message_id, created };
}
