import { createJob } from '../api/calls.ts';
import type { Http } from '../api/http.ts';
import { ListUnavailable } from '../api/list.ts';
import { comparableAgent } from '../contract/values.ts';
import { InterruptedError, PartnerctlError, RefusedError } from '../errors.ts';
import { startStopwatch } from '../platform/clock.ts';
import { emitted } from '../platform/emitted.ts';
import { groupBy } from '../platform/group-by.ts';
import { type Ending, ensureOnce, type Feature, type Verdict } from '../state/ensure-once.ts';
import { LEASE_MS } from '../state/lease.ts';
import type { Log } from '../state/log.ts';
import type { Creation, Lost, OnceDeps, SendOptions } from '../state/reserve-and-send.ts';
import type { CronContext } from './context.ts';
import { findLostJobs } from './find-lost.ts';
import {
  type CronJob,
  cronKey,
  JOB_KIND,
  type JobData,
  type JobReservation,
  type JobStandings,
  toJobData,
  toNfc,
} from './job.ts';
import { findInList, type JobList, JobLists, listNamedJobs } from './job-list.ts';
import { type Decision, judgeJob, type Knowledge, type RunOptions } from './judge-job.ts';
import { indexLookAlikes } from './look-alikes.ts';
import { blocked, created, failed, type JobOutcome, outcome, type Subject, unknown } from './outcomes.ts';
import { completeSchedule, createScheduleDescriber, type ScheduleTexts } from './schedule.ts';

export interface CreateDeps extends OnceDeps, Pick<Subject, 'command'> {
  /** The base URL of the service. */
  readonly origin: string;
  readonly lists: JobLists;
  /** Called if the list cannot be read, now or at all: only the state tells what exists then. */
  readonly onUnread: (reason: ListUnavailable | PartnerctlError) => void;
  /** Returns how much time the command has left, in milliseconds. */
  readonly remainingMs: () => number;
  readonly notice: (text: string) => Promise<void>;
  /** Sends the POST once. @throws OutcomeUnknownError; any other PartnerctlError proves that no job was created */
  readonly post: (job: CronJob, options: SendOptions) => Promise<string>;
}

export interface WantedJob extends Pick<Subject, 'agent' | 'consent'> {
  readonly index: number;
  /** Its file and line: `jobs.yaml:3`. */
  readonly source: string | undefined;
  readonly job: CronJob;
}

export interface CreatedJob extends WantedJob, JobOutcome {
  readonly key: string;
}

type Wanted = WantedJob & Subject;

type Decided = (readonly [Wanted, Decision])[];

type Unlisted = readonly [Wanted, Extract<Decision, { readonly kind: 'unlisted' }>];

/** When to look again for jobs that the list does not show. */
const LOOKS_MS = [2_000, 8_000, 20_000, LEASE_MS];
/** How much of the command's time is left for its end. */
const SPARE_MS = 2_000;
/** How many jobs a note names. */
const MAX_NAMED = 3;

/** Returns whether jobs have an agent and a name of those of a file. */
export function namedIn(jobs: readonly WantedJob[]): NonNullable<RunOptions['isNamed']> {
  const byAgent = groupBy(jobs, ({ job }) => comparableAgent(job.agent_id));
  const names = new Map([...byAgent].map(([agent, own]) => [agent, new Set(own.map(({ job }) => toNfc(job.name)))]));
  return ({ agent_id, name }) => names.get(comparableAgent(agent_id))?.has(toNfc(name)) ?? false;
}

/** Judges jobs by the log and the list, sends, and finds what was lost. */
class JobFeature implements Feature<Wanted, JobData, JobOutcome> {
  readonly kind = JOB_KIND;
  private readonly deps: CreateDeps;
  private readonly options: RunOptions;
  /** Indexed once for each list: it takes a hash of each text. */
  private lookAlikes: { readonly list: unknown; readonly find: Knowledge['findLookAlikes'] } | undefined;

  /** What had no record when it was judged. */
  private readonly unrecorded = new Set<Wanted>();

  constructor(deps: CreateDeps, options: RunOptions) {
    this.deps = deps;
    this.options = options;
  }

  async judge(wanted: readonly Wanted[], standings: JobStandings, read: () => Promise<JobStandings>) {
    const byLog = this.decideAll(wanted, standings, undefined);
    const undecided = byLog.filter(([, { kind }]) => kind === 'list').map(([each]) => each);
    const look = (reading: 'recent' | 'anew') => this.judgeByList(undecided, standings, read, reading);
    const first = undecided.length > 0 ? await look('recent') : [];
    // A list may be older than a record that another run made since the last judgment.
    const isOld = first.every(isUnlisted) && first.some(([each]) => this.unrecorded.has(each));
    const byList = isOld ? await look('anew') : first;
    const judged = [...byLog.filter(([, { kind }]) => kind !== 'list'), ...byList];
    // What is known of others is told before the wait.
    const decided = judged.every(isUnlisted) ? await this.lookAgain(judged, () => look('anew')) : judged;
    if (!this.options.dryRun) await this.adopt(decided);
    for (const [each, { kind }] of decided) if (kind !== 'unlisted') this.unrecorded.add(each);
    return this.toVerdict(decided);
  }

