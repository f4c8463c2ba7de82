import { rejectErrorInBody, UnknownShape } from './assumptions.ts';
import { Contract } from './contract.ts';
import { type Fields, fieldsOf } from './fields.ts';
import { describeFields, describeJson, isJsonObject, type JsonObject } from './json.ts';
import { type AuthorNames, readAuthor } from './message-author.ts';
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

function namesOfAuthors(contract: Contract): AuthorNames {
  return { agent: contract.values('message.author.agent'), user: contract.values('message.author.user') };
}

/** Fields that may hold the kind of message. Only a recognized author counts there. */
const KINDS = /(?:^|\.)(?:type|kind)$/i;

/** @throws UnknownShape if two fields name different sides, or if the author is under a suspicious name */
function roleOf(entry: JsonObject, fields: Fields, contract: Contract): string {
  const { isChosen } = contract.namesOf('message').rule('message.author');
  const names = namesOfAuthors(contract);
  const readings = fields.all('message.author').map(({ path, value }) => {
    // A number counts only at a path that is set for this service: elsewhere, it may be the id of a person.
    const text = isChosen && ['number', 'bigint'].includes(typeof value) ? String(value) : value;
    return { path, ...readAuthor(path.split('.').at(-1) ?? path, text, names) };
  });
  const [first, ...others] = readings.filter(({ side }) => side !== undefined);
  const other = others.find(({ side }) => side !== first?.side);
  if (first && other) {
    const message = `The response names both sides as the author of a message: ${first.path} and ${other.path}.`;
    const fix = { leaf: 'message.author', value: first.path, other: other.path } as const;
    throw new UnknownShape('message.author', message, describeFields(entry), fix);
  }
  if (first?.side) return first.side;
  const named = readings.find(({ path, name }) => name !== undefined && (isChosen || !KINDS.test(path)));
  if (named?.name === undefined) fields.rejectSuspect('message.author');
  return named?.name ?? 'unknown';
}

/** @throws UnknownShape if the text is under a suspicious name */
function textOf(fields: Fields): Pick<Message, 'text'> & { readonly isStep: boolean } {
  const candidates = fields.all('message.text');
  const texts = candidates.map(({ value }) => extractText(value));
  const text = texts.find((each) => each !== undefined);
  if (text === undefined) {
    fields.rejectSuspect('message.text');
    if (
      candidates.some(
        ({ value }) => isJsonObject(value) && Object.values(value).some((each) => typeof each === 'string'),
      )
    )
      throw fields.unreadableWithin(
        'message.text',
        'The text of a message cannot be found in the object that holds it.',
      );
  }
  // Null in every text field marks an intermediate step of the agent.
  const isStep = candidates.length > 0 && candidates.every(({ value }) => value === null);
  return { text: text ?? null, isStep };
}

/** @throws UnknownShape if the time is under a suspicious name */
function timeOf(fields: Fields): string | null {
  const times = fields.all('message.created_at').map(({ value }) => readTimestamp(value));
  const time = times.find((each) => each !== undefined);
  if (time === undefined) fields.rejectSuspect('message.created_at');
  return time ?? null;
}

/** Decodes the entries of a page of a history. @throws UnknownShape as `decodeMessage` */
export function decodeMessages(entries: readonly JsonObject[], contract: Contract): readonly Message[] {
  return entries.map((entry) => decodeMessage(entry, contract));
}

/**
 * Decodes a history entry (spec §4.4).
 * @throws UnknownShape if it has no id, or if its author, text, or time is under a suspicious name
 */
export function decodeMessage(entry: JsonObject, contract: Contract): Message {
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

/** Decodes the response to registering a message. @throws UnknownShape if it has no message_id, or reports an error */
export function decodeAcknowledgement(body: unknown, contract: Contract): Acknowledgement {
  const layers = layersOf(body, 'message');
  rejectErrorInBody(body, layers, 'chat.acknowledgement');
  // A name that is set for histories does not rename what the spec names here.
  const find = (names: Contract) => findResource(layers, 'message', 'message.id', names);
  const found = find(contract) ?? find(new Contract());
  if (found) return { message_id: found.id, created: findCreated([...layers, ...found.fields.places]) };
  const message = 'The response has no message_id.';
  if (layers[0]) throw fieldsOf(layers[0], 'message', contract).unreadable('message.id', message);
  throw new UnknownShape('chat.acknowledgement', message, describeJson(body));
}
