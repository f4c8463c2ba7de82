import { CHAT_DEFAULTS } from '../chat/chat-fields.ts';
import type { ListedAgent } from '../contract/resources.ts';
import type { CronResult } from '../cron/create-wanted.ts';
import { type CronJob, isNotShown, NOT_SHOWN } from '../cron/job.ts';
import { DuplicateError, InputError } from '../errors.ts';
import { agentDifferences, type Difference, hasName, spaceDifferences, wantedChat } from './differences.ts';
import { isIgnored, withoutIgnored } from './ignore.ts';
import type { ManifestAgent, ManifestDocument } from './manifest.ts';
import type { Observation } from './observe.ts';
import { agentKey, type SpaceFact } from './space-record.ts';

/**
 * What became of a step: `unchanged` existed before, `planned` is to be done, `created` was done, `skipped` was not
 * started. A `blocked` step waits for a person.
 */
type StepStatus = 'unchanged' | 'planned' | 'created' | 'blocked' | 'failed' | 'skipped';

interface PlannedAgent {
  readonly wanted: ManifestAgent;
  agent_id: string | null;
  source_id: string | null;
}

interface AnyStep {
  /** The name of the space, the agent, or the job; of the agent, for its chat. */
  readonly name: string;
  /** The other fields that `plan -o json` shows. */
  detail: Readonly<Record<string, unknown>>;
  status: StepStatus;
  id: string | null;
  /** File and line of a text that it would have to send, and that the manifest does not have. */
  readonly hole?: string | undefined;
}

interface AgentStep<Op> extends AnyStep {
  readonly op: Op;
  readonly agent: PlannedAgent;
}

export type InstallStep = AgentStep<'install_agent'>;

export interface JobStep extends AgentStep<'create_job'> {
  readonly wanted: Omit<CronJob, 'agent_id'>;
  /** The result as `cron create` shows it: see `describeJobs`. */
  job?: CronResult;
}

/**
 * One thing that a manifest describes. `plan` shows the steps; `provision` carries them out, changing their status, and
 * shows them again.
 */
export type Step = (AnyStep & { readonly op: 'create_space' }) | InstallStep | AgentStep<'setup_chat'> | JobStep;

export type AgentSteps = Exclude<Step, { op: 'create_space' }>;

/** Something that exists in the space, and that the manifest does not have. */
export interface Unmanaged {
  readonly resource: 'agent' | 'job';
  readonly id: string;
  readonly name: string | null;
}

export interface SpacePlan {
  readonly document: ManifestDocument;
  readonly index: number;
  /** What existed, and the plan is based on. */
  readonly observed: { readonly space: Observation['space']; readonly agents: readonly ListedAgent[] };
  space_id: string | null;
  /** The space, its agents, their chats, their jobs; each in the order of the manifest. */
  readonly steps: readonly Step[];
  readonly agents: readonly PlannedAgent[];
  /** What differs at the service, and no call changes. */
  differences: readonly Difference[];
  readonly unmanaged: Unmanaged[];
  /** Why the document cannot be carried out, or was not. */
  error: unknown;
}

interface AgentPair {
  readonly wanted: ManifestAgent;
  readonly present: ListedAgent | undefined;
}

/** The agents that exist: as they are listed, or else as the state recorded them. */
function presentAgents({ agents, fact }: Observation, wanted: readonly ManifestAgent[]): readonly ListedAgent[] {
  if (agents) return agents;
  const keyOf = ({ name, template_id }: ManifestAgent, recorded: string) =>
    agentKey({ name, template_id: isNotShown(template_id) ? recorded : template_id });
  return wanted.flatMap((by) => {
    const record = fact?.agents.findLast(({ key, template_id }) => key === keyOf(by, template_id));
    return record ? [{ ...record, name: by.name, source_id: record.source_id ?? undefined, item: {} }] : [];
  });
}

/**
 * Pairs each agent of a manifest with an existing one, which is used once: the one that the state recorded for it, the
 * one of its name and template, or, where the service or the manifest does not show the template, of its name.
 */
