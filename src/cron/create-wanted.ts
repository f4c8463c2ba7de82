import { createJob } from '../api/calls.ts';
import type { Http } from '../api/http.ts';
import type { Clock } from '../platform/clock.ts';
import { emitted } from '../platform/emitted.ts';
import type { Log } from '../state/log.ts';
import { type CreateDeps, createJobs } from './create.ts';
import { toCreatedResult } from './created-result.ts';
import type { WantedJob } from './job.ts';
import type { CreateOutcome, ErrorContext } from './outcomes.ts';
import { type CronResult, createScheduleDescriber } from './result.ts';
import { type JobAccess, type JobLists, jobListsOf } from './service-jobs.ts';

/** What creating jobs needs of a command. */
export interface CreateContext extends Pick<ErrorContext, 'command'> {
  readonly clock: Clock;
  readonly abortSignal: AbortSignal;
  log(): Promise<Log>;
}

/** Called while jobs are created. */
export interface CreateHooks extends Pick<CreateDeps, 'onUnavailable' | 'onWait'> {
  /** Called with each request that is sent. */
  readonly onPost?: (posting: Promise<string>) => void;
}

/** What `createJobs` needs to create jobs at the service. */
function createDeps(
  { http, log, clock, signal }: JobAccess & Pick<CreateDeps, 'signal'>,
  lists: JobLists,
  { onUnavailable, onWait, onPost }: CreateHooks,
): CreateDeps {
  return {
    origin: http.baseUrl,
    log,
    clock,
    signal,
    lists,
    onUnavailable,
    onWait,
    async post(job, { timeoutMs, maySend }) {
      const posting = createJob(http, job, { timeoutMs, maySend });
      onPost?.(posting);
      return await posting;
    },
  };
}

interface EachOutcome {
  readonly each: WantedJob;
  readonly outcome: CreateOutcome;
}

/** Creates the jobs, and yields each result as soon as it is known. @param lists by default, lists of its own */
export async function* createWanted(
  context: CreateContext,
  http: Http,
  wanted: readonly WantedJob[],
  {
    ensure,
    dryRun,
    lists,
    ...hooks
  }: CreateHooks & { readonly ensure: boolean; readonly dryRun: boolean; readonly lists?: JobLists },
): AsyncGenerator<CronResult> {
  const { clock, abortSignal: signal } = context;
  const describe = createScheduleDescriber();
  const jobs = wanted.map(({ job }) => job);
  const access = { http, log: await context.log(), clock, signal };
  const deps = createDeps(access, lists ?? jobListsOf(access, { dryRun }), hooks);
  const outcomes = emitted<EachOutcome>((emit) =>
    createJobs(deps, jobs, {
      ensure,
      dryRun,
      onOutcome(index, outcome) {
        const each = wanted[index];
        if (each) emit({ each, outcome });
      },
    }),
  );
  for await (const { each, outcome } of outcomes) yield await toCreatedResult(each, outcome, context, describe);
}
