import { normalizeName } from './field-names.ts';
import { isJsonObject } from './json.ts';

/** The names of the two sides of a conversation at a service, in lower case. */
export interface AuthorNames {
  readonly agent: readonly string[];
  readonly user: readonly string[];
}

type Side = 'assistant' | 'user';

/** What a value says about the author: its name, and the side if it is recognized. */
export interface AuthorReading {
  readonly side?: Side | undefined;
  readonly name?: string | undefined;
}

/** Normalized keys of an author object that may tell the side. */
const KEYS = ['role', 'type', 'kind', 'sendertype', 'authortype', 'usertype'];

/** A whole name: parts of one may be a person's (Agent Smith), or mean the opposite (to_agent). */
function sideOf(name: string, names: AuthorNames): Side | undefined {
  // As written first: `5` and `-5` normalize to the same name.
  for (const spell of [(text: string) => text.toLowerCase(), normalizeName]) {
    const isIn = (list: readonly string[]): boolean => list.some((each) => spell(each) === spell(name));
    const [isAgent, isUser] = [isIn(names.agent), isIn(names.user)];
    if (isAgent !== isUser) return isAgent ? 'assistant' : 'user';
  }
  return undefined;
}

function opposite(side: Side | undefined): Side | undefined {
  if (side === undefined) return undefined;
  return side === 'assistant' ? 'user' : 'assistant';
}

/** Reads a flag: `is_bot: false`, or `true` and `false` as names of the sides. */
function sideOfFlag(key: string, value: boolean, names: AuthorNames): Side | undefined {
  const own = sideOf(String(value), names) ?? opposite(sideOf(String(!value), names));
  const named = sideOf(normalizeName(key).replace(/^(?:is|was|from|by)+/, ''), names);
  return own ?? (value ? named : opposite(named));
}

/**
 * Reads what a value says about the author of a message: a name of a side, a flag such as `is_bot`, or an object with either.
 * @param key under which the value is
 */
export function readAuthor(key: string, value: unknown, names: AuthorNames, depth = 2): AuthorReading {
  if (typeof value === 'boolean') {
    const side = sideOfFlag(key, value, names);
    return { side, name: String(value) };
  }
  if (typeof value === 'string') {
    const name = value.trim();
    return name === '' ? {} : { name, side: sideOf(name, names) };
  }
  if (!isJsonObject(value) || depth === 0) return {};
  const readings = Object.entries(value)
    .filter(([inner, found]) => KEYS.includes(normalizeName(inner)) || typeof found === 'boolean')
    .map(([inner, found]) => readAuthor(inner, found, names, depth - 1))
    .filter(({ side, name }) => side !== undefined || (name !== 'true' && name !== 'false'));
  return readings.find(({ side }) => side) ?? readings[0] ?? {};
}
