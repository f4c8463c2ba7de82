import type { Contract } from './contract.ts';
import { normalizeName } from './field-names.ts';
import { fieldsOf } from './fields.ts';
import { isJsonObject, type JsonObject } from './json.ts';
import type { FieldLeaf } from './leaves.ts';
import { findRetirement, type Retirement } from './retirement.ts';
import { canonicalId } from './uuid.ts';

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

const METADATA_DEPTH = 3;

/** The depth left for an item of a list: a list of objects is no level of its own. */
function depthIn(item: unknown, depth: number): number {
  return isJsonObject(item) ? depth : depth - 1;
}

/** Normalized names of the object with an agent's source, which may be null. */
const SOURCE_NAMES = ['source', 'apichat', 'apichatsource'];

/**
 * Finds the id of the source in the integration metadata, which the spec does not define. The first one wins, because an
 * agent has one source (spec §2).
 * @param names the normalized names of the field
 */
function findSourceId(
  value: unknown,
  names: readonly string[],
  contract: Contract,
  depth = METADATA_DEPTH,
): string | null | undefined {
  if (depth === 0) return undefined;
  if (Array.isArray(value))
    return firstOf(value.map((item) => findSourceId(item, names, contract, depthIn(item, depth))));
  if (!isJsonObject(value)) return undefined;
  const entries = Object.entries(value).map(([key, inner]) => [normalizeName(key), inner] as const);
  const direct = entries.find(([name, inner]) => names.includes(name) && isTextOrNumber(inner))?.[1];
  if (isTextOrNumber(direct)) return String(direct);
  return firstOf(
    entries.map(([name, inner]) => {
      const isSource = SOURCE_NAMES.includes(name);
      if (inner === null) return isSource || names.includes(name) ? null : undefined;
      const own = isSource && isJsonObject(inner) ? findOwnId(inner, contract) : undefined;
      return own === undefined ? findSourceId(inner, names, contract, depth - 1) : own;
    }),
  );
}

/** The id of a source, or of the one that JSON:API has in the `data` of a relationship; null if that says there is none. */
function findOwnId(source: JsonObject, contract: Contract): string | null | undefined {
  const id = fieldsOf(source, 'source', contract).id('source.id');
  if (id !== undefined || source.data === null) return id ?? null;
  return isJsonObject(source.data) ? fieldsOf(source.data, 'source', contract).id('source.id') : undefined;
}

/**
 * Returns the objects that hold the last key of a path; null for a place that says there is none. Lists do not count as a
 * step of the path.
 */
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

/** Finds the id of the source where the contract's path leads, and what holds it. */
function findAtPath(places: readonly JsonObject[], path: readonly string[]) {
  const last = path.at(-1) ?? '';
  const found = places
    .flatMap((place) => [...holdersAt(place, path)])
    .map((holder) => {
      const value = holder && Object.entries(holder.object).find(([name]) => normalizeName(name) === last)?.[1];
      return { holder, id: isTextOrNumber(value) ? String(value) : value === null ? null : undefined };
    });
  return found.find(({ id }) => typeof id === 'string') ?? found.find(({ id }) => id === null);
}

/** Returns the normalized names of the keys that hold a field. */
function lastNames(leaf: FieldLeaf, contract: Contract): readonly string[] {
  return contract
    .field(leaf)
    .flat()
    .map((path) => normalizeName(path.at(-1) ?? ''));
}

/** An object in an agent's metadata, and the normalized name of its key; '' for the agent itself. */
interface NestedObject {
  readonly key: string;
  readonly object: JsonObject;
}

function* objectsIn(value: unknown, key: string, depth: number): Generator<NestedObject> {
  if (depth === 0) return;
  if (Array.isArray(value)) for (const item of value) yield* objectsIn(item, key, depthIn(item, depth));
  if (!isJsonObject(value)) return;
  yield { key, object: value };
  for (const [name, inner] of Object.entries(value)) yield* objectsIn(inner, normalizeName(name), depth - 1);
}

/**
 * Finds the object that holds the id of an agent's source.
 * @param names the normalized names of the field with the source's id
 */
