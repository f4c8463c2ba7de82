import type { Http } from '../api/http.ts';
import { comparableAgent } from '../contract/values.ts';
import type { CronContext } from '../cron/context.ts';
import type { WantedJob } from '../cron/create.ts';
import { type CronResult, openJobs } from '../cron/create-wanted.ts';
import type { RunOptions } from '../cron/decide.ts';
import { type CronDifference, toNfc } from '../cron/job.ts';
import { outcome } from '../cron/outcomes.ts';
import { toWireSchedule } from '../cron/schedule.ts';
import { InputError } from '../errors.ts';
import type { Log } from '../state/log.ts';
import type { Difference } from './differences.ts';
import { undescribable } from './exported-space.ts';
import { inStep } from './failures.ts';
import { isIgnored, isNamedByIgnore, withoutIgnored } from './ignore.ts';
import type { Manifest } from './manifest.ts';
import { sourceOf } from './manifest.ts';
import { blockPlan, type Failure, holeError, type JobStep, type SpacePlan, type Step, type Unmanaged } from './plan.ts';
import type { Progress } from './progress.ts';
import type { JobsByAgent } from './snapshot.ts';

/* The jobs of plans: looked up before anything is sent, and created after their agents. */

/** What the manifests say of jobs that exist: which may be taken for an edited one, and where that is wanted. */
type JobRules = Required<Pick<RunOptions, 'createBeside' | 'isNamed'>>;

