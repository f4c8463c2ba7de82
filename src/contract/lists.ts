import { rejectErrorInBody, UnknownShape } from './assumptions.ts';
import { normalizeName } from './field-names.ts';
import { describeJson, isJsonObject, type JsonObject } from './json.ts';
import { descend } from './json-path.ts';
import type { ListLeaf } from './leaves.ts';
import { type PageSigns, readSigns } from './page-signs.ts';

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

interface Candidate {
  readonly path: readonly string[];
  readonly value: readonly unknown[] | null;
  readonly isOwn: boolean;
  readonly depth: number;
}

function namesOf(resource: string): readonly string[] {
  return NAMES[resource] ?? [normalizeName(resource)];
}

function leafOf(resource: string): `${ListLeaf}.items` {
  if (resource === 'spaces') return 'spaces.list.items';
  if (resource === 'agents') return 'agents.list.items';
  return resource === 'cron_jobs' ? 'cron_jobs.list.items' : 'messages.history.items';
}

/** Whether a key is the name of a resource other than the listed one. A list that the spec does not have may have any name. */
function isOtherResource(key: string, own: readonly string[]): boolean {
  const all = Object.values(NAMES);
  return all.includes(own) && !own.includes(key) && all.some((names) => names.includes(key));
}

/** Returns the items of an object with numeric keys, as PHP encodes a filtered list: `{"0": {…}, "2": {…}}`. */
function indexedItems(value: unknown): readonly unknown[] | undefined {
  if (!isJsonObject(value)) return undefined;
  const entries = Object.entries(value);
  const isIndexed = entries.length > 0 && entries.every(([key, item]) => /^\d+$/.test(key) && isJsonObject(item));
  return isIndexed ? Object.values(value) : undefined;
}

/**
 * Returns a value as a list; undefined if it is none.
 * @param isBelowOwn whether it is nested as in JSON from XML: `{spaces: {space: […]}}`, where a single item has no array
 */
function listIn(value: unknown, isKnown: boolean, isBelowOwn: boolean): readonly unknown[] | null | undefined {
  if (isKnown && (Array.isArray(value) || value === null)) return value;
  const indexed = isKnown ? indexedItems(value) : undefined;
  if (indexed) return indexed;
  return isBelowOwn && isJsonObject(value) ? [value] : undefined;
}

