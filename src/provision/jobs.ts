import { comparableAgent } from '../contract/values.ts';
import type { CronResult, JobEngine } from '../cron/ensure-jobs.ts';
import { type CronDifference, toNfc } from '../cron/job.ts';
import type { RunOptions } from '../cron/judge-job.ts';
import { outcome } from '../cron/outcomes.ts';
import { type DescribeSchedule, toWireSchedule } from '../cron/schedule.ts';
import { InputError } from '../errors.ts';
import { shellQuote } from '../platform/text.ts';
import { type Difference, isIgnored, isNamedByIgnore, type Unmanaged, withoutIgnored } from './differences.ts';
import { unmanagedJob } from './exported-space.ts';
import type { Failure } from './failures.ts';
import { inStep } from './failures.ts';
import { type Manifest, sourceOf } from './manifest.ts';
import { agentsOf, blockPlan, type JobStep, missingTextError, type SpacePlan, type Step } from './plan.ts';
import type { Progress } from './progress.ts';
import type { JobsByAgent } from './snapshot.ts';

/* The jobs of plans: looked up before anything is sent, and created after their agents. */

interface Ready {
  readonly plan: SpacePlan;
  readonly step: JobStep;
}

/** What the manifests say of jobs that exist: which may be taken for an edited one, and where that is wanted. */
function rulesOf(ready: readonly Ready[], consent: ReadonlySet<string>): Pick<RunOptions, 'createBeside' | 'isNamed'> {
  const owners = new Map(
    [...new Set(ready.map(({ plan }) => plan))].flatMap((plan) =>
      agentsOf(plan).map(({ agent_id, wanted: { cron = [] } }) => {
        const names = new Set(cron.map(({ name }) => toNfc(name)));
        return [comparableAgent(agent_id ?? ''), { manifest: plan.document.manifest, names }] as const;
      }),
    ),
  );
  return {
    createBeside: (agentId) => consent.has(owners.get(comparableAgent(agentId))?.manifest.external_space_id ?? ''),
    isNamed: ({ agent_id, cron_job_id, name }) => {
      const owner = owners.get(comparableAgent(agent_id));
      const job = { resource: 'job', id: cron_job_id ?? '', name } as const;
      return owner !== undefined && (owner.names.has(toNfc(name)) || isNamedByIgnore(owner.manifest.ignore, job));
    },
  };
}

interface EngineRun {
  readonly engine: JobEngine;
  /** The spaces, by external id, that may get a job beside one that seems to be it. */
  readonly consent: ReadonlySet<string>;
}

type JobResults = ReadonlyMap<JobStep | undefined, CronResult>;

/** Runs the engine on the jobs whose agents exist. @returns the results of those that it reached */
async function runEngine(
  { engine, consent: consented, ...mode }: EngineRun & Pick<RunOptions, 'dryRun' | 'willRun'>,
  ready: readonly Ready[],
  onResult: () => void = () => undefined,
): Promise<JobResults> {
  const wanted = ready.flatMap(({ plan: { document }, step: { wanted: job, agent, key } }, index) => {
    if (agent.agent_id === null) return [];
    const consent = `--create-beside ${shellQuote(document.manifest.external_space_id)}`;
    const { agent_id, wanted: by } = agent;
    return [{ index, source: sourceOf(document, key), agent: by.name, consent, job: { ...job, agent_id } }];
  });
  const results = new Map<JobStep | undefined, CronResult>();
  if (wanted.length === 0) return results;
  for await (const result of engine.create(wanted, { ensure: true, ...mode, ...rulesOf(ready, consented) })) {
    results.set(ready[result.index]?.step, result);
    onResult();
  }
  return results;
}

const STATUSES: Readonly<Record<CronResult['status'], Step['status']>> = {
  created: 'created',
  exists: 'unchanged',
  adopted: 'unchanged',
  planned: 'planned',
  blocked: 'blocked',
  unknown: 'failed',
  failed: 'failed',
  skipped: 'skipped',
};

/** A difference of a job of an agent as a plan shows it. */
export function toDifference({ field, before, after }: CronDifference, name: string, agent: string): Difference {
  return { resource: 'job', name, agent, field, service: before ?? null, manifest: after ?? null };
}

function differencesOf(
  { name, agent }: JobStep,
  { differences, description, presentDescription: service }: CronResult,
): Difference[] {
  const in_words = service === undefined ? undefined : { service, manifest: description };
  return differences.map((each) => ({
    ...toDifference(each, name, agent.wanted.name),
    ...(in_words && each.field !== 'instructions' && { in_words }),
  }));
}

/** What a result means for a manifest: a job that exists otherwise is there, and no call can change it. */
function accept(found: CronResult, step: JobStep, { ignore }: Manifest): CronResult {
  if (found.differences.length === 0) return found;
  const shown = new Set(withoutIgnored(ignore, differencesOf(step, found)).map(({ field }) => field));
  const differences = found.differences.filter(({ field }) => shown.has(field));
  return { ...found, status: 'exists', error: undefined, differences };
}

function failureOf(plan: SpacePlan, step: JobStep, { error, status }: CronResult): Failure[] {
  if (error === undefined) return [];
  const { name, agent, missingAt: at } = step;
  const what = `The job ${JSON.stringify(name)} of the agent ${JSON.stringify(agent.wanted.name)} is not created`;
  if (at !== undefined && error instanceof InputError) return [{ error: missingTextError(step, at), source: at }];
  // That of another status names the job itself, and its class decides the exit code.
  return [{ error: status === 'failed' ? inStep(what, error) : error, source: sourceOf(plan.document, step.key) }];
}

