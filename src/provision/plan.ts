import { CHAT_DEFAULTS } from '../contract/chat-fields.ts';
import type { ListedAgent } from '../contract/resources.ts';
import type { CronResult } from '../cron/ensure-jobs.ts';
import { type CronJob, NOT_SHOWN } from '../cron/job.ts';
import { InputError, OutcomeUnknownError } from '../errors.ts';
import { findEditedAgents, pairAgents } from './agents.ts';
import {
  agentDifferences,
  type Difference,
  isIgnored,
  spaceDifferences,
  type Unmanaged,
  wantedChat,
  withoutIgnored,
} from './differences.ts';
import type { Failure } from './failures.ts';
import type { ManifestAgent, ManifestDocument } from './manifest.ts';
import type { Observation } from './observe.ts';

/**
 * What became of a step: `unchanged` existed before, `planned` is to be done, `created` was done, `skipped` was not
 * started. A `blocked` step waits for a person.
 */
export type StepStatus = 'unchanged' | 'planned' | 'created' | 'blocked' | 'failed' | 'skipped';

interface PlannedAgent {
  readonly wanted: ManifestAgent;
  /** Of its `install_agent` among the steps. */
  readonly key: string;
  readonly agent_id: string | null;
  readonly source_id: string | null;
}

interface AnyStep {
  /** Identifies it among the steps of its document, in every plan of this. */
  readonly key: string;
  /** The name of the space, the agent, or the job; of the agent, for its chat. */
  readonly name: string;
  /** The other fields that `plan -o json` shows. */
  readonly detail: Readonly<Record<string, unknown>>;
  readonly status: StepStatus;
  readonly id: string | null;
  /** File and line of a text that it would have to send, and that the service did not show. */
  readonly missingAt?: string | undefined;
}

interface AgentStep<Op> extends AnyStep {
  readonly op: Op;
  readonly agent: PlannedAgent;
}

export interface JobStep extends AgentStep<'create_job'> {
  readonly wanted: Omit<CronJob, 'agent_id'>;
  /** The result as `cron create` shows it, once the job was looked up. */
  readonly job?: CronResult | undefined;
  /** Whether the list has a job that the state may not know. */
  readonly mayBeUnrecorded?: boolean;
}

/** One thing that a manifest describes. */
export type Step =
  | (AnyStep & { readonly op: 'create_space' })
  | AgentStep<'install_agent'>
  | AgentStep<'setup_chat'>
  | JobStep;

type AgentSteps = Exclude<Step, { op: 'create_space' }>;

/** What there is to do for a document, or, as `Progress.report` returns it, what was done. It never changes. */
export interface SpacePlan {
  readonly document: ManifestDocument;
  readonly index: number;
  /** What existed, and the plan is based on. */
  readonly observed: { readonly space: Observation['space']; readonly agents: readonly ListedAgent[] };
  readonly space_id: string | null;
  /** The space, its agents, their chats, their jobs; each in the order of the manifest. */
  readonly steps: readonly Step[];
  /** What differs at the service, and no call changes. */
  readonly differences: readonly Difference[];
  readonly unmanaged: readonly Unmanaged[];
  /** Why nothing is sent for the document, or why it was not completed. */
  readonly failures: readonly Failure[];
}

/** The agents of the manifest, in its order. */
export function agentsOf({ steps }: SpacePlan): readonly PlannedAgent[] {
  return steps.flatMap((step) => (step.op === 'install_agent' ? [step.agent] : []));
}

