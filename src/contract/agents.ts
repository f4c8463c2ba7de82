import { readSettings, type SourceSettings } from './chat-source.ts';
import type { Contract } from './contract.ts';
import { byNormalName, normalizeName, ownNames } from './field-names.ts';
import { type Fields, fieldsOf } from './fields.ts';
import { isJsonObject, type JsonObject } from './json.ts';
import { METADATA } from './leaves.ts';
import { findRetirement, type Retirement } from './retirement.ts';
import { asId, canonicalId, isTextOrNumber } from './values.ts';

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
  readonly source?: SourceSettings | undefined;
  /** The object as the service sent it. */
  readonly item: JsonObject;
}

const SOURCE_ID = 'agent.source_id';

/** Whether an agent says that it has no source: `{integrations: {api_chat: null}}`. */
function isWithoutSource(object: JsonObject): boolean {
  return Object.entries(object).some(([key, value]) => {
    const name = normalizeName(key);
    if (value === null) return ownNames('source').includes(name);
    return isJsonObject(value) && METADATA.some((each) => normalizeName(each) === name) && isWithoutSource(value);
  });
}

/**
 * Reads an agent's source, whose place the spec leaves open.
 * @throws UnknownShape if several places name different sources: an agent has one (spec §2)
 */
function readSource(agent: JsonObject, fields: Fields, contract: Contract): Pick<ListedAgent, 'source_id' | 'source'> {
  const id = fields.id(SOURCE_ID);
  const found = fields.all(SOURCE_ID);
  if (id === undefined) {
    const isNone = found.some(({ value }) => value === null) || isWithoutSource(agent);
    return { source_id: isNone ? null : undefined };
  }
  const { holder, path } = found.find(({ value }) => asId(value) === id) ?? {};
  const settings = holder && readSettings(fieldsOf(holder, 'source', contract));
  // Agents and integrations have names of their own.
  const isSource = ownNames('source').includes(normalizeName(path?.split('.').at(-2) ?? ''));
  return { source_id: id, source: settings && { ...settings, name: isSource ? settings.name : undefined } };
}

/** Reads the id of the agent's space. A text in `space` may be a name. */
function findSpaceId(agent: JsonObject, contract: Contract): string | undefined {
  const named = byNormalName(agent);
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
    item: agent,
    ...readSource(agent, fields, contract),
  };
}
