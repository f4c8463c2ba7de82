import type { Contract } from './contract.ts';
import { listNames, normalizeName, ownNames, RESOURCES, type Resource } from './field-names.ts';
import { Fields } from './fields.ts';
import { descend, describeFields, describeJson, isEmptyObject, isJsonObject, type JsonObject } from './json.ts';
import type { ListLeaf } from './leaves.ts';
import { rejectErrorInBody, UnknownShape } from './unknown-shape.ts';

/* Lists. */

/** Normalized keys under which services customarily put a list. */
const LIST_ENVELOPES =
  /^(results?|data|items|values?|contents?|records|list|entries|nodes|edges|elements|objects|rows|docs|hits|resources|collection|features)$/;

const NO_LISTS =
  /^(errors?|warnings?|included|links?|facets|aggregations|filters?|meta|metadata|pagination|paging|columns|fields)$/;

/** Lists of what is in a space or an agent, or of who has it, beside those that the tool reads. */
const OTHER_LISTS = /^(members|participants|users|owners|templates|agenttemplates|tags|integrations|webhooks|tools)$/;

const MAX_LIST_DEPTH = 2;

interface List {
  readonly leaf: ListLeaf;
  readonly resource: Resource;
}

/** @param value where the list is, or may be */
function noList(body: unknown, { leaf, resource }: List, value: string, where = ''): UnknownShape {
  const message = `The response contains no list of ${resource}s${where}.`;
  return new UnknownShape(message, describeJson(body), { leaf: `${leaf}.items`, value });
}

function toItems(list: readonly unknown[], { leaf, resource }: List): readonly JsonObject[] {
  if (list.every(isJsonObject)) return list;
  const other = list.find((item) => !isJsonObject(item));
  const message = `The list of ${resource}s has an item that is not an object.`;
  throw new UnknownShape(message, `a list with ${describeJson(other)}`, { leaf: `${leaf}.items`, value: '<path>' });
}

interface Candidate {
  readonly path: string;
  readonly items: readonly unknown[];
  /** Whether it has a name that this list has, and not just any. */
  readonly isNamed: boolean;
}

/** Whether a list of this name has other things. */
function isForeign(name: string): boolean {
  return OTHER_LISTS.test(name) || RESOURCES.some((other) => listNames(other).includes(name));
}

/** Returns the arrays of objects in a body that may be the list and, under a name that it has, an empty one, or null. */
function findCandidates(body: unknown, resource: Resource, prefix = '', depth = 0): readonly Candidate[] {
  return Object.entries(isJsonObject(body) ? body : {}).flatMap(([key, value]): readonly Candidate[] => {
    const [path, name] = [prefix + key, normalizeName(key)];
    if (NO_LISTS.test(name)) return [];
    if (isJsonObject(value))
      return depth < MAX_LIST_DEPTH ? findCandidates(value, resource, `${path}.`, depth + 1) : [];
    const items = Array.isArray(value) ? value : [];
    const isNamed = LIST_ENVELOPES.test(name) || listNames(resource).includes(name);
    const isEmpty = items.length === 0 && (value === null || Array.isArray(value));
    const isList = isNamed ? isEmpty || items.some(isJsonObject) : items.some(isJsonObject) && !isForeign(name);
    return isList ? [{ path, items, isNamed }] : [];
  });
}

/** Returns where the one list of a body is, as a value of `<list>.items`. */
export function pathOfList(body: unknown, { resource }: List): string {
  const [only] = findCandidates(body, resource);
  return only?.path ?? '$';
}

function atPath(body: unknown, path: readonly string[], list: List): readonly JsonObject[] {
  const place = path.join('.').replace(/\[\]$/, '');
  const value = descend(body, place);
  if (value === null) return [];
  if (Array.isArray(value)) return toItems(value, list);
  // Protocol buffers omit empty lists.
  if (isEmptyObject(body) || isEmptyObject(descend(body, path.slice(0, -1).join('.')))) return [];
  const [only, other] = findCandidates(body, list.resource);
  throw noList(body, list, other === undefined && only ? only.path : '<path>', ` at ${path.join('.') || '$'}`);
}

/**
 * Returns the items of the list in a response: at the place of the contract, or else the only list at most two levels down, if
 * it has a name that such lists have.
 * @throws UnknownShape if the body has no list, a second one, or one under another name; ErrorInBody if it reports an error
 */
