import { isJsonObject } from '../contract/json.ts';
import { canonicalId } from '../contract/uuid.ts';
import type { RecordFormat } from '../state-old/ledger.ts';
import type { OnceRecord, RecordedObject, Reservation } from '../state-old/once-records.ts';
import { isText, isTextOrNull, type LogRecord } from '../state-old/record.ts';
import { type CronJob, contentHash, cronKey, instructionsHash, type JobIdentity, toNfc } from './job.ts';
import { completeSchedule, hasSameSchedule, type ListedJob } from './listed-job.ts';
import type { CronSchedule } from './schedule.ts';

/** What the state file keeps of a job: enough to recognize it and to show differences, but not its instructions. */
export interface JobSnapshot extends JobIdentity {
  /** Null if the service did not return it when the job was adopted. */
  readonly schedule: CronSchedule | null;
  readonly instructions_hash: string | null;
  readonly content_hash: string | null;
}

export type JobRecord = OnceRecord<JobSnapshot>;
export type JobReservation = Reservation<JobSnapshot>;
export type RecordedJob = RecordedObject<JobSnapshot>;

function isSchedule(value: unknown): value is CronSchedule {
  return isJsonObject(value) && [value.minute, value.hour, value.day_of_week, value.timezone].every(isText);
}

function decodeSnapshot(record: LogRecord): JobSnapshot | undefined {
  const { origin, agent_id, name, schedule, instructions_hash, content_hash } = record;
  if (!isText(origin) || !isText(agent_id) || !isText(name)) return undefined;
  if (schedule !== null && !isSchedule(schedule)) return undefined;
  if (!isTextOrNull(instructions_hash) || !isTextOrNull(content_hash)) return undefined;
  return { origin, agent_id, name, schedule, instructions_hash, content_hash };
}

const TYPES = {
  reserved: 'cron.reserved',
  created: 'cron.created',
  adopted: 'cron.adopted',
  released: 'cron.released',
  unknown: 'cron.unknown',
  forgotten: 'cron.forgotten',
} as const;

/** How records of scheduled jobs are written in the state file. */
export const JOB_RECORDS: RecordFormat<JobSnapshot> = {
  types: TYPES,
  reservationField: 'reservation',
  remoteIdField: 'cron_job_id',
  noun: 'a scheduled job',
  family: 'cron.',
  canonicalKey: ({ origin, agent_id, name }) =>
    toNfc(name) === name && canonicalId(agent_id) === agent_id ? undefined : cronKey(origin, agent_id, name),
  decodeSnapshot,
};

/** The snapshot of a job to create. @param normalize as for `contentHash` */
export function toJobSnapshot(
  origin: string,
  job: CronJob,
  normalize?: (schedule: CronSchedule) => string,
): JobSnapshot {
  const { agent_id, name, schedule, instructions } = job;
  const hashes = { instructions_hash: instructionsHash(instructions), content_hash: contentHash(job, normalize) };
  return { origin, agent_id, name, schedule, ...hashes };
}

/** The snapshot of a listed job; null for what the service does not return, or not in a known form. */
export function listedSnapshot({ origin, agent_id, name }: JobIdentity, listed: ListedJob): JobSnapshot {
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

/**
 * The snapshot to record of an adopted job: as the service lists it or, if the list leaves out a part of its content, as it
 * is recorded already.
 */
export function adoptedSnapshot(
  { origin, agent_id, name }: JobIdentity,
  listed: ListedJob | undefined,
  recorded: JobSnapshot | undefined,
): JobSnapshot {
  const remote = listed && listedSnapshot({ origin, agent_id, name }, listed);
  const content = remote?.content_hash ? remote : (recorded ?? remote);
  const { schedule = null, instructions_hash = null, content_hash = null } = content ?? {};
  return { origin, agent_id, name, schedule, instructions_hash, content_hash };
}

/** Whether two jobs have different instructions or schedules. Missing parts count as equal. */
export function hasOtherContent(one: JobSnapshot, other: JobSnapshot): boolean {
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

/** Whether the records prove that the service's list of jobs was read before. A job may also be adopted without the list. */
export function provesListRead(records: readonly JobRecord[], origin: string): boolean {
  const recorded = new Set<string>();
  for (const record of records) {
    if (!('snapshot' in record) || record.snapshot.origin !== origin) continue;
    if (record.kind === 'reserved') {
      if (record.remoteIdsSeen !== null) return true;
      continue;
    }
    // Only the list knows the content of a job that has no other record.
    const isNew = record.reservation === null && !recorded.has(record.remoteId);
    if (record.kind === 'adopted' && isNew && record.snapshot.schedule !== null) return true;
    recorded.add(record.remoteId);
  }
  return false;
}

/** The ids of all jobs ever recorded for one service. Other services may use the same ids. */
export function recordedIds(records: readonly JobRecord[], origin: string): ReadonlySet<string> {
  const ids = records.flatMap((record) =>
    'remoteId' in record && record.snapshot.origin === origin ? [record.remoteId] : [],
  );
  return new Set(ids);
}
