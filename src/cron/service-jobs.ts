import { createJob, listJobs } from '../api/calls.ts';
import type { Http } from '../api/http.ts';
import { nameListFailure } from '../api/list-failure.ts';
import type { Clock } from '../clock.ts';
import type { PartnerctlError } from '../errors.ts';
import type { Log } from '../state/log.ts';
import type { SendOptions } from '../state/once.ts';
import type { CreateDeps } from './create.ts';
import type { CronJob } from './job.ts';
import { createFreshJobLists, createJobFinder, type FindJob, JOB_LIST, type JobListOptions } from './job-list.ts';
import { provesListRead } from './jobs.ts';

/** The service, the state, and the terminal, for commands that create or reconcile jobs. */
export interface JobAccess {
  readonly http: Http;
  readonly log: Log;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

type Wanted = readonly Pick<CronJob, 'name'>[];

function listOptions(
  { http, log, clock }: JobAccess,
  wanted: Wanted,
  options: Pick<JobListOptions, 'failureHint' | 'refusalHint' | 'onUnavailable'>,
): JobListOptions {
  return {
    list: () => listJobs(http),
    contract: http.contract,
    wanted,
    clock,
    wasReadBefore: async () => provesListRead(await log.read(), http.baseUrl),
    ...options,
  };
}

export interface CreateHooks {
  readonly dryRun: boolean;
  /** Called once if the list cannot be read at all: only the state prevents duplicates then. */
  readonly onUnavailable: (error: PartnerctlError) => Promise<void>;
  /** Called with each request that is sent. */
  readonly onPost: (posting: Promise<string>) => void;
  readonly onWait: (ms: number) => void;
}

/** What `createJobs` needs. @param wanted all jobs that may be created */
export function createDeps(access: JobAccess, wanted: Wanted, hooks: CreateHooks): CreateDeps {
  const { http, log, clock, signal } = access;
  const lists = createFreshJobLists(
    listOptions(access, wanted, {
      failureHint: hooks.dryRun
        ? 'Nothing was sent.'
        : 'The job was not sent: it may exist already, and only the list can tell.',
      refusalHint:
        'If the service has no list of all jobs, go on without one: partnerctl contract set cron_jobs.list none. Then only the state prevents duplicates.',
      onUnavailable: hooks.onUnavailable,
    }),
  );
  return {
    origin: http.baseUrl,
    log,
    clock,
    signal,
    find: lists.find,
    findAnew: lists.readAgain,
    async post(job: CronJob, { timeoutMs, maySend }: SendOptions) {
      const posting = createJob(http, job, { timeoutMs, maySend });
      hooks.onPost(posting);
      return await posting;
    },
    onWait: hooks.onWait,
  };
}

/** Returns lookups in lists that must be readable. @param failureHint what to do if one is not */
export function findAnew(access: JobAccess, failureHint: string): (wanted: Wanted) => FindJob {
  return (wanted) =>
    createJobFinder(
      listOptions(access, wanted, {
        failureHint,
        onUnavailable: async (error) => {
          throw nameListFailure(error, JOB_LIST, failureHint);
        },
      }),
    );
}
