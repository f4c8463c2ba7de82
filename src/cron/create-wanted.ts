import type { Http } from '../api/http.ts';
import type { Clock } from '../clock.ts';
import { emitted } from '../platform/emitted.ts';
import type { Log } from '../state/log.ts';
import { createJobs } from './create.ts';
import { toCreatedResult } from './created-result.ts';
import { type CronResult, createScheduleDescriber } from './cron-result.ts';
import type { WantedJob } from './job.ts';
import type { CreateOutcome, ErrorContext } from './outcomes.ts';
import { type CreateHooks, createDeps } from './service-jobs.ts';

/** What creating jobs needs of a command. */
export interface CreateContext extends Pick<ErrorContext, 'command'> {
  readonly clock: Clock;
  readonly abortSignal: AbortSignal;
  log(): Promise<Log>;
}

interface EachOutcome {
  readonly each: WantedJob;
  readonly outcome: CreateOutcome;
}

/** Creates the jobs, and yields each result as soon as it is known. */
export async function* createWanted(
  context: CreateContext,
  http: Http,
  wanted: readonly WantedJob[],
  { ensure, ...hooks }: CreateHooks & { readonly ensure: boolean },
): AsyncGenerator<CronResult> {
  const { clock, abortSignal: signal } = context;
  const describe = createScheduleDescriber();
  const jobs = wanted.map(({ job }) => job);
  const deps = createDeps({ http, log: await context.log(), clock, signal }, jobs, hooks);
  const outcomes = emitted<EachOutcome>((emit) =>
    createJobs(deps, jobs, {
      ensure,
      dryRun: hooks.dryRun,
      onOutcome(index, outcome) {
        const each = wanted[index];
        if (each) emit({ each, outcome });
      },
    }),
  );
  for await (const { each, outcome } of outcomes) yield await toCreatedResult(each, outcome, context, describe);
}
