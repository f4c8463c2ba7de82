import { listedName, listNames, normalizeName, RESOURCE_OF } from './field-names.ts';
import { describeJson, isEmptyObject, isJsonObject, type JsonObject } from './json.ts';
import { descend } from './json-path.ts';
import type { ListLeaf } from './leaves.ts';
import { type ContractFix, rejectErrorInBody, UnknownShape } from './unknown-shape.ts';

/** Normalized keys under which services customarily put a list. */
const ENVELOPES = new Set(
  'results result data items value values content contents records list entries nodes edges elements objects rows docs hits resources members collection features'.split(
    ' ',
  ),
);

/** Normalized keys whose arrays are never the list. */
const NO_LISTS =
  /^(errors?|warnings?|included|links?|facets|aggregations|filters?|meta|metadata|pagination|paging|columns|fields)$/;

const MAX_DEPTH = 2;

/** What may be the list. */
interface Candidate {
  readonly path: string;
  readonly items: readonly unknown[];
  /** Otherwise, it is a candidate only if there is no other: a list of something else than objects, or null. */
  readonly isCertain: boolean;
}

/** @param value where the list is, or may be */
function noList(body: unknown, leaf: ListLeaf, value: string, place = ''): UnknownShape {
  const message = `The response contains no list of ${listedName(leaf)}${place}.`;
  return new UnknownShape(message, describeJson(body), fixFor(leaf, value));
}

function fixFor(leaf: ListLeaf, value: string): ContractFix {
  return { leaf: `${leaf}.items`, value };
}

function isEdge(item: JsonObject): boolean {
  return Object.keys(item).every((key) => ['node', 'cursor', '__typename'].includes(key));
}

/** Returns the items of an array. The edges of a connection (`{ node, cursor }`) are their nodes. */
function toItems(list: readonly unknown[], leaf: ListLeaf): readonly JsonObject[] {
  return list.map((item) => {
    if (isJsonObject(item)) return isJsonObject(item.node) && isEdge(item) ? item.node : item;
    const message = `The list of ${listedName(leaf)} has an item that is not an object.`;
    throw new UnknownShape(message, `a list with ${describeJson(item)}`, fixFor(leaf, '<path>'));
  });
}

/** An array of objects may be the list; an empty one, or null, under a name that lists have. */
function toCandidate(path: string, key: string, value: unknown, own: readonly string[]): readonly Candidate[] {
  const name = normalizeName(key);
  const isNamed = own.includes(name) || ENVELOPES.has(name);
  if (value === null) return isNamed ? [{ path, items: [], isCertain: own.includes(name) }] : [];
  if (!Array.isArray(value)) return [];
  const isCertain = value.some(isJsonObject) || (isNamed && value.length === 0);
  return isCertain || isNamed ? [{ path, items: value, isCertain }] : [];
}

/** Returns what may be the list in a body, at most two levels down. */
function findCandidates(body: JsonObject, own: readonly string[]): readonly Candidate[] {
  const visit = (object: JsonObject, prefix: string, depth: number): readonly Candidate[] =>
    Object.entries(object).flatMap(([key, value]) => {
      const path = prefix + key;
      if (NO_LISTS.test(normalizeName(key))) return [];
      if (!isJsonObject(value)) return toCandidate(path, key, value, own);
      return depth < MAX_DEPTH ? visit(value, `${path}.`, depth + 1) : [];
    });
  const found = visit(body, '', 0);
  const certain = found.filter(({ isCertain }) => isCertain);
  return certain.length > 0 ? certain : found;
}

/** Returns where the one list of a body is, as a value of `<list>.items`. */
export function pathOfList(body: unknown, leaf: ListLeaf): string {
  const [only] = isJsonObject(body) ? findCandidates(body, listNames(RESOURCE_OF[leaf])) : [];
  return only?.path ?? '$';
}

/** Returns the items where the contract says that they are. */
function atPath(body: unknown, path: readonly string[], leaf: ListLeaf): readonly JsonObject[] {
  const place = path.join('.').replace(/\[\](\.node)?$/, '');
  const value = descend(body, place);
  if (value === null) return [];
  if (Array.isArray(value)) return toItems(value, leaf);
  // Protocol buffers omit empty lists.
  if (isEmptyObject(body) || isEmptyObject(descend(body, path.slice(0, -1).join('.')))) return [];
  const [only, other] = isJsonObject(body) ? findCandidates(body, listNames(RESOURCE_OF[leaf])) : [];
  throw noList(body, leaf, other === undefined && only ? only.path : '<path>', ` at ${path.join('.') || '$'}`);
}

/**
 * Returns the items of the list in a response.
 * @param place where the contract says that the items are: empty for the body itself; undefined to take the body, or
 *   the only array of objects at most two levels down
 * @throws UnknownShape if the body has no list, or a second one; ErrorInBody if it reports an error
 */
export function readList(body: unknown, leaf: ListLeaf, place?: readonly string[]): readonly JsonObject[] {
  if (isJsonObject(body)) rejectErrorInBody(body, [body, body.data, body.result].filter(isJsonObject));
  // Go encodes an empty list so.
  if (body === null && (place === undefined || place.length === 0)) return [];
  if (place) return atPath(body, place, leaf);
  if (Array.isArray(body)) return toItems(body, leaf);
  if (!isJsonObject(body)) throw noList(body, leaf, '<path>');
  const candidates = findCandidates(body, listNames(RESOURCE_OF[leaf]));
  const [list, second] = candidates;
  if (list === undefined) {
    // HAL omits empty lists.
    if (descend(body, 'page.totalElements') === 0) return [];
    // What protocol buffers call a list shows only once it has items.
    throw noList(body, leaf, isEmptyObject(body) ? listedName(leaf) : '<path>');
  }
  if (second !== undefined) {
    const places = candidates.map(({ path }) => path).join(', ');
    const message = `The response may contain the list of ${listedName(leaf)} in several places: ${places}. Only one list is read.`;
    throw new UnknownShape(message, describeJson(body), { ...fixFor(leaf, list.path), other: second.path });
  }
  return toItems(list.items, leaf);
}
