import { rejectErrorInBody, UnknownShape } from './assumptions.ts';
import { findField, findId, findText, readId } from './fields.ts';
import { describeJson, isJsonObject, type JsonObject } from './json.ts';

/** An agent as the service lists it, as far as the tool needs it. */
export interface ListedAgent {
  readonly agent_id: string;
  readonly name: string | undefined;
  /** Request-side only in the spec; undefined where the service does not say it. */
  readonly template_id: string | undefined;
  /** The API chat source, where the integration metadata names one; null where it says that there is none. */
  readonly source_id: string | null | undefined;
}

const METADATA_DEPTH = 3;

/** Under these names, null says that there is no source. */
const SOURCE_FIELDS = new Set(['source_id', 'source', 'api_chat', 'api_chat_source']);

/** The spec does not show the integration metadata; the first source_id in it is the agent's one source (spec §2). */
function sourceIdIn(value: unknown, depth: number): string | null | undefined {
  if (depth === 0) return undefined;
  if (Array.isArray(value)) return firstOf(value.map((item) => sourceIdIn(item, depth - 1)));
  if (!isJsonObject(value)) return undefined;
  const direct = value.source_id;
  if (typeof direct === 'string' || typeof direct === 'number' || typeof direct === 'bigint') return String(direct);
  return firstOf(
    Object.entries(value).map(([field, inner]) =>
      inner === null && SOURCE_FIELDS.has(field) ? null : sourceIdIn(inner, depth - 1),
    ),
  );
}

function firstOf(found: readonly (string | null | undefined)[]): string | null | undefined {
  return found.find((id) => typeof id === 'string') ?? found.find((id) => id === null);
}

function templateOf(agent: JsonObject): string | undefined {
  const own = findText(agent, 'agent', 'template_id');
  const template = findField(agent, 'agent', 'template');
  // A bare text may be a title; taken for an id, it would make the agent look like another one.
  const nested = isJsonObject(template) ? (template.template_id ?? template.id) : undefined;
  return own ?? (typeof nested === 'string' ? nested : undefined);
}

/**
 * One agent of a list (assumption `id.field`).
 * @throws UnknownShape when it has no id
 */
export function readAgent(agent: JsonObject): ListedAgent {
  return {
    agent_id: readId(agent, 'agent'),
    name: findText(agent, 'agent', 'name'),
    template_id: templateOf(agent),
    source_id: sourceIdIn(agent, METADATA_DEPTH),
  };
}

/** What the answer to provisioning says (spec §4.1 leaves its shape open). */
export interface ProvisionResponse {
  readonly space_id: string;
  /** False when the service says that the space was there before; undefined when it does not say. */
  readonly created: boolean | undefined;
  /** The agents it names; empty when it names none. */
  readonly agents: readonly ListedAgent[];
}

function agentsIn(body: JsonObject): readonly unknown[] {
  const space = isJsonObject(body.space) ? body.space : {};
  const found = [body.agents, body.installed_agents, space.agents, space.installed_agents].find(Array.isArray);
  return found ?? [];
}

function hasId(agent: unknown): agent is JsonObject {
  return isJsonObject(agent) && findId(agent, 'agent') !== undefined;
}

/**
 * Reads the answer to provisioning, at the top or under `data`, `result` or `results` (assumption `provision.agents`).
 * Agents without an id are left out: the caller finds them in the list of the space.
 * @throws UnknownShape when no space_id can be made out, or the answer speaks of a failure
 */
export function readProvisionResponse(body: unknown): ProvisionResponse {
  if (!isJsonObject(body))
    throw new UnknownShape('id.field', 'The answer to provisioning is not an object.', describeJson(body));
  const layers = [body, body.data, body.result, body.results].filter(isJsonObject);
  rejectErrorInBody(body, layers, 'provision.agents');
  const layer = layers.find((candidate) => findId(candidate, 'space') !== undefined) ?? body;
  const { created } = layer;
  const agents = [layer, body].map(agentsIn).find((found) => found.length > 0) ?? [];
  return {
    space_id: readId(layer, 'space'),
    created: typeof created === 'boolean' ? created : undefined,
    agents: agents.filter(hasId).map(readAgent),
  };
}
