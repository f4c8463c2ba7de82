import { createCronJob, listCronJobs } from '../api/cron-jobs.ts';
import type { Http } from '../api/http.ts';
import { readItem } from '../api/read-item.ts';
import { readCronJob, type WireSchedule } from '../contract/cron.ts';
import type { JsonObject } from '../contract/json.ts';
import type { CronJob } from '../domain/cron/job.ts';
import { couldBe, type ListedJob } from '../domain/cron/matching.ts';
import { type CronSchedule, parseFields, parseTimezone } from '../domain/cron/schedule.ts';
import { ScheduleError } from '../domain/cron/schedule-error.ts';
import { CredentialsError, NotFoundError, PartnerctlError, RefusedError, ServiceError, ShapeError } from '../errors.ts';
import type { Found } from './create-once.ts';

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

/** Whether the service has no list that this token can read, so that trying again would not help. */
export function isClosed(error: unknown): error is PartnerctlError {
  if (error instanceof ShapeError || error instanceof NotFoundError || error instanceof RefusedError) return true;
  if (error instanceof CredentialsError) return error.facts.status === 403;
  return error instanceof ServiceError && error.facts.status === 501;
}

/**
 * What the service lists that is, or could be, one of the wanted jobs. The rest of the list is not kept.
 * @throws PartnerctlError as reading a list does
 */
async function sift(http: Http, wanted: readonly Wanted[]): Promise<(job: Wanted) => Found> {
  const names = new Set(wanted.map(({ name }) => name));
  const kept: ListedJob[] = [];
  for await (const item of listCronJobs(http)) {
    const listed = listedJob(item);
    if (listed.name === undefined || names.has(listed.name)) kept.push(listed);
  }
  // Pages shift while a list grows, so one job may be listed twice.
  const each = [...new Map(kept.map((listed) => [listed.cron_job_id, listed])).values()];
  return ({ agent_id, name }) => ({
    kind: 'read',
    same: each.filter((listed) => couldBe(listed, agent_id, name) === 'yes'),
    maybe: each.filter((listed) => couldBe(listed, agent_id, name) === 'maybe'),
  });
}

/** The jobs of the service, as far as a command's own are concerned. */
export interface ServiceJobs {
  /** The list is read once, when it is first asked for. @throws PartnerctlError where it could be read another time */
  find(job: Wanted): Promise<Found>;
  /** See `createCronJob`. */
  post(job: CronJob, timeoutMs: number): Promise<string>;
}

/**
 * @param wanted all the jobs that will be looked for
 * @param onClosed told once, when the list cannot be read with this token
 */
export function openServiceJobs(
  http: Http,
  wanted: readonly Wanted[],
  onClosed: (error: PartnerctlError) => Promise<void>,
): ServiceJobs {
  let looking: Promise<(job: Wanted) => Found> | undefined;

  async function look(): Promise<(job: Wanted) => Found> {
    try {
      return await sift(http, wanted);
    } catch (error) {
      if (!isClosed(error)) throw error;
      await onClosed(error);
      return () => ({ kind: 'closed' });
    }
  }

  return {
    async find(job) {
      looking ??= look();
      return (await looking)(job);
    },
    post: (job, timeoutMs) => createCronJob(http, job, timeoutMs),
  };
}
