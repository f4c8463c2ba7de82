import { normalizeName } from './field-names.ts';
import { isJsonObject, type JsonObject } from './json.ts';
import { wordsOf } from './likely-names.ts';

/** The author of a message. */
export interface Author {
  /** `assistant`, `user`, or the service's own name. */
  readonly role: string;
  /** Whether the role is recognized: `assistant` or `user`. */
  readonly isKnown: boolean;
}

/** The names of the two sides at a service, in lower case. */
export interface AuthorNames {
  readonly agent: readonly string[];
  readonly user: readonly string[];
}

/** Normalized keys of an author object that may identify the side. */
const KEYS = ['role', 'type', 'kind', 'sendertype', 'authortype', 'usertype'];
const MAX_DEPTH = 2;

/** Names of authors on neither side of a conversation. */
export const NEITHER_SIDE: readonly string[] = [
  'system',
  'tool',
  'event',
  'function',
  'notification',
  'unknown',
  'internal',
  'note',
];

type Side = 'assistant' | 'user';

/** Names of a side only if they are the whole name: an `opt_in` is not a user. */
const DIRECTIONS = ['in', 'out'];

function decide(isAgent: boolean, isUser: boolean): Side | undefined {
  if (isAgent === isUser) return undefined;
  return isAgent ? 'assistant' : 'user';
}

/** Returns the side of a name. Splits only identifiers: a name with spaces may be a person's (Agent Smith). */
function sideOf(name: string, names: AuthorNames): Side | undefined {
  // First as written: `5` and `-5` normalize to the same name.
  const text = name.toLowerCase();
  const literal = decide(names.agent.includes(text), names.user.includes(text));
  if (literal !== undefined) return literal;
  const whole = normalizeName(name);
  const isNamed = (list: readonly string[]) => list.some((each) => normalizeName(each) === whole);
  const exact = decide(isNamed(names.agent), isNamed(names.user));
  if (exact !== undefined || !/^[\w.:-]+$/.test(name)) return exact;
  const words = wordsOf(name).filter((word) => !DIRECTIONS.includes(word));
  return sideOfWords(words, names);
}

/** Words that turn the side that follows into the other one: `to_agent`, `non-bot`. */
const OPPOSITES = ['to', 'for', 'non', 'not'];

/** Returns the side that the words of a name agree on. With others beside an opposite, as in `transfer_to_agent`, none. */
function sideOfWords(words: readonly string[], names: AuthorNames): Side | undefined {
  const sides = new Set<Side | undefined>();
  const hasOpposite = words.some((word) => OPPOSITES.includes(word));
  let isOpposite = false;
  for (const word of words) {
    // Also the plural: `bots`, `guests`.
    const isIn = (list: readonly string[]) => list.some((each) => word === each || word === `${each}s`);
    const side = decide(isIn(names.agent), isIn(names.user));
    if (side) sides.add(isOpposite ? opposite(side) : side);
    else if (hasOpposite && ![...OPPOSITES, ...FLAG_WORDS].includes(word)) sides.add(undefined);
    isOpposite = OPPOSITES.includes(word) || (isOpposite && side === undefined);
  }
  const [side, ...others] = sides;
  return others.length === 0 ? side : undefined;
}

function opposite(side: Side): Side {
  return side === 'assistant' ? 'user' : 'assistant';
}

/** The words that the name of an author flag may have besides that of a side. */
const FLAG_WORDS = ['is', 'was', 'has', 'by', 'from', 'sent', 'author', 'sender', 'message'];

/** Reads `is_bot: true`: the name identifies a side, and `false` means the other one. */
function sideOfFlag(key: string, value: boolean, names: AuthorNames): Side | undefined {
  const words = wordsOf(key);
  const known = [...FLAG_WORDS, ...names.agent, ...names.user];
  if (!words.every((word) => known.includes(word))) return undefined;
  const hasWord = (list: readonly string[]) => list.some((each) => words.includes(each));
  const side = decide(hasWord(names.agent), hasWord(names.user));
  return side === undefined || value ? side : opposite(side);
}

/** Reads `{user: null, application: {…}}`: the keys are kinds of authors, of which one has a value. */
function sideOfKind(author: JsonObject, names: AuthorNames): Side | undefined {
  const kinds = Object.entries(author).filter(([, value]) => value === null || isJsonObject(value));
  const [set, ...others] = kinds.filter(([, value]) => value !== null);
  const sides = kinds.map(([key]) => sideOf(key, names));
  if (set === undefined || others.length > 0 || kinds.length < 2 || !sides.includes('user')) return undefined;
  return sideOf(set[0], names) ?? 'assistant';
}

/** What a value says about the author: a name, and the side if it is recognized. */
interface Reading {
  readonly side?: Side | undefined;
  readonly name?: string | undefined;
}

/** Words in names of flags that may be 0 and 1, or N and Y. Under other names they may be an id: `user: 1`. */
const NUMBER_FLAG = /^(is|was|has|inbound|incoming|outbound|outgoing)$/;

