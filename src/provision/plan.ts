import type { ListedAgent } from '../contract/agents.ts';
import { normalizeName } from '../cron/job.ts';
import type { Manifest, ManifestAgent } from './manifest.ts';

/** An agent that exists; its id is undefined if the service installed it without returning the id. */
export type PresentAgent = Omit<ListedAgent, 'agent_id'> & { readonly agent_id: string | undefined };

/** A space that exists. */
export interface PresentSpace {
  readonly space_id: string;
  readonly name?: string | undefined;
  readonly description?: string | undefined;
  readonly is_org_wide?: boolean | undefined;
  readonly agents: readonly PresentAgent[];
}

/** A field that differs between the service and the manifest, and that provisioning does not change. */
export interface Difference {
  readonly field: string;
  readonly service: unknown;
  readonly manifest: unknown;
}

export interface PlannedAgent {
  readonly wanted: ManifestAgent;
  /** Undefined if the agent is missing. */
  readonly present: PresentAgent | undefined;
}

export interface ProvisionPlan {
  /** `create` the space with its agents, `install` missing agents in it, or `none` if everything exists. */
  readonly action: 'create' | 'install' | 'none';
  readonly agents: readonly PlannedAgent[];
  readonly differences: readonly Difference[];
}

/** Whether an agent has this name: in Unicode NFC, because a service may store another form than the one it got. */
export function hasName(agent: Pick<PresentAgent, 'name'>, name: string): boolean {
  return agent.name !== undefined && normalizeName(agent.name) === normalizeName(name);
}

/** Pairs each wanted agent with an existing one, exact matches first; each existing agent is used once. */
function pairAgents(wanted: readonly ManifestAgent[], present: readonly PresentAgent[]): PlannedAgent[] {
  const free = [...present];
  const take = (matches: (agent: PresentAgent) => boolean): PresentAgent | undefined => {
    const index = free.findIndex(matches);
    return index === -1 ? undefined : free.splice(index, 1)[0];
  };
  const exact = wanted.map((agent) => ({
    wanted: agent,
    present: take((each) => hasName(each, agent.name) && each.template_id === agent.template_id),
  }));
  // Where the service does not show templates, the name alone decides.
  return exact.map(({ wanted: agent, present: found }) => ({
    wanted: agent,
    present: found ?? take((each) => hasName(each, agent.name) && each.template_id === undefined),
  }));
}

function differing(field: string, service: unknown, manifest: unknown): Difference[] {
  if (manifest === undefined || service === undefined || service === manifest) return [];
  return [{ field, service, manifest }];
}

function agentDifferences(agents: readonly PlannedAgent[], present: readonly PresentAgent[]): Difference[] {
  return agents.flatMap(({ wanted, present: found }) => {
    const sameName = found ? undefined : present.find((agent) => hasName(agent, wanted.name));
    return sameName ? differing(`agents[${wanted.name}].template_id`, sameName.template_id, wanted.template_id) : [];
  });
}

/**
 * Plans what provisioning has to create. Pure. Name and template identify an agent, so that a repeated run never installs
 * one twice (spec §4.1).
 * @param present the existing space; undefined if there is none
 */
export function planProvision(manifest: Manifest, present: PresentSpace | undefined): ProvisionPlan {
  const agents = pairAgents(manifest.agents, present?.agents ?? []);
  if (!present) return { action: 'create', agents, differences: [] };
  const { space } = manifest;
  return {
    action: agents.every((agent) => agent.present) ? 'none' : 'install',
    agents,
    differences: [
      ...differing('space.name', present.name, space.name),
      ...differing('space.description', present.description, space.description),
      ...differing('space.is_org_wide', present.is_org_wide, space.is_org_wide),
      ...agentDifferences(agents, present.agents),
    ],
  };
}
