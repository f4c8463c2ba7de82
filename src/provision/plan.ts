import { CHAT_DEFAULTS } from '../chat/chat-fields.ts';
import type { ListedAgent } from '../contract/agents.ts';
import type { CronResult } from '../cron/result.ts';
import { DuplicateError } from '../errors.ts';
import { agentDifferences, type Difference, hasName, spaceDifferences, wantedChat } from './differences.ts';
import type { Manifest, ManifestAgent, ManifestDocument } from './manifest.ts';
import type { Observation } from './observe.ts';
import { agentKey, type SpaceFact } from './space-record.ts';

/**
 * What became of a step: `unchanged` existed before, `planned` is to be done, `created` was done, `skipped` was not started.
 * A `blocked` step waits for a person.
 */
export type StepStatus = 'unchanged' | 'planned' | 'created' | 'blocked' | 'failed' | 'skipped';

/** One thing that a manifest describes. `plan` shows the steps, `provision` carries them out and shows them again. */
export interface Step {
  readonly op: 'create_space' | 'install_agent' | 'setup_chat' | 'create_job';
  /** The name of the space, the agent, or the job; of the agent, for its chat. */
  readonly name: string;
  /** The index of the agent in the manifest; null for the space. */
  readonly agent: number | null;
  /** The other fields that `plan -o json` shows. */
  readonly detail: Readonly<Record<string, unknown>>;
  readonly status: StepStatus;
  /** The id at the service, if it is known. */
  readonly id: string | null;
  readonly error?: unknown;
  /** Of a job: the result as `cron create` shows it. */
  readonly job?: CronResult;
}

/** Something that exists in the space, and that the manifest does not have. */
export interface Unmanaged {
  readonly resource: 'agent' | 'job';
  readonly id: string;
  readonly name: string | null;
  /** Of an agent, if it is known. */
  readonly template_id?: string;
  /** The name of a job's agent. */
  readonly agent?: string;
}

/** What is known of an agent of the manifest. */
interface AgentState {
  readonly agent_id: string | null;
  readonly source_id: string | null;
}

/** What is to be done, or was done, for a document. */
export interface SpacePlan {
  readonly document: ManifestDocument;
  readonly space_id: string | null;
  /** The space, its agents, their chats, their jobs; each in the order of the manifest. */
  readonly steps: readonly Step[];
  /** In the order of the manifest. */
  readonly agents: readonly AgentState[];
  /** What differs at the service, and no call changes. */
  readonly differences: readonly Difference[];
  readonly unmanaged: readonly Unmanaged[];
  /** Why the document cannot be carried out, or was not; that of its first step that failed, as a rule. */
  readonly error?: unknown;
}

/** An agent of the manifest and the one that it is at the service; undefined if that is missing. */
export interface AgentPair {
  readonly wanted: ManifestAgent;
  readonly present: ListedAgent | undefined;
}

/** The agents that exist: as they are listed, or else as the state recorded them. */
function presentAgents({ agents, fact }: Observation, wanted: readonly ManifestAgent[]): readonly ListedAgent[] {
  if (agents) return agents;
  const recorded = new Map(fact?.agents.map((agent) => [agent.key, agent]));
  return wanted.flatMap((agent) => {
    const { agent_id, source_id } = recorded.get(agentKey(agent)) ?? {};
    const { name, template_id } = agent;
    return agent_id === undefined ? [] : [{ agent_id, name, template_id, source_id: source_id ?? undefined }];
  });
}

/**
 * Pairs each agent of a manifest with an existing one, which is used once: the one that the state recorded for it, the one of
 * its name and template, or, where the service shows no templates, of its name.
 */
