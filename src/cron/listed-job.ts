import { type CronJob, isSameAgent, isSameInstructions, toNfc } from './job.ts';
import { type CronSchedule, isSameSchedule } from './schedule.ts';
import { ScheduleError } from './schedule-error.ts';

/** A job in the service's list. Fields that the service leaves out are undefined. The schedule is not normalized. */
export interface ListedJob {
  readonly cron_job_id: string;
  readonly agent_id: string | undefined;
  /** A text in place of the agent: its id or its name. */
  readonly agent_text?: string | undefined;
  readonly name: string | undefined;
  readonly instructions: string | undefined;
  readonly schedule: CronSchedule | undefined;
}

/** What identifies a listed job. */
export type ListedJobIdentity = Pick<ListedJob, 'cron_job_id' | 'agent_id' | 'agent_text' | 'name'>;

/** Whether a listed job has this agent and name; `maybe` if the service leaves one of them out. */
export function matchIdentity(listed: ListedJob, agentId: string, name: string): 'yes' | 'no' | 'maybe' {
  const isNamed = listed.agent_text !== undefined && isSameAgent(listed.agent_text, agentId);
  const known = listed.agent_id ?? (isNamed ? agentId : undefined);
  const listedName = listed.name ?? name;
  if (!isSameAgent(known ?? agentId, agentId) || toNfc(listedName) !== toNfc(name)) return 'no';
  return known === undefined || listed.name === undefined ? 'maybe' : 'yes';
}

/** Whether two schedules have the same meaning; undefined if one is missing or invalid. */
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
