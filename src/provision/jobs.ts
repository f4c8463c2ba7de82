import type { CronJob } from '../cron/job.ts';
import { type ListedJob, matchIdentity } from '../cron/listed-job.ts';
import { type CronResult, type DescribeSchedule, initialCronResult, toWireSchedule } from '../cron/result.ts';
import { OutcomeUnknownError, PartnerctlError, RunFailure } from '../errors.ts';
import type { Difference } from './differences.ts';
import { inStep, missingAgentIdError, stopsProvisioning } from './failures.ts';
import { cronJobsOf } from './manifest.ts';
import type { SpacePlan, Step, StepStatus, Unmanaged } from './plan.ts';

/** Creates jobs, each at most once; or, for a plan, tells what would be done. One result for each job, in order. */
export type CreateJobs = (jobs: readonly CronJob[]) => Promise<readonly CronResult[]>;

/** Adds to the steps of a plan what its jobs are: their schedules in words, and their next runs. */
export async function describeJobs(plan: SpacePlan, describe: DescribeSchedule, now: number): Promise<SpacePlan> {
  const described: CronResult[] = [];
  for (const [index, agent] of plan.document.manifest.agents.entries()) {
    const agent_id = plan.agents[index]?.agent_id ?? null;
    for (const job of cronJobsOf(agent)) {
      const item = { index: described.length, source: undefined, job: { ...job, agent_id }, key: null };
      described.push(await initialCronResult(item, now, describe));
    }
  }
  const next = described.values();
  const steps = plan.steps.map((step) => (step.op === 'create_job' ? withJob(step, next.next().value) : step));
  return { ...plan, steps };
}

function withJob(step: Step, job: CronResult | undefined): Step {
  if (!job) return step;
  const { description, next_runs } = job;
  return { ...step, job, detail: { schedule: toWireSchedule(job.job.schedule), in_words: description, next_runs } };
}

const STATUSES: Readonly<Record<CronResult['status'], StepStatus>> = {
  created: 'created',
  exists: 'unchanged',
  adopted: 'unchanged',
  planned: 'planned',
  blocked: 'blocked',
  unknown: 'blocked',
  failed: 'failed',
  skipped: 'skipped',
};

/** The step after its job was created, or was looked up. */
function settle({ document: { manifest } }: SpacePlan, step: Step, result: CronResult): Step {
  const agent = JSON.stringify(manifest.agents[step.agent ?? 0]?.name);
  const what = `The job ${JSON.stringify(step.name)} of the agent ${agent} is not created`;
  const error = result.status === 'failed' ? inStep(what, result.error) : result.error;
  const job = { ...result, error };
  const settled = withJob({ ...step, status: STATUSES[result.status], id: result.cron_job_id }, job);
  return error === undefined ? settled : { ...settled, error };
}

function jobDifferences({ name, job }: Step): Difference[] {
  return (job?.differences ?? []).map(({ field, before, after }) => ({
    resource: 'job',
    name,
    field,
    service: before ?? null,
    manifest: after ?? null,
  }));
}

/**
 * The error of a document whose jobs failed. Its type is that of a job that may have been created, because its name stays
 * blocked until it is reconciled; else of a failure that ends the run; else of the first failure.
 */
function jobsError(steps: readonly Step[]): unknown {
  const jobs = steps.filter(({ op }) => op === 'create_job');
  const errors = jobs.flatMap(({ error }) => (error === undefined ? [] : [error]));
  const unknown = errors.find((error) => error instanceof OutcomeUnknownError);
  const stop = errors.find(stopsProvisioning);
  const decisive = unknown ?? stop ?? errors[0];
  if (errors.length < 2 || decisive === stop || !(decisive instanceof PartnerctlError)) return decisive;
  const why = errors.map((error) => (error instanceof Error ? error.message : String(error))).join('\n');
  const message = `${errors.length} of ${jobs.length} cron jobs failed.`;
  return unknown
    ? new OutcomeUnknownError(message, { ...unknown.info, why })
    : new RunFailure(message, decisive, { why });
}

/**
 * Creates the jobs of all plans at once, or, for a plan, looks them up. Jobs of agents that are yet to be installed stay
 * planned.
 * @param isDone whether the agents are installed: then an agent without an id is a failure
 */
export async function createPlannedJobs(
  plans: readonly SpacePlan[],
  create: CreateJobs,
  isDone: boolean,
): Promise<readonly SpacePlan[]> {
  const jobs: CronJob[] = [];
  const jobOf = ({ job, op, status }: Step, agent_id: string | null): CronJob | undefined => {
    const isReady = op === 'create_job' && status === 'planned' && agent_id !== null;
    return job && isReady ? { ...job.job, agent_id } : undefined;
  };
  for (const { steps, agents } of plans) {
    for (const step of steps) {
      const agent_id = agents[step.agent ?? 0]?.agent_id ?? null;
      const job = jobOf(step, agent_id);
      if (job) jobs.push(job);
    }
  }
  const results = (jobs.length > 0 ? await create(jobs) : []).values();
  return plans.map((plan) => {
    const steps = plan.steps.map((step): Step => {
      const agent_id = plan.agents[step.agent ?? 0]?.agent_id ?? null;
      if (jobOf(step, agent_id)) {
        const result = results.next().value;
        return result ? settle(plan, step, result) : step;
      }
      if (!isDone || !step.job || step.status !== 'planned') return step;
      const error = missingAgentIdError(plan.space_id ?? '', 'cron create --agent <agent_id> …');
      return settle(plan, step, { ...step.job, status: 'failed', error });
    });
    const error = plan.error ?? jobsError(steps);
    const differences = [...plan.differences, ...steps.flatMap(jobDifferences)];
    return { ...plan, steps, differences, ...(error !== undefined && { error }) };
  });
}

/** The plan with the jobs of its agents that the manifest does not have. @param listed all jobs that the token can list */
export function withUnmanagedJobs(plan: SpacePlan, listed: readonly ListedJob[]): SpacePlan {
  const { document, agents, unmanaged } = plan;
  const own = agents.map(({ agent_id }, index) => ({ agent_id, agent: document.manifest.agents[index] }));
  const known = [
    ...own.map(({ agent_id, agent }) => ({ agent_id, name: agent?.name ?? null, jobs: agent?.cron ?? [] })),
    ...unmanaged.map(({ id, name }) => ({ agent_id: id, name, jobs: [] })),
  ];
  const others = known.flatMap(({ agent_id, name: agent, jobs }) => {
    if (agent_id === null) return [];
    const isOfAgent = (job: ListedJob) => matchIdentity(job, agent_id, job.name ?? '') === 'yes';
    const isWanted = (job: ListedJob) => jobs.some(({ name }) => matchIdentity(job, agent_id, name) === 'yes');
    return listed
      .filter((job) => isOfAgent(job) && !isWanted(job))
      .map(({ cron_job_id: id, name = null }): Unmanaged => {
        return { resource: 'job', id, name, ...(agent !== null && { agent }) };
      });
  });
  return { ...plan, unmanaged: [...unmanaged, ...others] };
}
