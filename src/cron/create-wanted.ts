import { createJob } from '../api/calls.ts';
import type { Http } from '../api/http.ts';
import type { ListUnavailable } from '../api/list.ts';
import { RefusedError } from '../errors.ts';
import { emitted } from '../platform/emitted.ts';
import type { SendOptions } from '../state/create-once.ts';
import type { Log } from '../state/log.ts';
import type { CronContext } from './context.ts';
import { type CreatedJob, ensureJobs, type WantedJob } from './ensure-jobs.ts';
import type { CronJob } from './job.ts';
import type { RunOptions } from './judge-job.ts';
import { createScheduleDescriber, type ScheduleTexts } from './schedule.ts';
import { JobLists, listNamedJobs } from './service-jobs.ts';

/** The result of one job of a command. Its agent has no id, and the job no key, until the agent is installed. */
export interface CronResult extends Omit<CreatedJob, 'job' | 'key'>, ScheduleTexts {
  readonly job: Omit<CronJob, 'agent_id'> & { readonly agent_id: string | null };
  readonly key: string | null;
}

function scheduleWarning({ job, cron_job_id }: CreatedJob, { command }: CronContext): string {
  const set = command(['contract', 'set', 'cron_job.timezone', '<path>']);
  return `Job ${JSON.stringify(job.name)} exists as ${cron_job_id}. Its schedule could not be compared: the list does not show all of it. Compare it at the service, or say where the list has it: ${set}`;
}

/** What to do if the list of jobs cannot be read. A service that has none may refuse the request as invalid. */
function listHint(failure: unknown, { command }: CronContext): string {
  const hint = 'The job was not sent: it may exist already, and only the list can tell.';
  const isRefused = failure instanceof RefusedError && [400, 422].includes(failure.info.status ?? 0);
  if (!isRefused) return hint;
  return `${hint}\nIf the service has no list of all jobs, go on without one. Then only the state prevents duplicates: ${command(['contract', 'set', 'cron_jobs.list', 'none'])}`;
}

/** What creates the jobs of a command. */
export type JobEngine = ReturnType<typeof openJobs>;

/** Opens what creates the jobs of a command. */
export function openJobs(context: CronContext, http: Http, log: Log) {
  const { clock, abortSignal: signal, command, warn, progress } = context;
  const describe = createScheduleDescriber(clock);
  const lists = new JobLists({ list: () => listNamedJobs(http), clock, hint: (failure) => listHint(failure, context) });
  const deps = {
    ...{ origin: http.baseUrl, log, clock, signal, lists, command },
    post: (job: CronJob, options: SendOptions) => createJob(http, job, options),
    onUnavailable: ({ message }: ListUnavailable) =>
      http.warn(`Cannot read the list of jobs: ${message} Only the state prevents duplicates.`),
    onWait: (ms: number) => progress.countdown(ms, (left) => `looking again in ${left}`),
  };

  let isWarned = false;
  async function* create(wanted: readonly WantedJob[], options: RunOptions): AsyncGenerator<CronResult> {
    for await (const created of emitted<CreatedJob>((emit) => ensureJobs(deps, wanted, options, emit))) {
      if (created.schedule === null && !isWarned) await warn(scheduleWarning(created, context));
      isWarned ||= created.schedule === null;
      yield { ...created, ...(await describe(created.job.schedule)) };
    }
  }
  return { describe, lists, create };
}
