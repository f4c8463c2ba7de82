import type { Retirement } from '../contract/retirement.ts';
import { canonicalId, comparableAgent } from '../contract/values.ts';
import { type CronJob, isSameInstructions, toNfc } from './job.ts';
import { type CronSchedule, normalizePart, parseFields, SCHEDULE_PARTS, type ScheduleParts } from './schedule.ts';
import { ScheduleError } from './schedule-error.ts';
import { parseTimezone } from './time-zone.ts';

/** A job in the service's list. Fields that the service leaves out are undefined. The schedule is as the service shows it. */
export interface ListedJob {
  readonly cron_job_id: string;
  readonly agent_id: string | undefined;
  /** A text in place of the agent: its id or its name. */
  readonly agent_text?: string | undefined;
  readonly name: string | undefined;
  readonly instructions: string | undefined;
  readonly schedule: ScheduleParts | undefined;
  /** What shows that the service has deleted the job, and lists it all the same. */
  readonly retirement?: Retirement | undefined;
}

function matchAgent({ agent_id, agent_text }: ListedJob, agentId: string): 'yes' | 'no' | 'maybe' {
  // Addresses may end alike.
  const compared = agentId.includes('/') ? canonicalId : comparableAgent;
  const isAgent = (shown: string) => compared(shown) === compared(agentId);
  if (agent_id !== undefined) return isAgent(agent_id) ? 'yes' : 'no';
  if (agent_text !== undefined && isAgent(agent_text)) return 'yes';
  return 'maybe';
}

/** Whether a listed job has this agent and name; `maybe` if the service leaves one of them out. */
export function matchIdentity(listed: ListedJob, agentId: string, name: string): 'yes' | 'no' | 'maybe' {
  const agent = matchAgent(listed, agentId);
  if (agent === 'no' || toNfc(listed.name ?? name) !== toNfc(name)) return 'no';
  return listed.name === undefined ? 'maybe' : agent;
}

function orIfInvalid<Value, Other>(read: () => Value, other: Other): Value | Other {
  try {
    return read();
  } catch (error) {
    if (error instanceof ScheduleError) return other;
    throw error;
  }
}

/** The schedule; undefined if a part is missing or invalid. */
export function completeSchedule(parts: ScheduleParts | undefined): CronSchedule | undefined {
  const { minute, hour, day_of_week, timezone } = parts ?? {};
  if (minute === undefined || hour === undefined || day_of_week === undefined || timezone === undefined)
    return undefined;
  const read = () => ({ ...parseFields({ minute, hour, day_of_week }), timezone: parseTimezone(timezone) });
  return orIfInvalid(read, undefined);
}

/** Whether a part has the same meaning; undefined if it is missing or invalid. */
function hasSamePart(part: keyof CronSchedule, shown: string | undefined, wanted: string): boolean | undefined {
  if (shown === undefined) return undefined;
  return orIfInvalid(() => normalizePart(part, shown) === normalizePart(part, wanted), undefined);
}

/** Whether two schedules have the same meaning: false if a part differs; otherwise undefined if one is missing or invalid. */
export function hasSameSchedule(shown: ScheduleParts | undefined, wanted: CronSchedule): boolean | undefined {
  const same = SCHEDULE_PARTS.map((part) => hasSamePart(part, shown?.[part], wanted[part]));
  if (same.includes(false)) return false;
  return same.includes(undefined) ? undefined : true;
}

/** Why a schedule cannot be compared. */
export type ScheduleGap =
  /** Its cron fields are not shown, or not in a known form; `unlisted`: the job is not in the list, or there is none. */
  | { readonly kind: 'fields' | 'unlisted' }
  /** Its time zone is not shown, or is none that can be read. */
  | { readonly kind: 'timezone'; readonly shown: string | undefined };

/** Why a listed job's schedule cannot be compared; undefined if it can be. */
export function findScheduleGap({ schedule }: ListedJob): ScheduleGap | undefined {
  if (completeSchedule(schedule)) return undefined;
  if (!completeSchedule(schedule && { ...schedule, timezone: 'UTC' })) return { kind: 'fields' };
  return { kind: 'timezone', shown: schedule?.timezone };
}

/**
 * Compares the meaning of a listed job's instructions and schedule with those of a job. `unknown` means that no
 * difference was found, but a part is missing or invalid.
 */
export function matchContent(
  listed: ListedJob,
  job: Pick<CronJob, 'instructions' | 'schedule'>,
): 'same' | 'different' | 'unknown' {
  const instructions =
    listed.instructions === undefined ? undefined : isSameInstructions(listed.instructions, job.instructions);
  const schedule = hasSameSchedule(listed.schedule, job.schedule);
  if (instructions === false || schedule === false) return 'different';
  return instructions && schedule ? 'same' : 'unknown';
}
