import type { CronResult } from '../cron/cron-result.ts';
import type { ListedJob } from '../cron/listed-job.ts';
import { PartnerctlError } from '../errors.ts';
import { withReason } from '../output/sentences.ts';
import { type Action, createJobAction, createSpaceAction, installAgentAction, setUpChatAction } from './actions.ts';
import { type Difference, jobDifferences, type ResourceKind } from './differences.ts';
import { findAmbiguity, findLateEffects, findObstacle, type SpaceKnowledge } from './late-effects.ts';
import type { ManifestDocument } from './manifest.ts';
import {
  findUnmanagedJobs,
  type PlannedAgent,
  type ProvisionPlan,
  planProvision,
  type Unmanaged,
} from './provision-plan.ts';
import { missingAgentIdError } from './run-failure.ts';

/** Something that provisioning leaves as it is, because only a person can decide. */
export interface Block {
  readonly resource: ResourceKind;
  readonly name: string;
  /** The type and the text of the error that `provision` ends with. */
  readonly type: string;
  readonly message: string;
  readonly hint: string | null;
}

/** How many things of each kind exist as the manifest describes them. */
export type UnchangedCounts = Readonly<Record<'spaces' | 'agents' | 'chats' | 'jobs', number>>;

/** What provisioning would do for a document, and why. */
export interface SpacePlan {
  readonly index: number;
  readonly source: string;
  readonly external_space_id: string;
  readonly space_id: string | null;
  /** `create` the space, `change` an existing one, or `none` if nothing is to be done. */
  readonly action: 'create' | 'change' | 'none';
  readonly actions: readonly Action[];
  readonly differences: readonly Difference[];
  readonly unmanaged: readonly Unmanaged[];
  readonly blocked: readonly Block[];
  readonly unchanged: UnchangedCounts;
  /** What else there is to know, in sentences. */
  readonly notes: readonly string[];
}

/** A job of a manifest: what the state file and the service know about it. */
export interface JobKnowledge {
  /** The index of its agent in the manifest. */
  readonly agent: number;
  /** The result of a dry run. */
  readonly result: CronResult;
  /** The job of that id in the service's list. */
  readonly listed: ListedJob | undefined;
}

/** What is known about a document before anything is sent. */
export interface DocumentKnowledge {
  readonly document: ManifestDocument;
  readonly known: SpaceKnowledge;
  /** Whether another process is provisioning the space. */
  readonly isBusy: boolean;
  readonly jobs: readonly JobKnowledge[];
  /** The listed jobs of the agents of the space; undefined if they cannot be listed. */
  readonly listedJobs: readonly ListedJob[] | undefined;
}

/** An error as the reason to leave something as it is. */
function toBlock(resource: ResourceKind, name: string, error: PartnerctlError): Block {
  const { why, hint } = error.info;
  return { resource, name, type: error.type, message: withReason(error.message, why), hint: hint ?? null };
}

function unmanagedJobs({ jobs, listedJobs = [], known }: DocumentKnowledge, plan: ProvisionPlan): Unmanaged[] {
  const agents =
    known.present?.agents.map(({ agent_id, name }) => ({ id: agent_id ?? null, name: name ?? null })) ?? [];
  const wanted = jobs.map(({ agent, result: { cron_job_id, job } }) => ({
    cron_job_id,
    agent_id: plan.agents[agent]?.present?.agent_id,
    name: job.name,
  }));
  return findUnmanagedJobs(agents, wanted, listedJobs);
}

const LATE = 'provision looks for it (--settle, 10s by default) before it sends anything';

function notesOf({ known, isBusy, jobs }: DocumentKnowledge, plan: ProvisionPlan): string[] {
  const { canRead, present, recalled, listedSpaceId } = known;
  const isComplete = plan.action === 'none';
  const late = findLateEffects(known, plan);
  const [first] = late.reservations;
  const inProgress = jobs.filter(({ result }) => result.why === 'in_progress');
  const notes: (string | false | undefined)[] = [
    isBusy && 'Another process is provisioning this space. provision waits for it, and creates what is missing then.',
    !canRead && present && 'This is what the state knows: the service did not list the agents.',
    !canRead && !present && 'Whether the space exists is not known: the service did not list it.',
    canRead &&
      recalled &&
      recalled.space_id !== (listedSpaceId ?? recalled.space_id) &&
      `The state knows the space as ${recalled.space_id}, the service lists ${listedSpaceId}.`,
    !isComplete &&
      !isBusy &&
      first &&
      `A run that reserved the space at ${first.reservation.at} may have installed what is missing: ${LATE}.`,
    !isComplete && late.hasRecorded && `The state knows agents that the service does not list: ${LATE}.`,
    ...inProgress.map(
      ({ result }) =>
        `Another process is creating the job ${JSON.stringify(result.job.name)}. provision waits for its outcome.`,
    ),
    !isComplete && late.lines.length > 0 && `A damaged line of the state may be about this space: ${LATE}.`,
  ];
  return notes.filter((note) => typeof note === 'string');
}

