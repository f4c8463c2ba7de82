import { OMITTABLE } from '../contract/check-leaf.ts';
import { parseParameter } from '../contract/leaf-value.ts';
import { LEAVES, type ParameterLeaf, parametersOf } from '../contract/leaves.ts';
import type { OpenApiDocument } from './document.ts';
import type { Endpoint } from './endpoints.ts';
import { groupsOf, isCalled, parameterNames, plainName, plainPath, resourceOf } from './names.ts';
import {
  innerProperties,
  isInList,
  isOpen,
  isPrintable,
  type Property,
  propertiesOf,
  type Shape,
  shapeOf,
} from './schema.ts';

export interface ParameterMatches {
  /** Leaf values such as `query:source_id`; `none` for what the document forbids and the tool need not send. */
  readonly values: ReadonlyMap<ParameterLeaf, string>;
  /** The parameters that the document describes under no known name. */
  readonly missing: readonly ParameterLeaf[];
  /** What the document requires, but the tool does not send, as `query:tenant`. */
  readonly unknown: readonly string[];
}

/** How deep the properties of request bodies are read. */
const BODY_DEPTH = 5;

/** Headers that the tool sends with every request, as `plainName` writes them. */
const SENT_HEADERS = ['authorization', 'accept', 'contenttype', 'useragent', 'xrequestid'];

/** A place for a value in a request. */
interface Slot {
  readonly value: string;
  readonly path: readonly string[];
  readonly isRequired: boolean;
  /** Whether its type is text, number, or boolean, or is not declared. */
  readonly isPlain: boolean;
}

function slotsOf(document: OpenApiDocument, { parameters, json }: Endpoint): readonly Slot[] {
  const query = parameters
    .filter(({ place }) => place === 'query')
    .map(({ name, isRequired }) => ({ value: `query:${name}`, path: [name], isRequired, isPlain: true }));
  const properties = json === undefined ? [] : propertiesOf(document, json, BODY_DEPTH);
  const body = properties.map(({ path, isRequired, shape: { properties: inner, items, types } }) => {
    const isPlain = inner.size === 0 && (items.length === 0 || !types.has('array'));
    return { value: `body:${path.join('.')}`, path, isRequired, isPlain };
  });
  return [...query, ...body];
}

function specPath(leaf: ParameterLeaf): readonly string[] {
  return parseParameter(LEAVES[leaf].value)?.path ?? [];
}

/** Finds the place of a parameter by its names, which may be below keys that only group values. */
function findSlot(leaf: ParameterLeaf, slots: readonly Slot[]): Slot | undefined {
  const spec = specPath(leaf);
  const isGroup = groupsOf(resourceOf(leaf), spec.slice(0, -1));
  const possible = slots.filter((slot) => slot.isPlain && isInList(slot) === isInList({ path: spec }));
  for (const name of parameterNames(leaf)) {
    const found = possible.find(({ path }) => isCalled(path, name, isGroup));
    if (found !== undefined) return found;
  }
  return undefined;
}

/** Finds the places of parameters. A place is for one parameter; the spec's own come first. */
function findSlots(leaves: readonly ParameterLeaf[], slots: readonly Slot[]): ReadonlyMap<ParameterLeaf, Slot> {
  const found = new Map<ParameterLeaf, Slot>();
  for (const leaf of leaves) {
    const own = slots.find(({ path }) => plainPath(path) === plainPath(specPath(leaf)));
    if (own?.isPlain) found.set(leaf, own);
  }
  for (const leaf of leaves.filter((each) => !found.has(each))) {
    const taken = new Set(found.values());
    const slot = findSlot(
      leaf,
      slots.filter((each) => !taken.has(each)),
    );
    if (slot !== undefined) found.set(leaf, slot);
  }
  return found;
}

/**
 * Returns what a request body says of a parameter that it does not name: nothing where an object on the way is open, or
 * whether the last object on the way is closed.
 */
function absence(document: OpenApiDocument, body: Shape, path: readonly string[]): 'open' | 'closed' | 'undeclared' {
  let shape = body;
  let isClosed = false;
  for (const step of path) {
    if (isOpen(shape)) return 'open';
    isClosed = shape.isClosed;
    const [, inner] = [...shape.properties].find(([name]) => plainName(name) === plainName(step)) ?? [];
    if (inner === undefined) break;
    const next = shapeOf(document, inner);
    shape = step.endsWith('[]') ? shapeOf(document, next.items) : next;
  }
  return isClosed ? 'closed' : 'undeclared';
}

