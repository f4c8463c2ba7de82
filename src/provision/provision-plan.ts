import { comparableAgent } from '../contract/agent-ids.ts';
import type { ListedAgent } from '../contract/agents.ts';
import type { ListedSpace } from '../contract/spaces.ts';
import type { ListedJobIdentity } from '../cron/listed-job.ts';
import { agentDifferences, type Difference, hasName, spaceDifferences } from './differences.ts';
import type { Manifest, ManifestAgent } from './manifest.ts';

/** An agent that exists; its id is undefined if the service installed it without returning the id. */
export type PresentAgent = Omit<ListedAgent, 'agent_id'> & {
  readonly agent_id: string | undefined;
  /** What the service lists, where the state file knows the agent by another name or template. */
  readonly listed?: Pick<ListedAgent, 'name' | 'template_id'>;
};

/** A space that exists. */
export interface PresentSpace {
  readonly space_id: string;
  /** As the service lists it. */
  readonly external_space_id?: string | undefined;
  readonly name?: string | undefined;
  /** Null if the service says that it has none. */
  readonly description?: string | null | undefined;
  readonly is_org_wide?: boolean | undefined;
  readonly retirement?: ListedSpace['retirement'];
  readonly agents: readonly PresentAgent[];
}

/** Something that exists in the space, and that the manifest does not have. */
export interface Unmanaged {
  readonly resource: 'agent' | 'job';
  readonly id: string | null;
  readonly name: string | null;
  /** Of an agent, if the service shows it. */
  readonly template_id?: string | undefined;
  /** The name of a job's agent, if the service shows it. */
  readonly agent?: string | undefined;
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
  /** The agents that the manifest does not have. */
  readonly unmanaged: readonly Unmanaged[];
}

/** Pairs each wanted agent with an existing one, exact matches first; each existing agent is used once. */
function pairAgents(
  wanted: readonly ManifestAgent[],
  present: readonly PresentAgent[],
): { readonly agents: readonly PlannedAgent[]; readonly free: readonly PresentAgent[] } {
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
  const agents = exact.map(({ wanted: agent, present: found }) => ({
    wanted: agent,
    present: found ?? take((each) => hasName(each, agent.name) && each.template_id === undefined),
  }));
  return { agents, free };
}

function toUnmanaged({ agent_id, name, template_id }: PresentAgent): Unmanaged {
  return {
    resource: 'agent',
    id: agent_id ?? null,
    name: name ?? null,
    ...(template_id !== undefined && { template_id }),
  };
}

/**
 * Plans what provisioning has to create in a space. Pure. Name and template identify an agent, so that a repeated run
 * never installs one twice (spec §4.1).
 * @param present the existing space; undefined if there is none
 */
export function planProvision(manifest: Manifest, present: PresentSpace | undefined): ProvisionPlan {
  const { agents, free } = pairAgents(manifest.agents, present?.agents ?? []);
  if (!present) return { action: 'create', agents, differences: [], unmanaged: [] };
  return {
    action: agents.every((agent) => agent.present) ? 'none' : 'install',
    agents,
    differences: [
      ...spaceDifferences(manifest, present),
      ...agents.flatMap((agent) => agentDifferences(agent, agents, free)),
    ],
    unmanaged: free.map(toUnmanaged),
  };
}

/** A job of a manifest. */
interface ManifestJob {
  readonly name: string;
  /** Undefined or null if the agent, or the job, does not exist. */
  readonly agent_id: string | null | undefined;
  readonly cron_job_id: string | null;
}

/**
 * Finds the jobs of a space that the manifest does not have.
 * @param agents the agents of the space
 * @param listed the listed jobs of these agents
 */
export function findUnmanagedJobs(
  agents: readonly Pick<Unmanaged, 'id' | 'name'>[],
  wanted: readonly ManifestJob[],
  listed: readonly ListedJobIdentity[],
): Unmanaged[] {
  const names = new Map(agents.map(({ id, name }) => [comparableAgent(id ?? ''), name]));
  const agentOf = ({ agent_id, agent_text }: ListedJobIdentity): string =>
    comparableAgent(agent_id ?? agent_text ?? '');
  const isWanted = (job: ListedJobIdentity) =>
    wanted.some(
      ({ cron_job_id, agent_id, name }) =>
        cron_job_id === job.cron_job_id || (comparableAgent(agent_id ?? '') === agentOf(job) && hasName(job, name)),
    );
  return listed
    .filter((job) => !isWanted(job))
    .map((job) => {
      const { cron_job_id, name } = job;
      const agent = names.get(agentOf(job));
      return { resource: 'job', id: cron_job_id, name: name ?? null, ...(typeof agent === 'string' && { agent }) };
    });
}
