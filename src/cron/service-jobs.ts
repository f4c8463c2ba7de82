import { createCronJob, listCronJobs } from '../api/cron-jobs.ts';
import type { Http } from '../api/http.ts';
import { readItem } from '../api/read-item.ts';
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
import type { Found } from './create-once.ts';
import type { CronJob } from './job.ts';
import { composed, couldBe, type ListedJob } from './matching.ts';
import { type CronSchedule, parseFields, parseTimezone } from './schedule.ts';
import { ScheduleError } from './schedule-error.ts';

/** Which job is looked for. */
type Wanted = Pick<CronJob, 'agent_id' | 'name'>;

function scheduleOf(said: WireSchedule | undefined): CronSchedule | undefined {
  if (said === undefined) return undefined;
  try {
    return { ...parseFields(said), timezone: parseTimezone(said.timezone) };
  } catch (error) {
    if (error instanceof ScheduleError) return undefined;
    throw error;
  }
}

/** A job as the service lists it, in the terms of our own. @throws ShapeError when it has no id */
export function listedJob(item: JsonObject): ListedJob {
  const said = readItem(item, readCronJob);
  return { ...said, schedule: scheduleOf(said.schedule) };
}

/** Refusals that speak of the moment, and not of the call: conflict, locked, too early. */
const PASSING_REFUSALS: ReadonlySet<number | undefined> = new Set([409, 423, 425]);

/**
 * Whether the service has no list that this token can read, so that trying again would not help. Where that is not certain
 * it is not so: what goes on without the list makes a job again that only the list knows.
 */
export function isClosed(error: unknown): error is PartnerctlError {
  // An empty answer is one that cannot be read: a service may give it for want of jobs, and the first has to be created.
  if (error instanceof NotJsonError || error instanceof ErrorInSuccessBody) return false;
  if (error instanceof RefusedError && PASSING_REFUSALS.has(error.info.status)) return false;
  if (error instanceof ShapeError || error instanceof NotFoundError || error instanceof RefusedError) return true;
  if (error instanceof CredentialsError) return error.info.status === 403;
  return error instanceof ServiceError && error.info.status === 501;
}

/**
 * What the service lists that is, or could be, one of the wanted jobs. Of the rest of the list only the ids are kept.
 * @param ids of all the listed jobs
 * @throws PartnerctlError as reading a list does; what was listed before that is kept
 */
async function sift(
  http: Http,
  wanted: readonly Pick<Wanted, 'name'>[],
  kept: Map<string, ListedJob>,
  ids: Set<string>,
): Promise<void> {
  const names = new Set(wanted.map(({ name }) => composed(name)));
  for await (const item of listCronJobs(http)) {
    const listed = listedJob(item);
    ids.add(listed.cron_job_id);
    // Pages shift while a list grows, so one job may be listed twice.
    if (listed.name === undefined || names.has(composed(listed.name))) kept.set(listed.cron_job_id, listed);
  }
}

/** The listed job with an id; undefined where all of the list does not have it. @throws PartnerctlError as reading a list does */
export async function findListed(http: Http, cronJobId: string): Promise<ListedJob | undefined> {
  for await (const item of listCronJobs(http)) {
    const listed = listedJob(item);
    if (listed.cron_job_id === cronJobId) return listed;
  }
  return undefined;
}

/** One reading of the list: when it began, and whether all of it could be read. */
interface Look {
  readonly at: number;
  readonly isWhole: boolean;
}

/** The jobs of the service, as far as a command's own are concerned. */
export interface ServiceJobs {
  /** The list is read once, when it is first asked for. @throws PartnerctlError where it could be read another time */
  find(job: Wanted): Promise<Found>;
  /** See `createCronJob`. */
  post(job: CronJob, timeoutMs: number): Promise<string>;
}

/**
 * @param wanted the names of all the jobs that will be looked for
 * @param onClosed told once, when the list cannot be read with this token
 */
export function openServiceJobs(
  http: Http,
  wanted: readonly Pick<Wanted, 'name'>[],
  clock: Pick<Clock, 'now'>,
  onClosed: (error: PartnerctlError) => Promise<void>,
): ServiceJobs {
  const kept = new Map<string, ListedJob>();
  const ids = new Set<string>();
  let looking: Promise<Look> | undefined;

  async function look(): Promise<Look> {
    const at = clock.now();
    try {
      await sift(http, wanted, kept, ids);
      return { at, isWhole: true };
    } catch (error) {
      // A list that began is there: a further page that is refused may come another time.
      if (!isClosed(error) || (ids.size > 0 && !(error instanceof ShapeError))) throw error;
      await onClosed(error);
      return { at, isWhole: false };
    }
  }

  return {
    async find({ agent_id, name }) {
      looking ??= look();
      const { at, isWhole } = await looking;
      const that = (could: 'yes' | 'maybe') =>
        [...kept.values()].filter((listed) => couldBe(listed, agent_id, name) === could);
      const same = that('yes');
      // A part of the list proves what is there, not what is missing.
      if (!isWhole && same.length === 0) return { kind: 'closed' };
      const isListed = (id: string) => ids.has(id) || (isWhole ? false : undefined);
      return { kind: 'read', at, same, maybe: that('maybe'), isListed };
    },
    post: (job, timeoutMs) => createCronJob(http, job, timeoutMs),
  };
}