export function readList(body: unknown, list: List, place?: readonly string[]): readonly JsonObject[] {
  const { leaf, resource } = list;
  if (isJsonObject(body)) rejectErrorInBody(body, [body, body.data, body.result].filter(isJsonObject));
  // Go encodes an empty list so.
  if (body === null && (place === undefined || place.length === 0)) return [];
  if (place) return atPath(body, place, list);
  if (Array.isArray(body)) return toItems(body, list);
  if (!isJsonObject(body)) throw noList(body, list, '<path>');
  const [only, second] = findCandidates(body, resource);
  if (only && second) {
    const message = `The response may contain the list of ${resource}s in several places: ${only.path}, ${second.path}. Only one list is read.`;
    const fix = { leaf: `${leaf}.items`, value: only.path, other: second.path } as const;
    throw new UnknownShape(message, describeJson(body), fix);
  }
  if (only?.isNamed) return toItems(only.items, list);
  // HAL omits empty lists.
  if (only === undefined && descend(body, 'page.totalElements') === 0) return [];
  // What protocol buffers call a list shows only once it has items.
  throw noList(body, list, only?.path ?? (isEmptyObject(body) ? `${resource}s` : '<path>'));
}

/* Responses to writes. */

/** Normalized keys under which a response to a write may nest the resource that it is about, beside its own name. */
const ENVELOPES = /^(data|results?|response|payload|items?|details|d)$/;

/** Returns the resource in a response to a write and its envelopes, the outermost first. A list of one is its item. */
export function layersOf(body: unknown, resource: Resource): readonly JsonObject[] {
  if (Array.isArray(body)) return body.length === 1 ? layersOf(body[0], resource) : [];
  if (!isJsonObject(body)) return [];
  // LoopBack responds to an upload with the form that it received.
  const isForm = Object.hasOwn(body, 'files') && Object.hasOwn(body, 'fields');
  const isEnvelope = (name: string) =>
    ENVELOPES.test(name) || ownNames(resource).includes(name.replace(/s$/, '')) || (isForm && name === 'files');
  const nested = Object.entries(body).filter(
    ([key, value]) => typeof value === 'object' && isEnvelope(normalizeName(key)),
  );
  return [body, ...nested.flatMap(([, value]) => layersOf(value, resource))];
}

const OPERATION = /^(?:(?:longrunning|async)?operation|(?:async)?task|request|command)s?$/;

/** Whether an object says that it is the operation that creates the resource: `{id, object: 'operation', status}`. */
function isOperation(object: JsonObject): boolean {
  const kinds = [object.object, object.type, object.kind, object.resource];
  return kinds.some((kind) => typeof kind === 'string' && OPERATION.test(normalizeName(kind)));
}

/**
 * Reads the resource in the response to a write, in any common envelope, by the first contract under which it has an id:
 * one of its own name, or else a generic one.
 * @returns it, and the objects that may hold further parts of the response, the outermost first
 * @throws UnknownShape for no id, two different ones, or that of an operation; ErrorInBody if it reports an error
 */
export function readCreated(body: unknown, resource: Resource, ...contracts: [Contract, ...Contract[]]) {
  const layers = layersOf(body, resource);
  rejectErrorInBody(body, layers);
  const leaf = `${resource}.id` as const;
  const read = contracts.map((contract) =>
    layers.map((object) => ({ object, fields: new Fields(object, resource, contract) })),
  );
  for (const all of read) {
    const withId = (kind: 'ownId' | 'id') =>
      all.flatMap((each) => {
        const id = each.fields[kind](leaf);
        return id === undefined ? [] : [{ ...each, id }];
      });
    const own = withId('ownId');
    const found = own.length > 0 ? own : withId('id');
    const last = found.at(-1);
    if (last === undefined) continue;
    const other = found.find(({ id }) => id !== last.id);
    if (other) {
      const message = `The response has two different ids: ${JSON.stringify(other.id)} and ${JSON.stringify(last.id)}.`;
      throw new UnknownShape(message, layers.map(describeFields).join(', with '));
    }
    if (own.length === 0 && isOperation(last.object))
      throw last.fields.unreadable(leaf, 'The response contains the id of an operation, not of what it creates.');
    return { ...last, created: findCreated([...layers, ...last.fields.objects]), layers };
  }
  const message = `The response contains no ${resource}_id.`;
  const [first = []] = read;
  const near = first.find(({ fields }) => fields.suspect(leaf)) ?? first[0];
  throw near?.fields.unreadable(leaf, message) ?? new UnknownShape(message, describeJson(body));
}

/** Returns a reader of the id from a response to a write (spec §4.5, §4.7). It throws as `readCreated`. */
export function readIdOf(resource: Resource) {
  return (body: unknown, contract: Contract): string => readCreated(body, resource, contract).id;
}

/** Whether a response says that the resource is new; undefined if it does not say. */
function findCreated(objects: readonly JsonObject[]): boolean | undefined {
  for (const [key, value] of objects.flatMap(Object.entries))
    if (typeof value === 'boolean' && ['created', 'iscreated', 'isnew'].includes(normalizeName(key))) return value;
  return undefined;
}
