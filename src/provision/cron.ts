import type { Clock } from '../clock.ts';
import type { CreateJob } from '../cron/create-jobs.ts';
import { type CronResult, initialResult } from '../cron/cron-result.ts';
import { OutcomeUnknownError, PartnerctlError, RunFailure } from '../errors.ts';
import { inStep, stopsRun, unnamedAgent } from './failure.ts';
import { cronJobsOf, type ManifestDocument } from './manifest.ts';
import type { AgentResult, DocumentResult } from './result.ts';

/** What creating the jobs of a document needs. */
export interface CronSurface {
  readonly createJob: CreateJob | undefined;
  readonly clock: Clock;
  readonly interrupt: AbortSignal;
}

interface AgentJob {
  readonly agent: AgentResult;
  /** The job before anything is done for it. */
  readonly before: CronResult;
}

async function jobsOf(
  { manifest }: ManifestDocument,
  { agents }: DocumentResult,
  now: number,
  status: CronResult['status'],
): Promise<AgentJob[]> {
  const jobs: AgentJob[] = [];
  for (const [at, agent] of agents.entries()) {
    for (const described of cronJobsOf(manifest.agents[at] ?? {})) {
      const job = { ...described, agent_id: agent.agent_id };
      const before = await initialResult({ index: jobs.length, source: undefined, job, key: null }, now);
      jobs.push({ agent, before: { ...before, status } });
    }
  }
  return jobs;
}

/** The jobs of a document as they will be, without a look at the service. */
export async function planCronJobs(
  document: ManifestDocument,
  result: DocumentResult,
  now: number,
): Promise<DocumentResult> {
  const jobs = await jobsOf(document, result, now, 'planned');
  return { ...result, cron: jobs.map(({ before }) => before) };
}

async function createJob(create: CreateJob, spaceId: string, { agent, before }: AgentJob): Promise<CronResult> {
  const { index, source, job } = before;
  const { agent_id } = agent;
  // Nothing can be there yet for an agent that is still to be installed.
  if (agent_id === null && agent.status === 'planned') return { ...before, status: 'planned' };
  const result: CronResult =
    agent_id === null
      ? { ...before, status: 'failed', error: unnamedAgent(spaceId, 'cron create') }
      : await create({ index, source, job: { ...job, agent_id } });
  if (result.status !== 'failed') return result;
  const step = `The job ${JSON.stringify(job.name)} of the agent ${JSON.stringify(agent.name)} is not created`;
  return { ...result, error: inStep(step, result.error) };
}

/**
 * What failed of the jobs of one document, in one error. A job that may have been created decides, whatever failed beside
 * it: its name stays blocked until it is reconciled. Else it ends like the first of them.
 */
function failureOf(jobs: readonly CronResult[]): unknown {
  const errors = jobs.flatMap(({ error }) => (error === undefined ? [] : [error]));
  const open = errors.find((error) => error instanceof OutcomeUnknownError);
  const stop = errors.find(stopsRun);
  const decisive = open ?? stop ?? errors[0];
  if (errors.length < 2 || decisive === stop || !(decisive instanceof PartnerctlError)) return decisive;
  const why = errors.map((error) => (error instanceof Error ? error.message : String(error))).join('\n');
  const message = `${errors.length} of ${jobs.length} cron jobs failed.`;
  return open ? new OutcomeUnknownError(message, { ...open.info, why }) : new RunFailure(message, decisive, { why });
}

function statusOf({ status }: DocumentResult, jobs: readonly CronResult[]): DocumentResult['status'] {
  if (status !== 'unchanged') return status;
  if (jobs.some((job) => job.status === 'created')) return 'reused';
  return jobs.some((job) => job.status === 'planned') ? 'planned' : status;
}

/**
 * Creates the scheduled jobs of a provisioned document, each at most once (spec §4.5); one that is there with the same
 * content is what is wanted. A job that fails does not keep the others from being created.
 * @param result what provisioning came to, its agents in the order of the manifest's
 * @returns the result with the jobs. A failure is in it, beside what was done; nothing is thrown.
 */
export async function createCronJobs(
  { createJob: create, clock, interrupt }: CronSurface,
  document: ManifestDocument,
  result: DocumentResult,
): Promise<DocumentResult> {
  const jobs = await jobsOf(document, result, clock.now(), 'skipped');
  const cron = jobs.map(({ before }) => before);
  const { space_id } = result;
  if (create === undefined || result.status === 'failed' || result.status === 'skipped') return { ...result, cron };
  for (const [at, job] of jobs.entries()) {
    if (interrupt.aborted) {
      const soFar = failureOf(cron);
      const error = soFar instanceof OutcomeUnknownError ? soFar : interrupt.reason;
      return { ...result, cron, status: 'failed', error };
    }
    const done = await createJob(create, space_id ?? '', job);
    cron[at] = done;
    if (stopsRun(done.error)) break;
  }
  const error = failureOf(cron);
  if (error !== undefined) return { ...result, cron, status: 'failed', error };
  return { ...result, cron, status: statusOf(result, cron) };
}
