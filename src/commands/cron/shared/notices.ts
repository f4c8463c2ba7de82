import type { Context } from '../../../cli/context.ts';
import type { CreateHooks } from '../../../cron/create-wanted.ts';
import type { CronResult } from '../../../cron/result.ts';

/** Returns a function that warns, once per command, of a job whose schedule could not be compared. */
export function createScheduleWarner(
  context: Pick<Context, 'command' | 'warn'>,
): (result: CronResult) => Promise<void> {
  let isWarned = false;
  return async ({ job, cron_job_id, isScheduleUnknown }) => {
    if (!isScheduleUnknown || isWarned) return;
    isWarned = true;
    const set = (leaf: string) => context.command(['contract', 'set', leaf, '<path>']);
    const subject = `Job ${JSON.stringify(job.name)} of agent ${job.agent_id}`;
    await context.warn(
      `${subject} exists as ${cron_job_id}. Its schedule could not be compared: the list does not show all of it, or not in a known form. Compare it at the service. If the list has it, or its time zone, under another name: ${set('cron_job.schedule')} or ${set('cron_job.timezone')}`,
    );
  };
}

/** Tells the user what happens while jobs are created. */
export function createHooks({
  warn,
  progress,
}: Pick<Context, 'warn' | 'progress'>): Pick<CreateHooks, 'onUnavailable' | 'onWait'> {
  return {
    onUnavailable: (error) =>
      warn(`Cannot read the list of jobs: ${error.message} Only the state prevents duplicates.`),
    onWait: (ms) => progress.countdown(ms, (left) => `looking again in ${left}`),
  };
}
