import { GENERIC_IDS, normalizeName } from './field-names.ts';
import { isJsonObject, type JsonObject, jsonText } from './json.ts';

/** Normalized keys that may hold a list. */
const LIST_KEYS: ReadonlySet<string> = new Set(
  [
    'results result data items value values content contents records list entries nodes edges elements objects rows docs hits',
    'resources member members hydra:member collection entities payload features children events points',
  ].flatMap((line) => line.split(' ')),
);

/** Normalized keys of objects that may have a list one level down. */
const WRAPPERS: ReadonlySet<string> = new Set([
  'response',
  'result',
  'payload',
  'body',
  'embedded',
  'page',
  'viewer',
  // OData 2 and 3
  'd',
]);

/** Normalized keys whose arrays are never the list. */
const NO_LISTS = /^(errors?|warnings?|included|links?|facets|aggregations|filters?|meta|metadata|pagination|paging)$/;

/** The normalized names of listed resources. */
const NAMES: Readonly<Record<string, readonly string[]>> = {
  spaces: ['spaces', 'workspaces'],
  agents: ['agents', 'assistants'],
  cron_jobs: ['cronjobs', 'partnercronjobs', 'jobs', 'crons', 'schedules', 'scheduledjobs'],
  messages: ['messages', 'chatmessages'],
};

const MAX_DEPTH = 2;

/** An array in a response, or `null` in place of one, that may be the list. */
export interface Candidate {
  readonly path: readonly string[];
  readonly value: readonly unknown[] | null;
  readonly isOwn: boolean;
  readonly depth: number;
}

/** Returns the normalized names of a listed resource. */
export function namesOf(resource: string): readonly string[] {
  return NAMES[resource] ?? [normalizeName(resource)];
}

/** Whether a key is the name of a resource other than the listed one. A list that the spec does not have may have any name. */
export function isOtherResource(key: string, own: readonly string[]): boolean {
  const all = Object.values(NAMES);
  return all.includes(own) && !own.includes(key) && all.some((names) => names.includes(key));
}

/** Returns the items of an object with numeric keys, as PHP encodes a filtered list: `{"0": {…}, "2": {…}}`. */
export function indexedItems(value: unknown): readonly unknown[] | undefined {
  if (!isJsonObject(value)) return undefined;
  const entries = Object.entries(value);
  const isIndexed = entries.length > 0 && entries.every(([key, item]) => /^\d+$/.test(key) && isJsonObject(item));
  return isIndexed ? Object.values(value) : undefined;
}

/** Returns the normalized names of an item's id, the specific ones first. */
export function idNames(own: readonly string[]): readonly string[] {
  return [...own.map((name) => name.replace(/s$/, 'id')), ...GENERIC_IDS];
}

/** Whether a value is an object by id, as realtime databases have lists: `{"s1": {…}, "s2": {…}}`. */
function isMap(value: unknown): value is JsonObject {
  return isJsonObject(value) && Object.keys(value).length > 0 && Object.values(value).every(isJsonObject);
}

/** Returns the items of an object by id, if every item also has its id. */
export function keyedItems(value: unknown, own: readonly string[]): readonly unknown[] | undefined {
  if (!isMap(value)) return undefined;
  const names = idNames(own);
  const isKeyed = Object.entries(value).every(
    ([key, item]) =>
      isJsonObject(item) &&
      Object.entries(item).some(([name, id]) => names.includes(normalizeName(name)) && jsonText(id) === key),
  );
  return isKeyed ? Object.values(value) : undefined;
}

/** Returns the path of what is probably an object by id whose items lack their ids: `$` for the body. */
export function findMap(body: JsonObject, own: readonly string[]): string | undefined {
  const isKnown = (name: string): boolean => {
    const key = normalizeName(name);
    return own.includes(key) || LIST_KEYS.has(key) || WRAPPERS.has(key);
  };
  // Unlike an envelope, an item has plain values.
  const isItem = (item: unknown): boolean =>
    isJsonObject(item) && Object.values(item).some((each) => typeof each !== 'object');
  const isLikely = (value: unknown): boolean =>
    isMap(value) && Object.entries(value).every(([key, item]) => !isKnown(key) && isItem(item));
  const name = Object.keys(body).find((key) => isKnown(key) && isLikely(body[key]));
  return name ?? (isLikely(body) ? '$' : undefined);
}

/**
 * Returns a value as a list; undefined if it is none.
 * @param isBelowOwn whether it is nested as in JSON from XML: `{spaces: {space: […]}}`, where a single item has no array
 */
function listIn(
  value: unknown,
  own: readonly string[],
  isKnown: boolean,
  isBelowOwn: boolean,
): readonly unknown[] | null | undefined {
  if (isKnown && (Array.isArray(value) || value === null)) return value;
  const indexed = isKnown ? (indexedItems(value) ?? keyedItems(value, own)) : undefined;
  if (indexed) return indexed;
  return isBelowOwn && isJsonObject(value) ? [value] : undefined;
}

