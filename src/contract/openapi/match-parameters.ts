import { LEAVES, type ParameterLeaf, parametersOf } from '../leaves.ts';
import type { OpenApiDocument } from './document.ts';
import { contentProperties, type Endpoint, type EndpointParameter } from './endpoints.ts';
import type { MatchedOperation } from './match-operations.ts';
import { lettersAndDigits } from './names.ts';
import { formFields, type Property } from './shape.ts';
import { PARAMETER_NAMES } from './vocabulary.ts';

/** Where a document puts a parameter. */
interface MatchedParameter {
  readonly leaf: ParameterLeaf;
  /** A leaf value such as `query:source_id`. */
  readonly value: string;
}

export interface ParameterMatches {
  readonly matches: readonly MatchedParameter[];
  /** The parameters that were not found in the document. */
  readonly missing: readonly ParameterLeaf[];
  /** The document's parameters that are required, but unknown to the tool, as `query:tenant`. */
  readonly unknown: readonly string[];
}

/** Headers that the tool sends with every request. */
const SENT_HEADERS = ['authorization', 'accept', 'contenttype', 'useragent', 'xrequestid'];

/** A place for a value in a request. */
interface Slot {
  readonly value: string;
  readonly path: readonly string[];
  readonly isRequired: boolean;
  /** Whether its type is text, number, or boolean, or is not declared. */
  readonly isPlain: boolean;
}

function isPlainProperty(property: Property): boolean {
  const { types, properties, items } = property.shape;
  return properties.size === 0 && (items.length === 0 || !types.has('array'));
}

function slotsOf(document: OpenApiDocument, { parameters, json, form }: Endpoint): readonly Slot[] {
  const query = parameters
    .filter(({ place }) => place === 'query')
    .map(({ name, isRequired }) => ({ value: `query:${name}`, path: [name], isRequired, isPlain: true }));
  const toSlot =
    (place: 'body' | 'form') =>
    (property: Property): Slot => ({
      value: `${place}:${property.path.join('.')}`,
      path: property.path,
      isRequired: property.isRequired,
      isPlain: isPlainProperty(property),
    });
  // Files are sent as a form, even if the operation also accepts JSON.
  const body = contentProperties(document, form ? undefined : json).map(toSlot('body'));
  const fields = form === undefined ? [] : formFields(document, form.shape);
  return [...query, ...body, ...fields.map((field) => ({ ...toSlot('form')(field), isPlain: true }))];
}

function listLevels(path: readonly string[]): number {
  return path.filter((step) => step.endsWith('[]')).length;
}

/** Returns the normalized names of a slot: its own, and with that of its parent (`agent.id` is an agent id). */
function namesOf(path: readonly string[]): readonly string[] {
  const own = path.at(-1) ?? '';
  const outer = path.at(-2)?.replace('[]', '');
  return outer === undefined ? [lettersAndDigits(own)] : [lettersAndDigits(own), lettersAndDigits(`${outer}_${own}`)];
}

/** Keys that nest all parameters, as in JSON:API. */
const WRAPPERS = ['data', 'attributes', 'payload', 'request', 'input', 'params', 'spec'];

/**
 * Rates a slot for a parameter: by its name, then by the distance to the place in the spec.
 * @returns lower is better; undefined if the slot is for another parameter
 */
function rate(slot: Slot, leaf: ParameterLeaf): number | undefined {
  const [, place = '', path = ''] = /^(\w+):(.*)$/.exec(LEAVES[leaf].value) ?? [];
  const spec = path.split('.');
  const isFile = place === 'form';
  if (isFile !== slot.value.startsWith('form:') || !slot.isPlain) return undefined;
  if (!isFile && listLevels(slot.path) !== listLevels(spec)) return undefined;
  const names = namesOf(slot.path);
  const rank = PARAMETER_NAMES[leaf].findIndex((name) => names.includes(lettersAndDigits(name)));
  if (rank === -1) return undefined;
  const parents = slot.path.slice(0, -1).map(lettersAndDigits);
  const specParents = spec.slice(0, -1).map(lettersAndDigits);
  const extra = parents.filter((name) => !specParents.includes(name) && !WRAPPERS.includes(name)).length;
  const missing = specParents.filter((name) => !parents.includes(name)).length;
  return rank * 4 + extra * 6 + missing * 2;
}

function isKnownHeader({ name, place }: EndpointParameter): boolean {
  return place === 'cookie' || SENT_HEADERS.includes(lettersAndDigits(name));
}

/** Finds the places of an operation's parameters. A slot is for one parameter, the one that it matches best. */
export function matchParameters(
  document: OpenApiDocument,
  { leaf: operation, endpoint, path, placeholders }: MatchedOperation,
): ParameterMatches {
  const slots = slotsOf(document, endpoint);
  const inPath = (leaf: ParameterLeaf): boolean => placeholders.some((name) => leaf === `${operation}.${name}`);
  const parameters = parametersOf(operation).filter((leaf) => !inPath(leaf));
  const rated = parameters
    .flatMap((leaf) => slots.flatMap((slot) => ({ leaf, slot, rating: rate(slot, leaf) })))
    .flatMap(({ leaf, slot, rating }) => (rating === undefined ? [] : [{ leaf, slot, rating }]))
    .sort((one, other) => one.rating - other.rating);
  const found = new Map<ParameterLeaf, Slot>();
  for (const { leaf, slot } of rated) {
    if (!found.has(leaf) && ![...found.values()].includes(slot)) found.set(leaf, slot);
  }
  const inQuery = [...path.matchAll(/[?&](\w+)=/g)].map(([, name]) => `query:${name}`);
  const used = new Set([...[...found.values()].map(({ value }) => value), ...inQuery]);
  const headers = endpoint.parameters.filter(
    (parameter) => parameter.place === 'header' && parameter.isRequired && !isKnownHeader(parameter),
  );
  // Not objects: only their fields count as required.
  const unusedSlots = slots.filter(({ isRequired, isPlain, value }) => isRequired && isPlain && !used.has(value));
  return {
    matches: [...found].map(([leaf, { value }]) => ({ leaf, value })),
    missing: parameters.filter((leaf) => !found.has(leaf)),
    unknown: [...headers.map(({ name }) => `header:${name}`), ...unusedSlots.map(({ value }) => value)],
  };
}