function pairAgents(
  wanted: readonly ManifestAgent[],
  present: readonly ListedAgent[],
  fact: SpaceFact | undefined,
): { readonly pairs: readonly AgentPair[]; readonly free: readonly ListedAgent[] } {
  const free = [...present];
  const found = new Map<ManifestAgent, ListedAgent>();
  const recordedIds = new Map(fact?.agents.map(({ key, agent_id }) => [key, agent_id]));
  const rules: readonly ((agent: ListedAgent, by: ManifestAgent) => boolean)[] = [
    ({ agent_id }, by) => recordedIds.get(agentKey(by)) === agent_id,
    (agent, by) => hasName(agent, by.name) && agent.template_id === by.template_id,
    (agent, by) => hasName(agent, by.name) && agent.template_id === undefined,
  ];
  for (const matches of rules) {
    for (const each of wanted) {
      const index = found.has(each) ? -1 : free.findIndex((agent) => matches(agent, each));
      const [agent] = index === -1 ? [] : free.splice(index, 1);
      if (agent) found.set(each, agent);
    }
  }
  return { pairs: wanted.map((each) => ({ wanted: each, present: found.get(each) })), free };
}

function named({ agent_id, name }: ListedAgent): string {
  return `${name === undefined ? '' : `${JSON.stringify(name)} `}(${agent_id})`;
}

/**
 * The error for a missing agent while the space has one of its template that the manifest does not name: it was probably
 * renamed in the manifest, and a second agent would greet the customer beside the first.
 */
function renameError(pairs: readonly AgentPair[], free: readonly ListedAgent[], fact: SpaceFact | undefined) {
  const templates = new Map(fact?.agents.map(({ agent_id, template_id }) => [agent_id, template_id]));
  for (const { wanted, present } of pairs) {
    const other = free.find(
      ({ agent_id, template_id }) => (template_id ?? templates.get(agent_id)) === wanted.template_id,
    );
    if (present || !other) continue;
    const name = JSON.stringify(wanted.name);
    const own = other.name === undefined ? other.agent_id : JSON.stringify(other.name);
    return new DuplicateError(`The agent ${name} is missing. It may be ${named(other)}, renamed in the manifest.`, {
      why: `Both have the template ${wanted.template_id}, and ${own} is not in the manifest. The API cannot rename an agent.`,
      hint: `To keep ${own}, use its present name in the manifest. To install ${name} beside it, add --install-renamed.`,
      details: { agent: wanted.name, agent_id: other.agent_id, name: other.name ?? null },
    });
  }
  return undefined;
}

function spaceStep({ space: { name, description, is_org_wide } }: Manifest, space_id: string | null): Step {
  const detail = {
    ...(description !== undefined && { description }),
    ...(is_org_wide !== undefined && { is_org_wide }),
  };
  return {
    op: 'create_space',
    name,
    agent: null,
    detail,
    status: space_id === null ? 'planned' : 'unchanged',
    id: space_id,
  };
}

/**
 * The fields of an agent that the provisioning call takes. Where the manifest describes a chat, a call of its own sets it up:
 * provisioning would create the source without its name and settings, and a source can never be changed.
 */
export function installedFields({ chat, cron: _, ...agent }: ManifestAgent): Omit<ManifestAgent, 'chat' | 'cron'> {
  if (!chat) return agent;
  const { template_id, name } = agent;
  return { template_id, name };
}

function agentStep({ wanted, present }: AgentPair, agent: number): Step {
  const { name, ...detail } = installedFields(wanted);
  const status = present ? 'unchanged' : 'planned';
  return { op: 'install_agent', name, agent, detail, status, id: present?.agent_id ?? null };
}

function chatSteps({ wanted, present }: AgentPair, agent: number): Step[] {
  const chat = wantedChat(wanted);
  if (!chat) return [];
  const { name: source_name, reply_capable, routing_mode } = { ...CHAT_DEFAULTS, ...chat };
  const detail = { source_name, reply_capable, routing_mode };
  const id = present?.source_id ?? null;
  return [{ op: 'setup_chat', name: wanted.name, agent, detail, status: id === null ? 'planned' : 'unchanged', id }];
}

function jobSteps({ cron = [] }: ManifestAgent, agent: number): Step[] {
  return cron.map(({ name }) => ({ op: 'create_job', name, agent, detail: {}, status: 'planned', id: null }));
}

function toUnmanaged({ agent_id, name, template_id }: ListedAgent): Unmanaged {
  return { resource: 'agent', id: agent_id, name: name ?? null, ...(template_id !== undefined && { template_id }) };
}

