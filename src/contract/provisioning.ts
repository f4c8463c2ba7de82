import { rejectErrorInBody, UnknownShape } from './assumptions.ts';
import { findField, findId, findText, readId } from './fields.ts';
import { describeJson, isJsonObject, type JsonObject } from './json.ts';

/** What the tool needs of an agent that the service lists. */
export interface ListedAgent {
  readonly agent_id: string;
  readonly name: string | undefined;
  /** In the spec only requests have it; undefined if the service does not show it. */
  readonly template_id: string | undefined;
  /** The API chat source in the integration metadata; null if it says that there is none, undefined if it says nothing. */
  readonly source_id: string | null | undefined;
}

const METADATA_DEPTH = 3;

/** Null in one of these fields means that there is no source. */
const SOURCE_FIELDS = new Set(['source_id', 'source', 'api_chat', 'api_chat_source']);

/** The spec does not show the integration metadata; the first source_id in it is the agent's one source (spec §2). */
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
  // A text may be a title; taken for an id, it would make the agent look like another one.
  const nested = isJsonObject(template) ? (template.template_id ?? template.id) : undefined;
  return own ?? (typeof nested === 'string' ? nested : undefined);
}

/**
 * One agent of a list (assumption `id.field`).
 * @throws UnknownShape if it has no id
 */
export function readAgent(agent: JsonObject): ListedAgent {
  return {
    agent_id: readId(agent, 'agent'),
    name: findText(agent, 'agent', 'name'),
    template_id: readTemplateId(agent),
    source_id: findSourceId(agent, METADATA_DEPTH),
  };
}

/** The response to provisioning; spec §4.1 leaves its shape open. */
export interface ProvisionResponse {
  readonly space_id: string;
  /** False if the service says that the space existed before; undefined if it does not say. */
  readonly created: boolean | undefined;
  /** Those that it names with an id; the caller finds the others in the list of the space. */
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
 * Reads the response to provisioning, at the top or under `data`, `result`, or `results` (assumption `provision.agents`).
 * @throws UnknownShape if it has no space_id, or reports a failure
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