function jobSteps({ steps }: SpacePlan): readonly JobStep[] {
  return steps.filter((step) => step.op === 'create_job');
}

/**
 * Looks up the jobs of all plans at once, before anything is sent, and describes them.
 * @param look without it, nothing is looked up; `willRun`: whether what is looked up is created afterwards
 * @returns the plans, of which those with a job that a person has to decide about are blocked
 */
export async function judgeJobs(
  plans: readonly SpacePlan[],
  describe: DescribeSchedule,
  look?: EngineRun & { readonly willRun: boolean },
): Promise<readonly SpacePlan[]> {
  const ready = plans.flatMap((plan) => jobSteps(plan).map((step) => ({ plan, step })));
  const results: JobResults = look ? await runEngine({ ...look, dryRun: true }, ready) : new Map();
  const ended = [...results.values()].find(({ status }) => status === 'failed')?.error;
  const judge = async (step: JobStep, manifest: Manifest): Promise<JobStep & { readonly job: CronResult }> => {
    const job = { ...step.wanted, agent_id: step.agent.agent_id };
    const texts = await describe(job.schedule);
    const planned = { index: 0, source: undefined, key: null, job, ...outcome('planned'), ...texts };
    const seen = results.get(step) ?? planned;
    const accepted = accept(seen, step, manifest);
    // Nothing was looked up after a failure that every further call would have.
    const now = accepted.status === 'skipped' ? { ...accepted, error: ended } : accepted;
    const isUnread = step.status === 'failed' || step.status === 'skipped';
    const status = now.error === undefined ? STATUSES[now.status] : 'blocked';
    const { description: in_words, next_runs } = texts;
    const detail = { schedule: toWireSchedule(job.schedule), in_words, next_runs };
    // Differences are not told of a record, and those that are ignored not at all.
    const mayBeUnrecorded = seen.status === 'adopted' || seen.differences.length > 0;
    const id = now.cron_job_id;
    return { ...step, job: now, detail, status: isUnread ? step.status : status, mayBeUnrecorded, id };
  };
  const judgeAll = async (plan: SpacePlan): Promise<SpacePlan> => {
    const jobs = await Promise.all(jobSteps(plan).map((step) => judge(step, plan.document.manifest)));
    const steps = [...plan.steps.filter(({ op }) => op !== 'create_job'), ...jobs];
    const differences = [...plan.differences, ...jobs.flatMap((step) => differencesOf(step, step.job))];
    const failures = jobs.flatMap((step) => failureOf(plan, step, step.job));
    return blockPlan({ ...plan, steps, differences }, [...plan.failures, ...failures]);
  };
  return Promise.all(plans.map(judgeAll));
}

/** Whether a job is to be created, or may have to be recorded. */
function isUnsettled({ status, mayBeUnrecorded }: JobStep): boolean {
  return status === 'planned' || mayBeUnrecorded === true;
}

/** Whether jobs of a plan are to be created, or recorded. */
export function hasUnsettledJobs(plan: SpacePlan): boolean {
  return jobSteps(plan).some(isUnsettled);
}

/**
 * Creates the missing jobs of all spaces at once. Failures are in their progress: what ended the run is also the failure
 * of spaces with jobs left out.
 */
export async function createJobs(
  all: readonly Progress[],
  { count, ...run }: EngineRun & { readonly count: (doing: string, total: number) => () => void },
  stop: AbortSignal,
): Promise<void> {
  const ready = all.flatMap((progress) => {
    const plan = progress.report();
    const steps = jobSteps(plan).filter(isUnsettled);
    return steps.map((step) => ({ progress, plan, step }));
  });
  let ended: unknown;
  try {
    stop.throwIfAborted();
    const onCreated = ready.length > 0 ? count('Creating jobs', ready.length) : undefined;
    const results = await runEngine({ ...run, dryRun: false }, ready, onCreated);
    for (const { progress, plan, step } of ready) {
      const result = results.get(step);
      if (!result) continue;
      const job = accept(result, step, plan.document.manifest);
      // The plan has the differences of one that was looked up.
      if (step.status === 'planned') progress.addDifferences(differencesOf(step, job));
      progress.settle(step, { status: job.isOwn ? 'created' : STATUSES[job.status], id: job.cron_job_id, job });
      for (const failure of failureOf(plan, step, job)) progress.fail(failure);
    }
    ended = stop.reason ?? all.flatMap((progress) => progress.report().failures)[0]?.error;
  } catch (error) {
    ended = error;
  }
  for (const progress of all) {
    const plan = progress.report();
    const left = jobSteps(plan).find(({ status }) => status === 'planned' || status === 'skipped');
    if (left && plan.failures.length === 0) progress.fail({ error: ended, source: sourceOf(plan.document, left.key) });
  }
}

/** The jobs that agents of the space have, and the manifest does not. */
export function unmanagedJobs(plan: SpacePlan, jobs: JobsByAgent): readonly Unmanaged[] {
  const others = plan.unmanaged.map(({ id }) => ({ agent_id: id, wanted: undefined }));
  return [...agentsOf(plan), ...others].flatMap(({ agent_id, wanted }) => {
    const names = new Set(wanted?.cron?.map(({ name }) => toNfc(name)));
    const own = agent_id === null ? [] : (jobs.get(comparableAgent(agent_id)) ?? []);
    const found = own.map((job) => unmanagedJob(job, own));
    return found.filter((job) => !names.has(toNfc(job.name ?? '')) && !isIgnored(plan.document.manifest.ignore, job));
  });
}
