import { endedAs } from '../../cli/ci/findings.ts';
import { toErrorObject } from '../../output/error-object.ts';
import type { SpacePlan, Step } from '../../provision/plan.ts';
import { cronResultJson } from '../cron/shared/result-view.ts';

/* How the steps of documents are shown: before, as a plan, and after, as what provision did. */

/** Whether the steps are still to be done. */
export type Tense = 'planned' | 'created';

export type Action = 'create' | 'change' | 'none' | 'blocked';
export type Status = 'created' | 'reused' | 'unchanged' | 'planned' | 'failed' | 'skipped';

function spaceStep({ steps }: SpacePlan): Step | undefined {
  return steps.find(({ op }) => op === 'create_space');
}

export function actionOf(plan: SpacePlan): Action {
  if (plan.error !== undefined) return 'blocked';
  if (spaceStep(plan)?.status === 'planned') return 'create';
  return plan.steps.some(({ status }) => status === 'planned') ? 'change' : 'none';
}

export function statusOf(plan: SpacePlan): Status {
  const { steps, error } = plan;
  if (error !== undefined) return 'failed';
  const isAny = (wanted: Step['status']) => steps.some(({ status }) => status === wanted);
  if (isAny('planned')) return 'planned';
  if (spaceStep(plan)?.status === 'created') return 'created';
  if (isAny('created')) return 'reused';
  return isAny('skipped') ? 'skipped' : 'unchanged';
}

/** The statuses that people see under another word than scripts. */
const STATUS_WORDS: Readonly<Partial<Record<Status, string>>> = { reused: 'changed', planned: 'valid' };

/** What became of a document, in a word for people. */
export function statusWord(plan: SpacePlan): string {
  const status = statusOf(plan);
  return endedAs(STATUS_WORDS[status] ?? status, plan.error);
}

export function agentName({ document }: SpacePlan, { agent }: Step): string {
  return document.manifest.agents[agent ?? -1]?.name ?? '';
}

export const RESOURCES = {
  create_space: 'space',
  install_agent: 'agent',
  setup_chat: 'chat',
  create_job: 'job',
} as const;

/** How many things of each kind have a status. */
export function countSteps(plans: readonly SpacePlan[], status: Step['status']) {
  const counts = { spaces: 0, agents: 0, chats: 0, jobs: 0 };
  const steps = plans.flatMap((plan) => plan.steps.filter((step) => step.status === status));
  for (const { op } of steps) counts[`${RESOURCES[op]}s`] += 1;
  return counts;
}

export function sum(plans: readonly SpacePlan[], list: 'differences' | 'unmanaged'): number {
  return plans.reduce((total, plan) => total + plan[list].length, 0);
}

/** A document as `plan -o json` shows it. */
export function planJson(plan: SpacePlan): object {
  const { document, space_id, steps, differences, unmanaged, error } = plan;
  const planned = steps.filter(({ status }) => status === 'planned');
  return {
    source: document.source,
    external_space_id: document.manifest.external_space_id,
    space_id,
    action: actionOf(plan),
    actions: planned.map((step) => ({
      op: step.op,
      name: step.name,
      ...(step.op === 'create_job' && { agent: agentName(plan, step) }),
      ...step.detail,
    })),
    differences,
    unmanaged,
    ...(error !== undefined && { error: toErrorObject(error) }),
  };
}

export function planSummary(plans: readonly SpacePlan[]) {
  const counts: Record<Action, number> = { create: 0, change: 0, none: 0, blocked: 0 };
  for (const plan of plans) counts[actionOf(plan)] += 1;
  const { blocked, ...actions } = counts;
  return {
    ...actions,
    differences: sum(plans, 'differences'),
    unmanaged: sum(plans, 'unmanaged'),
    blocked,
    to_create: countSteps(plans, 'planned'),
  };
}

function jobJson({ job, status }: Step): object[] {
  if (!job) return [];
  // A job of which nothing was started has the status of its step.
  return [{ ...cronResultJson(job), ...(job.status === 'skipped' && { status }) }];
}

/** A document as `provision -o json` shows it. */
export function resultJson(plan: SpacePlan): object {
  const { document, space_id, steps, agents, differences, error } = plan;
  const { manifest, source } = document;
  return {
    source,
    external_space_id: manifest.external_space_id,
    space_id,
    status: statusOf(plan),
    agents: manifest.agents.map(({ name, template_id }, index) => ({
      agent_id: agents[index]?.agent_id ?? null,
      name,
      template_id,
      status: steps.find(({ op, agent }) => op === 'install_agent' && agent === index)?.status,
      source_id: agents[index]?.source_id ?? null,
    })),
    cron: steps.flatMap(jobJson),
    ...(differences.length > 0 && { differences }),
    ...(error !== undefined && { error: toErrorObject(error) }),
  };
}

/** Counts documents by status; `planned` only where they were merely checked. */
export function resultSummary(plans: readonly SpacePlan[]): Readonly<Record<string, number>> {
  const counts: Record<Status, number> = { created: 0, reused: 0, unchanged: 0, failed: 0, skipped: 0, planned: 0 };
  for (const plan of plans) counts[statusOf(plan)] += 1;
  const { planned, ...done } = counts;
  return planned > 0 ? { ...done, planned } : done;
}
