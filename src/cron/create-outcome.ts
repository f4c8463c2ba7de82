import type { InTurn } from '../api/take-turns.ts';
import type { OnceDeps } from '../state-old/once.ts';
import type { CronDifference, CronJob } from './job.ts';
import type { JobLedger } from './job-ledger.ts';
import type { FindJob } from './job-list.ts';
import type { JobSnapshot } from './job-records.ts';
import type { ScheduleGap } from './listed-job.ts';
import type { CronSchedule } from './schedule.ts';

/** What `createOnce` needs. */
export interface CronDeps extends OnceDeps<JobSnapshot> {
  /** The base URL of the service. */
  readonly origin: string;
  readonly ledger: JobLedger;
  /** `normalizeSchedule`, for many jobs that share few schedules. */
  readonly normalize?: (schedule: CronSchedule) => string;
  /** Looks for a job in the service's list. @throws PartnerctlError when reading the list may succeed later */
  readonly find: FindJob;
  /**
   * Sends the POST once, and sends nothing after `timeoutMs`.
   * @throws OutcomeUnknownError if a job may have been created; any other PartnerctlError proves that none was
   */
  readonly post: (job: CronJob, timeoutMs: number) => Promise<string>;
  /** Bounds how many jobs are sent at once: more may be reserved. */
  readonly inTurn: InTurn;
  /** Milliseconds that the command may still take. */
  readonly remainingMs: () => number;
  /** Called before the list is read again. @param ms in how many milliseconds */
  readonly onWait?: (ms: number) => void;
  /** Aborts waiting for another process. */
  readonly abortSignal: AbortSignal;
}

interface KeyedOutcome {
  readonly key: string;
}

/** A job that exists. `gap`: why its schedule, and so what it does, may differ; undefined if it was compared. */
interface ExistingOutcome extends KeyedOutcome {
  readonly cron_job_id: string;
  readonly gap: ScheduleGap | undefined;
}

/** The outcome of creating a job. */
export type CreateOutcome =
  | (KeyedOutcome & {
      readonly status: 'created';
      readonly cron_job_id: string;
      /** Set if the job exists but could not be recorded in the state file: why, and where the record is kept instead. */
      readonly unrecorded?: { readonly error: unknown; readonly recoveryPath: string | undefined };
    })
  /** The same job exists already; `since` is when it was recorded. */
  | (ExistingOutcome & { readonly status: 'exists'; readonly since: string })
  /** The service already had the job, but the state file had no record of it. */
  | (ExistingOutcome & { readonly status: 'adopted' })
  | (KeyedOutcome & Blocked)
  /** The job may have been created; `error` is the failure of this command's POST, if it sent one. */
  | (KeyedOutcome & { readonly status: 'unknown'; readonly since: string; readonly error?: unknown })
  /** The job was not created. */
  | (KeyedOutcome & { readonly status: 'failed'; readonly error: unknown; readonly isReleased: boolean })
  | (KeyedOutcome & { readonly status: 'planned' });

export interface Blocked {
  readonly status: 'blocked';
  readonly cron_job_id: string | null;
  readonly since?: string;
  /**
   * `same`: it exists. `different`: it exists with other content. `gone`: it was created, and the service no longer lists
   * it. `several`: the service has more than one with this agent and name. `in_progress`: another process is creating it.
   * `ambiguous`: the service has one with this name, its agent cannot be read, and the state file has no record of it.
   */
  readonly why: 'same' | 'different' | 'gone' | 'several' | 'in_progress' | 'ambiguous';
  /** As in `ExistingOutcome`. */
  readonly gap?: ScheduleGap | undefined;
  readonly differences?: readonly CronDifference[];
  readonly candidates?: readonly string[];
}

export interface CreateOnceOptions {
  /** Whether an existing job counts as success. If so, waits for a job that another process is creating. */
  readonly ensure: boolean;
  /** Whether to skip all writes, both to the state file and to the service, and all waits for other processes. */
  readonly dryRun: boolean;
}

/** A job to create. */
export interface CreateRequest extends CreateOnceOptions {
  readonly job: CronJob;
  readonly key: string;
  readonly snapshot: JobSnapshot;
  readonly deps: CronDeps;
}
