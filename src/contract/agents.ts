import type { Contract } from './contract.ts';
import { normalizeName } from './field-names.ts';
import { fieldsOf } from './fields.ts';
import { isJsonObject, type JsonObject } from './json.ts';

/** The fields of a listed agent that the tool needs. */
export interface ListedAgent {
  readonly agent_id: string;
  readonly name: string | undefined;
  /** The spec mentions it only in requests; undefined if the service does not return it. */
  readonly template_id: string | undefined;
  /** The API chat source from the integration metadata: null if explicitly none, undefined if not mentioned. */
  readonly source_id: string | null | undefined;
}

const METADATA_DEPTH = 3;

/** Names of an agent's source: an object with its id, or null if the agent has none. */
const SOURCES = ['source', 'apichat', 'apichatsource'];

/**
 * The spec does not define the integration metadata. An agent has one source (spec §2), so the first source_id wins.
 * @param names the normalized names of the field
 */
function findSourceId(
  value: unknown,
  names: readonly string[],
  contract: Contract,
  depth = METADATA_DEPTH,
): string | null | undefined {
  if (depth === 0) return undefined;
  if (Array.isArray(value)) return firstOf(value.map((item) => findSourceId(item, names, contract, depth - 1)));
  if (!isJsonObject(value)) return undefined;
  const entries = Object.entries(value).map(([key, inner]) => [normalizeName(key), inner] as const);
  const direct = entries.find(([name, inner]) => names.includes(name) && isText(inner))?.[1];
  if (isText(direct)) return String(direct);
  return firstOf(
    entries.map(([name, inner]) => {
      const isSource = SOURCES.includes(name);
      if (inner === null) return isSource || names.includes(name) ? null : undefined;
      const own = isSource && isJsonObject(inner) ? fieldsOf(inner, 'source', contract).id('source.id') : undefined;
      return own ?? findSourceId(inner, names, contract, depth - 1);
    }),
  );
}

function isText(value: unknown): value is string | number | bigint {
  return (typeof value === 'string' && value !== '') || typeof value === 'number' || typeof value === 'bigint';
}

function firstOf(found: readonly (string | null | undefined)[]): string | null | undefined {
  return found.find((id) => typeof id === 'string') ?? found.find((id) => id === null);
}

/** A text in `template` may be a title. If it were taken for an id, the agent would not match its manifest entry. */
function nestedTemplateId(places: readonly JsonObject[]): string | undefined {
  for (const place of places) {
    const key = Object.keys(place).find((each) => ['template', 'agenttemplate'].includes(normalizeName(each)));
    const template = key === undefined ? undefined : place[key];
    if (!isJsonObject(template)) continue;
    const names = ['templateid', 'id', 'uuid', 'key', 'slug'];
    const ids = names.map((name) => Object.entries(template).find(([each]) => normalizeName(each) === name)?.[1]);
    const id = ids.find(isText);
    if (id !== undefined) return String(id);
  }
  return undefined;
}

/**
 * Reads one agent of a list.
 * @throws UnknownShape if the agent has no id, or if a field that was sent cannot be read
 */
export function readAgent(agent: JsonObject, contract: Contract): ListedAgent {
  const fields = fieldsOf(agent, 'agent', contract);
  const chosen = fields.text('agent.source_id');
  const names = contract
    .field('agent.source_id')
    .flat()
    .map((path) => normalizeName(path.at(-1) ?? ''));
  return {
    agent_id: fields.readId('agent.id'),
    name: fields.shownText('agent.name'),
    template_id: fields.text('agent.template_id') ?? nestedTemplateId(fields.places),
    source_id: chosen === undefined || chosen === '' ? findSourceId(agent, names, contract) : chosen,
  };
}
