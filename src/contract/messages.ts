import { rejectErrorInBody, UnknownShape } from './assumptions.ts';
import { Contract } from './contract.ts';
import { normalizeName } from './field-names.ts';
import { type Fields, fieldsOf } from './fields.ts';
import { describeFields, describeJson, isJsonObject, type JsonObject, jsonText } from './json.ts';
import { proposePath, wordsOf } from './likely-names.ts';
import { readList } from './lists.ts';
import {
  type Author,
  type AuthorNames,
  decideAuthor,
  findAgentMarks,
  isAuthorField,
  lacksMark,
  searchAuthor,
} from './message-author.ts';
import { extractText, readTimestamp } from './message-text.ts';
import { findCreated, findResource, layersOf } from './resource.ts';

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

/** Fields that may hold the kind of message. Only a recognized author counts there. */
const KINDS = ['type', 'kind'];

function namesOfAuthors(contract: Contract): AuthorNames {
  return { agent: contract.values('message.author.agent'), user: contract.values('message.author.user') };
}

const USER: Author = { role: 'user', isKnown: true };

function toText(value: unknown): unknown {
  return typeof value === 'number' || typeof value === 'bigint' ? String(value) : value;
}

/** @throws UnknownShape if the author is probably under a name that the contract does not have */
function authorOf(entry: JsonObject, fields: Fields, contract: Contract, marks: ReadonlySet<string>): Author {
  const { isChosen } = contract.namesOf('message').rule('message.author');
  const candidates = fields
    .all('message.author')
    // A number counts only at a path that is set for this service: elsewhere, it may be the id of a person.
    .map(({ path, value }) => [path.split('.').at(-1) ?? path, isChosen ? toText(value) : value] as const);
  const names = namesOfAuthors(contract);
  const author = decideAuthor(candidates, names);
  const found = author.isKnown ? author : searchAuthor(Object.entries(entry), names);
  if (found) return found;
  const hasAuthorField = candidates.some(([, value]) => value !== null) || Object.keys(entry).some(isAuthorField);
  if (hasAuthorField && [...marks].some((mark) => lacksMark(entry, mark))) return USER;
  const named = candidates.filter(([key]) => isChosen || !KINDS.includes(normalizeName(key)));
  const value = named.length === 0 ? proposePath(entry, 'message.author', contract) : undefined;
  if (value === undefined) return decideAuthor(named, names);
  const fix = { leaf: 'message.author', value } as const;
  throw new UnknownShape('message.author', 'The author of a message cannot be found.', describeFields(entry), fix);
}

/** Words in the names of times other than that of writing. */
const OTHER_TIMES =
  /^(udate|mdate|mtime|updated?|modified|edit(ed)?|changed|deleted?|read|seen|delivered|expires|expired|expiry|last|next)$/;
const TIME_WORDS =
  /^(created|creation|create|sent|posted|inserted|published|written|occurred|received|date|cdate|time|ctime|datetime|timestamp|ts|at)$/;

/** Searches for the time of a message under names that the contract does not have. */
function searchTime({ places }: Fields): string | undefined {
  const entries = places.flatMap((place) => Object.entries(place));
  const times = entries.flatMap(([key, value]) => {
    const words = wordsOf(key);
    if (!words.some((word) => TIME_WORDS.test(word)) || words.some((word) => OTHER_TIMES.test(word))) return [];
    const time = readTimestamp(value);
    return time === undefined || Number.isNaN(Date.parse(time)) ? [] : [time];
  });
  return times.length === 1 ? times[0] : undefined;
}

/** Words in the names of fields that are not the text of a message. */
const OTHER_WORDS =
  /^(id|ids|uuid|uid|ref|type|kind|status|state|url|uri|href|link|lang|language|locale|version|name|title|email|phone|time|at|date|timestamp|ts|format|mime|channel|source|session|conversation|thread|object|event|hash|etag|cursor|avatar|model|ip|agent|device|priority|direction|intent|role|author|sender|user|file|attachment|key|token|mode)$/;

/** Returns the key under which an entry without a known text field may have its text. */
function findUnknownText(entry: JsonObject, contract: Contract): string | undefined {
  const names = contract.namesOf('message');
  const found = Object.entries(entry).find(
    ([key, value]) =>
      typeof value === 'string' &&
      value.trim() !== '' &&
      names.nameOf(key) === undefined &&
      !wordsOf(key).some((word) => OTHER_WORDS.test(word)),
  );
  return found?.[0];
}

const TEXT_WORDS = /^(text|content|body|message|msg|blocks|formats)$/;
/** Words in the names of objects whose texts are not that of the message. */
const OTHER_OBJECTS =
  /^(author|sender|user|from|actor|to|recipient|agent|bot|reply|parent|quoted|quote|forwarded|original|error|metadata)$/;

