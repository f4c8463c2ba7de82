import { rejectErrorInBody, UnknownShape } from './assumptions.ts';
import { describeJson, isJsonObject, type JsonObject } from './json.ts';
import { findField, findId, findText, readId } from './plain-fields.ts';

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

/** Null in one of these fields means that the agent has no source. */
const SOURCE_FIELDS = new Set(['source_id', 'source', 'api_chat', 'api_chat_source']);

/**
 * The spec does not define the integration metadata. An agent has one source (spec §2), so the first source_id wins.
 */
function findSourceId(value: unknown, depth: number): string | null | undefined {
  if (depth === 0) return undefined;
  if (Array.isArray(value)) return firstOf(value.map((item) => findSourceId(item, depth - 1)));
  if (!isJsonObject(value)) return undefined;
  const direct = value.source_id;
  if (typeof direct === 'string' || typeof direct === 'number' || typeof direct === 'bigint') return String(direct);
  return firstOf(
    Object.entries(value).map(([field, inner]) =>
      inner === null && SOURCE_FIELDS.has(field) ? null : findSourceId(inner, depth - 1),
    ),
  );
}

function firstOf(found: readonly (string | null | undefined)[]): string | null | undefined {
  return found.find((id) => typeof id === 'string') ?? found.find((id) => id === null);
}

function readTemplateId(agent: JsonObject): string | undefined {
  const own = findText(agent, 'agent', 'template_id');
  const template = findField(agent, 'agent', 'template');
  // A string in `template` may be a title. If it were taken for an id, the agent would not match its manifest entry.
  const nested = isJsonObject(template) ? (template.template_id ?? template.id) : undefined;
  return own ?? (typeof nested === 'string' ? nested : undefined);
}

/**
 * Reads one agent of a list (assumption `id.field`).
 * @throws UnknownShape if the agent has no id
 */
export function readAgent(agent: JsonObject): ListedAgent {
  return {
    agent_id: readId(agent, 'agent'),
    name: findText(agent, 'agent', 'name'),
    template_id: readTemplateId(agent),
    source_id: findSourceId(agent, METADATA_DEPTH),
  };
}

/** The response to provisioning, whose shape spec §4.1 does not define. */
export interface ProvisionResponse {
  readonly space_id: string;
  /** False if the space existed before; undefined if the service does not say. */
  readonly created: boolean | undefined;
  /** The agents that the response lists with an id. The caller finds the others in the space's list of agents. */
  readonly agents: readonly ListedAgent[];
}

function findAgents(body: JsonObject): readonly unknown[] {
  const space = isJsonObject(body.space) ? body.space : {};
  const found = [body.agents, body.installed_agents, space.agents, space.installed_agents].find(Array.isArray);
  return found ?? [];
}

function hasId(agent: unknown): agent is JsonObject {
  return isJsonObject(agent) && findId(agent, 'agent') !== undefined;
}

/**
 * Reads the response to provisioning, at the top or under `data`, `result`, or `results` (assumption
 * `provision.agents`).
 * @throws UnknownShape if the response has no space_id or reports an error
 */
export function readProvisionResponse(body: unknown): ProvisionResponse {
  if (!isJsonObject(body)) {
    throw new UnknownShape('id.field', 'The response to provisioning is not an object.', describeJson(body));
  }
  const layers = [body, body.data, body.result, body.results].filter(isJsonObject);
  rejectErrorInBody(body, layers, 'provision.agents');
  const layer = layers.find((candidate) => findId(candidate, 'space') !== undefined) ?? body;
  const { created } = layer;
  const agents = [layer, body].map(findAgents).find((found) => found.length > 0) ?? [];
  return {
    space_id: readId(layer, 'space'),
    created: typeof created === 'boolean' ? created : undefined,
    agents: agents.filter(hasId).map(readAgent),
  };
}
