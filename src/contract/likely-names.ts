import type { Contract } from './contract.ts';
import { isJsonObject, type JsonObject } from './json.ts';
import type { FieldLeaf } from './leaves.ts';

/** Words in the name of a key that make it likely to hold a field, the best first. */
const FIELD_WORDS: Readonly<Record<string, readonly string[]>> = {
  id: ['id', 'uuid', 'guid', 'identifier', 'urn', 'key', 'ref', 'reference', 'number', 'code', 'slug', 'handle'],
  external_space_id: ['external', 'ext', 'customer', 'reference', 'ref', 'foreign', 'partner', 'client', 'key', 'slug'],
  name: ['name', 'title', 'label', 'caption', 'subject', 'heading'],
  description: ['description', 'desc', 'about', 'summary', 'details', 'notes'],
  is_org_wide: ['org', 'organization', 'wide', 'shared', 'global', 'scope', 'visibility'],
  template_id: ['template', 'blueprint', 'kind', 'type'],
  agent_id: ['agent', 'assistant', 'bot'],
  source_id: ['source', 'chat', 'channel'],
  session_id: ['session', 'conversation', 'thread'],
  text: ['text', 'content', 'body', 'message', 'value'],
  author: ['author', 'role', 'sender', 'from', 'direction', 'actor'],
  created_at: ['created', 'time', 'date', 'at', 'sent', 'timestamp'],
  after_message_id: ['after', 'since'],
  external_message_id: ['external', 'client'],
  instructions: ['instructions', 'prompt', 'task', 'text', 'message'],
  schedule: ['schedule', 'cron', 'expression', 'recurrence', 'trigger'],
  timezone: ['timezone', 'zone', 'tz'],
};

/** Words that make an id that of something else, unless they name the resource itself. */
const OTHER_IDS =
  /^(space|workspace|agent|assistant|bot|source|channel|session|conversation|thread|message|job|document|file|template|external|ext|customer|foreign|client|partner|user|owner|author|sender|creator|by|account|org|organization|tenant|team|parent|request|trace|correlation|error|transaction|operation|task|batch|next|previous|first|last|index)$/;
/** Words in names that are never those of an id. */
const NOT_IDS =
  /^(name|filename|title|label|text|content|body|description|desc|type|kind|class|object|status|state|role|mode|version|size|length|count|total|score|url|uri|href|link|self|path|mime|format|language|locale|timezone|created|updated|modified|at|on|time|date|timestamp|ts|etag|hash|token|secret|instructions|prompt|schedule|cron)$/;
const RESOURCE_NAMES: Readonly<Record<string, readonly string[]>> = {
  space: ['space', 'workspace'],
  agent: ['agent', 'assistant', 'bot'],
  source: ['source', 'channel'],
  cron_job: ['cron', 'job', 'partner', 'task'],
  file_attachment: ['file', 'attachment'],
};

const MAX_DEPTH = 4;

interface Candidate {
  readonly path: string;
  /** The words of the last key. */
  readonly keyWords: readonly string[];
  /** The words of the whole path. */
  readonly words: readonly string[];
  readonly value: unknown;
}

/** Returns the words of a name in lower case: `customerRef`, `customer_ref`, and `customer-ref` have the same. */
export function wordsOf(key: string): readonly string[] {
  return key
    .replace(/([a-z\d])([A-Z])/g, '$1 $2')
    .toLowerCase()
    .split(/[^a-z\d]+/)
    .filter((word) => word !== '');
}

/** Words with the same meaning as a parameter. Not `channel`: it may be the source or the session. */
const SYNONYMS: Readonly<Record<string, readonly string[]>> = {
  source_id: ['source'],
  session_id: ['session', 'conversation', 'thread'],
  after_message_id: ['after', 'message', 'since'],
};
/** Words that mean only that a name is that of an id. */
const ID_WORDS = ['id', 'uuid', 'guid', 'ref', 'key'];

/** Words that say only whose id of a session it is. */
const OWNER_WORDS = ['chat', 'external', 'ext', 'client', 'customer', 'caller', 'partner', 'public'];

/** Whether a name may be that of the id of something, which other names tell: `id`, `external_key`. */
export function isIdName(key: string): boolean {
  const words = wordsOf(key);
  return (
    words.some((word) => ID_WORDS.includes(word)) && words.every((word) => [...ID_WORDS, ...OWNER_WORDS].includes(word))
  );
}

/** Whether a name may be that of a session, or of its id: `thread`, `chatSessionId`; not `session_status`. */
export function isSessionName(key: string): boolean {
  const own = SYNONYMS.session_id ?? [];
  const words = wordsOf(key);
  return (
    words.some((word) => own.includes(word)) &&
    words.every((word) => [...own, ...ID_WORDS, ...OWNER_WORDS].includes(word))
  );
}

/** How well a name matches a parameter. */
export interface NameMatch {
  /** How many words match. */
  readonly words: number;
  /** Whether every word has the same meaning as the parameter. */
  readonly isCertain: boolean;
}

/** Compares a name with a parameter. @param parameter its name in the spec */
export function matchParameter(name: string, parameter: string): NameMatch {
  const words = wordsOf(name).filter((word) => !ID_WORDS.includes(word));
  const own = [...wordsOf(parameter), ...(FIELD_WORDS[parameter] ?? [])];
  const synonyms = SYNONYMS[parameter] ?? [];
  return {
    words: words.filter((word) => own.includes(word)).length,
    isCertain: words.length > 0 && words.every((word) => synonyms.includes(word)),
  };
}

/** Returns a text that is equal for all spellings of a name. */
function joinWords(key: string): string {
  return wordsOf(key).join('');
}

