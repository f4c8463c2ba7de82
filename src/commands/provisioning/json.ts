import { toErrorObject } from '../../output/error-object.ts';
import type { SpacePlan, Step } from '../../provision/plan.ts';
import { cronResultJson } from '../cron/shared/job-batch.ts';

/* The steps of documents in JSON: before, as a plan, and after, as what provision did. */

export type Action = 'create' | 'change' | 'none' | 'blocked';
export type Status = 'created' | 'reused' | 'unchanged' | 'planned' | 'failed' | 'skipped';

export function actionOf({ steps: [space, ...others], error }: SpacePlan): Action {
  if (error !== undefined) return 'blocked';
  if (space?.status === 'planned') return 'create';
  return others.some(({ status }) => status === 'planned') ? 'change' : 'none';
}

export function statusOf({ steps, error }: SpacePlan): Status {
  if (error !== undefined) return 'failed';
  const isAny = (wanted: Step['status']) => steps.some(({ status }) => status === wanted);
  if (isAny('planned')) return 'planned';
  if (steps[0]?.status === 'created') return 'created';
  if (isAny('created')) return 'reused';
  return isAny('skipped') ? 'skipped' : 'unchanged';
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
      ...(step.op === 'create_job' && { agent: step.agent.wanted.name }),
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

/** The status of a job as `cron create` shows it; of its step, if nothing of it was started. */
function jobStatus(step: Step): string | undefined {
  if (step.op !== 'create_job') return undefined;
  return step.job?.status === 'skipped' ? step.status : step.job?.status;
}

/** A document as `provision -o json` shows it. */
export function resultJson(plan: SpacePlan): object {
  const { document, space_id, steps, differences, error } = plan;
  return {
    source: document.source,
    external_space_id: document.manifest.external_space_id,
    space_id,
    status: statusOf(plan),
    agents: steps.flatMap((step) => {
      if (step.op !== 'install_agent') return [];
      const { agent_id, source_id, wanted } = step.agent;
      return [{ agent_id, name: wanted.name, template_id: wanted.template_id, status: step.status, source_id }];
    }),
    cron: steps.flatMap((step) =>
      step.op === 'create_job' && step.job ? [{ ...cronResultJson(step.job), status: jobStatus(step) }] : [],
    ),
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