/**
 * Plans what there is to do for a document. Pure. What exists is never created again (spec §4.1, §4.6).
 * @param options `installRenamed` whether an agent that was probably renamed in the manifest is installed beside the old one
 */
export function planSpace(
  document: ManifestDocument,
  observation: Observation,
  { installRenamed }: { readonly installRenamed: boolean },
): SpacePlan {
  const { manifest } = document;
  const { space, fact } = observation;
  const present = space ? presentAgents(observation, manifest.agents) : [];
  const { pairs, free } = pairAgents(manifest.agents, present, fact);
  const error = installRenamed ? undefined : renameError(pairs, free, fact);
  const recorded = new Map(fact?.agents.map(({ agent_id, source_id }) => [agent_id, source_id]));
  // The list may not show the source that an earlier run set up.
  const known = pairs.map(({ wanted, present: agent }) => ({
    wanted,
    present: agent && {
      ...agent,
      source_id: agent.source_id === undefined ? recorded.get(agent.agent_id) : agent.source_id,
    },
  }));
  const steps = [
    spaceStep(manifest, space?.space_id ?? null),
    ...known.map(agentStep),
    ...known.flatMap(chatSteps),
    ...known.flatMap(({ wanted }, index) => jobSteps(wanted, index)),
  ];
  return {
    document,
    space_id: space?.space_id ?? null,
    steps: error ? steps.map((step) => (step.status === 'planned' ? { ...step, status: 'blocked' } : step)) : steps,
    agents: known.map(({ present: agent }) => ({
      agent_id: agent?.agent_id ?? null,
      source_id: agent?.source_id ?? null,
    })),
    differences: space
      ? [...spaceDifferences(manifest, space), ...pairs.flatMap((pair) => agentDifferences(pair, free))]
      : [],
    unmanaged: free.map(toUnmanaged),
    ...(error && { error }),
  };
}

/** A plan of which nothing was started: the run was stopped, or only the manifest was checked. */
export function unstartedPlan(
  document: ManifestDocument,
  status: 'planned' | 'skipped' | 'failed',
  error?: unknown,
): SpacePlan {
  const observation = { space: undefined, agents: undefined, fact: undefined };
  const plan = planSpace(document, observation, { installRenamed: true });
  return { ...plan, steps: plan.steps.map((step) => ({ ...step, status })), ...(error !== undefined && { error }) };
}

/** The steps that are to be done. */
export function plannedSteps({ steps }: SpacePlan, ...ops: readonly Step['op'][]): readonly Step[] {
  return steps.filter(({ status, op }) => status === 'planned' && (ops.length === 0 || ops.includes(op)));
}

/** The plan with some steps replaced. */
export function withSteps(plan: SpacePlan, change: (step: Step) => Step): SpacePlan {
  return { ...plan, steps: plan.steps.map(change) };
}

/** Marks a step as failed, and leaves out those after it. */
export function failStep(plan: SpacePlan, failed: Step, error: unknown): SpacePlan {
  const steps = plan.steps.map((step): Step => {
    if (step === failed) return { ...step, status: 'failed', error };
    return step.status === 'planned' ? { ...step, status: 'skipped' } : step;
  });
  return { ...plan, steps, error };
}

/** Marks what is still to be done as failed for a reason: the space and its agents are one request. */
export function failRest(plan: SpacePlan, error: unknown): SpacePlan {
  const [first] = plannedSteps(plan);
  if (!first) return { ...plan, error };
  const failed = failStep(plan, first, error);
  const isOfRequest = ({ op }: Step) => op === 'create_space' || op === 'install_agent';
  if (!isOfRequest(first)) return failed;
  return withSteps(failed, (step) =>
    isOfRequest(step) && step.status === 'skipped' ? { ...step, status: 'failed' } : step,
  );
}

/** Leaves out what is still to be done for a reason: what was done before failed in part. */
export function skipRest(plan: SpacePlan, error: unknown): SpacePlan {
  const skipped = withSteps(plan, (step) => (step.status === 'planned' ? { ...step, status: 'skipped' } : step));
  return { ...skipped, error };
}