  post({ job }: Wanted, options: SendOptions): Promise<string> {
    return this.deps.post(job, options);
  }

  find(lost: readonly Lost<JobData>[]): Promise<ReadonlyMap<Lost<JobData>, JobOutcome>> {
    return findLostJobs(this.deps, lost);
  }

  toOutcome(wanted: Wanted, ending: Ending<JobData>): JobOutcome {
    if (ending.kind === 'created') return created(wanted, ending.id, ending.unrecorded);
    if (ending.kind === 'unknown') return unknown(wanted, ending.reservation.at, ending.error);
    return ending.kind === 'unsent' && ending.isTold ? outcome('skipped') : failed(wanted, ending.error);
  }

  private decideAll(wanted: readonly Wanted[], standings: JobStandings, list: Knowledge['list']): Decided {
    const { origin } = this.deps;
    const findLookAlikes = (job: CronJob) => {
      if (!this.lookAlikes || this.lookAlikes.list !== list) {
        const find = indexLookAlikes(list ?? 'closed', standings, origin, this.options.isNamed);
        this.lookAlikes = { list, find };
      }
      return this.lookAlikes.find(job);
    };
    const known = { ...this.options, standings, list, origin, findLookAlikes };
    return wanted.map((each) => [each, judgeJob({ ...known, ...each })]);
  }

  private async judgeByList(
    wanted: readonly Wanted[],
    standings: JobStandings,
    read: () => Promise<JobStandings>,
    reading: 'recent' | 'anew',
  ): Promise<Decided> {
    const { lists, onUnread } = this.deps;
    const list = await lists[reading]().catch((error: unknown) => {
      if (!(error instanceof PartnerctlError) || error instanceof InterruptedError) throw error;
      return error;
    });
    if (list instanceof PartnerctlError || list instanceof ListUnavailable) {
      const closed = this.decideAll(wanted, standings, 'closed');
      const isRecorded = closed.some(([, { kind }]) => kind !== 'create');
      if (isRecorded || list instanceof ListUnavailable) onUnread(list);
      if (list instanceof ListUnavailable) return closed;
      // That a recorded job exists is known without the list.
      return closed.map(([each, decision]) => [
        each,
        decision.kind === 'create' ? { kind: 'settled', outcome: failed(each, list) } : decision,
      ]);
    }
    // A listed job may have been created since the log was read. Its reservation was in the log before.
    const current = wanted.some(({ job }) => isListed(list, job)) ? await read() : standings;
    return this.decideAll(wanted, current, list);
  }

  /**
   * Looks again for recorded jobs that the list does not show: a service may take a while to list a new one.
   * @returns the decisions once one is listed; after a minute, or at the end of the command's time, all are blocked
   */
  private async lookAgain(unlisted: readonly Unlisted[], look: () => Promise<Decided>): Promise<Decided> {
    const { clock, signal, lists, remainingMs, notice, onWait, command } = this.deps;
    const elapsed = startStopwatch(clock);
    const limitMs = Math.min(LEASE_MS, remainingMs() - lists.tookMs - SPARE_MS);
    if (limitMs > 0) {
      await notice(lookingAgain(unlisted, limitMs, command));
      onWait(limitMs);
    }
    for (const lookMs of LOOKS_MS) {
      const pauseMs = Math.min(lookMs, limitMs) - elapsed();
      if (pauseMs <= 0) continue;
      await clock.sleep(pauseMs, signal);
      const decided = await look();
      if (!decided.every(isUnlisted)) return decided;
    }
    const lookedMs = elapsed();
    return unlisted.map(([each, { cron_job_id }]) => {
      return [each, { kind: 'settled', outcome: blocked(each, 'gone', { cron_job_id, lookedMs }) }];
    });
  }

  private async adopt(decided: Decided): Promise<void> {
    const { log, origin } = this.deps;
    const records = decided.flatMap(([{ key, job }, decision]) => {
      if (decision.kind !== 'adopt') return [];
      const { listed } = decision;
      const data = toJobData({ ...job, origin }, { ...listed, schedule: completeSchedule(listed.schedule) });
      return [log.newRecord('cron.created', { key, object: listed.cron_job_id, data })];
    });
    await log.append(records);
  }

  private toVerdict(decided: Decided): Verdict<Wanted, JobData, JobOutcome> {
    const settled: [Wanted, JobOutcome][] = [];
    const wait: JobReservation[] = [];
    const create: Creation<Wanted, JobData>[] = [];
    for (const [wanted, decision] of decided) {
      if ('outcome' in decision) settled.push([wanted, decision.outcome]);
      else if (decision.kind === 'wait') wait.push(decision.reservation);
      else if (decision.kind === 'create' && this.options.dryRun) settled.push([wanted, outcome('planned')]);
      else if (decision.kind === 'create') {
        const data = toJobData({ ...wanted.job, origin: this.deps.origin }, wanted.job);
        create.push({ wanted, data, seen: decision.seen });
      }
    }
    return { settled, wait, create };
  }
}

