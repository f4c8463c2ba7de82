import * as v from 'valibot';
import { isJsonObject } from '../contract/json.ts';
import { NotFoundError } from '../errors.ts';
import type { LogRecord } from '../state/record.ts';
import type { OnceKind, RecordedObject, Reservation, Standing } from '../state/standing.ts';
import type { CronContext } from './context.ts';
import { cronKey, type JobData } from './job.ts';

export type JobReservation = Reservation<JobData>;
export type RecordedJob = RecordedObject<JobData>;
export type JobStanding = Standing<JobData>;

const nullableText = v.nullable(v.string());

const jobData = v.object({
  origin: v.string(),
  agent_id: v.string(),
  name: v.string(),
  schedule: v.nullable(
    v.object({ minute: v.string(), hour: v.string(), day_of_week: v.string(), timezone: v.string() }),
  ),
  instructions_hash: nullableText,
  content_hash: nullableText,
});

/** Jobs in the state. */
export const JOBS: OnceKind<JobData> = {
  type: 'cron',
  decode(data) {
    const { success, output } = v.safeParse(jobData, data);
    return success ? output : undefined;
  },
  keyOf: ({ origin, agent_id, name }) => cronKey(origin, agent_id, name),
};

/** Whether the records prove that the service's list of jobs was read before. A job may also be adopted without the list. */
export function provesListRead(records: readonly LogRecord[], origin: string): boolean {
  return records.some(({ type, data, seen, of }) => {
    if (!isJsonObject(data) || data.origin !== origin) return false;
    // Only the list knows the content of a job that has no reservation.
    return type === 'cron.reserved' ? Array.isArray(seen) : type === 'cron.created' && !of && data.schedule !== null;
  });
}

/** The reservations of a service that have not ended. @param origin its base URL */
export function openReservations(all: ReadonlyMap<string, JobStanding>, origin: string): readonly JobReservation[] {
  return [...all.values()].flatMap(({ open }) => open).filter(({ data }) => data.origin === origin);
}

/** The ids of all jobs ever recorded for one service, also of those that were forgotten. */
export function recordedIds(records: readonly LogRecord[], origin: string): ReadonlySet<string> {
  const created = records.filter(
    ({ type, data }) => type === 'cron.created' && isJsonObject(data) && data.origin === origin,
  );
  return new Set(created.flatMap(({ object }) => (typeof object === 'string' ? [object] : [])));
}

/** The error about a job that is not in the state. @param what how it was named: `with the key 4a51…` */
export function unknownJobError({ command }: Pick<CronContext, 'command'>, what: string): NotFoundError {
  return new NotFoundError(`The state knows no job ${what}.`, {
    hint: `To see the jobs and their keys: ${command(['cron', 'list', '--local', '-o', 'json'])}\nIs it in another state (--state)?`,
  });
}
