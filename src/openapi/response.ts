import { parseField } from '../contract/leaf-value.ts';
import { type FieldLeaf, LEAVES, type ListLeaf } from '../contract/leaves.ts';
import type { OpenApiDocument } from './document.ts';
import {
  fieldNames,
  groupsOf,
  isCalled,
  isEnvelope,
  isFieldLeaf,
  plainName,
  plainPath,
  type Resource,
} from './names.ts';
import { isInList, type Property, propertiesOf, type Shape, shapeOf } from './schema.ts';

/** The items of a list as a document describes them. */
export interface MatchedItems {
  /** A leaf value: `$`, or a path such as `data.items`. */
  readonly value: string;
  readonly shape: Shape;
}

/** How deep lists in responses, and fields in resources, are looked for. */
const LIST_DEPTH = 4;
const FIELD_DEPTH = 3;

/** The names of the items of a list, as `plainName` writes them, the best first. */
const ITEMS: Readonly<Record<ListLeaf, readonly string[]>> = {
  'spaces.list': ['spaces'],
  'agents.list': ['agents'],
  'messages.history': ['messages', 'history', 'entries'],
  'cron_jobs.list': ['cronjobs', 'partnercronjobs', 'jobs'],
};
const LISTS = 'results data items value values content records elements list rows entries edges nodes'.split(' ');

/** Lists that are about the response. */
const NO_ITEMS = 'errors warnings links included'.split(' ');

/** The edges of a connection, `{node, cursor}`, are read as their nodes. */
function nodeOf(document: OpenApiDocument, items: Shape): Shape {
  const isEdge = [...items.properties.keys()].every((key) => ['node', 'cursor', '__typename'].includes(key));
  const node = items.properties.get('node');
  return isEdge && node ? shapeOf(document, node) : items;
}

/** Returns the lists of objects in a response by their paths, the outermost first. */
function listsIn(document: OpenApiDocument, response: Shape): readonly MatchedItems[] {
  return propertiesOf(document, response, LIST_DEPTH).flatMap((property): MatchedItems[] => {
    const { path, shape } = property;
    if (isInList(property) || shape.items.length === 0 || NO_ITEMS.includes(plainName(path.at(-1) ?? ''))) return [];
    const items = nodeOf(document, shapeOf(document, shape.items));
    return items.types.size === 0 || items.types.has('object') ? [{ value: path.join('.'), shape: items }] : [];
  });
}

/** Finds the items in the response of a list: the body, a list with a known name, or the only list of objects. */
export function matchItems(document: OpenApiDocument, list: ListLeaf, response: Shape): MatchedItems | undefined {
  if (response.items.length > 0) return { value: '$', shape: nodeOf(document, shapeOf(document, response.items)) };
  const lists = listsIn(document, response);
  for (const name of [...ITEMS[list], ...LISTS]) {
    const found = lists.find(({ value }) => plainName(value.split('.').at(-1) ?? '') === name);
    if (found !== undefined) return found;
  }
  return lists.length === 1 ? lists[0] : undefined;
}

/** A field in a document. */
export interface MatchedField {
  readonly leaf: FieldLeaf;
  /** The path of the property; undefined if the document has none for the field. */
  readonly path: readonly string[] | undefined;
  /** Whether the default of the contract names this property, and no other. */
  readonly isDefault: boolean;
}

function isFoundByDefault(leaf: FieldLeaf, properties: readonly Property[], target: Property): boolean {
  const present = parseField(LEAVES[leaf].value)
    .map((rank) => {
      const names = rank.map(plainPath);
      return properties.filter(({ path }) => names.includes(plainPath(path)));
    })
    .find((found) => found.length > 0);
  return present?.length === 1 && present[0] === target;
}

/** Whether a schema has two ids that the contract accepts alike, such as `id` and `uuid`: either may be the one to use. */
function hasTwoIds(leaf: FieldLeaf, properties: readonly Property[]): boolean {
  if (!leaf.endsWith('.id')) return false;
  const present = (rank: readonly (readonly string[])[]) => {
    const names = rank.map(plainPath);
    return properties.filter(({ path }) => names.includes(plainPath(path))).length;
  };
  const counts = parseField(LEAVES[leaf].value).map(present);
  return (counts.find((count) => count > 0) ?? 0) > 1;
}

/** Finds the fields of a resource among the properties of its schema. */
export function matchFields(document: OpenApiDocument, resource: Resource, shape: Shape): readonly MatchedField[] {
  const properties = propertiesOf(document, shape, FIELD_DEPTH).filter((property) => !isInList(property));
  const isGroup = groupsOf(resource);
  const leaves = Object.keys(LEAVES).filter(
    (name): name is FieldLeaf => isFieldLeaf(name) && name.startsWith(`${resource}.`),
  );
  return leaves.map((leaf) => {
    const found = hasTwoIds(leaf, properties)
      ? undefined
      : fieldNames(leaf)
          .map((name) => properties.find(({ path }) => isCalled(path, name, isGroup)))
          .find((property) => property !== undefined);
    return { leaf, path: found?.path, isDefault: found !== undefined && isFoundByDefault(leaf, properties, found) };
  });
}

/** Returns the values of the author of messages, in lower case, if the document lists them. */
export function authorsOf(document: OpenApiDocument, message: Shape): readonly string[] {
  const fields = matchFields(document, 'message', message);
  const path = fields.find(({ leaf }) => leaf === 'message.author')?.path?.join('.');
  const author = propertiesOf(document, message, FIELD_DEPTH).find((property) => property.path.join('.') === path);
  const choices = author?.shape.choices ?? [];
  return choices.filter((choice) => typeof choice === 'string').map((choice) => choice.toLowerCase());
}

/** Returns the shape of the one resource in a response, without the envelopes around it. */
export function unwrapResource(document: OpenApiDocument, resource: Resource, response: Shape): Shape {
  const id = `${resource}.id`;
  const ids = isFieldLeaf(id) ? fieldNames(id) : [];
  let shape = response;
  for (let depth = 0; depth < LIST_DEPTH; depth += 1) {
    const keys = [...shape.properties.keys()];
    const key = keys.find((name) => isEnvelope(resource, name));
    if (key === undefined || keys.some((name) => ids.includes(plainName(name)))) return shape;
    const inner = shapeOf(document, shape.properties.get(key) ?? []);
    const next = inner.properties.size === 0 && inner.items.length > 0 ? shapeOf(document, inner.items) : inner;
    if (next.properties.size === 0) return shape;
    shape = next;
  }
  return shape;
}