/** The agents that exist: as they are listed, or else as the state recorded them. */
function presentAgents({ agents, fact }: Observation): readonly ListedAgent[] {
  const recorded = fact?.agents.map((each) => ({ ...each, source_id: each.source_id ?? undefined, item: {} }));
  return agents ?? recorded ?? [];
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
export function missingTextError({ op, name, agent }: AgentSteps, at: string): InputError {
  const agentName = JSON.stringify(agent.wanted.name);
  const [what, field] = {
    install_agent: [`agent ${agentName}`, 'template_id'],
    setup_chat: [`chat of the agent ${agentName}`, 'routing_mode'],
    create_job: [`job ${JSON.stringify(name)} of the agent ${agentName}`, 'instructions'],
  }[op];
  return new InputError(`The ${what} does not exist: its ${field} at ${at} must be filled in.`, {
    hint: `Replace "${NOT_SHOWN}" at ${at}.`,
    details: { source: at },
  });
}

/** The errors of steps that are to be done, and would have to send a text which the service did not show. */
function findMissingTexts(steps: readonly Step[]): readonly Failure[] {
  return steps.flatMap((step) => {
    if (step.op === 'create_space' || step.missingAt === undefined || step.status !== 'planned') return [];
    // A job of an agent that exists is looked up first.
    if (step.op === 'create_job' && step.agent.agent_id !== null) return [];
    return [{ error: missingTextError(step, step.missingAt), source: step.missingAt }];
  });
}

/** What a manifest describes of a thing: it is to be done unless the thing has an id. */
function toStep(key: string, name: string, id: string | null, detail: AnyStep['detail']): AnyStep {
  return { key, name, detail, status: id === null ? 'planned' : 'unchanged', id };
}

function installStep(agent: PlannedAgent, { places }: ManifestDocument): Step {
  const { wanted, key, agent_id } = agent;
  const { name, ...detail } = installedFields(wanted);
  const missingAt = places[`${key}/template_id`];
  return { op: 'install_agent', agent, missingAt, ...toStep(key, name, agent_id, detail) };
}

function chatSteps(agent: PlannedAgent, { places }: ManifestDocument): Step[] {
  const chat = wantedChat(agent.wanted);
  if (!chat) return [];
  const key = `${agent.key}/chat`;
  const { name: source_name, ...settings } = { ...CHAT_DEFAULTS, ...chat };
  const step = toStep(key, agent.wanted.name, agent.source_id, { source_name, ...settings });
  return [{ op: 'setup_chat', agent, missingAt: places[`${key}/routing_mode`], ...step }];
}

/** A job of a manifest as it is created. */
export function withTimezone({ timezone = 'UTC', ...job }: NonNullable<ManifestAgent['cron']>[number]) {
  return { ...job, schedule: { ...job.schedule, timezone } };
}

function jobSteps(agent: PlannedAgent, { places }: ManifestDocument): Step[] {
  const { cron = [] } = agent.wanted;
  return cron.map((job, index) => {
    const key = `${agent.key}/cron/${index}`;
    const wanted = { ...withTimezone(job), instructions: job.instructions ?? NOT_SHOWN };
    const missingAt = places[`${key}/instructions`];
    return { op: 'create_job', agent, wanted, missingAt, ...toStep(key, wanted.name, null, {}) };
  });
}

/** An outcome that is not known decides the exit code: until it is reconciled, nothing else helps. */
export function byUrgency(failures: readonly Failure[]): readonly Failure[] {
  const isUnknown = ({ error }: Failure) => error instanceof OutcomeUnknownError;
  return [...failures.filter(isUnknown), ...failures.filter((each) => !isUnknown(each))];
}

/** A plan with these failures, of which nothing is sent then: a blocked space is blocked whole. */
export function blockPlan(plan: SpacePlan, failures: readonly Failure[]): SpacePlan {
  if (failures.length === 0) return plan;
  const steps = plan.steps.map((step) => (step.status === 'planned' ? { ...step, status: 'blocked' as const } : step));
  return { ...plan, steps, failures: byUrgency(failures) };
}

/**
 * Plans what there is to do for a document. Pure. What exists is never created again (spec §4.1, §4.6). The jobs of
 * existing agents have to be looked up: see `judgeJobs`.
 * @param createBeside whether an agent that was probably edited in the manifest is installed beside the old one
 */
export function planSpace(document: ManifestDocument, observation: Observation, createBeside: boolean): SpacePlan {
  const { manifest, index } = document;
  const { space, fact } = observation;
  const space_id = space?.space_id ?? null;
  const present = space ? presentAgents(observation) : [];
  const pairing = pairAgents(manifest, present, fact);
  const { pairs, free } = pairing;
  // The list may not show the source that an earlier run set up.
  const recorded = new Map(fact?.agents.map((agent) => [agent.agent_id, agent]));
  const agents = pairs.map(({ wanted, present }, at): PlannedAgent => {
    const key = `agents/${at}`;
    if (!present) return { wanted, key, agent_id: null, source_id: null };
    const { agent_id, source_id = recorded.get(agent_id)?.source_id ?? null, template_id } = present;
    return { wanted: { ...wanted, template_id: wanted.template_id ?? template_id }, key, agent_id, source_id };
  });
  const { name, ...detail } = manifest.space;
  const steps: Step[] = [
    { op: 'create_space', ...toStep('space', name, space_id, detail) },
    ...agents.map((agent) => installStep(agent, document)),
    ...agents.flatMap((agent) => chatSteps(agent, document)),
    ...agents.flatMap((agent) => jobSteps(agent, document)),
  ];
  const differences = withoutIgnored(manifest.ignore, [
    ...(space ? spaceDifferences(manifest, space) : []),
    ...pairs.flatMap(({ wanted, present }) => (present ? agentDifferences(wanted, present) : [])),
  ]);
  const unmanaged = observation.agents
    ? free
        .map(({ agent_id: id, name = null }): Unmanaged => ({ resource: 'agent', id, name }))
        .filter((each) => !isIgnored(manifest.ignore, each))
    : [];
  const known = { document, index, observed: { space, agents: present }, space_id };
  const failures = [...findEditedAgents(pairing, document, createBeside), ...findMissingTexts(steps)];
  return blockPlan({ ...known, steps, differences, unmanaged, failures: [] }, failures);
}