function flagIn(key: string, value: unknown): boolean | undefined {
  if (value === true || value === 'true') return true;
  if (value === false || value === 'false') return false;
  if (!wordsOf(key).some((word) => NUMBER_FLAG.test(word))) return undefined;
  if (value === 1 || value === '1' || value === 'Y') return true;
  return value === 0 || value === '0' || value === 'N' ? false : undefined;
}

function read(key: string, value: unknown, names: AuthorNames, depth: number): Reading {
  const flag = flagIn(key, value);
  const side = flag === undefined ? undefined : sideOfFlag(key, flag, names);
  if (typeof value === 'string') {
    const name = value.trim();
    return name === '' ? {} : { name, side: side ?? sideOf(name, names) };
  }
  if (!isJsonObject(value) || depth === 0) return { side };
  const kind = sideOfKind(value, names);
  if (kind !== undefined) return { side: kind };
  const readings = Object.entries(value)
    .filter(([inner, found]) => flagIn(inner, found) !== undefined || KEYS.includes(normalizeName(inner)))
    .map(([inner, found]) => read(inner, found, names, depth - 1));
  return { side: readings.find(({ side }) => side)?.side, name: readings.find(({ name }) => name)?.name };
}

/** Reads a flag that the contract names as the author: `true` may be the name of one side, `false` then is the other. */
function readFlag(key: string, value: boolean, names: AuthorNames): Reading {
  const name = String(value);
  const side = sideOfFlag(key, value, names) ?? sideOf(name, names);
  if (side !== undefined) return { side };
  const other = sideOf(String(!value), names);
  return other === undefined ? { name } : { side: opposite(other) };
}

/**
 * Decides who wrote a message. A recognized value in any field wins over an earlier field, which may hold a person's name.
 * @param fields that may identify the author, in order
 */
export function decideAuthor(fields: readonly (readonly [key: string, value: unknown])[], names: AuthorNames): Author {
  const readings = fields.map(([key, value]) =>
    typeof value === 'boolean' ? readFlag(key, value, names) : read(key, value, names, MAX_DEPTH),
  );
  const side = readings.find((reading) => reading.side !== undefined)?.side;
  if (side !== undefined) return { role: side, isKnown: true };
  return { role: readings.find(({ name }) => name !== undefined)?.name ?? 'unknown', isKnown: false };
}

/** Words in the names of fields about the recipient or the place of a message. */
const NOT_THE_AUTHOR =
  /^(to|recipient|recipients|receiver|target|audience|assignee|assigned|mention|mentions|channel)$/;

/**
 * Searches the other fields of a message for the author: a flag, an object with a role, or a text that is exactly the name
 * of a side.
 * @returns undefined if there is none, or if the fields disagree
 */
export function searchAuthor(
  entries: readonly (readonly [key: string, value: unknown])[],
  names: AuthorNames,
): Author | undefined {
  const sides = new Set(
    entries.flatMap(([key, value]) => {
      if (wordsOf(key).some((word) => NOT_THE_AUTHOR.test(word))) return [];
      return read(key, value, names, 1).side ?? [];
    }),
  );
  // `user: null, bot: {…}`: kinds of authors, of which one has a value.
  const kinds = entries.filter(([key]) => sideOf(key, names) !== undefined);
  const side = sides.size === 0 ? sideOfKind(Object.fromEntries(kinds), names) : [...sides][0];
  return side !== undefined && sides.size <= 1 ? { role: side, isKnown: true } : undefined;
}

const AUTHOR_WORDS = /^(user|author|sender|from|actor)$/;

/** A kind of message that is null for what people write. */
const KIND_OR_NULL = 'subtype';

/** Returns the paths of marks that only the messages of agents may have: `author.bot: true`. */
export function findAgentMarks(message: JsonObject, names: AuthorNames): readonly string[] {
  return Object.entries(message).flatMap(([key, value]) => {
    if (wordsOf(key).some((word) => NOT_THE_AUTHOR.test(word))) return [];
    const isKind = normalizeName(key) === KIND_OR_NULL && typeof value === 'string';
    if (isKind) return sideOf(value, names) === 'assistant' ? [key] : [];
    const flags: readonly (readonly [path: string, name: string, flag: unknown])[] = isJsonObject(value)
      ? Object.entries(value).map(([inner, found]) => [`${key}.${inner}`, inner, found])
      : [[key, key, value]];
    return flags.flatMap(([path, name, flag]) =>
      flagIn(name, flag) === true && sideOfFlag(name, true, names) === 'assistant' ? [path] : [],
    );
  });
}

/** Whether a message has no value where those of agents have a mark. */
export function lacksMark(message: JsonObject, mark: string): boolean {
  const [key = '', inner] = mark.split('.');
  const value = message[key];
  if (inner === undefined) return value === undefined || value === null;
  return isJsonObject(value) && (value[inner] === undefined || value[inner] === null);
}

/** Whether a field is about the author of a message: `user_id`. */
export function isAuthorField(key: string): boolean {
  const words = wordsOf(key);
  return words.some((word) => AUTHOR_WORDS.test(word)) && !words.some((word) => NOT_THE_AUTHOR.test(word));
}
