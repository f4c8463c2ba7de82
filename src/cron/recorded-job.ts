import { isJsonObject, type JsonObject } from '../contract/json.ts';
import { NotFoundError } from '../errors.ts';
import type { LogRecord } from '../state/record.ts';
import type { OnceKind, RecordedObject, Reservation, Standing } from '../state/standing.ts';
import type { CronContext } from './context.ts';
import { cronKey, type JobData } from './job.ts';
import type { CronSchedule } from './schedule.ts';

export type JobReservation = Reservation<JobData>;
export type RecordedJob = RecordedObject<JobData>;
export type JobStanding = Standing<JobData>;

function isText(value: unknown): value is string {
  return typeof value === 'string';
}

function isTextOrNull(value: unknown): value is string | null {
  return value === null || isText(value);
}

function decodeSchedule(value: unknown): CronSchedule | null | undefined {
  if (value === null) return null;
  if (!isJsonObject(value)) return undefined;
  const { minute, hour, day_of_week, timezone } = value;
  if (!isText(minute) || !isText(hour) || !isText(day_of_week) || !isText(timezone)) return undefined;
  return { minute, hour, day_of_week, timezone };
}

function decode({ origin, agent_id, name, schedule: given, instructions_hash, content_hash }: JsonObject) {
  const schedule = decodeSchedule(given);
  if (!isText(origin) || !isText(agent_id) || !isText(name) || schedule === undefined) return undefined;
  if (!isTextOrNull(instructions_hash) || !isTextOrNull(content_hash)) return undefined;
  return { origin, agent_id, name, schedule, instructions_hash, content_hash };
}

/** Jobs in the state. */
export const JOBS: OnceKind<JobData> = {
  type: 'cron',
  decode,
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
  return new Set(created.flatMap(({ object }) => (isText(object) ? [object] : [])));
}

/** The error about a job that is not in the state. @param what how it was named: `with the key 4a51…` */
export function unknownJobError({ command }: Pick<CronContext, 'command'>, what: string): NotFoundError {
  return new NotFoundError(`The state knows no job ${what}.`, {
    hint: `To see the jobs and their keys: ${command(['cron', 'list', '--local', '-o', 'json'])}\nIs it in another state (--state)?`,
  });
}