/** Collects the values that may be the list: arrays, or `null` under the key of a list, at most two levels down. */
function findCandidates(body: JsonObject, own: readonly string[]): readonly Candidate[] {
  const found: Candidate[] = [];
  const visit = (object: JsonObject, path: readonly string[], isWrapper: boolean): void => {
    for (const [name, value] of Object.entries(object)) {
      const key = normalizeName(name);
      const isBelowOwn = own.includes(normalizeName(path.at(-1) ?? '')) && own.includes(`${key}s`);
      const isOwn = isBelowOwn || own.includes(key);
      const isKnown = isOwn || (isWrapper && LIST_KEYS.has(key));
      const place = [...path, name];
      const list = listIn(value, isKnown, isBelowOwn);
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

/** Returns all arrays of objects under any key, at the top or in an envelope, with their paths. */
function findArrays(body: JsonObject, isMatch = isFilled): readonly Candidate[] {
  const found: Candidate[] = [];
  const visit = (object: JsonObject, path: readonly string[]): void => {
    for (const [name, value] of Object.entries(object)) {
      const key = normalizeName(name);
      if (NO_LISTS.test(key)) continue;
      const place = [...path, name];
      if (Array.isArray(value) && isMatch(value)) {
        found.push({ path: place, value, isOwn: false, depth: path.length });
      }
      if (isJsonObject(value) && path.length < MAX_DEPTH) visit(value, place);
    }
  };
  visit(body, []);
  return found;
}

/** Returns the paths to all arrays of objects in a body that may be the list. */
export function listPaths(body: unknown): readonly string[] {
  if (Array.isArray(body)) return ['$'];
  return isJsonObject(body) ? findArrays(body).map(({ path }) => path.join('.')) : [];
}

/** Picks the list: the highest candidate with items, preferably by the resource's name. Returns several if they tie. */
function pick(candidates: readonly Candidate[]): Candidate | readonly Candidate[] | undefined {
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

/** Returns the items of an array. The edges of a connection (`{ node, cursor }`) are their nodes. */
function toItems(list: readonly unknown[], resource: string): readonly JsonObject[] {
  const items = list.map((item) => {
    if (isJsonObject(item)) return item;
    const message = `The list of ${resource} has an item that is not an object.`;
    const fix = { leaf: leafOf(resource), value: '<path>' };
    throw new UnknownShape('list.envelope', message, `a list with ${describeJson(item)}`, fix);
  });
  const nodes = items.flatMap(({ node, ...others }) =>
    isJsonObject(node) && Object.keys(others).every((key) => key === 'cursor' || key === '__typename') ? [node] : [],
  );
  return nodes.length === items.length ? nodes : items;
}

/**
 * Converts a pair of paging information and items, `[{ page, total }, [items]]`, to an object. Returns other bodies
 * unchanged.
 */
export function pairAsObject(body: unknown): unknown {
  if (!Array.isArray(body) || body.length !== 2) return body;
  const [paging, list]: readonly unknown[] = body;
  return isJsonObject(paging) && Array.isArray(list) ? { 0: paging, 1: list } : body;
}

function atPath(body: unknown, path: readonly string[], resource: string): readonly JsonObject[] {
  const value = descend(body, path.join('.').replace(/\[\](\.node)?$/, ''));
  if (value === null) return [];
  const items = Array.isArray(value) ? value : indexedItems(value);
  if (items) return toItems(items, resource);
  // Protocol buffers omit empty lists.
  if (isEmptyObject(body) || isEmptyObject(descend(body, path.slice(0, -1).join('.')))) return [];
  const message = `The response contains no list of ${resource} at ${path.length === 0 ? '$' : path.join('.')}.`;
  throw noList(body, resource, message);
}

/** Whether a path is at the top of a body, or of the `_embedded` of HAL. */
function isAtTop(path: readonly string[]): boolean {
  return path.length === 1 || (path.length === 2 && normalizeName(path[0] ?? '') === 'embedded');
}

/** Returns the arrays of objects under unknown names: those at the top, or else those in envelopes. */
function findOthers(body: JsonObject, own: readonly string[]): readonly Candidate[] {
  const isOwn = ({ path }: Candidate): boolean => !isOtherResource(normalizeName(path.at(-1) ?? ''), own);
  const atTop = findArrays(body).filter((each) => isAtTop(each.path) && isOwn(each));
  return atTop.length > 0 ? atTop : findEnveloped(body).filter(isOwn);
}

/** Returns the arrays of objects that are nested only in envelopes: `Response.SpaceSet`. They may be empty. */
function findEnveloped(body: JsonObject): readonly Candidate[] {
  return findArrays(body, (list) => list.every(isJsonObject)).filter(({ path }) => {
    const parents = path.slice(0, -1).map(normalizeName);
    return parents.every((key) => WRAPPERS.has(key) || LIST_KEYS.has(key));
  });
}

/** Whether a body has a total of 0 beside an empty list of any name. */
function isEmptyList(body: JsonObject): boolean {
  return findEnveloped(body).length === 1 && readStatedExtent(body).total === 0;
}

/** Whether a body has only links and a page with a total of 0: HAL omits empty lists. */
function isEmptyHal(body: JsonObject): boolean {
  const isBare = Object.keys(body).every((key) => ['links', 'page'].includes(normalizeName(key)));
  return isBare && readStatedExtent(body).total === 0;
}

function isEmptyObject(value: unknown): boolean {
  return isJsonObject(value) && Object.keys(value).length === 0;
}

function noList(body: unknown, resource: string, message: string): UnknownShape {
  // Protocol buffers omit empty lists: what the list is called shows only once it has items.
  const proposed = isEmptyObject(body) ? resource : isJsonObject(body) && findArrays(body)[0]?.path.join('.');
  const fix = { leaf: leafOf(resource), value: proposed || (Array.isArray(body) ? '$' : '<path>') };
  return new UnknownShape('list.envelope', message, describeJson(body), fix);
}

/**
 * Returns the items of the list in a response (assumption `list.envelope`).
 * @param response its body
 * @param resource the plural resource name, as the spec spells it: `spaces`, `agents`
 * @param path where the items are; undefined to search for them
 * @throws UnknownShape if the body has no list; ErrorInBody if it reports an error
 */
export function readList(response: unknown, resource: string, path?: readonly string[]): readonly JsonObject[] {
  const body = pairAsObject(response);
  if (isJsonObject(body)) {
    rejectErrorInBody(body, [body, body.data, body.result, body[0]].filter(isJsonObject), 'list.envelope');
  }
  if (path) return atPath(body, path, resource);
  if (Array.isArray(body)) return toItems(body, resource);
  // Go encodes an empty list as null.
  if (body === null) return [];
  const isPair = body !== response;
  if (isPair && isJsonObject(body)) return atPath(body, ['1'], resource);
  const none = `The response contains no list of ${resource}.`;
  if (!isJsonObject(body)) throw noList(body, resource, none);
  const own = namesOf(resource);
  const known = pick(findCandidates(body, own));
  const others = findOthers(body, own);
  const isOnly = known === undefined && others.length === 1 && others[0]?.value?.length !== 0;
  const list = isOnly ? others[0] : known;
  if (list === undefined && (isEmptyHal(body) || isEmptyList(body))) return [];
  if (list === undefined) throw noList(body, resource, none);
  if ('length' in list) {
    const places = list.map((each) => each.path.join('.'));
    const fix = { leaf: leafOf(resource), value: places[0] ?? '<path>' };
    const message = `The response may contain the list of ${resource} in several places: ${places.join(', ')}.`;
    throw new UnknownShape('list.envelope', message, describeJson(body), fix);
  }
  return list.value === null ? [] : toItems(list.value, resource);
}

/** What a response states about the size of a list. */
interface StatedExtent {
  readonly total?: number;
  readonly totalPath?: string;
  /** Whether the response marks this page as the last. */
  readonly ends: boolean;
}

/** Returns what a response states about the size of the list. @param body of the response */
export function readStatedExtent(body: unknown): StatedExtent {
  const page = { body: pairAsObject(body), headers: {}, status: 200, itemCount: -1, headerLinks: {} };
  const signs: PageSigns = readSigns(page);
  const ends = signs.ends.length > 0 || signs.flags.some(({ value }) => !value);
  const [total] = signs.totals;
  return total === undefined ? { ends } : { total: total.value, totalPath: total.path, ends };
}

/** The key of the only list of this length at the top of a body; undefined if there is not exactly one. */
export function keyOfList(body: unknown, length: number): string | undefined {
  if (!isJsonObject(body)) return undefined;
  const lists = Object.entries(body).filter(([, value]) => Array.isArray(value) && value.length === length);
  return lists.length === 1 ? lists[0]?.[0] : undefined;
}
