import type { Clock } from '../clock.ts';
import { isCreated } from '../cron-old/check-after-create.ts';
import type { CreateJob, JobCreator } from '../cron-old/create-jobs.ts';
import { type CronResult, initialCronResult } from '../cron/cron-result.ts';
import { OutcomeUnknownError } from '../errors.ts';
import { type Action, createJobAction } from './actions.ts';
import type { AgentResult, DocumentResult } from './document-result.ts';
import { cronJobsOf, type ManifestDocument } from './manifest.ts';
import { findUnmanagedJobs } from './provision-plan.ts';
import { failedJobsError, inStep, missingAgentIdError, stopsProvisioning } from './run-failure.ts';

export interface DocumentJobDeps {
  /** Undefined if no document of the run has a job. */
  readonly jobs: JobCreator | undefined;
  readonly clock: Clock;
  readonly interrupt: AbortSignal;
  /** Whether the failure of another call stopped the run: no more jobs are created then. */
  readonly isStopped: () => boolean;
}

interface AgentJob {
  readonly agent: AgentResult;
  /** The job before anything is done for it. */
  readonly initial: CronResult;
}

async function initialJobs(
  { manifest }: ManifestDocument,
  { agents }: DocumentResult,
  now: number,
): Promise<AgentJob[]> {
  const jobs: AgentJob[] = [];
  for (const [index, agent] of agents.entries()) {
    for (const described of cronJobsOf(manifest.agents[index] ?? {})) {
      const job = { ...described, agent_id: agent.agent_id };
      const initial = await initialCronResult({ index: jobs.length, source: undefined, job, key: null }, now);
      jobs.push({ agent, initial });
    }
  }
  return jobs;
}

/** Adds the jobs of a document to its result, without calling the service. */
export async function addCronJobs(
  document: ManifestDocument,
  result: DocumentResult,
  now: number,
): Promise<DocumentResult> {
  const jobs = await initialJobs(document, result, now);
  return { ...result, cron: jobs.map(({ initial }) => initial) };
}

async function createAgentJob(create: CreateJob, spaceId: string, { agent, initial }: AgentJob): Promise<CronResult> {
  const { index, source, job } = initial;
  const { agent_id } = agent;
  const result: CronResult =
    agent_id === null
      ? { ...initial, status: 'failed', error: missingAgentIdError(spaceId, 'cron create --agent <agent_id> …') }
      : await create({ index, source, job: { ...job, agent_id } });
  if (result.status !== 'failed') return result;
  const step = `The job ${JSON.stringify(job.name)} of the agent ${JSON.stringify(agent.name)} is not created`;
  return { ...result, error: inStep(step, result.error) };
}

function statusAfterJobs({ status }: DocumentResult, jobs: readonly CronResult[]): DocumentResult['status'] {
  if (status !== 'unchanged') return status;
  return jobs.some((job) => job.status === 'created') ? 'reused' : status;
}

function combineErrors(jobs: readonly CronResult[]): unknown {
  const errors = jobs.flatMap(({ error }) => (error === undefined ? [] : [error]));
  return failedJobsError(errors, jobs.length);
}

/** The jobs that were created. @param cron their results */
function creations(jobs: readonly AgentJob[], cron: readonly CronResult[]): Action[] {
  return jobs.flatMap(({ agent }, index) => {
    const job = cron[index];
    return job?.status === 'created' ? [createJobAction(agent.name, job)] : [];
  });
}

/** Whether this run created a job of the document. */
export function hasNewJobs({ cron }: DocumentResult): boolean {
  return cron.some(isCreated);
}

/** Looks for jobs of documents that other machines created at the same time, in one list. */
export async function checkCronJobs(
  { jobs }: DocumentJobDeps,
  results: readonly DocumentResult[],
  list: 'last' | 'new',
): Promise<readonly DocumentResult[]> {
  const all = results.flatMap(({ cron }) => cron);
  const checked = (await jobs?.second.check(all, list)) ?? all;
  let at = 0;
  return results.map((result) => {
    const cron = checked.slice(at, at + result.cron.length);
    at += result.cron.length;
    const isWorse = cron.some(({ error }, index) => error !== result.cron[index]?.error);
    return isWorse ? { ...result, cron, status: 'failed', error: result.error ?? combineErrors(cron) } : result;
  });
}

/** Adds the jobs of a space that the manifest does not have, as far as a list that was read anyway shows them. */
export function withUnmanagedJobs({ jobs }: Pick<DocumentJobDeps, 'jobs'>, result: DocumentResult): DocumentResult {
  const { agents, cron, unmanaged } = result;
  const present = [
    ...agents.map(({ agent_id, name }) => ({ id: agent_id, name })),
    ...unmanaged.filter(({ resource }) => resource === 'agent'),
  ];
  const listed = jobs?.identitiesInLast(new Set(present.flatMap(({ id }) => id ?? []))) ?? [];
  const wanted = cron.map(({ cron_job_id, job: { agent_id, name } }) => ({ cron_job_id, agent_id, name }));
  return { ...result, unmanaged: [...unmanaged, ...findUnmanagedJobs(present, wanted, listed)] };
}

/**
 * Creates the scheduled jobs of an applied document, each at most once (spec §4.5). Accepts existing jobs with the same
 * content. A failed job does not keep the others from being created.
 * @param result its agents in the order of the manifest
 * @returns the result with the jobs. Failures are in it; nothing is thrown.
 */
export async function createCronJobs(
  deps: DocumentJobDeps,
  document: ManifestDocument,
  result: DocumentResult,
): Promise<DocumentResult> {
  const { jobs: creator, clock, interrupt } = deps;
  const jobs = await initialJobs(document, result, clock.now());
  const cron = jobs.map(({ initial }) => initial);
  const failure = () => combineErrors(cron);
  const withJobs = () => ({ ...result, cron, actions: [...result.actions, ...creations(jobs, cron)] });
  if (creator === undefined || result.status === 'failed' || result.status === 'skipped') return { ...result, cron };
  const queue = jobs.entries();
  let isInterrupted = false;
  let isStopped = false;
  const { create, store } = creator;
  // The workers share the queue.
  async function createNext(): Promise<void> {
    for (const [index, job] of queue) {
      isInterrupted ||= interrupt.aborted;
      if (isInterrupted || isStopped || deps.isStopped()) return;
      const created = await createAgentJob(create, result.space_id ?? '', job);
      cron[index] = created;
      isStopped ||= stopsProvisioning(created.error);
    }
  }
  const others = Math.min(store.reservationsAtOnce, jobs.length) - 1;
  await Promise.all([createNext(), ...Array.from({ length: others }, () => store.together(createNext))]);
  const earlier = failure();
  const error = isInterrupted && !(earlier instanceof OutcomeUnknownError) ? interrupt.reason : earlier;
  if (error !== undefined) return { ...withJobs(), status: 'failed', error };
  return { ...withJobs(), status: statusAfterJobs(result, cron) };
}
