import { type CronJob, isSameInstructions } from './job.ts';
import { type CronSchedule, isSameSchedule } from './schedule.ts';
import { ScheduleError } from './schedule-error.ts';

/** A job in the service's list; undefined is what the service does not say. The schedule is as sent, not normalized. */
export interface ListedJob {
  readonly cron_job_id: string;
  readonly agent_id: string | undefined;
  readonly name: string | undefined;
  readonly instructions: string | undefined;
  readonly schedule: CronSchedule | undefined;
}

/** A name in Unicode NFC: a service may return it in another form than it was sent. */
export function normalizeName(name: string): string {
  return name.normalize('NFC');
}

/** Whether a listed job has this agent and name; `maybe` where the service does not say one of them. */
export function matchIdentity(listed: ListedJob, agentId: string, name: string): 'yes' | 'no' | 'maybe' {
  const agent = listed.agent_id ?? agentId;
  const called = listed.name ?? name;
  if (agent !== agentId || normalizeName(called) !== normalizeName(name)) return 'no';
  return listed.agent_id === undefined || listed.name === undefined ? 'maybe' : 'yes';
}

/** Whether two schedules mean the same times; undefined when one of them is missing or not readable. */
export function hasSameSchedule(listed: CronSchedule | undefined, wanted: CronSchedule): boolean | undefined {
  if (!listed) return undefined;
  try {
    return isSameSchedule(listed, wanted);
  } catch (error) {
    if (error instanceof ScheduleError) return undefined;
    throw error;
  }
}

/**
 * Whether a listed job has the same instructions and schedule, by meaning. One difference is enough for `different`;
 * `unknown` means no known difference, with a part that is missing or not readable.
 */
export function matchContent(
  listed: ListedJob,
  job: Pick<CronJob, 'instructions' | 'schedule'>,
): 'same' | 'different' | 'unknown' {
  const text =
    listed.instructions === undefined ? undefined : isSameInstructions(listed.instructions, job.instructions);
  const schedule = hasSameSchedule(listed.schedule, job.schedule);
  if (text === false || schedule === false) return 'different';
  return text && schedule ? 'same' : 'unknown';
}