function findHolder(agent: JsonObject, id: string, names: readonly string[]): NestedObject | undefined {
  return [...objectsIn(agent, '', METADATA_DEPTH + 1)].find(({ key, object }) =>
    Object.entries(object).some(([name, value]) => {
      const normal = normalizeName(name);
      const isId = names.includes(normal) || (SOURCE_NAMES.includes(key) && normal === 'id');
      return isId && isTextOrNumber(value) && String(value) === id;
    }),
  );
}

/**
 * Reads the settings beside the id of an agent's source. Reads `name` only from an object that is called a source: agents
 * and integrations have names of their own.
 */
function readSettings({ key, object }: NestedObject, contract: Contract): ListedSource {
  const read = (leaf: FieldLeaf, ...others: readonly string[]): unknown => {
    const accepted = [...lastNames(leaf, contract), ...others];
    return Object.entries(object).find(([name]) => accepted.includes(normalizeName(name)))?.[1];
  };
  const text = (value: unknown): string | undefined => (isTextOrNumber(value) ? String(value) : undefined);
  const replyCapable = read('source.reply_capable');
  return {
    name: SOURCE_NAMES.includes(key) ? text(read('source.name')) : undefined,
    reply_capable: typeof replyCapable === 'boolean' ? replyCapable : undefined,
    routing_mode: text(read('source.routing_mode', 'apichatroutingmode')),
  };
}

/** Finds the source's id under a name anywhere in the metadata, and at a path only there. */
function findSource(agent: JsonObject, contract: Contract): Pick<ListedAgent, 'source_id' | 'source'> {
  const fields = fieldsOf(agent, 'agent', contract);
  const all = contract
    .field('agent.source_id')
    .flat()
    .map((path) => path.map(normalizeName));
  // The last key of a path is often only `id`, which the agent has, too.
  const paths = all.filter(({ length }) => length > 1);
  const names = all.flatMap(([name = '', ...rest]) => (rest.length === 0 ? name : []));
  const found = paths.flatMap((path) => findAtPath(fields.places, path) ?? []);
  const atPath = found.find(({ id }) => typeof id === 'string') ?? found[0];
  if (names.length === 0 || typeof atPath?.id === 'string')
    return { source_id: atPath?.id, source: atPath?.holder ? readSettings(atPath.holder, contract) : undefined };
  const chosen = fields.text('agent.source_id');
  const named = chosen === undefined || chosen === '' ? findSourceId(agent, names, contract) : chosen;
  const source_id = named === undefined ? atPath?.id : named;
  const holder = typeof source_id === 'string' ? findHolder(agent, source_id, names) : undefined;
  return { source_id, source: holder && readSettings(holder, contract) };
}

function isTextOrNumber(value: unknown): value is string | number | bigint {
  return (typeof value === 'string' && value !== '') || typeof value === 'number' || typeof value === 'bigint';
}

function firstOf(found: readonly (string | null | undefined)[]): string | null | undefined {
  return found.find((id) => typeof id === 'string') ?? found.find((id) => id === null);
}

/** Reads the id of a `template` object. A string in `template` may be a title, which would not match the manifest. */
function nestedTemplateId(places: readonly JsonObject[]): string | undefined {
  for (const place of places) {
    const key = Object.keys(place).find((each) => ['template', 'agenttemplate'].includes(normalizeName(each)));
    const template = key === undefined ? undefined : place[key];
    if (!isJsonObject(template)) continue;
    const names = ['templateid', 'id', 'uuid', 'key', 'slug'];
    const ids = names.map((name) => Object.entries(template).find(([each]) => normalizeName(each) === name)?.[1]);
    const id = ids.find(isTextOrNumber);
    if (id !== undefined) return String(id);
  }
  return undefined;
}

/** Reads the id of the agent's space. A string in `space` may be a name. */
function findSpaceId(places: readonly JsonObject[]): string | undefined {
  const valueAt = (object: JsonObject, name: string) =>
    Object.entries(object).find(([key]) => normalizeName(key) === name)?.[1];
  for (const place of places) {
    const space = valueAt(place, 'space');
    const ids = [valueAt(place, 'spaceid'), ...(isJsonObject(space) ? [valueAt(space, 'spaceid'), space.id] : [])];
    const id = ids.find(isTextOrNumber);
    if (id !== undefined) return String(id);
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
    template_id: fields.text('agent.template_id') ?? nestedTemplateId(fields.places),
    space_id: findSpaceId(fields.places),
    retirement: findRetirement(agent),
    ...findSource(agent, contract),
  };
}
