import { isJsonObject, type JsonObject } from '../contract/json.ts';
import { NotFoundError } from '../errors.ts';
import type { LogRecord } from '../state/record.ts';
import type { OnceKind, RecordedObject, Reservation, Standing } from '../state/standing.ts';
import { type CronJob, contentHash, cronKey, instructionsHash, type JobIdentity } from './job.ts';
import { completeSchedule, hasSameSchedule, type ListedJob } from './listed-job.ts';
import type { CronSchedule } from './schedule.ts';

/** What the state keeps of a job: enough to recognize it and to show differences, but not its instructions. */
export interface JobData extends JobIdentity {
  /** Null if the service did not return it when the job was adopted. */
  readonly schedule: CronSchedule | null;
  readonly instructions_hash: string | null;
  readonly content_hash: string | null;
}

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

/** Jobs in the state (design §6). */
export const JOBS: OnceKind<JobData> = {
  type: 'cron',
  decode,
  keyOf: ({ origin, agent_id, name }) => cronKey(origin, agent_id, name),
};

/** The data of a job to create. */
export function toJobData(origin: string, job: CronJob): JobData {
  const { agent_id, name, schedule, instructions } = job;
  const hashes = { instructions_hash: instructionsHash(instructions), content_hash: contentHash(job) };
  return { origin, agent_id, name, schedule, ...hashes };
}

/** The data of a listed job; null for what the service does not return, or not in a known form. */
export function listedData({ origin, agent_id, name }: JobIdentity, listed: ListedJob): JobData {
  const { instructions } = listed;
  const schedule = completeSchedule(listed.schedule) ?? null;
  return {
    origin,
    agent_id,
    name,
    schedule,
    instructions_hash: instructions === undefined ? null : instructionsHash(instructions),
    content_hash: schedule && instructions !== undefined ? contentHash({ schedule, instructions }) : null,
  };
}

/** The data of an adopted job: as the service lists it or, if the list leaves out a part of its content, as recorded. */
export function adoptedData(
  { origin, agent_id, name }: JobIdentity,
  listed: ListedJob | undefined,
  recorded: JobData | undefined,
): JobData {
  const remote = listed && listedData({ origin, agent_id, name }, listed);
  const content = remote?.content_hash ? remote : (recorded ?? remote);
  const { schedule = null, instructions_hash = null, content_hash = null } = content ?? {};
  return { origin, agent_id, name, schedule, instructions_hash, content_hash };
}

/** Whether two jobs have different instructions or schedules. Missing parts count as equal. */
export function hasOtherContent(one: JobData, other: JobData): boolean {
  if (one.content_hash !== null && other.content_hash !== null) {
    if (one.content_hash === other.content_hash) return false;
    // Two names of one time zone also give different hashes.
    const hasSameText = one.instructions_hash === other.instructions_hash;
    return !hasSameText || !other.schedule || hasSameSchedule(one.schedule ?? undefined, other.schedule) !== true;
  }
  const hashes = [one.instructions_hash, other.instructions_hash];
  if (!hashes.includes(null) && hashes[0] !== hashes[1]) return true;
  return other.schedule !== null && hasSameSchedule(one.schedule ?? undefined, other.schedule) === false;
}

function dataOf({ data }: LogRecord): JobData | undefined {
  return isJsonObject(data) ? decode(data) : undefined;
}

/** The ids of all jobs ever recorded for one service, also of those that were forgotten. */
export function recordedIds(records: readonly LogRecord[], origin: string): ReadonlySet<string> {
  const created = records.filter((record) => record.type === 'cron.created' && dataOf(record)?.origin === origin);
  return new Set(created.flatMap(({ object }) => (isText(object) ? [object] : [])));
}

/** Whether the records prove that the service's list of jobs was read before. A job may also be adopted without the list. */
export function provesListRead(records: readonly LogRecord[], origin: string): boolean {
  return records.some((record) => {
    const data = dataOf(record);
    if (data?.origin !== origin) return false;
    if (record.type === 'cron.reserved') return Array.isArray(record.seen);
    // Only the list knows the content of a job that has no reservation.
    return record.type === 'cron.created' && record.of === undefined && data.schedule !== null;
  });
}

/** Returns the key of the recorded job with an id of the service; undefined unless exactly one has it. */
export function findKeyById(all: ReadonlyMap<string, JobStanding>, cronJobId: string): string | undefined {
  const jobs = [...all.values()].flatMap(({ objects }) => objects);
  const [key, ...others] = new Set(jobs.filter(({ object }) => object === cronJobId).map((job) => job.key));
  return others.length === 0 ? key : undefined;
}

/** The error about a job, selected by its agent and name, that is not in the state. */
export function unknownJobError({ agent_id, name }: Pick<JobIdentity, 'agent_id' | 'name'>): NotFoundError {
  return new NotFoundError(`The state knows no job ${JSON.stringify(name)} of agent ${agent_id}.`, {
    hint: '`partnerctl cron list --local` shows the jobs. Is it in another state (--state)?',
  });
}

/** The error about a key that is not in the state. */
export function unknownKeyError(key: string, what: 'key' | 'key or id' = 'key'): NotFoundError {
  return new NotFoundError(`The state knows no job with the ${what} ${key}.`, {
    hint: '`partnerctl cron list --local -o json` shows the keys. Is it in another state (--state)?',
  });
}
