import { type ListedAgent, readAgent } from './agents.ts';
import type { Contract } from './contract.ts';
import { normalizeName } from './field-names.ts';
import { fieldsOf } from './fields.ts';
import { isJsonObject, type JsonObject } from './json.ts';
import { readCreated } from './resource.ts';
import type { UnknownShape } from './unknown-shape.ts';

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

/** Reads the response to provisioning. @throws UnknownShape as `readCreated` and `readAgent` */
export function readProvisionResponse(body: unknown, contract: Contract): ProvisionResponse {
  const { id, created, layers } = readCreated(body, 'space', contract);
  const agents: ListedAgent[] = [];
  let unreadable: UnknownShape | undefined;
  for (const agent of findAgents(layers.toReversed()).filter(isJsonObject)) {
    const fields = fieldsOf(agent, 'agent', contract);
    if (fields.id('agent.id') !== undefined) agents.push(readAgent(agent, contract));
    else unreadable ??= fields.unreadable('agent.id', 'An installed agent has no id.');
  }
  return { space_id: id, created, agents, unreadable };
}
