import type { Contract } from './contract.ts';
import { normalizeName } from './field-names.ts';
import { type Fields, fieldsOf } from './fields.ts';
import { isJsonObject, type JsonObject } from './json.ts';
import type { FieldLeaf } from './leaves.ts';
import { findRetirement, type Retirement } from './retirement.ts';
import { canonicalId } from './uuid.ts';
import { isTextOrNumber } from './values.ts';

/** A listed agent. */
export interface ListedAgent {
  readonly agent_id: string;
  readonly name: string | undefined;
  /** The spec mentions it only in requests; undefined if the service does not return it. */
  readonly template_id: string | undefined;
  /** The space that the agent says it is in. */
  readonly space_id?: string | undefined;
  readonly retirement?: Retirement | undefined;
  /** The API chat source from the integration metadata: null if there is none, undefined if it is not mentioned. */
  readonly source_id: string | null | undefined;
  /** The settings of the source, if the integration metadata has them. */
  readonly source?: ListedSource | undefined;
}

/** The settings of an agent's API chat source. Fields that the service does not show are undefined. */
interface ListedSource {
  readonly name: string | undefined;
  readonly reply_capable: boolean | undefined;
  readonly routing_mode: string | undefined;
}

/** How deep the integration metadata may nest the source. */
const METADATA_DEPTH = 4;
/** Normalized names of the object with an agent's source, which may be null. */
const SOURCE_NAMES = ['source', 'apichat', 'apichatsource'];

/** An object in an agent's metadata, and the normalized name of its key; '' for the agent itself. */
interface NestedObject {
  readonly key: string;
  readonly object: JsonObject;
}

/** The objects in an agent, the outer ones first; null for a source that the service says does not exist. */
function* objectsIn(value: unknown, key: string, depth: number): Generator<NestedObject | null> {
  if (value === null && SOURCE_NAMES.includes(key)) yield null;
  if (Array.isArray(value)) for (const item of value) yield* objectsIn(item, key, depth);
  if (!isJsonObject(value) || depth === 0) return;
  yield { key, object: value };
  for (const [name, inner] of Object.entries(value)) yield* objectsIn(inner, normalizeName(name), depth - 1);
}

/** Returns the normalized names of the keys that hold a field. */
function namesOf(leaf: FieldLeaf, contract: Contract): readonly string[] {
  return contract
    .field(leaf)
    .flat()
    .map((path) => normalizeName(path.at(-1) ?? ''));
}

function valueAt(object: JsonObject, names: readonly string[]): unknown {
  return Object.entries(object).find(([key]) => names.includes(normalizeName(key)))?.[1];
}

/** The id of an agent's source in one object: under a name of the field, or the id of an object that is called a source. */
function sourceIdIn({ key, object }: NestedObject, names: readonly string[], contract: Contract): unknown {
  const named = valueAt(object, names);
  if (named !== undefined || !SOURCE_NAMES.includes(key)) return named;
  const own = fieldsOf(object, 'source', contract).id('source.id');
  // JSON:API relates a resource by `{data: {type, id}}`, and by null to none.
  const { data } = object;
  return own ?? (isJsonObject(data) ? fieldsOf(data, 'source', contract).id('source.id') : data);
}

/** The objects that hold the last key of a path; null where it leads to nothing. Lists do not count as a step. */
function* holdersAt(value: unknown, path: readonly string[], key = ''): Generator<NestedObject | null> {
  if (value === null || (Array.isArray(value) && value.length === 0)) yield null;
  else if (Array.isArray(value)) for (const item of value) yield* holdersAt(item, path, key);
  else if (isJsonObject(value) && path.length === 1) yield { key, object: value };
  else if (isJsonObject(value)) {
    const [step = '', ...rest] = path;
    for (const [name, inner] of Object.entries(value))
      if (normalizeName(name) === step) yield* holdersAt(inner, rest, step);
  }
}

