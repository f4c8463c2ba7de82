import type { Contract } from './contract.ts';
import { isJsonObject, type JsonObject } from './json.ts';
import type { FieldLeaf } from './leaves.ts';

/** Words in the name of a key that make it likely to hold a field, the best first. */
const KIN: Readonly<Record<string, readonly string[]>> = {
  id: ['id', 'uuid', 'guid', 'identifier', 'key', 'ref', 'reference', 'sid', 'urn', 'code', 'slug', 'handle', 'number'],
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
  instructions: ['instructions', 'prompt', 'task', 'text', 'message'],
  schedule: ['schedule', 'cron', 'expression', 'recurrence', 'trigger'],
  timezone: ['timezone', 'zone', 'tz'],
};

const MAX_DEPTH = 2;

interface Candidate {
  readonly path: string;
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
    if (!/^[\w@$-]{1,60}$/.test(key)) return [];
    const path = prefix + key;
    if (isJsonObject(value)) return depth < MAX_DEPTH ? candidatesIn(value, `${path}.`, depth + 1) : [];
    return [{ path, words: wordsOf(path), value }];
  });
}

function isPossible(value: unknown, field: string): boolean {
  if (typeof value === 'string') return value.trim() !== '';
  if (field === 'is_org_wide') return typeof value === 'boolean';
  return Number.isInteger(value) || typeof value === 'bigint';
}

function score({ path, words }: Candidate, resource: string, kin: readonly string[]): number {
  const best = kin.findIndex((word) => words.includes(word));
  const own = words.some((word) => resource.split('_').includes(word)) ? 5 : 0;
  const near = best === -1 ? 0 : kin.length - best + 10;
  return near === 0 ? 0 : near + own - path.split('.').length;
}

/**
 * Returns the path to the value that is likeliest a field, by the words of its name and its type; undefined if none is
 * likely. Paths that hold another field of the resource are left out.
 */
export function proposePath(object: JsonObject, leaf: FieldLeaf, contract: Contract): string | undefined {
  const [resource = '', field = ''] = leaf.split('.');
  const kin = KIN[field] ?? [];
  const taken = contract.leaves().flatMap(({ name, kind, value }) => {
    if (kind !== 'field' || name === leaf || !name.startsWith(`${resource}.`)) return [];
    return value.split(/[,|]/).map(wordsIn);
  });
  const [best] = candidatesIn(object)
    .filter(({ path, value }) => isPossible(value, field) && !taken.includes(wordsIn(path)))
    .map((candidate) => ({ path: candidate.path, points: score(candidate, resource, kin) }))
    .filter(({ points }) => points > 0)
    .toSorted((a, b) => b.points - a.points);
  return best?.path;
}