/** Returns the text in an object that is not about the author: `event.message`. Undefined if there are several. */
function findNestedText(entry: JsonObject): string | undefined {
  const texts = Object.entries(entry).flatMap(([key, value]) => {
    if (!isJsonObject(value) || wordsOf(key).some((word) => OTHER_OBJECTS.test(word))) return [];
    const found = Object.entries(value).filter(([inner]) => TEXT_WORDS.test(normalizeName(inner)));
    return found.map(([, text]) => extractText(text)).filter((text) => text !== undefined);
  });
  return texts.length === 1 ? texts[0] : undefined;
}

/** @throws UnknownShape if the text is under a name that the contract does not have */
function textOf(entry: JsonObject, fields: Fields, contract: Contract): Pick<Message, 'text'> & { isStep: boolean } {
  const candidates = fields.all('message.text');
  for (const { value } of candidates) {
    const text = extractText(value);
    if (text !== undefined) return { text, isStep: false };
  }
  if (candidates.length === 0) {
    // `rich_text`
    const texts = Object.entries(entry).filter(([key]) => {
      const words = wordsOf(key);
      return words.some((word) => TEXT_WORDS.test(word)) && !words.some((word) => OTHER_WORDS.test(word));
    });
    const text = texts.length === 1 ? extractText(texts[0]?.[1]) : findNestedText(entry);
    if (text !== undefined) return { text, isStep: false };
  }
  const key = candidates.length === 0 ? findUnknownText(entry, contract) : undefined;
  if (key !== undefined) {
    const fix = { leaf: 'message.text', value: key } as const;
    throw new UnknownShape('message.text', 'The text of a message cannot be found.', describeFields(entry), fix);
  }
  // Null in every text field marks an intermediate step of the agent.
  return { text: null, isStep: candidates.length > 0 && candidates.every(({ value }) => value === null) };
}

/**
 * Decodes the entries of a page like `decodeMessage`. If the service marks only the messages of agents, those without a mark
 * are the user's.
 * @param marks the known paths of agent marks (see `findAgentMarks`); those of this page are added
 */
export function decodeMessages(
  entries: readonly JsonObject[],
  contract: Contract,
  marks: Set<string>,
): readonly Message[] {
  const names = namesOfAuthors(contract);
  for (const entry of entries) for (const mark of findAgentMarks(entry, names)) marks.add(mark);
  return entries.map((entry) => decodeMessage(entry, contract, marks));
}

/**
 * Decodes a history entry (assumptions `message.author`, `message.text`, `message.created_at`).
 * @throws UnknownShape if it has no id, or its text is under an unknown name
 */
export function decodeMessage(entry: JsonObject, contract: Contract, marks: ReadonlySet<string> = new Set()): Message {
  const fields = fieldsOf(entry, 'message', contract);
  const message_id = fields.readId('message.id');
  const { role, isKnown } = authorOf(entry, fields, contract, marks);
  const { text, isStep } = textOf(entry, fields, contract);
  const times = fields.all('message.created_at').map(({ value }) => readTimestamp(value));
  return {
    message_id,
    role,
    isReply: isKnown && role === 'assistant' && !isStep,
    text,
    created_at: times.find((time) => time !== undefined) ?? searchTime(fields) ?? null,
    external_message_id: fields.text('message.external_message_id') ?? null,
    raw: entry,
  };
}

/**
 * Returns the messages of an object that maps ids to messages, beside a list of the ids: `{order: ['b', 'a'], posts: {…}}`.
 */
function findOrdered(body: JsonObject): readonly JsonObject[] | undefined {
  const { order } = body;
  if (!Array.isArray(order)) return undefined;
  const found = Object.values(body).flatMap((map) => {
    if (!isJsonObject(map) || Object.keys(map).length !== order.length) return [];
    const entries = order.map((id) => map[jsonText(id)]).filter(isJsonObject);
    return entries.length === order.length ? [entries] : [];
  });
  return found.length === 1 ? found[0] : undefined;
}

/** Returns the list of messages (`messages` or `history`) in a history response. @throws UnknownShape if it has none */
export function findHistoryEntries(body: unknown): readonly JsonObject[] {
  const ordered = isJsonObject(body) ? findOrdered(body) : undefined;
  if (ordered) return ordered;
  if (!isJsonObject(body) || body.history === undefined) return readList(body, 'messages');
  return isJsonObject(body.history) ? readList(body.history, 'messages') : readList(body, 'history');
}

/** Decodes the response to registering a message. @throws UnknownShape if it has no message_id, or reports an error */
export function decodeAcknowledgement(body: unknown, contract: Contract): Acknowledgement {
  const layers = layersOf(body, 'message', true);
  rejectErrorInBody(body, layers, 'chat.acknowledgement');
  // A name that is set for histories does not rename what the spec names here.
  const find = (names: Contract) => findResource(layers, 'message', 'message.id', names);
  const found = find(contract) ?? find(new Contract());
  if (found) return { message_id: found.id, created: findCreated([...layers, ...found.fields.places]) };
  const message = 'The response has no message_id.';
  if (layers[0]) throw fieldsOf(layers[0], 'message', contract).unreadable('message.id', message);
  throw new UnknownShape('chat.acknowledgement', message, describeJson(body));
}
