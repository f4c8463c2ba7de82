import type { CronDifference } from './job.ts';

interface Facts {
  readonly key: string;
}

/** What became of a job that was to be created. */
export type CreateOutcome =
  | (Facts & {
      readonly status: 'created';
      readonly cron_job_id: string;
      /** Set where the job is there and the state file could not be told: why, and where the record is. */
      readonly unrecorded?: { readonly error: unknown; readonly rescued: string | undefined };
    })
  /** The same job is there, as was wanted; `since` is when it was recorded. */
  | (Facts & { readonly status: 'exists'; readonly cron_job_id: string; readonly since: string })
  /** The service has it, and the file did not know. */
  | (Facts & { readonly status: 'adopted'; readonly cron_job_id: string })
  | (Facts & Blocked)
  /** It may have been made; `error` is what its own POST ended with, where this command sent it. */
  | (Facts & { readonly status: 'unknown'; readonly since: string; readonly error?: unknown })
  /** It was not made. */
  | (Facts & { readonly status: 'failed'; readonly error: unknown; readonly isReleased: boolean })
  | (Facts & { readonly status: 'planned' });

export interface Blocked {
  readonly status: 'blocked';
  readonly cron_job_id: string | null;
  readonly since?: string;
  /**
   * `same`: it is there. `different`: it is there with other content. `gone`: it was made, and the service lists it no more.
   * `several`: the service has more than one of this agent and name. `in_progress`: another process is making it.
   * `ambiguous`: the service has one of this name and content, does not say whose it is, and the file does not know it.
   */
  readonly why: 'same' | 'different' | 'gone' | 'several' | 'in_progress' | 'ambiguous';
  readonly differences?: readonly CronDifference[];
  readonly candidates?: readonly string[];
}