export function pairAgents(
  wanted: readonly ManifestAgent[],
  present: readonly ListedAgent[],
  fact?: SpaceFact,
): { readonly pairs: readonly AgentPair[]; readonly free: readonly ListedAgent[] } {
  // Lists have no certain order: of two that match, every run must take the same one.
  const free = present.toSorted((one, other) => (one.agent_id < other.agent_id ? -1 : 1));
  const found = new Map<ManifestAgent, ListedAgent>();
  const recordedIds = new Map(fact?.agents.map(({ key, agent_id }) => [key, agent_id]));
  const rules: readonly ((agent: ListedAgent, by: ManifestAgent) => boolean)[] = [
    ({ agent_id }, by) => recordedIds.size > 0 && recordedIds.get(agentKey(by)) === agent_id,
    (agent, by) => hasName(agent, by.name) && agent.template_id === by.template_id,
    (agent, by) => hasName(agent, by.name) && (agent.template_id === undefined || isNotShown(by.template_id)),
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

/** The error for an agent that was probably renamed in the manifest: a second one would greet customers beside it. */
function renameError(pairs: readonly AgentPair[], free: readonly ListedAgent[], fact: SpaceFact | undefined) {
  const templates = new Map(fact?.agents.map(({ agent_id, template_id }) => [agent_id, template_id]));
  const templateOf = ({ agent_id, template_id }: ListedAgent) => template_id ?? templates.get(agent_id);
  for (const { wanted, present } of pairs) {
    const other = free.find((agent) => templateOf(agent) === wanted.template_id);
    if (present || !other) continue;
    const name = JSON.stringify(wanted.name);
    const own = JSON.stringify(other.name ?? other.agent_id);
    const message = `The agent ${name} is missing. It may be ${own} (${other.agent_id}), renamed in the manifest.`;
    return new DuplicateError(message, {
      why: `Both have the template ${wanted.template_id}, and ${own} is not in the manifest. The API cannot rename an agent.`,
      hint: `To keep ${own}, use its present name in the manifest. To install ${name} beside it, add --install-renamed.`,
      details: { agent: wanted.name, agent_id: other.agent_id, name: other.name ?? null },
    });
  }
  return undefined;
}

/**
 * The fields of an agent that the provisioning call takes. Where the manifest describes a chat, a call of its own sets
 * it up: provisioning would create the source without its name and settings, and a source can never be changed.
 */
export function installedFields({ chat, cron: _, ...agent }: ManifestAgent): Omit<ManifestAgent, 'chat' | 'cron'> {
  if (!chat) return agent;
  return { template_id: agent.template_id, name: agent.name };
}

/** The error for a step that would have to send a text which the service did not show. */
export function holeError({ op, name, agent, hole }: AgentSteps): InputError {
  const agentName = JSON.stringify(agent.wanted.name);
  const [what, field] =
    op === 'install_agent'
      ? [`agent ${agentName}`, 'template_id']
      : [`job ${JSON.stringify(name)} of the agent ${agentName}`, 'instructions'];
  return new InputError(`The ${what} does not exist: its ${field} at ${hole} must be filled in.`, {
    hint: `Replace "${NOT_SHOWN}" at ${hole}.`,
    details: { source: hole },
  });
}

/** Blocks what is to be done until somebody corrects the error. */
export function blockPlan(plan: SpacePlan, error: unknown): void {
  for (const step of plan.steps) if (step.status === 'planned') step.status = 'blocked';
  plan.error = error;
}

/** What a manifest describes of a thing: it is to be done unless the thing has an id. */
function toStep(name: string, id: string | null, detail: AnyStep['detail']): AnyStep {
  return { name, detail, status: id === null ? 'planned' : 'unchanged', id };
}

function installStep(agent: PlannedAgent, { holes }: ManifestDocument): Step {
  const { name, ...detail } = installedFields(agent.wanted);
  return { op: 'install_agent', agent, hole: holes.get(agent.wanted), ...toStep(name, agent.agent_id, detail) };
}

function chatSteps(agent: PlannedAgent): Step[] {
  const chat = wantedChat(agent.wanted);
  if (!chat) return [];
  const { name: source_name, ...settings } = { ...CHAT_DEFAULTS, ...chat };
  return [{ op: 'setup_chat', agent, ...toStep(agent.wanted.name, agent.source_id, { source_name, ...settings }) }];
}

function jobSteps(agent: PlannedAgent, { holes }: ManifestDocument): Step[] {
  const { cron = [] } = agent.wanted;
  return cron.map((each) => {
    const { timezone = 'UTC', ...job } = each;
    const wanted = { ...job, schedule: { ...job.schedule, timezone } };
    return { op: 'create_job', agent, wanted, hole: holes.get(each), ...toStep(wanted.name, null, {}) };
  });
}

/**
 * Plans what there is to do for a document. Pure. What exists is never created again (spec §4.1, §4.6).
 * @param options `installRenamed` whether a probably renamed agent is installed beside the old one
 */
export function planSpace(
  document: ManifestDocument,
  observation: Observation,
  { installRenamed }: { readonly installRenamed: boolean },
): SpacePlan {
  const { manifest, index } = document;
  const { space, fact } = observation;
  const space_id = space?.space_id ?? null;
  const present = space ? presentAgents(observation, manifest.agents) : [];
  const { pairs, free } = pairAgents(manifest.agents, present, fact);
  // The list may not show the source that an earlier run set up, or the template.
  const recorded = new Map(fact?.agents.map((agent) => [agent.agent_id, agent]));
  const agents = pairs.map(({ wanted, present }): PlannedAgent => {
    if (!present) return { wanted, agent_id: null, source_id: null };
    const { agent_id, source_id = recorded.get(agent_id)?.source_id ?? null } = present;
    const { template_id = recorded.get(agent_id)?.template_id ?? wanted.template_id } = present;
    const isHole = isNotShown(wanted.template_id);
    return { wanted: isHole ? { ...wanted, template_id } : wanted, agent_id, source_id };
  });
  const { name, ...detail } = manifest.space;
  const steps: Step[] = [
    { op: 'create_space', ...toStep(name, space_id, detail) },
    ...agents.map((agent) => installStep(agent, document)),
    ...agents.flatMap(chatSteps),
    ...agents.flatMap((agent) => jobSteps(agent, document)),
  ];
  const differences = withoutIgnored(manifest.ignore, [
    ...(space ? spaceDifferences(manifest, space) : []),
    ...pairs.flatMap(({ wanted, present }) => (present ? agentDifferences(wanted, present) : [])),
  ]);
  const unmanaged = free
    .map(({ agent_id: id, name = null }): Unmanaged => ({ resource: 'agent', id, name }))
    .filter((each) => !isIgnored(manifest.ignore, each));
  const known = { document, index, observed: { space, agents: present }, space_id };
  const plan: SpacePlan = { ...known, steps, agents, differences, unmanaged, error: undefined };
  // The jobs of existing agents have to be looked up.
  const isUnfilled = (step: Step): step is AgentSteps =>
    step.op !== 'create_space' && step.hole !== undefined && step.agent.agent_id === null;
  const unfilled = steps.find(isUnfilled);
  const error = unfilled ? holeError(unfilled) : installRenamed ? undefined : renameError(pairs, free, fact);
  if (error) blockPlan(plan, error);
  return plan;
}

/** The steps of a kind that are to be done. */
export function plannedSteps<Op extends Step['op']>({ steps }: SpacePlan, op: Op): Extract<Step, { op: Op }>[] {
  return steps.filter((step): step is Extract<Step, { op: Op }> => step.op === op && step.status === 'planned');
}

/** Ends a plan with an error. The space and its agents, one request, have failed; what follows is left out. */
export function endPlan(plan: SpacePlan, error: unknown): void {
  for (const step of plan.steps) {
    const isOfRequest = step.op === 'create_space' || step.op === 'install_agent';
    if (step.status === 'planned') step.status = isOfRequest ? 'failed' : 'skipped';
  }
  plan.error = error;
}