function rulesOf(plans: readonly SpacePlan[], consent: ReadonlySet<string>): JobRules {
  const owners = new Map(
    plans.flatMap(({ agents, document: { manifest } }) =>
      agents.flatMap(({ agent_id, wanted: { cron = [] } }) => {
        const names = new Set(cron.map(({ name }) => toNfc(name)));
        return agent_id === null ? [] : [[comparableAgent(agent_id), { manifest, names }] as const];
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

/**
 * The engine that creates each job at most once. Nothing else in this folder knows it.
 * @param willRun whether what is looked up is created afterwards
 */
export function openEngine(context: CronContext, http: Http, log: Log, willRun: boolean) {
  // One list for both: that it was read once tells what a later 403 means.
  const { lists, describe, create } = openJobs(context, http, log);
  const run = async (wanted: readonly WantedJob[], options: Omit<RunOptions, 'ensure'>) => {
    const results = new Map<number, CronResult>();
    for await (const result of create(wanted, { ensure: true, ...options })) results.set(result.index, result);
    return results;
  };
  return {
    ...{ lists, describe },
    /** Tells what would be done, from the state and the list. */
    lookUp: (wanted: readonly WantedJob[], rules: JobRules) => run(wanted, { ...rules, dryRun: true, willRun }),
    /** Creates jobs, waits for those that others create, and records those that exist. */
    create: (wanted: readonly WantedJob[], rules: JobRules) => run(wanted, { ...rules, dryRun: false }),
  };
}

export type JobEngine = ReturnType<typeof openEngine>;

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

function withJob(step: JobStep, job: CronResult): JobStep {
  const { description: in_words, next_runs } = job;
  return { ...step, job, detail: { schedule: toWireSchedule(job.job.schedule), in_words, next_runs } };
}

/** The differences of a job as a plan shows them. */
export function toDifferences(name: string, found: readonly CronDifference[]): Difference[] {
  return found.map(({ field, before: service = null, after: manifest = null }) => {
    return { resource: 'job', name, field, service, manifest };
  });
}

/** What a result means for a manifest: a job that exists otherwise is there, and no call can change it. */
function accept(found: CronResult, { name }: JobStep, { ignore }: Manifest): CronResult {
  if (found.differences.length === 0) return found;
  const differences = found.differences.filter(
    (each) => withoutIgnored(ignore, toDifferences(name, [each])).length > 0,
  );
  return { ...found, status: 'exists', error: undefined, differences };
}

function failureOf(plan: SpacePlan, step: JobStep, { error, status }: CronResult): Failure[] {
  if (error === undefined) return [];
  const { name, agent, hole } = step;
  const what = `The job ${JSON.stringify(name)} of the agent ${JSON.stringify(agent.wanted.name)} is not created`;
  if (hole !== undefined && error instanceof InputError) return [{ error: holeError(step, hole), source: hole }];
  // That of another status names the job itself, and its class decides the exit code.
  return [{ error: status === 'failed' ? inStep(what, error) : error, source: sourceOf(plan.document, step.key) }];
}

interface Ready {
  readonly plan: SpacePlan;
  readonly step: JobStep;
}

/** The jobs to look up or to create: those whose agents exist. Their index is that in the list. */
function toWanted(ready: readonly Ready[]): readonly WantedJob[] {
  return ready.flatMap(({ plan, step: { wanted, agent, key } }, index) =>
    agent.agent_id === null
      ? []
      : [{ index, source: sourceOf(plan.document, key), job: { ...wanted, agent_id: agent.agent_id } }],
  );
}

function jobSteps({ steps }: SpacePlan): readonly JobStep[] {
  return steps.filter((step) => step.op === 'create_job');
}

/**
 * Looks up the jobs of all plans at once, before anything is sent, and describes them.
 * @param createBeside the spaces, by external id, that may get a job beside one that seems to be it
 * @returns the plans, of which those with a job that a person has to decide about are blocked
 */
export async function judgeJobs(
  plans: readonly SpacePlan[],
  { describe, lookUp }: Pick<JobEngine, 'describe' | 'lookUp'>,
  createBeside: ReadonlySet<string>,
): Promise<readonly SpacePlan[]> {
  const all = plans.flatMap((plan) => jobSteps(plan).map((step) => ({ plan, step })));
  const wanted = toWanted(all);
  const results =
    wanted.length > 0 ? await lookUp(wanted, rulesOf(plans, createBeside)) : new Map<number, CronResult>();
  const ended = [...results.values()].find(({ status }) => status === 'failed')?.error;
  const judged = new Map<JobStep, { readonly step: JobStep; readonly failures: readonly Failure[] }>();
  for (const [index, { plan, step }] of all.entries()) {
    const job = { ...step.wanted, agent_id: step.agent.agent_id };
    const unknown = {
      index,
      source: undefined,
      key: null,
      job,
      ...outcome('planned'),
      ...(await describe(job.schedule)),
    };
    const seen = results.get(index) ?? unknown;
    const found = accept(seen, step, plan.document.manifest);
    // Nothing was looked up after a failure that every further call would have.
    const now = found.status === 'skipped' ? { ...found, error: ended } : found;
    const status = now.error === undefined ? STATUSES[now.status] : 'blocked';
    // Differences are not told of a record, and those that are ignored not at all.
    const mayBeUnrecorded = seen.status === 'adopted' || seen.differences.length > 0;
    judged.set(step, {
      step: { ...withJob(step, now), status, mayBeUnrecorded, id: now.cron_job_id },
      failures: failureOf(plan, step, now),
    });
  }
  return plans.map((plan) => {
    const own = jobSteps(plan).flatMap((step) => judged.get(step) ?? []);
    const steps = plan.steps.map((step) => (step.op === 'create_job' ? (judged.get(step)?.step ?? step) : step));
    const found = own.flatMap(({ step: { name, job } }) => toDifferences(name, job?.differences ?? []));
    const judgedPlan = { ...plan, steps, differences: [...plan.differences, ...found] };
    const failures = [...plan.failures, ...own.flatMap((each) => each.failures)];
    return blockPlan({ ...judgedPlan, failures: [] }, failures);
  });
}

/** Whether a job is to be created, or may have to be recorded. */
function isUnsettled({ status, mayBeUnrecorded }: JobStep): boolean {
  return status === 'planned' || mayBeUnrecorded === true;
}

/** Whether the jobs of a plan are complete. */
export function hasUnsettledJobs(progress: Progress): boolean {
  return jobSteps(progress.report()).some(isUnsettled);
}

/** Creates the missing jobs of all spaces at once. Failures are in their progress. */
export async function createJobs(
  all: readonly Progress[],
  { create }: Pick<JobEngine, 'create'>,
  createBeside: ReadonlySet<string>,
): Promise<void> {
  const ready = all.flatMap((progress) => {
    const plan = progress.report();
    return jobSteps(plan)
      .filter(isUnsettled)
      .map((step) => ({ progress, plan, step }));
  });
  const rules = rulesOf(
    ready.map(({ plan }) => plan),
    createBeside,
  );
  const results = await create(toWanted(ready), rules);
  for (const [index, { progress, plan, step }] of ready.entries()) {
    const result = results.get(index);
    if (!result) continue;
    const job = accept(result, step, plan.document.manifest);
    // The plan has the differences of one that was looked up.
    if (step.status === 'planned') progress.addDifferences(toDifferences(step.name, job.differences));
    progress.settle(step, { status: STATUSES[job.status], id: job.cron_job_id, job });
    for (const failure of failureOf(plan, step, job)) progress.fail(failure);
  }
}

/** The jobs that agents of the space have, and the manifest does not. */
export function unmanagedJobs({ agents, unmanaged, document }: SpacePlan, jobs: JobsByAgent): readonly Unmanaged[] {
  const wanted = new Map(agents.map((agent) => [agent.agent_id, agent.wanted.cron?.map(({ name }) => toNfc(name))]));
  const ids = [...agents.flatMap(({ agent_id }) => agent_id ?? []), ...unmanaged.map(({ id }) => id)];
  return ids.flatMap((agent) => {
    const own = jobs.get(comparableAgent(agent)) ?? [];
    return own.flatMap((each) => {
      const { cron_job_id: id, name = null } = each;
      const reason = undescribable(each, own);
      const job = { resource: 'job', id, name, ...(reason && { reason }) } as const;
      const isWanted = wanted.get(agent)?.includes(toNfc(name ?? ''));
      return isWanted || isIgnored(document.manifest.ignore, job) ? [] : [job];
    });
  });
}
