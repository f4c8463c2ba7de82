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

/** The normalized names of the lists that the tool reads. */
const LISTS = [listNames('space'), listNames('agent'), listNames('message'), listNames('cron_job')].flat();

const MAX_DEPTH = 2;

/** What may be the list: an array of objects; or an empty one, or null, under a name that lists have. */
interface Candidate {
  readonly path: string;
  /** Normalized. */
  readonly name: string;
  readonly items: readonly unknown[];
  /** Whether it is a candidate only if there is no other: a list of something else than objects, or null. */
  readonly isDoubtful: boolean;
}

function fixFor(leaf: ListLeaf, value: string): ContractFix {
  return { leaf: `${leaf}.items`, value };
}

/** Returns the items of an array. The edges of a connection (`{ node, cursor }`) are their nodes. */
function toItems(list: readonly unknown[], leaf: ListLeaf): readonly JsonObject[] {
  const items = list.map((item) => {
    if (isJsonObject(item)) return item;
    const message = `The list of ${listedName(leaf)} has an item that is not an object.`;
    throw new UnknownShape(message, `a list with ${describeJson(item)}`, fixFor(leaf, '<path>'));
  });
  const nodes = items.flatMap(({ node, ...others }) =>
    isJsonObject(node) && Object.keys(others).every((key) => key === 'cursor' || key === '__typename') ? [node] : [],
  );
  return nodes.length === items.length ? nodes : items;
}

function toCandidate(path: string, name: string, value: unknown, own: readonly string[]): Candidate | undefined {
  const isNamed = own.includes(name) || ENVELOPES.has(name);
  if (value === null) return isNamed ? { path, name, items: [], isDoubtful: !own.includes(name) } : undefined;
  if (!Array.isArray(value)) return undefined;
  const isList = value.some(isJsonObject) || (isNamed && value.length === 0);
  return isList || isNamed ? { path, name, items: value, isDoubtful: !isList } : undefined;
}

/** Returns what may be the list in a body, at most two levels down. */
function findCandidates(body: JsonObject, own: readonly string[]): readonly Candidate[] {
  const found: Candidate[] = [];
  const visit = (object: JsonObject, prefix: string, depth: number): void => {
    for (const [key, value] of Object.entries(object)) {
      const [path, name] = [prefix + key, normalizeName(key)];
      if (NO_LISTS.test(name)) continue;
      const candidate = toCandidate(path, name, value, own);
      if (candidate) found.push(candidate);
      if (isJsonObject(value) && depth < MAX_DEPTH) visit(value, `${path}.`, depth + 1);
    }
  };
  visit(body, '', 0);
  const certain = found.filter(({ isDoubtful }) => !isDoubtful);
  return certain.length > 0 ? certain : found;
}

/** HAL omits empty lists: the body has only links and a page with a total of 0. */
function isEmptyHal(body: JsonObject): boolean {
  const isBare = Object.keys(body).every((key) => ['links', 'page'].includes(normalizeName(key)));
  return isBare && descend(body, 'page.totalElements') === 0;
}

/** @param path where the list probably is */
function noList(body: unknown, leaf: ListLeaf, place = '', path?: string): UnknownShape {
  // Protocol buffers omit empty lists: what the list is called shows only once it has items.
  const value = path ?? (Array.isArray(body) ? '$' : isEmptyObject(body) ? listedName(leaf) : '<path>');
  const message = `The response contains no list of ${listedName(leaf)}${place}.`;
  return new UnknownShape(message, describeJson(body), fixFor(leaf, value));
}

/** Returns the items where the contract says that they are. An object of objects there is a list of its values. */
function atPath(body: unknown, path: readonly string[], leaf: ListLeaf): readonly JsonObject[] {
  const place = path.join('.').replace(/\[\](\.node)?$/, '');
  const value = descend(body, place);
  if (value === null) return [];
  if (Array.isArray(value)) return toItems(value, leaf);
  const isMap = isJsonObject(value) && place !== '' && Object.values(value).every(isJsonObject);
  if (isMap) return toItems(Object.values(value), leaf);
  // Protocol buffers omit empty lists.
  if (isEmptyObject(body) || isEmptyObject(descend(body, path.slice(0, -1).join('.')))) return [];
  const [only, other] = isJsonObject(body) ? findCandidates(body, listNames(RESOURCE_OF[leaf])) : [];
  throw noList(body, leaf, ` at ${path.join('.') || '$'}`, other === undefined ? only?.path : undefined);
}

/**
 * Returns the items of the one list in a response: at the path of the contract, the body itself, or the only array of objects
 * at most two levels down.
 * @param place where the contract says that the items are: empty for the body itself; undefined to take the only list
 * @throws UnknownShape if the body has no list, or a second one; ErrorInBody if it reports an error
 */
export function readList(body: unknown, leaf: ListLeaf, place?: readonly string[]): readonly JsonObject[] {
  if (isJsonObject(body)) rejectErrorInBody(body, [body, body.data, body.result].filter(isJsonObject));
  // Go encodes an empty list so.
  if (body === null && (place === undefined || place.length === 0)) return [];
  if (place) return atPath(body, place, leaf);
  if (Array.isArray(body)) return toItems(body, leaf);
  if (!isJsonObject(body)) throw noList(body, leaf);
  const own = listNames(RESOURCE_OF[leaf]);
  const candidates = findCandidates(body, own);
  const [list, second] = candidates;
  if (list === undefined) {
    if (isEmptyHal(body)) return [];
    throw noList(body, leaf);
  }
  if (second !== undefined) {
    const best =
      candidates.find(({ name }) => own.includes(name)) ?? candidates.find(({ name }) => ENVELOPES.has(name)) ?? list;
    const places = candidates.map(({ path }) => path).join(', ');
    const message = `The response may contain the list of ${listedName(leaf)} in several places: ${places}. Only one list is read.`;
    const condition = `${best.path} holds all ${listedName(leaf)}`;
    throw new UnknownShape(message, describeJson(body), { ...fixFor(leaf, best.path), condition });
  }
  const isOther = !own.includes(list.name) && LISTS.includes(list.name);
  if (isOther) throw noList(body, leaf, '', list.path);
  return toItems(list.items, leaf);
}
