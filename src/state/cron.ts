import { isJsonObject } from '../contract/json.ts';
import type { CronRecord, JobFacts } from '../cron/history.ts';
import type { CronSchedule } from '../cron/schedule.ts';
import { isOwner, isText, isTextOrNull, isTexts } from './guards.ts';
import { appendRecord, readLog } from './log.ts';
import { fieldsText, fieldText, type LogRecord } from './record.ts';
import { type UnusableLine, unusableLine } from './unusable.ts';

export interface CronLog {
  /** In the order of the file. */
  readonly records: readonly CronRecord[];
  /** Damaged lines: torn, changed, or no records at all. */
  readonly damaged: readonly UnusableLine[];
  /** Lines of a later version of this program, which may say anything of the same jobs. */
  readonly newer: readonly UnusableLine[];
}

/** Which records are wanted: those of one job, or all. */
export interface JobName {
  readonly key: string;
  readonly agent_id: string;
  readonly name: string;
}

const TYPES = [
  'cron.reserved',
  'cron.created',
  'cron.adopted',
  'cron.released',
  'cron.unknown',
  'cron.forgotten',
] as const satisfies readonly CronRecord['type'][];

/** Appends a record of a job; resolves once it is on disk. @throws LocalError; the record may be in the file all the same */
export async function appendCronRecord(path: string, record: CronRecord): Promise<void> {
  await appendRecord(path, record);
}

function isSchedule(value: unknown): value is CronSchedule {
  return isJsonObject(value) && [value.minute, value.hour, value.day_of_week, value.timezone].every(isText);
}

function factsOf(record: LogRecord): JobFacts | undefined {
  const { origin, agent_id, name, schedule, instructions_hash, content_hash } = record;
  if (!isText(origin) || !isText(agent_id) || !isText(name)) return undefined;
  if (schedule !== null && !isSchedule(schedule)) return undefined;
  if (!isTextOrNull(instructions_hash) || !isTextOrNull(content_hash)) return undefined;
  return { origin, agent_id, name, schedule, instructions_hash, content_hash };
}

/** A record of the log as one of a job; undefined where it lacks what it should have. */
export function cronRecordOf(record: LogRecord): CronRecord | undefined {
  const { id, at, type, key, reservation, cron_job_id, why, owner, until, seen, records } = record;
  if (!isText(key)) return undefined;
  const head = { id, at, key };
  if (type === 'cron.forgotten') return isTexts(records) ? { ...head, type, records } : undefined;
  if (type === 'cron.released' || type === 'cron.unknown') {
    return isText(reservation) && isText(why) ? { ...head, type, reservation, why } : undefined;
  }
  const facts = factsOf(record);
  if (facts === undefined) return undefined;
  if (type === 'cron.reserved') {
    if (!isOwner(owner) || !isText(until) || !(seen === null || isTexts(seen))) return undefined;
    return { ...head, type, ...facts, owner, until, seen };
  }
  if (type === 'cron.created' || type === 'cron.adopted') {
    if (!isTextOrNull(reservation) || !isText(cron_job_id)) return undefined;
    return { ...head, type, ...facts, reservation, cron_job_id };
  }
  return undefined;
}

/**
 * Reads what the state file says of one job, or of all.
 * @param only leaves out what cannot concern this job, which costs next to nothing then. Its agent and name are looked for
 *   beside its key, so that a line whose key was damaged is seen to be damaged.
 * @throws LocalError when the file is there and cannot be read
 */
export async function readCronLog(path: string, only?: JobName): Promise<CronLog> {
  const records: CronRecord[] = [];
  const damaged: UnusableLine[] = [];
  const newer: UnusableLine[] = [];
  const containing = only
    ? [fieldText('key', only.key), fieldsText({ agent_id: only.agent_id, name: only.name })]
    : TYPES.map((type) => fieldText('type', type));
  for await (const entry of readLog(path, { containing })) {
    const unusable = unusableLine(entry);
    if (unusable) (entry.kind === 'newer' ? newer : damaged).push(unusable);
    if (entry.kind !== 'record' || !entry.record.type.startsWith('cron.')) continue;
    const record = cronRecordOf(entry.record);
    if (record === undefined) damaged.push({ line: entry.line, why: 'not a whole record of a scheduled job' });
    else if (only === undefined || record.key === only.key) records.push(record);
  }
  return { records, damaged, newer };
}