function isBinary({ shape }: Property): boolean {
  return shape.formats.some((format) => format === 'binary' || format === 'application/octet-stream');
}

/** Returns the fields of a form by name: `file`, or `document[file]` for one in an object. */
function formFields(document: OpenApiDocument, form: Shape): ReadonlyMap<string, Property> {
  const fields = innerProperties(document, { path: [], shape: form, isRequired: true });
  const named = fields.flatMap((field): [string, Property][] => {
    const { path, shape } = field;
    const inner = innerProperties(document, field);
    if (inner.length > 0) return inner.map((each) => [`${path[0]}[${each.path[1]}]`, each]);
    return [[path[0] ?? '', shape.items.length > 0 ? { ...field, shape: shapeOf(document, shape.items) } : field]];
  });
  return new Map(named.filter(([name]) => isPrintable(name)));
}

/** Finds the form field of the file: the only binary one, or else one with a usual name. */
function findFile(leaf: ParameterLeaf, fields: ReadonlyMap<string, Property>): string | undefined {
  const binary = [...fields].filter(([, field]) => isBinary(field)).map(([name]) => name);
  if (binary.length === 1) return binary[0];
  const possible = binary.length > 1 ? binary : [...fields.keys()];
  const names = parameterNames(leaf);
  return possible.find((name) => names.includes(plainName(name)));
}

function matchFile(document: OpenApiDocument, leaf: ParameterLeaf, { form, json }: Endpoint): ParameterMatches {
  if (form === undefined) return { values: new Map(), missing: json === undefined ? [] : [leaf], unknown: [] };
  if (isOpen(form) && form.properties.size === 0) return { values: new Map(), missing: [], unknown: [] };
  const fields = formFields(document, form);
  const file = findFile(leaf, fields);
  const unknown = [...fields]
    .filter(([name, { isRequired }]) => isRequired && name !== file)
    .map(([name]) => `form:${name}`);
  if (file === undefined) return { values: new Map(), missing: [leaf], unknown };
  return { values: new Map([[leaf, `form:${file}`]]), missing: [], unknown };
}

/** Returns the required places that no value of the tool is in, without those within others. */
function unsent(slots: readonly Slot[], leaves: readonly ParameterLeaf[], values: ReadonlyMap<ParameterLeaf, string>) {
  const sent = leaves.map((leaf) => values.get(leaf) ?? LEAVES[leaf].value);
  const isSent = ({ value }: Slot): boolean =>
    sent.some((each) => each === value || each.startsWith(`${value}.`) || each.startsWith(`${value}[].`));
  const unused = slots.filter((slot) => slot.isRequired && !isSent(slot)).map(({ value }) => value);
  return unused.filter(
    (value) => !unused.some((outer) => value.startsWith(`${outer}.`) || value.startsWith(`${outer}[].`)),
  );
}

function requiredHeaders({ parameters }: Endpoint): readonly string[] {
  return parameters
    .filter(
      ({ name, place, isRequired }) => place === 'header' && isRequired && !SENT_HEADERS.includes(plainName(name)),
    )
    .map(({ name }) => `header:${name}`);
}

/** Finds the places of an operation's parameters in a document. */
export function matchParameters(document: OpenApiDocument, endpoint: Endpoint): ParameterMatches {
  const { leaf: operation, json } = endpoint;
  const headers = requiredHeaders(endpoint);
  const leaves = parametersOf(operation);
  const [file] = leaves.filter((leaf) => LEAVES[leaf].value.startsWith('form:'));
  if (file !== undefined) {
    const matched = matchFile(document, file, endpoint);
    return { ...matched, unknown: [...headers, ...matched.unknown] };
  }
  const slots = slotsOf(document, endpoint);
  const values = new Map([...findSlots(leaves, slots)].map(([leaf, { value }]) => [leaf, value]));
  const missing: ParameterLeaf[] = [];
  for (const leaf of leaves.filter((each) => !values.has(each))) {
    const said = json === undefined ? 'undeclared' : absence(document, json, specPath(leaf));
    if (said === 'closed' && OMITTABLE.includes(leaf)) values.set(leaf, 'none');
    else if (said !== 'open' && slots.length > 0 && !OMITTABLE.includes(leaf)) missing.push(leaf);
  }
  return { values, missing, unknown: [...headers, ...unsent(slots, leaves, values)] };
}
