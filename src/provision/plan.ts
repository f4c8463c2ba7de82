import type { Manifest, ManifestAgent } from './manifest.ts';

/** An agent that is there already. */
export interface PresentAgent {
  /** Undefined for an agent that was installed by a service which did not name it. */
  readonly agent_id: string | undefined;
  readonly name: string | undefined;
  /** Undefined where the service does not tell; then the name alone decides. */
  readonly template_id: string | undefined;
  /** Null where the service says that there is none; undefined where it does not tell. */
  readonly source_id: string | null | undefined;
}

/** A space that is there already. */
export interface PresentSpace {
  readonly space_id: string;
  readonly name?: string | undefined;
  readonly description?: string | undefined;
  readonly is_org_wide?: boolean | undefined;
  readonly agents: readonly PresentAgent[];
}

/** Something in which the service and the manifest differ, and which provisioning does not change. */
export interface Difference {
  readonly field: string;
  readonly service: unknown;
  readonly manifest: unknown;
}

export interface PlannedAgent {
  readonly wanted: ManifestAgent;
  /** The agent that is there, or undefined for one that is missing. */
  readonly present: PresentAgent | undefined;
}

export interface ProvisionPlan {
  /** `create` the space with its agents, `install` missing agents in it, or `none`: all is there. */
  readonly action: 'create' | 'install' | 'none';
  readonly agents: readonly PlannedAgent[];
  readonly differences: readonly Difference[];
}

/** Pairs every wanted agent with one that is there; each of those counts once. Exact matches come first. */
function pair(wanted: readonly ManifestAgent[], present: readonly PresentAgent[]): PlannedAgent[] {
  const free = [...present];
  const take = (matches: (agent: PresentAgent) => boolean): PresentAgent | undefined => {
    const index = free.findIndex(matches);
    return index === -1 ? undefined : free.splice(index, 1)[0];
  };
  const exact = wanted.map((agent) => ({
    wanted: agent,
    present: take(({ name, template_id }) => name === agent.name && template_id === agent.template_id),
  }));
  return exact.map((planned) => ({
    wanted: planned.wanted,
    present:
      planned.present ?? take(({ name, template_id }) => name === planned.wanted.name && template_id === undefined),
  }));
}

function differing(field: string, service: unknown, manifest: unknown): Difference[] {
  if (manifest === undefined || service === undefined || service === manifest) return [];
  return [{ field, service, manifest }];
}

function agentDifferences(agents: readonly PlannedAgent[], present: readonly PresentAgent[]): Difference[] {
  return agents.flatMap(({ wanted, present: found }) => {
    if (found) return [];
    const namesake = present.find(({ name }) => name === wanted.name);
    return namesake ? differing(`agents[${wanted.name}].template_id`, namesake.template_id, wanted.template_id) : [];
  });
}

/**
 * What has to happen so that a space and its agents are as the manifest says. Pure.
 * Agents are told apart by name and template, so that a repeat never installs one twice (spec §4.1).
 * @param present the space as it is, or undefined when there is none
 */
export function planProvision(manifest: Manifest, present: PresentSpace | undefined): ProvisionPlan {
  if (!present) {
    return {
      action: 'create',
      agents: manifest.agents.map((wanted) => ({ wanted, present: undefined })),
      differences: [],
    };
  }
  const { space } = manifest;
  const agents = pair(manifest.agents, present.agents);
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