/** Collects the values that may be the list: arrays, or `null` under the key of a list, at most two levels down. */
export function findCandidates(body: JsonObject, own: readonly string[]): readonly Candidate[] {
  const found: Candidate[] = [];
  const visit = (object: JsonObject, path: readonly string[], isWrapper: boolean): void => {
    for (const [name, value] of Object.entries(object)) {
      const key = normalizeName(name);
      const isBelowOwn = own.includes(normalizeName(path.at(-1) ?? '')) && own.includes(`${key}s`);
      const isOwn = isBelowOwn || own.includes(key);
      const isKnown = isOwn || (isWrapper && LIST_KEYS.has(key));
      const place = [...path, name];
      const list = listIn(value, own, isKnown, isBelowOwn);
      if (list !== undefined) found.push({ path: place, value: list, isOwn, depth: path.length });
      if (!isJsonObject(value) || list !== undefined || path.length === MAX_DEPTH || NO_LISTS.test(key)) continue;
      const isOnly = path.length === 0 && Object.keys(object).length === 1;
      visit(value, place, isWrapper && (isKnown || isOnly || WRAPPERS.has(key)));
    }
  };
  visit(body, [], true);
  return found;
}

function isFilled(list: readonly unknown[]): boolean {
  return list.length > 0 && list.every(isJsonObject);
}

function asArray(value: unknown): readonly unknown[] | undefined {
  return Array.isArray(value) ? value : undefined;
}

/** Returns all arrays of objects under any key, at the top or in an envelope, with their paths. */
export function findArrays(body: JsonObject, isMatch = isFilled, toList = asArray): readonly Candidate[] {
  const found: Candidate[] = [];
  const visit = (object: JsonObject, path: readonly string[]): void => {
    for (const [name, value] of Object.entries(object)) {
      const key = normalizeName(name);
      if (NO_LISTS.test(key)) continue;
      const place = [...path, name];
      const list = toList(value);
      if (list && isMatch(list)) found.push({ path: place, value: list, isOwn: false, depth: path.length });
      if (isJsonObject(value) && path.length < MAX_DEPTH) visit(value, place);
    }
  };
  visit(body, []);
  return found;
}

/** Returns all lists as `findArrays`, also those that are objects by id. */
export function findLists(body: JsonObject, own: readonly string[]): readonly Candidate[] {
  return findArrays(body, isFilled, (value) => asArray(value) ?? keyedItems(value, own));
}

/** Picks the list: the highest candidate with items, preferably by the resource's name. Returns several if they tie. */
export function pick(candidates: readonly Candidate[]): Candidate | readonly Candidate[] | undefined {
  const arrays = candidates.filter(({ value }) => value !== null);
  const filled = arrays.filter(({ value }) => value?.some(isJsonObject));
  const depth = Math.min(...filled.map((each) => each.depth));
  const highest = filled.filter((each) => each.depth === depth);
  const own = highest.filter(({ isOwn }) => isOwn);
  const preferred = own.length > 0 ? own : withoutEdges(highest);
  if (preferred.length > 1) return preferred;
  return preferred[0] ?? arrays[0] ?? candidates[0];
}

/** Drops the `edges` of a connection that also has `nodes`, which have the same items. */
function withoutEdges(candidates: readonly Candidate[]): readonly Candidate[] {
  const nodes = candidates.filter(({ path }) => normalizeName(path.at(-1) ?? '') === 'nodes');
  return nodes.length > 0 ? candidates.filter(({ path }) => normalizeName(path.at(-1) ?? '') !== 'edges') : candidates;
}

/** Whether a path is at the top of a body, or of the `_embedded` of HAL. */
function isAtTop(path: readonly string[]): boolean {
  return path.length === 1 || (path.length === 2 && normalizeName(path[0] ?? '') === 'embedded');
}

/** Returns the arrays of objects under unknown names: those at the top, or else those in envelopes. */
export function findOthers(body: JsonObject, own: readonly string[]): readonly Candidate[] {
  const isOwn = ({ path }: Candidate): boolean => !isOtherResource(normalizeName(path.at(-1) ?? ''), own);
  const atTop = findArrays(body).filter((each) => isAtTop(each.path) && isOwn(each));
  return atTop.length > 0 ? atTop : findEnveloped(body).filter(isOwn);
}

/** Returns the arrays of objects that are nested only in envelopes: `Response.SpaceSet`. They may be empty. */
export function findEnveloped(body: JsonObject): readonly Candidate[] {
  return findArrays(body, (list) => list.every(isJsonObject)).filter(({ path }) => {
    const parents = path.slice(0, -1).map(normalizeName);
    return parents.every((key) => WRAPPERS.has(key) || LIST_KEYS.has(key));
  });
}
