import { rejectErrorInBody, UnknownShape } from './assumptions.ts';
import type { ItemsPlace } from './contract.ts';
import { normalizeName } from './field-names.ts';
import { describeJson, isJsonObject, type JsonObject } from './json.ts';
import { descend } from './json-path.ts';
import type { ListLeaf } from './leaves.ts';
import {
  findArrays,
  findCandidates,
  findEnveloped,
  findMap,
  findOthers,
  indexedItems,
  keyedItems,
  namesOf,
  pick,
} from './list-candidates.ts';
import { type PageSigns, readSigns } from './page-signs.ts';
import { type FoundList, findSiblings } from './sibling-lists.ts';

function leafOf(resource: string): `${ListLeaf}.items` {
  if (resource === 'spaces') return 'spaces.list.items';
  if (resource === 'agents') return 'agents.list.items';
  return resource === 'cron_jobs' ? 'cron_jobs.list.items' : 'messages.history.items';
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

function atPath(body: unknown, { path, isSet }: ItemsPlace, resource: string): readonly JsonObject[] {
  const place = path.join('.').replace(/\[\](\.node)?$/, '');
  const value = descend(body, place);
  if (value === null) return [];
  const items = Array.isArray(value) ? value : (indexedItems(value) ?? keyedItems(value, namesOf(resource)));
  if (items && !isSet && isJsonObject(body)) refuseSiblings(body, resource, { path: [place], value: items });
  if (items) return toItems(items, resource);
  // Protocol buffers omit empty lists.
  if (isEmptyObject(body) || isEmptyObject(descend(body, path.slice(0, -1).join('.')))) return [];
  const message = `The response contains no list of ${resource} at ${path.length === 0 ? '$' : path.join('.')}.`;
  throw noList(body, resource, message);
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
  const arrays = isJsonObject(body) ? findArrays(body) : [];
  if (arrays.length > 1) return severalLists(body, resource, arrays);
  const map = arrays.length === 0 && isJsonObject(body) ? findMap(body, namesOf(resource)) : undefined;
  if (map !== undefined) {
    const kind = `The list of ${resource} may be the object at ${map}, with ids as keys`;
    return new UnknownShape(
      'list.envelope',
      `${kind} that its items lack. Such a list cannot be read.`,
      describeJson(body),
    );
  }
  // Protocol buffers omit empty lists: what the list is called shows only once it has items.
  const proposed = isEmptyObject(body) ? resource : arrays[0]?.path.join('.');
  const fix = { leaf: leafOf(resource), value: proposed || (Array.isArray(body) ? '$' : '<path>') };
  return new UnknownShape('list.envelope', message, describeJson(body), fix);
}

/** The error for a response with several lists. It proposes none: what the others hold would be taken for absent. */
function severalLists(body: unknown, resource: string, lists: readonly FoundList[]): UnknownShape {
  const places = lists.map(({ path }) => path.join('.')).join(', ');
  const message = `The response may contain the list of ${resource} in several places: ${places}. Only one list is read.`;
  const fix = { leaf: leafOf(resource), value: '<path>', condition: `one of these lists holds all ${resource}` };
  return new UnknownShape('list.envelope', message, describeJson(body), fix);
}

function refuseSiblings(body: JsonObject, resource: string, list: FoundList): void {
  const siblings = findSiblings(body, resource, list);
  if (siblings.length > 0) throw severalLists(body, resource, [list, ...siblings]);
}

/**
 * Returns the items of the list in a response (assumption `list.envelope`).
 * @param response its body
 * @param resource the plural resource name, as the spec spells it: `spaces`, `agents`
 * @param place where the items are; undefined to search for them
 * @throws UnknownShape if the body has no list; ErrorInBody if it reports an error
 */
export function readList(response: unknown, resource: string, place?: ItemsPlace): readonly JsonObject[] {
  const body = pairAsObject(response);
  if (isJsonObject(body)) {
    rejectErrorInBody(body, [body, body.data, body.result, body[0]].filter(isJsonObject), 'list.envelope');
  }
  // Go encodes an empty list so.
  if (body === null && (place === undefined || place.path.length === 0)) return [];
  if (place) return atPath(body, place, resource);
  if (Array.isArray(body)) return toItems(body, resource);
  const isPair = body !== response;
  if (isPair && isJsonObject(body)) return atPath(body, { path: ['1'], isSet: true }, resource);
  const none = `The response contains no list of ${resource}.`;
  if (!isJsonObject(body)) throw noList(body, resource, none);
  const own = namesOf(resource);
  const keyed = keyedItems(body, own);
  if (keyed) return toItems(keyed, resource);
  const known = pick(findCandidates(body, own));
  const others = findOthers(body, own);
  const isOnly = known === undefined && others.length === 1 && others[0]?.value?.length !== 0;
  const list = isOnly ? others[0] : known;
  if (list === undefined && (isEmptyHal(body) || isEmptyList(body))) return [];
  if (list === undefined) throw noList(body, resource, none);
  if ('length' in list) throw severalLists(body, resource, list);
  refuseSiblings(body, resource, list);
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