/** Words that alone make a name that of a field. */
const DEFINING_WORDS: Readonly<Record<string, readonly string[]>> = {
  name: ['name', 'title', 'label', 'caption'],
  external_space_id: ['external', 'ext', 'customer', 'foreign'],
  description: ['description', 'desc', 'about'],
  template_id: ['template', 'blueprint'],
  agent_id: ['agent', 'assistant', 'bot'],
};
/** Words that such a name may also have. */
const NEUTRAL_WORDS = [
  'id',
  'ref',
  'reference',
  'key',
  'identifier',
  'uuid',
  'display',
  'full',
  'friendly',
  'short',
  'public',
];
const RESOURCE_WORDS = ['space', 'workspace', 'agent', 'assistant', 'bot', 'source', 'cron', 'job', 'partner'];

/** Whether a key probably holds a field, by its name: `customerRef`, `spaceCaption`, but not `owner_name`. */
export function isLikelyName(leaf: FieldLeaf, key: string): boolean {
  const [, field = ''] = leaf.split('.');
  const defining = DEFINING_WORDS[field] ?? [];
  const words = wordsOf(key);
  const isDefined = words.some((word) => defining.includes(word));
  return isDefined && words.every((word) => [...defining, ...NEUTRAL_WORDS, ...RESOURCE_WORDS].includes(word));
}

function candidatesIn(object: JsonObject, prefix = '', depth = 1): readonly Candidate[] {
  return Object.entries(object).flatMap(([key, value]) => {
    if (!/^[\w@$-]{1,60}$/.test(key) || (key === 'type' && 'value' in object)) return [];
    const path = prefix + key;
    if (isJsonObject(value)) return depth < MAX_DEPTH ? candidatesIn(value, `${path}.`, depth + 1) : [];
    return [{ path, keyWords: wordsOf(key), words: wordsOf(path), value }];
  });
}

function isPossible(value: unknown, field: string): boolean {
  if (typeof value === 'string') return value.trim() !== '';
  if (field === 'is_org_wide') return typeof value === 'boolean';
  return Number.isInteger(value) || typeof value === 'bigint';
}

/** Whether a value may be the id of the resource, judging by its name. */
function isPossibleId({ words }: Candidate, resource: string): boolean {
  const names = RESOURCE_NAMES[resource] ?? [resource];
  return !words.some((word) => OTHER_IDS.test(word) && !names.includes(word));
}

function score({ path, words }: Candidate, resource: string, fieldWords: readonly string[]): number {
  const best = fieldWords.findIndex((word) => words.includes(word));
  if (best === -1) return 0;
  const resourceBonus = words.some((word) => resource.split('_').includes(word)) ? 5 : 0;
  return fieldWords.length - best + 10 + resourceBonus - path.split('.').length;
}

/**
 * Returns the paths to values that may be a field, by their names and types, the likeliest first. Leaves out paths that
 * hold another field of the resource.
 */
function likelyPaths(object: JsonObject, leaf: FieldLeaf, contract: Contract): readonly string[] {
  const [, field = ''] = leaf.split('.');
  return propose(object, leaf, contract, {
    words: FIELD_WORDS[field] ?? [],
    isPossible: (value) => isPossible(value, field),
  });
}

/** Words in the names of values that may identify the author if nothing else does. */
const AUTHOR_WORDS = [
  'author',
  'role',
  'sender',
  'echo',
  'direction',
  'actor',
  'type',
  'kind',
  'side',
  'origin',
  'from',
];

/** Returns the path to the value that probably identifies the author of a message. Unlike `proposePath`, also to a flag. */
export function proposeAuthor(message: JsonObject, contract: Contract): string | undefined {
  return propose(message, 'message.author', contract, {
    words: AUTHOR_WORDS,
    isPossible: (value) => typeof value === 'boolean' || isPossible(value, 'author'),
  })[0];
}

/** What to search for. */
interface Search {
  /** Words in the name, the best first. */
  readonly words: readonly string[];
  readonly isPossible: (value: unknown) => boolean;
}

function propose(object: JsonObject, leaf: FieldLeaf, contract: Contract, search: Search): readonly string[] {
  const [resource = '', field = ''] = leaf.split('.');
  const otherFields = contract.leaves().flatMap(({ name, kind, value }) => {
    if (kind !== 'field' || name === leaf || !name.startsWith(`${resource}.`)) return [];
    return value.split(/[,|]/).map(joinWords);
  });
  const possible = candidatesIn(object).filter((candidate) => {
    if (!search.isPossible(candidate.value) || otherFields.includes(joinWords(candidate.path))) return false;
    // The id of a person or a role does not say whether an agent wrote the message.
    if (field === 'author') return candidate.keyWords.at(-1) !== 'id';
    return field !== 'id' || isPossibleId(candidate, resource);
  });
  const likely = possible
    .map((candidate) => ({ path: candidate.path, points: score(candidate, resource, search.words) }))
    .filter(({ points }) => points > 0)
    .toSorted((a, b) => b.points - a.points);
  if (likely.length > 0 || field !== 'id') return likely.map(({ path }) => path);
  // A single value without another meaning may be the id. A word without a digit, such as `bot_message`, is a constant.
  const rest = possible.filter(({ keyWords, path, value }) => {
    if (!/\d/.test(String(value))) return false;
    const last = path.split('.').at(-1) ?? path;
    return !keyWords.some((word) => NOT_IDS.test(word)) && !otherFields.includes(joinWords(last));
  });
  return rest.length === 1 ? rest.map(({ path }) => path) : [];
}

/** Returns the first of `likelyPaths`, if any. */
export function proposePath(object: JsonObject, leaf: FieldLeaf, contract: Contract): string | undefined {
  return likelyPaths(object, leaf, contract)[0];
}
