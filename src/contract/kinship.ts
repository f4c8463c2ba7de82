import type { Contract } from './contract.ts';
import { isJsonObject, type JsonObject } from './json.ts';
import type { FieldLeaf } from './leaves.ts';

/** Words in the name of a key that make it likely to hold a field, the best first. */
const KIN: Readonly<Record<string, readonly string[]>> = {
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

/** Words that make a name the id of something else than the resource, unless the resource itself is called so. */
const OTHER_IDS =
  /^(space|workspace|agent|assistant|bot|source|channel|session|conversation|thread|message|job|document|file|template|external|ext|customer|foreign|client|partner|user|owner|author|sender|creator|by|account|org|organization|tenant|team|parent|request|trace|correlation|error|transaction|batch|next|previous|first|last|index)$/;
/** Words in the names of what no id is called. */
const NO_IDS =
  /^(name|filename|title|label|text|content|body|description|desc|type|kind|class|object|status|state|role|mode|version|size|length|count|total|score|url|uri|href|link|self|path|mime|format|language|locale|timezone|created|updated|modified|at|on|time|date|timestamp|ts|etag|hash|token|secret|instructions|prompt|schedule|cron)$/;
const RESOURCE_NAMES: Readonly<Record<string, readonly string[]>> = {
  space: ['space', 'workspace'],
  agent: ['agent', 'assistant', 'bot'],
  source: ['source', 'channel'],
  cron_job: ['cron', 'job', 'partner'],
  file_attachment: ['file', 'attachment'],
};

const MAX_DEPTH = 4;

interface Candidate {
  readonly path: string;
  /** The words of its last key. */
  readonly own: readonly string[];
  readonly words: readonly string[];
  readonly value: unknown;
}

/** Returns the words of a name: `customerRef`, `customer_ref`, and `customer-ref` have the same. */
export function wordsOf(key: string): readonly string[] {
  return key
    .replace(/([a-z\d])([A-Z])/g, '$1 $2')
    .toLowerCase()
    .split(/[^a-z\d]+/)
    .filter((word) => word !== '');
}

/** Words for the same as a field or a parameter. `channel` is not among them: it may be the source or the session. */
const SYNONYMS: Readonly<Record<string, readonly string[]>> = {
  source_id: ['source'],
  session_id: ['session', 'conversation', 'thread'],
  after_message_id: ['after', 'message', 'since'],
};
/** Words that say only that a name is one of an id. */
const ID_WORDS = ['id', 'uuid', 'guid', 'ref', 'key'];

/** How well a name fits a parameter: how many words match, and whether none contradicts. */
export interface Fit {
  readonly words: number;
  readonly isCertain: boolean;
}

/** @param parameter the name of the parameter in the spec */
export function fitOf(name: string, parameter: string): Fit {
  const words = wordsOf(name).filter((word) => !ID_WORDS.includes(word));
  const own = [...wordsOf(parameter), ...(KIN[parameter] ?? [])];
  const synonyms = SYNONYMS[parameter] ?? [];
  return {
    words: words.filter((word) => own.includes(word)).length,
    isCertain: words.length > 0 && words.every((word) => synonyms.includes(word)),
  };
}

/** The words of a name as one text, by which its spellings are equal. */
function wordsIn(key: string): string {
  return wordsOf(key).join('');
}

/** Words that make a name a field of the resource by themselves, and words that may stand beside them. */
const TELLING: Readonly<Record<string, readonly string[]>> = {
  name: ['name', 'title', 'label', 'caption'],
  external_space_id: ['external', 'ext', 'customer', 'foreign'],
  description: ['description', 'desc', 'about'],
  template_id: ['template', 'blueprint'],
  agent_id: ['agent', 'assistant', 'bot'],
};
const BESIDE = [
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

/** Whether a key is called so that it probably holds a field: `customerRef`, `spaceCaption`, but not `owner_name`. */
export function isLikelyName(leaf: FieldLeaf, key: string): boolean {
  const [, field = ''] = leaf.split('.');
  const telling = TELLING[field] ?? [];
  const words = wordsOf(key);
  const isTold = words.some((word) => telling.includes(word));
  return isTold && words.every((word) => [...telling, ...BESIDE, ...RESOURCE_WORDS].includes(word));
}

function candidatesIn(object: JsonObject, prefix = '', depth = 1): readonly Candidate[] {
  return Object.entries(object).flatMap(([key, value]) => {
    if (!/^[\w@$-]{1,60}$/.test(key) || (key === 'type' && 'value' in object)) return [];
    const path = prefix + key;
    if (isJsonObject(value)) return depth < MAX_DEPTH ? candidatesIn(value, `${path}.`, depth + 1) : [];
    return [{ path, own: wordsOf(key), words: wordsOf(path), value }];
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

function score({ path, words }: Candidate, resource: string, kin: readonly string[]): number {
  const best = kin.findIndex((word) => words.includes(word));
  const own = words.some((word) => resource.split('_').includes(word)) ? 5 : 0;
  const near = best === -1 ? 0 : kin.length - best + 10;
  return near === 0 ? 0 : near + own - path.split('.').length;
}

/**
 * Returns the paths to values that may be a field, by the words of their names and their types, the likeliest first. Paths
 * that hold another field of the resource are left out.
 */
export function likelyPaths(object: JsonObject, leaf: FieldLeaf, contract: Contract): readonly string[] {
  const [, field = ''] = leaf.split('.');
  return propose(object, leaf, contract, { kin: KIN[field] ?? [], isPossible: (value) => isPossible(value, field) });
}

/** Words in the names of what may tell the author where nothing else does. */
const AUTHOR_KIN = ['author', 'role', 'sender', 'echo', 'direction', 'actor', 'type', 'kind', 'side', 'origin', 'from'];

/** Returns the path to the value of a message that may tell its author, as `proposePath`, also to a flag or a kind. */
export function proposeAuthor(message: JsonObject, contract: Contract): string | undefined {
  return propose(message, 'message.author', contract, {
    kin: AUTHOR_KIN,
    isPossible: (value) => typeof value === 'boolean' || isPossible(value, 'author'),
  })[0];
}

interface Wanted {
  readonly kin: readonly string[];
  readonly isPossible: (value: unknown) => boolean;
}

function propose(object: JsonObject, leaf: FieldLeaf, contract: Contract, wanted: Wanted): readonly string[] {
  const [resource = '', field = ''] = leaf.split('.');
  const taken = contract.leaves().flatMap(({ name, kind, value }) => {
    if (kind !== 'field' || name === leaf || !name.startsWith(`${resource}.`)) return [];
    return value.split(/[,|]/).map(wordsIn);
  });
  const possible = candidatesIn(object).filter((candidate) => {
    if (!wanted.isPossible(candidate.value) || taken.includes(wordsIn(candidate.path))) return false;
    // The id of a person, or of a role, does not tell whether an agent wrote it.
    if (field === 'author') return candidate.own.at(-1) !== 'id';
    return field !== 'id' || isPossibleId(candidate, resource);
  });
  const likely = possible
    .map((candidate) => ({ path: candidate.path, points: score(candidate, resource, wanted.kin) }))
    .filter(({ points }) => points > 0)
    .toSorted((a, b) => b.points - a.points);
  if (likely.length > 0 || field !== 'id') return likely.map(({ path }) => path);
  // The one value without another meaning may be the id.
  const rest = possible.filter(({ own, path }) => {
    const last = path.split('.').at(-1) ?? path;
    return !own.some((word) => NO_IDS.test(word)) && !taken.includes(wordsIn(last));
  });
  return rest.length === 1 ? rest.map(({ path }) => path) : [];
}

/** Returns the likeliest of `likelyPaths`; undefined if none is likely. */
export function proposePath(object: JsonObject, leaf: FieldLeaf, contract: Contract): string | undefined {
  return likelyPaths(object, leaf, contract)[0];
}
