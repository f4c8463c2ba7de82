import { readItem } from '../api/api-response.ts';
import { listCronJobs } from '../api/cron-jobs.ts';
import type { Http } from '../api/http.ts';
import type { Clock } from '../clock.ts';
import { readCronJob, type WireSchedule } from '../contract/cron.ts';
import type { JsonObject } from '../contract/json.ts';
import {
  CredentialsError,
  ErrorInSuccessBody,
  NotFoundError,
  NotJsonError,
  type PartnerctlError,
  RefusedError,
  ServiceError,
  ShapeError,
} from '../errors.ts';
import type { CronJob } from './job.ts';
import { type ListedJob, matchIdentity, normalizeName } from './listed-job.ts';
import { type CronSchedule, parseFields } from './schedule.ts';
import { ScheduleError } from './schedule-error.ts';
import { parseTimezone } from './time-zone.ts';

/** The job to look up. */
type Wanted = Pick<CronJob, 'agent_id' | 'name'>;

function toSchedule(schedule: WireSchedule | undefined): CronSchedule | undefined {
  if (schedule === undefined) return undefined;
  try {
    return { ...parseFields(schedule), timezone: parseTimezone(schedule.timezone) };
  } catch (error) {
    if (error instanceof ScheduleError) return undefined;
    throw error;
  }
}

/** Converts an item of the service's list. @throws ShapeError when it has no id */
export function toListedJob(item: JsonObject): ListedJob {
  const job = readItem(item, readCronJob);
  return { ...job, schedule: toSchedule(job.schedule) };
}

/** Statuses of refusals that a later request may not get: conflict, locked, too early. */
const TEMPORARY_REFUSALS: ReadonlySet<number | undefined> = new Set([409, 423, 425]);

/**
 * Whether an error means that this token cannot read the service's list at all, so that a retry is pointless. False when
 * in doubt: creating without the list can duplicate a job that only the list shows.
 */
export function isListUnavailable(error: unknown): error is PartnerctlError {
  // An empty body is a ShapeError and counts as unavailable: a service may send it while it has no jobs, and the first job
  // must still be created.
  if (error instanceof NotJsonError || error instanceof ErrorInSuccessBody) return false;
  if (error instanceof RefusedError && TEMPORARY_REFUSALS.has(error.info.status)) return false;
  if (error instanceof ShapeError || error instanceof NotFoundError || error instanceof RefusedError) return true;
  if (error instanceof CredentialsError) return error.info.status === 403;
  return error instanceof ServiceError && error.info.status === 501;
}

/** The listed job with this id; undefined when the complete list does not have it. @throws PartnerctlError as reading a list does */
export async function findListedJob(http: Http, cronJobId: string): Promise<ListedJob | undefined> {
  for await (const item of listCronJobs(http)) {
    const listed = toListedJob(item);
    if (listed.cron_job_id === cronJobId) return listed;
  }
  return undefined;
}

/** The entries of the service's list that match one job; `closed` if the list cannot be read. */
export type FoundJobs =
  | {
      readonly kind: 'read';
      /** When reading it began, in milliseconds. */
      readonly at: number;
      /** The listed jobs of this agent and name. */
      readonly same: readonly ListedJob[];
      /** Listed jobs that may match: the service does not return their agent or name. */
      readonly maybe: readonly ListedJob[];
      /** Whether the list has a job with this id, whatever its name; undefined if part of the list could not be read. */
      readonly isListed: (cronJobId: string) => boolean | undefined;
    }
  | { readonly kind: 'closed' };

/** Looks a job up in the service's list. @throws PartnerctlError when reading the list may succeed later */
export type FindJob = (job: Wanted) => Promise<FoundJobs>;

export interface JobListOptions {
  /** The service's list, page after page. */
  readonly list: () => AsyncIterable<JsonObject>;
  /** The jobs to look up; for all others only the ids are kept. */
  readonly wanted: readonly Pick<Wanted, 'name'>[];
  readonly clock: Pick<Clock, 'now'>;
  /** Called once if this token cannot read the list. If it throws, every lookup throws the same error. */
  readonly onUnavailable: (error: PartnerctlError) => Promise<void>;
}

/** Creates a function that looks up jobs. The first call reads the service's list; later calls reuse it. */
export function createJobFinder({ list, wanted, clock, onUnavailable }: JobListOptions): FindJob {
  const names = new Set(wanted.map(({ name }) => normalizeName(name)));
  const kept = new Map<string, ListedJob>();
  const ids = new Set<string>();

  async function readList(): Promise<{ readonly at: number; readonly isComplete: boolean }> {
    const at = clock.now();
    try {
      for await (const item of list()) {
        const listed = toListedJob(item);
        ids.add(listed.cron_job_id);
        // A map, because a job may be listed twice: pages shift while the list grows.
        if (listed.name === undefined || names.has(normalizeName(listed.name))) kept.set(listed.cron_job_id, listed);
      }
      return { at, isComplete: true };
    } catch (error) {
      // The list exists if a page of it arrived; a request for a later page may succeed next time.
      if (!isListUnavailable(error) || (ids.size > 0 && !(error instanceof ShapeError))) throw error;
      await onUnavailable(error);
      return { at, isComplete: false };
    }
  }

  let reading: ReturnType<typeof readList> | undefined;
  return async ({ agent_id, name }) => {
    reading ??= readList();
    const { at, isComplete } = await reading;
    const matching = (identity: 'yes' | 'maybe') =>
      [...kept.values()].filter((listed) => matchIdentity(listed, agent_id, name) === identity);
    const same = matching('yes');
    // Part of a list proves what exists, not what is missing.
    if (!isComplete && same.length === 0) return { kind: 'closed' };
    const isListed = (id: string) => ids.has(id) || (isComplete ? false : undefined);
    return { kind: 'read', at, same, maybe: matching('maybe'), isListed };
  };
}
