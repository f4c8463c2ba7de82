import { countByStatus } from '../../output/batch-result.ts';
import { toErrorObject } from '../../output/error-text.ts';
import type { SpacePlan, Step } from '../../provision/plan.ts';
import { cronResultJson } from '../cron/shared/job-batch.ts';

/* The steps of documents in JSON: before, as a plan, and after, as what provision did. */

type Action = 'create' | 'change' | 'none' | 'blocked';
type Status = 'created' | 'reused' | 'unchanged' | 'planned' | 'failed' | 'skipped';

/** What a plan does for a document. */
export function actionOf({ steps: [space, ...others], error }: SpacePlan): Action {
  if (error !== undefined) return 'blocked';
  if (space?.status === 'planned') return 'create';
  return others.some(({ status }) => status === 'planned') ? 'change' : 'none';
}

/** What provision did for a document; `planned` if it was only checked. */
export function statusOf({ steps, error }: SpacePlan): Status {
  if (error !== undefined) return 'failed';
  const isAny = (wanted: Step['status']) => steps.some(({ status }) => status === wanted);
  if (isAny('planned')) return 'planned';
  if (steps[0]?.status === 'created') return 'created';
  if (isAny('created')) return 'reused';
  return isAny('skipped') ? 'skipped' : 'unchanged';
}

function spaceJson({ document, space_id }: SpacePlan) {
  return { source: document.source, external_space_id: document.manifest.external_space_id, space_id };
}

function errorJson({ error }: SpacePlan): object {
  return error === undefined ? {} : { error: toErrorObject(error) };
}

/** A document as `plan -o json` shows it. */
export function planJson(plan: SpacePlan): object {
  const actions = plan.steps
    .filter(({ status }) => status === 'planned')
    .map((step) => {
      const { op, name, detail } = step;
      return { op, name, ...(op === 'create_job' && { agent: step.agent.wanted.name }), ...detail };
    });
  const { differences, unmanaged } = plan;
  return { ...spaceJson(plan), action: actionOf(plan), actions, differences, unmanaged, ...errorJson(plan) };
}

export function countOf(plans: readonly SpacePlan[], list: 'differences' | 'unmanaged'): number {
  return plans.reduce((total, plan) => total + plan[list].length, 0);
}

export function planSummary(plans: readonly SpacePlan[]) {
  const actions = plans.map((plan) => ({ status: actionOf(plan) }));
  return {
    ...countByStatus(actions, { create: 0, change: 0, none: 0, blocked: 0 }),
    differences: countOf(plans, 'differences'),
    unmanaged: countOf(plans, 'unmanaged'),
  };
}

/** A document as `provision -o json` shows it. */
export function resultJson(plan: SpacePlan): object {
  const agents = plan.steps.flatMap((step) => {
    if (step.op !== 'install_agent') return [];
    const { agent_id, source_id, wanted } = step.agent;
    return [{ agent_id, name: wanted.name, template_id: wanted.template_id, status: step.status, source_id }];
  });
  const cron = plan.steps.flatMap((step) => {
    if (step.op !== 'create_job' || !step.job) return [];
    // Nothing of a job was started: it is as its step.
    const status = step.job.status === 'skipped' ? step.status : step.job.status;
    return [{ ...cronResultJson(step.job), status }];
  });
  const { differences } = plan;
  return { ...spaceJson(plan), status: statusOf(plan), agents, cron, differences, ...errorJson(plan) };
}

/** Counts documents by status; `planned` only where they were merely checked. */
export function resultSummary(plans: readonly SpacePlan[]): Readonly<Record<string, number>> {
  const none = { created: 0, reused: 0, unchanged: 0, failed: 0, skipped: 0 };
  const statuses = plans.map((plan) => ({ status: statusOf(plan) }));
  const isCheck = statuses.some(({ status }) => status === 'planned');
  return countByStatus<string>(statuses, isCheck ? { ...none, planned: 0 } : none);
}
