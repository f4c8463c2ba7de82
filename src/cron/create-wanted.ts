import { createJob } from '../api/calls.ts';
import type { Http } from '../api/http.ts';
import { emitted } from '../platform/emitted.ts';
import type { Log } from '../state/log.ts';
import type { CronContext } from './context.ts';
import { type CreateDeps, createJobs } from './create.ts';
import { createScheduleDescriber, type DescribeSchedule, type ScheduleTexts } from './describe-schedule.ts';
import type { CronDifference, CronJob } from './job.ts';
import { type CreateOutcome, outcomeError } from './outcomes.ts';
import { createHints, createJobLists, jobSourceOf } from './service-jobs.ts';

/** A job to create and its position in the input. */
export interface WantedJob {
  readonly index: number;
  /** Its file and line: `jobs.yaml:3`. */
  readonly source: string | undefined;
  readonly job: CronJob;
}

/** The result of one job of a command. */
export interface CronResult extends Omit<WantedJob, 'job'>, ScheduleTexts {
  /** Its agent has no id until it is installed. */
  readonly job: Omit<CronJob, 'agent_id'> & { readonly agent_id: string | null };
  /** Null if the agent has no id yet. */
  readonly key: string | null;
  readonly status: CreateOutcome['status'];
  readonly cron_job_id: string | null;
  readonly differences: readonly CronDifference[];
  /** Whether the schedule of an existing job could not be compared. It may be another than that of `job`. */
  readonly isScheduleUnknown: boolean;
  readonly error: unknown;
}

/** The result of a job before the command acts on it: `skipped`. @param now milliseconds since 1970 */
export async function initialCronResult(
  wanted: Pick<CronResult, 'index' | 'source' | 'job' | 'key'>,
  now: number,
  describe: DescribeSchedule,
): Promise<CronResult> {
  return {
    ...wanted,
    ...(await describe(wanted.job.schedule, now)),
    status: 'skipped',
    cron_job_id: null,
    differences: [],
    isScheduleUnknown: false,
    error: undefined,
  };
}

/** Explains what Ctrl-C waits for while a request is in flight. */
function explainInterrupt({ signals: { interrupt }, notice, command }: CronContext, posting: Promise<string>): void {
  const explain = (): void => {
    void notice(
      `The request was sent. Waiting briefly for the response, which contains the id of the job. If you press Ctrl-C again, find out whether the job exists with: ${command(['cron', 'reconcile'])}`,
    );
  };
  interrupt.addEventListener('abort', explain, { once: true });
  const end = (): void => interrupt.removeEventListener('abort', explain);
  posting.then(end, end);
}

/** The warning about a job whose schedule could not be compared. */
function scheduleWarning({ job, cron_job_id }: CronResult, { command }: CronContext): string {
  const set = command(['contract', 'set', 'cron_job.timezone', '<path>']);
  return `Job ${JSON.stringify(job.name)} of agent ${job.agent_id} exists as ${cron_job_id}. Its schedule could not be compared: the list does not show all of it, or not in a known form. Compare it at the service. If the list has its schedule or its time zone under another name, set it, such as: ${set}`;
}

/** Opens what creates the jobs of a command, which reads the list of the service's jobs once, and warns of a schedule once. */
export function openJobs(
  context: CronContext,
  {
    http,
    log,
    ensure,
    dryRun,
  }: { readonly http: Http; readonly log: Log; readonly ensure: boolean; readonly dryRun: boolean },
) {
  const { clock, abortSignal: signal, command, warn, progress } = context;
  const describe = createScheduleDescriber();
  const lists = createJobLists(jobSourceOf(http, log, clock), createHints(context, dryRun));
  const deps: CreateDeps = {
    ...{ origin: http.baseUrl, log, clock, signal, lists },
    async post(job, { timeoutMs, maySend }) {
      const posting = createJob(http, job, { timeoutMs, maySend });
      explainInterrupt(context, posting);
      return await posting;
    },
    onUnavailable: (error) =>
      warn(`Cannot read the list of jobs: ${error.message} Only the state prevents duplicates.`),
    onWait: (ms) => progress.countdown(ms, (left) => `looking again in ${left}`),
  };
  let isWarned = false;

  async function toResult(wanted: WantedJob, outcome: CreateOutcome): Promise<CronResult> {
    return {
      ...(await initialCronResult({ ...wanted, key: outcome.key }, clock.now(), describe)),
      status: outcome.status,
      cron_job_id: 'cron_job_id' in outcome ? outcome.cron_job_id : null,
      differences: ('differences' in outcome && outcome.differences) || [],
      isScheduleUnknown: 'isScheduleUnknown' in outcome && outcome.isScheduleUnknown === true,
      error: outcomeError(outcome, { job: wanted.job, command }),
    };
  }

  /** Creates the jobs, and yields each result as soon as it is known. */
  async function* create(wanted: readonly WantedJob[]): AsyncGenerator<CronResult> {
    const jobs = wanted.map(({ job }) => job);
    const outcomes = emitted<[number, CreateOutcome]>((emit) =>
      createJobs(deps, jobs, { ensure, dryRun, onOutcome: (index, outcome) => emit([index, outcome]) }),
    );
    for await (const [index, outcome] of outcomes) {
      const each = wanted[index];
      if (!each) continue;
      const result = await toResult(each, outcome);
      if (result.isScheduleUnknown && !isWarned) {
        isWarned = true;
        await warn(scheduleWarning(result, context));
      }
      yield result;
    }
  }
  return { describe, lists, create };
}
