import type { Contract } from './contract.ts';
import { normalizeName, ownNames } from './field-names.ts';
import { type Fields, fieldsOf } from './fields.ts';
import { isJsonObject, type JsonObject } from './json.ts';
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

const SOURCE_ID = 'agent.source_id';

/** How deep the integration metadata may nest the source. */
const METADATA_DEPTH = 4;

/** An object in an agent, and whether it is called a source. */
interface Nested {
  readonly object: JsonObject;
  readonly isSource: boolean;
}

function isSourceName(key: string): boolean {
  return ownNames('source').includes(normalizeName(key));
}

/** Returns an agent and the objects in it, the outer ones first. */
function objectsIn(value: unknown, key = '', depth = METADATA_DEPTH): readonly Nested[] {
  if (Array.isArray(value)) return value.flatMap((item: unknown) => objectsIn(item, key, depth));
  if (!isJsonObject(value) || depth === 0) return [];
  const inner = Object.entries(value).flatMap(([name, each]) => objectsIn(each, name, depth - 1));
  return [{ object: value, isSource: isSourceName(key) }, ...inner];
}

/** Returns the ids of sources in an object: under a name of the field, and its own if it is a source; null for none. */
function sourceIdsIn({ object, isSource }: Nested, contract: Contract): readonly unknown[] {
  const entries = Object.entries(object);
  const names = contract.field(SOURCE_ID).flatMap((rank) => rank.map((path) => normalizeName(path.join('.'))));
  const named = entries.filter(([key]) => names.includes(normalizeName(key))).map(([, value]) => value);
  const own = isSource ? fieldsOf(object, 'source', contract).id('source.id') : undefined;
  const isNone = entries.some(([key, value]) => value === null && isSourceName(key));
  return [...named, ...(own === undefined ? [] : [own]), ...(isNone ? [null] : [])];
}

/**
 * Finds an agent's source, whose place the spec leaves open: at the path that is set for it, else anywhere in the metadata.
 * The first id counts, because an agent has one source (spec §2).
 */
function findSource(agent: JsonObject, fields: Fields, contract: Contract): Pick<ListedAgent, 'source_id' | 'source'> {
  const objects = objectsIn(agent);
  const ids = contract.namesOf('agent').rule(SOURCE_ID).isChosen
    ? fields.all(SOURCE_ID).map(({ value }) => value)
    : objects.flatMap((each) => sourceIdsIn(each, contract));
  const id = ids.find(isTextOrNumber);
  if (id === undefined) return { source_id: ids.includes(null) ? null : undefined };
  const holder = objects.findLast(({ object }) => Object.values(object).includes(id));
  return { source_id: String(id), source: holder && readSettings(holder, contract) };
}

/** Reads the settings beside the id of an agent's source. Agents and integrations have names of their own. */
function readSettings({ object, isSource }: Nested, contract: Contract): ListedSource {
  const fields = fieldsOf(object, 'source', contract);
  const replyCapable = fields.value('source.reply_capable');
  return {
    name: isSource ? fields.text('source.name') : undefined,
    reply_capable: typeof replyCapable === 'boolean' ? replyCapable : undefined,
    routing_mode: fields.text('source.routing_mode'),
  };
}

/** Reads the id of the agent's space. A text in `space` may be a name. */
function findSpaceId(agent: JsonObject, contract: Contract): string | undefined {
  const named = new Map(Object.entries(agent).map(([key, value]) => [normalizeName(key), value]));
  const space = named.get('space');
  const id =
    named.get('spaceid') ?? (isJsonObject(space) ? fieldsOf(space, 'space', contract).id('space.id') : undefined);
  return isTextOrNumber(id) ? String(id) : undefined;
}

/** The forms of ids: numbers, and UUIDs. */
const KINDS = [/^\d+$/, /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/];

/** Whether a listed agent says that it is in another space, by an id of the same kind. */
export function isInOtherSpace({ space_id }: ListedAgent, spaceId: string): boolean {
  const [own, wanted] = [canonicalId(space_id ?? spaceId), canonicalId(spaceId)];
  const prefixes = [own, wanted].map((id) => /^[a-z]+[_.:-]/i.exec(id)?.[0]);
  const isSameKind =
    KINDS.some((kind) => kind.test(own) && kind.test(wanted)) || (prefixes[0] && prefixes[0] === prefixes[1]);
  return own !== wanted && Boolean(isSameKind);
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
    space_id: findSpaceId(agent, contract),
    retirement: findRetirement(agent),
    ...findSource(agent, fields, contract),
  };
}
