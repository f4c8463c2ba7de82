import { type ChatSetup, chatDifferences } from '../chat/source.ts';
import type { ListedAgent } from '../contract/agents.ts';
import { normalizeName } from '../cron/job.ts';
import type { ListedJobIdentity } from '../cron/listed-job.ts';
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
  readonly name?: string | undefined;
  /** Null if the service says that it has none. */
  readonly description?: string | null | undefined;
  readonly is_org_wide?: boolean | undefined;
  readonly agents: readonly PresentAgent[];
}

/** What a manifest describes. A chat is the API chat source of an agent. */
export type ResourceKind = 'space' | 'agent' | 'chat' | 'job';

/** A field that differs between the service and the manifest, and that provisioning does not change. */
export interface Difference {
  readonly resource: ResourceKind;
  /** The name in the manifest; that of its agent for a chat. */
  readonly name: string;
  readonly field: string;
  /** Null if the service has nothing, or does not show what it has. */
  readonly service: unknown;
  readonly manifest: unknown;
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

/** Whether an agent has this name: in Unicode NFC, because a service may store another form than the one it got. */
export function hasName(agent: Pick<PresentAgent, 'name'>, name: string): boolean {
  return agent.name !== undefined && normalizeName(agent.name) === normalizeName(name);
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

function differing(
  { resource, name }: Pick<Difference, 'resource' | 'name'>,
  field: string,
  service: unknown,
  manifest: unknown,
): Difference[] {
  if (manifest === undefined || service === undefined || service === manifest) return [];
  return [{ resource, name, field, service, manifest }];
}

function spaceDifferences({ space }: Manifest, present: PresentSpace): Difference[] {
  const subject = { resource: 'space', name: space.name } as const;
  // A space without a description may be listed with an empty one.
  const description = space.description === '' ? (present.description ?? '') : present.description;
  return [
    ...differing(subject, 'name', present.name, space.name),
    ...differing(subject, 'description', description, space.description),
    ...differing(subject, 'is_org_wide', present.is_org_wide, space.is_org_wide),
  ];
}

/** The chat that the manifest asks for; undefined if it asks for none. */
export function wantedChat({ chat, api_chat_routing_mode }: ManifestAgent): Partial<ChatSetup> | undefined {
  return chat && { ...(api_chat_routing_mode && { routing_mode: api_chat_routing_mode }), ...chat };
}

/** The differences of an agent's chat. A chat that is yet to be set up has none. */
function listedChatDifferences(wanted: ManifestAgent, { source_id, source }: PresentAgent): Difference[] {
  const subject = { resource: 'chat', name: wanted.name } as const;
  const { api_chat_routing_mode: routing_mode } = wanted;
  if (source_id === null && wanted.chat === undefined) {
    return differing(subject, 'auto_create_api_chat', false, wanted.auto_create_api_chat || undefined);
  }
  const asked = wantedChat(wanted) ?? (routing_mode && { routing_mode });
  if (typeof source_id !== 'string' || !source || !asked) return [];
  return chatDifferences(source, asked).map((each) => ({
    ...subject,
    field: each.field,
    service: each.service,
    manifest: each.asked,
  }));
}

/** What the service lists for an agent that the state file knows by the name and template of the manifest. */
function renamedDifferences({ name, template_id }: ManifestAgent, { listed }: PresentAgent): Difference[] {
  if (!listed) return [];
  const subject = { resource: 'agent', name } as const;
  const listedName = hasName(listed, name) ? name : listed.name;
  return [
    ...differing(subject, 'name', listedName, name),
    ...differing(subject, 'template_id', listed.template_id, template_id),
  ];
}

/**
 * The agent that may be a missing one under another name or with another template: the only one of its template, or one of
 * its name. It is not taken for it: the missing agent is installed.
 */
function likelyDifferences(
  { name, template_id }: ManifestAgent,
  agents: readonly PlannedAgent[],
  free: readonly PresentAgent[],
): Difference[] {
  const subject = { resource: 'agent', name } as const;
  const sameName = free.find((agent) => hasName(agent, name));
  if (sameName) return differing(subject, 'template_id', sameName.template_id, template_id);
  const rivals = agents.filter(({ wanted, present }) => !present && wanted.template_id === template_id);
  const candidates = free.filter((agent) => agent.template_id === template_id);
  if (rivals.length !== 1 || candidates.length !== 1) return [];
  return differing(subject, 'name', candidates[0]?.name, name);
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
      ...agents.flatMap(({ wanted, present: found }) =>
        found
          ? [...renamedDifferences(wanted, found), ...listedChatDifferences(wanted, found)]
          : likelyDifferences(wanted, agents, free),
      ),
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
  const names = new Map(agents.map(({ id, name }) => [id, name]));
  const isWanted = (job: ListedJobIdentity) =>
    wanted.some(
      ({ cron_job_id, agent_id, name }) =>
        cron_job_id === job.cron_job_id || (agent_id === (job.agent_id ?? job.agent_text) && hasName(job, name)),
    );
  return listed
    .filter((job) => !isWanted(job))
    .map(({ cron_job_id, agent_id, agent_text, name }) => {
      const agent = names.get(agent_id ?? agent_text ?? null);
      return { resource: 'job', id: cron_job_id, name: name ?? null, ...(typeof agent === 'string' && { agent }) };
    });
}