/** Where the id of the source may be: at the paths that are set for this service, else anywhere in the metadata. */
function* placesOfSource(agent: JsonObject, contract: Contract): Generator<readonly [NestedObject | null, unknown]> {
  const leaf = 'agent.source_id';
  if (contract.namesOf('agent').rule(leaf).isChosen) {
    for (const path of contract.field(leaf).flat()) {
      const steps = path.map(normalizeName);
      for (const holder of holdersAt(agent, steps)) yield [holder, holder && valueAt(holder.object, steps.slice(-1))];
    }
    return;
  }
  const names = namesOf(leaf, contract);
  for (const nested of objectsIn(agent, '', METADATA_DEPTH))
    yield [nested, nested && sourceIdIn(nested, names, contract)];
}

/** Finds an agent's source, whose place the spec leaves open: the first id, because an agent has one source (spec §2). */
function findSource(agent: JsonObject, contract: Contract): Pick<ListedAgent, 'source_id' | 'source'> {
  let isNull = false;
  for (const [nested, id] of placesOfSource(agent, contract)) {
    if (nested && isTextOrNumber(id)) return { source_id: String(id), source: readSettings(nested, contract) };
    isNull ||= id === null;
  }
  return { source_id: isNull ? null : undefined };
}

/** Reads the settings beside the id of an agent's source. Agents and integrations have names of their own. */
function readSettings({ key, object }: NestedObject, contract: Contract): ListedSource {
  const read = (leaf: FieldLeaf, ...others: readonly string[]) =>
    valueAt(object, [...namesOf(leaf, contract), ...others]);
  const text = (value: unknown): string | undefined => (isTextOrNumber(value) ? String(value) : undefined);
  const replyCapable = read('source.reply_capable');
  return {
    name: SOURCE_NAMES.includes(key) ? text(read('source.name')) : undefined,
    reply_capable: typeof replyCapable === 'boolean' ? replyCapable : undefined,
    routing_mode: text(read('source.routing_mode', 'apichatroutingmode')),
  };
}

/** Reads the id of the agent's space. A string in `space` may be a name. */
function findSpaceId({ places }: Fields): string | undefined {
  for (const place of places) {
    const space = valueAt(place, ['space']);
    const id = valueAt(place, ['spaceid']) ?? (isJsonObject(space) ? valueAt(space, ['spaceid', 'id']) : undefined);
    if (isTextOrNumber(id)) return String(id);
  }
  return undefined;
}

/** The forms of ids: numbers, UUIDs in canonical form, and those of MongoDB. */
const KINDS = [/^\d+$/, /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/, /^[\da-f]{24}$/i];

/** Whether two ids can be compared: a service may show a space by another kind of id than the one in its path. */
function isSameKind(one: string, other: string): boolean {
  const [prefix, otherPrefix] = [one, other].map((id) => /^[a-z]+[_.:-]/i.exec(id)?.[0]);
  return KINDS.some((kind) => kind.test(one) && kind.test(other)) || (prefix !== undefined && prefix === otherPrefix);
}

/** Whether a listed agent says that it is in another space. */
export function isInOtherSpace({ space_id }: ListedAgent, spaceId: string): boolean {
  if (space_id === undefined) return false;
  const [own, wanted] = [canonicalId(space_id), canonicalId(spaceId)];
  return own !== wanted && isSameKind(own, wanted);
}

/**
 * Reads one agent of a list.
 * @throws UnknownShape if the agent has no id, or if a field that was sent cannot be read
 */
export function readAgent(agent: JsonObject, contract: Contract): ListedAgent {
  const fields = fieldsOf(agent, 'agent', contract);
  return {
    agent_id: fields.readId('agent.id'),
    name: fields.shownText('agent.name'),
    template_id: fields.text('agent.template_id'),
    space_id: findSpaceId(fields),
    retirement: findRetirement(agent),
    ...findSource(agent, contract),
  };
}
