import { type CronJob, isSameInstructions } from './job.ts';
import { type CronSchedule, isSameSchedule } from './schedule.ts';
import { ScheduleError } from './schedule-error.ts';

/** A job in the service's list, as far as the service says. Its schedule is as it came, not in the canonical form. */
export interface ListedJob {
  readonly cron_job_id: string;
  readonly agent_id: string | undefined;
  readonly name: string | undefined;
  readonly instructions: string | undefined;
  readonly schedule: CronSchedule | undefined;
}

/** A name in the one form of several for the same characters: a service may give it back in another than it got. */
export function composed(name: string): string {
  return name.normalize('NFC');
}

/** Whether a listed job is the one of an agent and name; `maybe` where the service does not say one of them. */
export function couldBe(listed: ListedJob, agentId: string, name: string): 'yes' | 'no' | 'maybe' {
  const agent = listed.agent_id ?? agentId;
  const called = listed.name ?? name;
  if (agent !== agentId || composed(called) !== composed(name)) return 'no';
  return listed.agent_id === undefined || listed.name === undefined ? 'maybe' : 'yes';
}

/** Whether two schedules mean the same times; undefined where that cannot be told. */
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
 * Whether a listed job does the same at the same times, by meaning. One part that differs is enough to tell them apart;
 * `unknown` where none does, and a part is not said or not readable.
 */
export function contentOf(
  listed: ListedJob,
  job: Pick<CronJob, 'instructions' | 'schedule'>,
): 'same' | 'different' | 'unknown' {
  const text =
    listed.instructions === undefined ? undefined : isSameInstructions(listed.instructions, job.instructions);
  const schedule = hasSameSchedule(listed.schedule, job.schedule);
  if (text === false || schedule === false) return 'different';
  return text && schedule ? 'same' : 'unknown';
}
