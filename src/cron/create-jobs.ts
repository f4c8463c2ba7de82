import { createCronJob, listCronJobs } from '../api/cron-jobs.ts';
import type { Http } from '../api/http.ts';
import { mapConcurrent } from '../api/map-concurrent.ts';
import { RunStopped, stopsRun, takeTurns } from '../api/take-turns.ts';
import type { Context } from '../cli/context.ts';
import { OutcomeUnknownError } from '../errors.ts';
import { joinSentences } from '../output/sentences.ts';
import { readOnce, toLogRecord } from '../state-old/ledger.ts';
import { describeThisProcess, hasEnded } from '../state-old/owner.ts';
import { randomRecordId } from '../state-old/record.ts';
import { writeRecovery } from '../state-old/recovery.ts';
import type { StateStore } from '../state-old/store.ts';
import { createSecondJobCheck, holdForCheck, isCreated, type SecondJobCheck } from './check-after-create.ts';
import { createGapWarner, createOtherNameWarner } from './create-notices.ts';
import { createOnce } from './create-once.ts';
import type { CreateOnceOptions, CronDeps } from './create-outcome.ts';
import { type CronResult, createScheduleDescriber, initialCronResult } from './cron-result.ts';
import { type CronJob, cronKey, hasOneForm, identifyJob } from './job.ts';
import { type JobLedgerOptions, openJobLedger } from './job-ledger.ts';
import {
  createFreshJobLists,
  createJobFinder,
  createJobSurvey,
  type FreshJobLists,
  type JobListOptions,
  type JobSurvey,
} from './job-list.ts';
import { JOB_RECORDS, provesListRead } from './job-records.ts';
import { memoize } from './memoize.ts';
import { outcomeError } from './outcome-error.ts';
import { type LookUpDeps, postAndLookUp } from './post-and-look-up.ts';
import { normalizeSchedule } from './schedule.ts';

/** A job to create and its position in the input. */
export interface WantedJob {
  readonly index: number;
  readonly source: string | undefined;
  readonly job: CronJob;
}

/** Creates one job at most once. Returns failures as results instead of throwing. */
export type CreateJob = (wanted: WantedJob) => Promise<CronResult>;

export interface JobCreator {
  readonly create: CreateJob;
  /** Reserves the jobs of several tasks together. */
  readonly store: Pick<StateStore, 'reservationsAtOnce' | 'together'>;
  /** Looks for jobs that other machines created at the same time. Does nothing where they share the state. */
  readonly second: SecondJobCheck;
  /** The listed jobs of a surveyed agent; undefined if they cannot be listed. */
  readonly jobsOf: JobSurvey['jobsOf'];
  /** What identifies the jobs of some agents in the last list that was read, if identities are kept. */
  readonly identitiesInLast: FreshJobLists['identitiesInLast'];
}

/** What to keep of the service's list, besides the jobs that are looked up. */
interface KeptJobs extends Pick<JobListOptions, 'keepsIdentities'> {
  /** For a dry run: the agents whose jobs are surveyed. The list is read once then. */
  readonly agents?: ReadonlySet<string> | undefined;
}

type ListedJobs = Pick<JobCreator, 'second' | 'jobsOf' | 'identitiesInLast'>;

/** How many jobs are sent at once. */
const CONCURRENCY = 4;

/** Explains what Ctrl-C waits for while the request is in flight. */
async function explainInterrupt(context: Context, posting: Promise<string>): Promise<string> {
  const { interrupt } = context.signals;
  const explain = (): void => {
    void context.notice(
      'The request was sent. Waiting briefly for the response, which contains the id of the job. If you press Ctrl-C again, run `partnerctl cron reconcile` to find out whether the job exists.',
    );
  };
  interrupt.addEventListener('abort', explain, { once: true });
  try {
    return await posting;
  } finally {
    interrupt.removeEventListener('abort', explain);
  }
}

const NO_LIST_HINT =
  'If the service has no list of all jobs, go on without one: partnerctl contract set cron_jobs.list none. Then only the state prevents duplicates.';