function isUnlisted(each: Decided[number]): each is Unlisted {
  return each[1].kind === 'unlisted';
}

/** The note before the wait: whoever sees no spinner would see nothing for a minute, or knows that a job was deleted. */
function lookingAgain(unlisted: readonly Unlisted[], limitMs: number, command: CreateDeps['command']): string {
  const names = unlisted.slice(0, MAX_NAMED).map(([{ job }]) => JSON.stringify(job.name));
  if (unlisted.length > MAX_NAMED) names.push(`${unlisted.length - MAX_NAMED} more`);
  const seconds = Math.ceil(limitMs / 1000);
  const forget = command(['cron', 'forget', unlisted[0]?.[1].cron_job_id ?? '']);
  return `note: recorded, but not in the list of jobs yet: ${names.join(', ')}. Looking again for up to ${seconds} s. One that was deleted at the service is forgotten with: ${forget}`;
}

function isListed(list: JobList, job: CronJob): boolean {
  const { same, maybe } = findInList(list, job);
  return same.length + maybe.length > 0;
}

/** Creates jobs, each at most once, and emits what became of each. @throws LocalError if the state cannot be read */
export async function ensureJobs(
  deps: CreateDeps,
  jobs: readonly WantedJob[],
  options: RunOptions,
  emit: (created: CreatedJob) => void,
): Promise<void> {
  const { origin, command } = deps;
  const wanted = jobs.map((each) => ({ ...each, key: cronKey({ ...each.job, origin }), command }));
  await ensureOnce(deps, new JobFeature(deps, options), wanted, ({ index, source, agent, job, key }, ended) =>
    emit({ index, source, agent, job, key, ...ended }),
  );
}

/** The result of one job of a command. Its agent has no id, and the job no key, until the agent is installed. */
export interface CronResult extends Omit<CreatedJob, 'job' | 'key'>, ScheduleTexts {
  readonly job: Omit<CronJob, 'agent_id'> & { readonly agent_id: string | null };
  readonly key: string | null;
  /** In words, the schedule that the service has instead, if all of it is known. */
  readonly presentDescription?: string;
}

function scheduleWarning({ job, cron_job_id }: CreatedJob, { command }: CronContext): string {
  const set = command(['contract', 'set', 'cron_job.timezone', '<path>']);
  return `Job ${JSON.stringify(job.name)} exists as ${cron_job_id}. Its schedule could not be compared: the list does not show all of it. Compare it at the service, or say where the list has it: ${set}`;
}

/** What to do if the list of jobs cannot be read. A service that has none may refuse the request as invalid. */
function listHint(failure: unknown, { command }: CronContext): string {
  const hint = 'The job may exist already, and only the list can tell.';
  const isRefused = failure instanceof RefusedError && [400, 422].includes(failure.info.status ?? 0);
  if (!isRefused) return hint;
  return `${hint}\nIf the service has no list of all jobs, go on without one. Then only the state prevents duplicates: ${command(['contract', 'set', 'cron_jobs.list', 'none'])}`;
}

export type JobEngine = ReturnType<typeof openJobs>;

/** Opens what creates the jobs of a command. */
export function openJobs(context: CronContext, http: Http, log: Log) {
  const { clock, abortSignal: signal, command, warn, notice, progress } = context;
  const describe = createScheduleDescriber(clock);
  const lists = new JobLists({ list: () => listNamedJobs(http), clock, hint: (failure) => listHint(failure, context) });
  const deps = {
    ...{ origin: http.baseUrl, log, clock, signal, lists, command, notice },
    remainingMs: () => http.remainingMs(),
    post: (job: CronJob, options: SendOptions) => createJob(http, job, options),
    onUnread: (reason: ListUnavailable | PartnerctlError) =>
      http.warn(
        reason instanceof ListUnavailable
          ? `Cannot read the list of jobs: ${reason.message} Only the state prevents duplicates.`
          : `${reason.message} Recorded jobs are not compared with it.`,
      ),
    onWait: (ms: number) => progress.countdown(ms, (left) => `looking again for up to ${left}`),
  };

  let isWarned = false;
  async function* create(wanted: readonly WantedJob[], options: RunOptions): AsyncGenerator<CronResult> {
    for await (const created of emitted<CreatedJob>((emit) => ensureJobs(deps, wanted, options, emit))) {
      if (created.schedule === null && !isWarned) await warn(scheduleWarning(created, context));
      isWarned ||= created.schedule === null;
      const present = created.presentSchedule && (await describe(created.presentSchedule));
      const texts = await describe(created.job.schedule);
      yield { ...created, ...texts, ...(present && { presentDescription: present.description }) };
    }
  }
  return { describe, lists, create };
}
