import { type FieldValue, parseField } from '../leaf-value.ts';
import { type FieldLeaf, LEAVES } from '../leaves.ts';
import { NEITHER_SIDE } from '../message-author.ts';
import type { OpenApiDocument } from './document.ts';
import { lettersAndDigits } from './names.ts';
import { type Property, propertiesOf, type Shape, shapeOf } from './shape.ts';
import { FIELD_NAMES } from './vocabulary.ts';

export type ResourceName =
  | 'space'
  | 'agent'
  | 'source'
  | 'message'
  | 'cron_job'
  | 'document'
  | 'file_attachment'
  | 'error';

/** Keys that may nest one kind of resource. */
const RESOURCE_LAYERS: Readonly<Record<ResourceName, readonly string[]>> = {
  space: ['space', 'workspace'],
  agent: ['agent', 'assistant'],
  source: ['source', 'api_chat', 'api_chat_source', 'chat_source'],
  message: ['message'],
  cron_job: ['cron_job', 'partner_cron_job', 'job', 'schedule'],
  document: ['document'],
  file_attachment: ['file_attachment', 'attachment', 'file'],
  error: [],
};
/** Keys that the tool searches by default, and others that documents use. */
const LAYERS = ['attributes', 'node', 'properties', 'fields', 'resource'];
const OTHER_LAYERS = ['metadata', 'meta', 'spec', 'data', 'details', 'info', 'content', 'object', 'values'];
const ENVELOPES = ['data', 'result', 'results', 'response', 'payload', 'item', 'items'];
const FIELD_DEPTH = 3;

interface Candidate {
  readonly property: Property;
  /** The normalized path without `LAYERS`, `OTHER_LAYERS`, and those of the resource. */
  readonly name: string;
  /** The normalized path without the keys that the tool searches by default. */
  readonly plainName: string;
}

function withoutLayers(names: readonly string[], layers: readonly string[]): string {
  let start = 0;
  while (start < names.length - 1 && layers.includes(names[start] ?? '')) start += 1;
  return names.slice(start).join('.');
}

function candidatesOf(document: OpenApiDocument, resource: ResourceName, shape: Shape): readonly Candidate[] {
  const layers = [...LAYERS, ...RESOURCE_LAYERS[resource]].map(lettersAndDigits);
  return propertiesOf(document, shape, FIELD_DEPTH)
    .filter(({ path }) => !path.some((step) => step.endsWith('[]')))
    .map((property) => {
      const names = property.path.map(lettersAndDigits);
      return {
        property,
        name: withoutLayers(names, [...layers, ...OTHER_LAYERS]),
        plainName: withoutLayers(names, layers),
      };
    });
}

/** Whether the default finds only this property. */
function isFoundBy(value: FieldValue, candidates: readonly Candidate[], target: Candidate): boolean {
  for (const rank of value) {
    const names = rank.map((path) => path.map(lettersAndDigits).join('.'));
    const present = candidates.filter(({ plainName }) => names.includes(plainName));
    if (present.length > 0) return present.length === 1 && present[0] === target;
  }
  return false;
}

const BOOLEAN_AUTHORS = [
  'is_bot',
  'is_agent',
  'is_assistant',
  'is_reply',
  'from_agent',
  'from_bot',
  'is_ai',
  'outgoing',
  'is_outbound',
];

function textChoices({ shape }: Property): readonly string[] {
  return shape.choices.filter((choice) => typeof choice === 'string').map((choice) => choice.toLowerCase());
}

/** Values of an enum that name an author on either side. */
const AUTHOR_WORDS = [
  ...LEAVES['message.author.agent'].value.split(', '),
  ...LEAVES['message.author.user'].value.split(', '),
];

/** Finds the author: the property whose values name authors, or else by name. */
function findAuthor(candidates: readonly Candidate[]): Candidate | undefined {
  const byValues = candidates.find(({ property }) =>
    textChoices(property).some((choice) => AUTHOR_WORDS.includes(choice)),
  );
  const byName = findByName('message.author', candidates);
  // The author is an object, and the values are those of its type.
  if (byName && byValues?.name.startsWith(`${byName.name}.`)) return byName;
  return byValues ?? byName ?? candidates.find(({ name }) => BOOLEAN_AUTHORS.map(lettersAndDigits).includes(name));
}

function findByName(leaf: FieldLeaf, candidates: readonly Candidate[]): Candidate | undefined {
  for (const path of FIELD_NAMES[leaf]) {
    const name = path.split('.').map(lettersAndDigits).join('.');
    const found = candidates.find((candidate) => candidate.name === name);
    if (found) return found;
  }
  return undefined;
}

/** A field in a document. */
export interface MatchedField {
  readonly leaf: FieldLeaf;
  /** The path of the property; undefined if the document has none for the field. */
  readonly path: readonly string[] | undefined;
  /** Whether the default finds the property. */
  readonly isDefault: boolean;
}

/** Finds the fields of a resource among the properties of its schema. */
export function matchFields(document: OpenApiDocument, resource: ResourceName, shape: Shape): readonly MatchedField[] {
  const candidates = candidatesOf(document, resource, shape);
  const leaves = Object.keys(FIELD_NAMES).filter((name): name is FieldLeaf => name.startsWith(`${resource}.`));
  return leaves.map((leaf) => {
    const found = leaf === 'message.author' ? findAuthor(candidates) : findByName(leaf, candidates);
    const isDefault = found !== undefined && isFoundBy(parseField(LEAVES[leaf].value), candidates, found);
    return { leaf, path: found?.property.path, isDefault };
  });
}

/**
 * Returns the author values of agents, if the document lists the authors and the default does not have the one of the agent.
 */
export function matchAgentValues(document: OpenApiDocument, message: Shape): readonly string[] | undefined {
  const candidates = candidatesOf(document, 'message', message);
  const author = findAuthor(candidates);
  if (author === undefined) return undefined;
  const inner = candidates.filter(({ name }) => name === author.name || name.startsWith(`${author.name}.`));
  const values = inner.flatMap(({ property }) => textChoices(property));
  const agents: readonly string[] = LEAVES['message.author.agent'].value.split(', ');
  const known = [...AUTHOR_WORDS, ...NEITHER_SIDE];
  const others = values.filter((value) => !known.includes(value));
  return values.some((value) => agents.includes(value)) || others.length !== 1 ? undefined : others;
}

function propertyNamed(shape: Shape, names: readonly string[]): readonly unknown[] | undefined {
  const normalized = names.map(lettersAndDigits);
  return [...shape.properties].find(([name]) => normalized.includes(lettersAndDigits(name)))?.[1];
}

/** Returns the shape of the one resource in a response, without the envelopes around it. */
export function unwrapResource(document: OpenApiDocument, resource: ResourceName, response: Shape): Shape {
  let shape = response;
  for (let depth = 0; depth < 4; depth += 1) {
    const isOwn = propertyNamed(shape, [`${resource}_id`]) !== undefined;
    const inner = isOwn ? undefined : propertyNamed(shape, [...RESOURCE_LAYERS[resource].slice(0, 4), ...ENVELOPES]);
    const nested = inner && shapeOf(document, inner);
    const next =
      nested && nested.properties.size === 0 && nested.items.length > 0 ? shapeOf(document, nested.items) : nested;
    if (next === undefined || next.properties.size === 0) return shape;
    shape = next;
  }
  return shape;
}