/** The calls for agents: installations, and chats that are not known to exist. */
function agentActions(agents: readonly PlannedAgent[]): Action[] {
  const installs = agents.filter(({ present }) => !present).map(({ wanted }) => installAgentAction(wanted));
  const chats = agents.filter(
    ({ present }) => !present || (present.agent_id !== undefined && typeof present.source_id !== 'string'),
  );
  return [...installs, ...chats.flatMap(({ wanted }) => setUpChatAction(wanted) ?? [])];
}

/** Agents without an id, which chats and jobs need. */
function missingIds({ agents }: ProvisionPlan, jobs: readonly JobKnowledge[], spaceId: string): Block[] {
  return agents.flatMap(({ wanted, present }, index) => {
    const needsId = wanted.chat !== undefined || jobs.some(({ agent }) => agent === index);
    if (!present || present.agent_id !== undefined || !needsId) return [];
    return [toBlock('agent', wanted.name, missingAgentIdError(spaceId, 'plan <file...>'))];
  });
}

/** The blocks of jobs. The differences of a job with other content are listed elsewhere. */
function jobBlocks(jobs: readonly JobKnowledge[]): Block[] {
  return jobs.flatMap(({ result: { job, error, why } }) => {
    if (!(error instanceof PartnerctlError) || why === 'in_progress') return [];
    const block = toBlock('job', job.name, error);
    return [why === 'different' ? { ...block, message: error.message } : block];
  });
}

function countUnchanged(
  knowledge: DocumentKnowledge,
  plan: ProvisionPlan,
  differences: readonly Difference[],
): UnchangedCounts {
  const { present } = knowledge.known;
  const same = (resource: ResourceKind, name: string) =>
    !differences.some((each) => each.resource === resource && each.name === name);
  const existing = plan.agents.filter((agent) => agent.present && same('agent', agent.wanted.name));
  const chats = plan.agents.filter(
    ({ wanted, present: found }) =>
      (wanted.chat ?? wanted.auto_create_api_chat) && typeof found?.source_id === 'string' && same('chat', wanted.name),
  );
  const jobs = knowledge.jobs.filter(
    ({ result: { status, job } }) => (status === 'exists' || status === 'adopted') && same('job', job.name),
  );
  return {
    spaces: present && same('space', knowledge.document.manifest.space.name) ? 1 : 0,
    agents: existing.length,
    chats: chats.length,
    jobs: jobs.length,
  };
}

/**
 * Plans what provisioning does for a document. Pure: everything that is known is given.
 * @param knowledge what the service shows and the state file records
 */
export function planSpace(knowledge: DocumentKnowledge): SpacePlan {
  const { document, known, jobs } = knowledge;
  const { index, source, manifest } = document;
  const plan = planProvision(manifest, known.present);
  const isComplete = plan.action === 'none';
  const obstacle =
    isComplete || knowledge.isBusy
      ? undefined
      : (findObstacle(known, undefined) ?? findAmbiguity(known, plan, undefined));
  const spaceId = known.present?.space_id ?? known.listedSpaceId ?? null;
  const blocked = obstacle
    ? [toBlock('space', manifest.space.name, obstacle)]
    : [...missingIds(plan, jobs, spaceId ?? ''), ...jobBlocks(jobs)];
  const newJobs = jobs.filter(({ result }) => result.status === 'planned');
  const actions: Action[] = obstacle
    ? []
    : [
        ...(plan.action === 'create' ? [createSpaceAction(manifest)] : []),
        ...agentActions(plan.agents),
        ...newJobs.map(({ agent, result }) => createJobAction(manifest.agents[agent]?.name ?? '', result)),
      ];
  const differences = [...plan.differences, ...jobs.flatMap(jobDifferences)];
  const change = known.present ? 'change' : 'create';
  return {
    index,
    source,
    external_space_id: manifest.external_space_id,
    space_id: spaceId,
    action: actions.length === 0 ? 'none' : change,
    actions,
    differences,
    unmanaged: [...plan.unmanaged, ...unmanagedJobs(knowledge, plan)],
    blocked,
    unchanged: countUnchanged(knowledge, plan, differences),
    notes: notesOf(knowledge, plan),
  };
}

/** A plan as `plan -o json` shows it. */
export function spacePlanJson({ index: _, ...plan }: SpacePlan): object {
  return plan;
}

/** Counts over all spaces of a plan. */
export interface PlanSummary {
  /** Spaces to create, to change, and with nothing to do. */
  readonly create: number;
  readonly change: number;
  readonly none: number;
  readonly differences: number;
  readonly unmanaged: number;
  readonly blocked: number;
}

/** Counts spaces by action, and what no action is planned for. */
export function summarizePlans(plans: readonly SpacePlan[]): PlanSummary {
  const count = (action: SpacePlan['action']) => plans.filter((plan) => plan.action === action).length;
  const sum = (lists: readonly (readonly unknown[])[]) => lists.reduce((total, { length }) => total + length, 0);
  return {
    create: count('create'),
    change: count('change'),
    none: count('none'),
    differences: sum(plans.map(({ differences }) => differences)),
    unmanaged: sum(plans.map(({ unmanaged }) => unmanaged)),
    blocked: sum(plans.map(({ blocked }) => blocked)),
  };
}
