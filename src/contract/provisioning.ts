import { type ListedAgent, readAgent } from './agents.ts';
import type { Contract } from './contract.ts';
import { normalizeName } from './field-names.ts';
import { fieldsOf } from './fields.ts';
import { describeJson, isJsonObject, type JsonObject } from './json.ts';
import { readCreated } from './resource.ts';
import { UnknownShape } from './unknown-shape.ts';

/** The response to provisioning, whose shape spec §4.1 leaves open. */
export interface ProvisionResponse {
  readonly space_id: string;
  /** False if the space existed before; undefined if the service does not say. */
  readonly created: boolean | undefined;
  /** The agents that the response lists with an id. The caller finds the others in the space's list of agents. */
  readonly agents: readonly ListedAgent[];
  /** The error for an agent that the response lists without an id, if there is one. */
  readonly unreadable: UnknownShape | undefined;
}

/** Normalized names of the list of installed agents. */
const AGENTS = ['agents', 'installedagents', 'agentinstalls', 'agentinstallations'];

function findAgents(layers: readonly JsonObject[]): readonly unknown[] {
  const lists = layers.flatMap((layer) =>
    Object.entries(layer).flatMap(([key, value]) => (AGENTS.includes(normalizeName(key)) ? [value] : [])),
  );
  return lists.find(Array.isArray) ?? [];
}

const EXTERNAL_ID = 'space.external_space_id';

/** Returns an id as it is compared: a service may change its case, surrounding white space, or Unicode form. */
function foldExternalId(id: string): string {
  return id.normalize('NFC').trim().toLowerCase();
}

/** Whether an id may be the requested one: a service may store it in another spelling, or behind a prefix of its own. */
function mayBeExternalId(found: unknown, requested: string): boolean {
  if (typeof found !== 'string' && typeof found !== 'number') return true;
  const [id, wanted] = [foldExternalId(String(found)), foldExternalId(requested)];
  return id.endsWith(wanted) && !/[\p{L}\p{N}]$/u.test(id.slice(0, id.length - wanted.length));
}

/**
 * Reads the response to provisioning.
 * @param requested the external_space_id of the request, if it is known
 * @throws UnknownShape as `readCreated`, or if the response is about another space
 */
export function readProvisionResponse(body: unknown, contract: Contract, requested?: string): ProvisionResponse {
  const { id, created, fields, object, layers } = readCreated(body, 'space', contract);
  const found = fields.value(EXTERNAL_ID);
  if (requested !== undefined && !mayBeExternalId(found, requested)) {
    const message = `The response is about the space ${JSON.stringify(found)}, not ${JSON.stringify(requested)}.`;
    throw new UnknownShape(message, describeJson(object));
  }
  const listed = findAgents(layers.toReversed()).filter(isJsonObject);
  const hasId = (agent: JsonObject) => fieldsOf(agent, 'agent', contract).id('agent.id') !== undefined;
  const unreadable = listed.find((agent) => !hasId(agent));
  return {
    space_id: id,
    created,
    agents: listed.filter(hasId).map((agent) => readAgent(agent, contract)),
    unreadable:
      unreadable && fieldsOf(unreadable, 'agent', contract).unreadable('agent.id', 'An installed agent has no id.'),
  };
}
