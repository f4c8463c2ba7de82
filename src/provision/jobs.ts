import { comparableAgent } from '../contract/values.ts';
import type { CronResult } from '../cron/create-wanted.ts';
import { type CronDifference, type CronJob, toNfc } from '../cron/job.ts';
import { outcome } from '../cron/outcomes.ts';
import { type DescribeSchedule, toWireSchedule } from '../cron/schedule.ts';
import { InputError, OutcomeUnknownError } from '../errors.ts';
import type { Difference } from './differences.ts';
import { inStep } from './failures.ts';
import { isIgnored, withoutIgnored } from './ignore.ts';
import type { Manifest } from './manifest.ts';
import { holeError, type JobStep, plannedSteps, type SpacePlan, type Step } from './plan.ts';
import type { JobsByAgent } from './reading.ts';

/** Creates jobs, each at most once; or, for a plan, tells what would be done. One result for each job, in order. */
export type CreateJobs = (jobs: readonly CronJob[]) => Promise<readonly CronResult[]>;

/** Adds to the steps of a plan what its jobs are: their schedules in words, and their next runs. */
export async function describeJobs(plan: SpacePlan, describe: DescribeSchedule): Promise<void> {
  for (const step of plan.steps) {
    if (step.op !== 'create_job') continue;
    const job = { ...step.wanted, agent_id: step.agent.agent_id };
    const texts = await describe(job.schedule);
    setJob(step, { index: 0, source: undefined, key: null, job, ...outcome('skipped'), ...texts });
  }
}

function setJob(step: JobStep, job: CronResult): void {
  const { description: in_words, next_runs } = job;
  step.job = job;
  step.detail = { schedule: toWireSchedule(job.job.schedule), in_words, next_runs };
}

const STATUSES: Readonly<Record<CronResult['status'], Step['status']>> = {
  created: 'created',
  exists: 'unchanged',
  adopted: 'unchanged',
  planned: 'planned',
  blocked: 'blocked',
  unknown: 'blocked',
  failed: 'failed',
  skipped: 'skipped',
};

/** The differences of a job as a plan shows them. */
export function toDifferences(name: string, found: readonly CronDifference[]): Difference[] {
  return found.map(({ field, before: service = null, after: manifest = null }) => {
    return { resource: 'job', name, field, service, manifest };
  });
}

/** Records in a step that its job was created, or was looked up. @returns its differences, without ignored ones */
function setResult(step: JobStep, found: CronResult, { ignore }: Manifest): readonly Difference[] {
  const { name, agent } = step;
  const differences = withoutIgnored(ignore, toDifferences(name, found.differences));
  const isAsWanted = found.differences.length > 0 && differences.length === 0;
  const result = isAsWanted ? { ...found, ...outcome('exists', { cron_job_id: found.cron_job_id }) } : found;
  const what = `The job ${JSON.stringify(name)} of the agent ${JSON.stringify(agent.wanted.name)} is not created`;
  const isHole = step.hole !== undefined && result.error instanceof InputError;
  const error = isHole ? holeError(step) : inStep(what, result.error);
  setJob(step, result.status === 'failed' ? { ...result, error } : result);
  step.status = STATUSES[result.status];
  step.id = result.cron_job_id;
  return differences;
}

/** Creates the jobs of all plans at once, or looks them up. Those of agents yet to be installed stay planned. */
export async function createPlannedJobs(plans: readonly SpacePlan[], create: CreateJobs): Promise<void> {
  const ready = plans.flatMap((plan) =>
    plannedSteps(plan, 'create_job').flatMap((step) => {
      const { agent_id } = step.agent;
      return agent_id === null ? [] : [{ plan, step, job: { ...step.wanted, agent_id } }];
    }),
  );
  const results = ready.length > 0 ? await create(ready.map(({ job }) => job)) : [];
  for (const [index, { plan, step }] of ready.entries()) {
    const result = results[index];
    if (!result) continue;
    plan.differences = [...plan.differences, ...setResult(step, result, plan.document.manifest)];
    // A job that may have been created comes first: its name stays blocked until it is reconciled.
    if (plan.error === undefined || step.job?.error instanceof OutcomeUnknownError) plan.error = step.job?.error;
  }
}

/** Adds the jobs that agents of the space have, and the manifest does not. */
export function addUnmanagedJobs(plans: readonly SpacePlan[], jobs: JobsByAgent): void {
  for (const { agents, unmanaged, document } of plans) {
    const wanted = new Map(agents.map((agent) => [agent.agent_id, agent.wanted.cron?.map(({ name }) => toNfc(name))]));
    const ids = [...agents.flatMap(({ agent_id }) => agent_id ?? []), ...unmanaged.map(({ id }) => id)];
    for (const agent of ids) {
      for (const { cron_job_id: id, name = null } of jobs.get(comparableAgent(agent)) ?? []) {
        const job = { resource: 'job', id, name } as const;
        if (wanted.get(agent)?.includes(toNfc(name ?? '')) || isIgnored(document.manifest.ignore, job)) continue;
        unmanaged.push(job);
      }
    }
  }
}