/** What `createOnce` needs, shared by all jobs of a command. */
async function createDeps(
  context: Context,
  http: Http,
  wanted: readonly Pick<CronJob, 'name'>[],
  { agents, keepsIdentities, ...ledgerOptions }: JobLedgerOptions & KeptJobs,
): Promise<{ readonly deps: CronDeps; readonly isShared: boolean; readonly listed: ListedJobs }> {
  const { clock, abortSignal, progress } = context;
  const { path: statePath, kind } = await context.stateLocation();
  const owner = describeThisProcess();
  const isShared = kind !== 'file';
  const opened = await openJobLedger(context, ledgerOptions);
  const ledger = agents ? { ...opened, ...(await readOnce(opened)) } : opened;
  const list: JobListOptions = {
    list: () => listCronJobs(http),
    contract: http.contract,
    wanted,
    agents,
    keepsIdentities,
    clock,
    wasReadBefore: async () => provesListRead(await ledger.readAll(), http.baseUrl),
    failureHint: agents
      ? 'Nothing was sent.'
      : 'The job was not sent: it may exist already, and only the list can tell.',
    refusalHint: NO_LIST_HINT,
    onUnavailable: (error) =>
      context.warn(
        joinSentences(
          `Cannot read the list of jobs: ${error.message}${wanted.length > 0 ? '\nOnly the state prevents duplicates.' : ''}`,
        ),
      ),
  };
  const newFinder = () => createJobFinder({ ...list, onUnavailable: async () => undefined });
  const onWait = (ms: number) => progress.countdown(ms, (left) => `reading the list again in ${left}`);
  const lookUp: LookUpDeps = { origin: http.baseUrl, ledger, clock, abortSignal, onWait, newFinder };
  const lists = createFreshJobLists(list);
  const survey = createJobSurvey(list);
  const second = createSecondJobCheck({
    lists,
    mayRead: () => !isShared && !abortSignal.aborted,
    onShownOtherwise: createOtherNameWarner(context),
  });
  const post = async (job: CronJob, timeoutMs: number): Promise<string> => {
    const posting = postAndLookUp(job, () => createCronJob(http, job, timeoutMs), lookUp);
    const id = await explainInterrupt(context, posting);
    lists.watch(id);
    return id;
  };
  const deps = {
    origin: http.baseUrl,
    ledger,
    writeRecovery: (record) => writeRecovery(statePath, toLogRecord(record, JOB_RECORDS)),
    clock,
    newId: randomRecordId,
    owner,
    hasEnded: (other) => hasEnded(other, owner),
    find: agents ? survey.find : lists.find,
    normalize: memoize(normalizeSchedule, (schedule) => JSON.stringify(schedule)),
    post,
    inTurn: takeTurns(CONCURRENCY, stopsRun).inTurn,
    remainingMs: () => http.remainingMs(),
    onWait,
    abortSignal,
  } satisfies CronDeps;
  return { deps, isShared, listed: { second, jobsOf: survey.jobsOf, identitiesInLast: lists.identitiesInLast } };
}

/** Returns a function that returns the result of a job before the command acts on it. */
function createResults(http: Http, { clock }: Context): CreateJob {
  const describe = createScheduleDescriber();
  return (wanted) => {
    const { agent_id, name } = wanted.job;
    return initialCronResult({ ...wanted, key: cronKey(http.baseUrl, agent_id, name) }, clock.now(), describe);
  };
}

export type JobCreatorOptions = CreateOnceOptions & JobLedgerOptions & KeptJobs;

/**
 * Prepares the creation of all jobs of a command. Reads the service's list at most once.
 * @param wanted all jobs that may be created
 */
export async function openJobCreator(
  context: Context,
  http: Http,
  wanted: readonly Pick<CronJob, 'name'>[],
  { warned, keys, agents, keepsIdentities, ...options }: JobCreatorOptions,
): Promise<JobCreator> {
  const kept = { warned, keys, agents, keepsIdentities };
  const { deps, isShared, listed } = await createDeps(context, http, wanted, kept);
  const startResult = createResults(http, context);
  const warnOfGap = createGapWarner(context);
  const create: CreateJob = async (each) => {
    const { job } = each;
    const initial = await startResult(each);
    try {
      const outcome = await createOnce(job, deps, options);
      if (outcome.status === 'failed' && outcome.isReleased && outcome.error instanceof RunStopped) return initial;
      // Creating it may have taken longer than until its first run.
      const { next_runs } = await startResult(each);
      const result: CronResult = {
        ...initial,
        next_runs,
        status: outcome.status,
        gap: 'gap' in outcome ? outcome.gap : undefined,
        cron_job_id: 'cron_job_id' in outcome ? outcome.cron_job_id : null,
        differences: outcome.status === 'blocked' ? (outcome.differences ?? []) : [],
        why: outcome.status === 'blocked' ? outcome.why : undefined,
        error: outcomeError(outcome, { job, flags: context.flags, isShared }),
      };
      await warnOfGap(result);
      return result;
    } catch (error) {
      return { ...initial, status: error instanceof OutcomeUnknownError ? 'unknown' : 'failed', error };
    }
  };
  return { create, store: await context.stateStore(), ...listed };
}

/** More keys than this take longer to compare with each line than decoding them all. */
const MAX_KEYS = 64;

/** The keys of some jobs; undefined if an earlier version may have written other keys, or if there are many. */
function keysToRead(origin: string, jobs: readonly CronJob[]): readonly string[] | undefined {
  if (jobs.length > MAX_KEYS || !jobs.every(({ name }) => hasOneForm(name))) return undefined;
  const keys = jobs.flatMap(({ agent_id, name }) => identifyJob({ origin, agent_id, name }).keys);
  return keys.length > MAX_KEYS ? undefined : keys;
}

/**
 * Creates jobs, each at most once and several at a time, and yields each result as soon as it is available. Yields failures
 * as results instead of throwing. Once started, it runs to the end even if the caller stops reading the results.
 */
export async function* createJobs(
  context: Context,
  http: Http,
  wanted: readonly WantedJob[],
  options: CreateOnceOptions,
): AsyncGenerator<CronResult> {
  const jobs = wanted.map(({ job }) => job);
  const { create, store, second } = await openJobCreator(context, http, jobs, {
    ...options,
    keys: keysToRead(http.baseUrl, jobs),
  });
  const startResult = createResults(http, context);
  let stopped = false;

  async function createOne(each: WantedJob): Promise<CronResult> {
    if (stopped || context.signals.interrupt.aborted) return await startResult(each);
    const result = await store.together(() => create(each));
    stopped ||= stopsRun(result.error);
    return result;
  }
  // While some jobs wait for the service, others are reserved and recorded.
  const results = mapConcurrent(wanted, Math.max(2 * CONCURRENCY, store.reservationsAtOnce), createOne);
  yield* holdForCheck(results, { ...second, needsCheck: isCreated, clock: context.clock });
}
