import type { Context } from '../../../cli/context.ts';
import type { CreateHooks } from '../../../cron/create-wanted.ts';
import type { ScheduleGap } from '../../../cron/listed-job.ts';
import type { CronResult } from '../../../cron/result.ts';
import { joinSentences } from '../../../output/sentences.ts';

const COMPARE = 'Compare it at the service.';

/** Why a schedule could not be compared, and what to do about it. */
function explainGap(gap: ScheduleGap, command: (leaf: string) => string): string {
  switch (gap.kind) {
    case 'unlisted':
      return `the list does not show the job.\n${COMPARE}`;
    case 'fields':
      return `the list shows no schedule that can be read.\n${COMPARE} If the list has it under another name: ${command('cron_job.schedule')}`;
    case 'timezone':
      if (gap.shown !== undefined) {
        return `the list shows the time zone ${JSON.stringify(gap.shown)}, which is no known IANA name.\n${COMPARE}`;
      }
      return `the list shows no time zone.\n${COMPARE} If the list has it under another name: ${command('cron_job.timezone')}`;
  }
}

/** Returns a function that warns, once per command, of a job whose schedule could not be compared. */
export function createGapWarner(context: Pick<Context, 'command' | 'warn'>): (result: CronResult) => Promise<void> {
  let isWarned = false;
  return async ({ job, cron_job_id, gap }) => {
    if (gap === undefined || isWarned) return;
    isWarned = true;
    const command = (leaf: string) => context.command(['contract', 'set', leaf, '<path>']);
    const subject = `Job ${JSON.stringify(job.name)} of agent ${job.agent_id}`;
    const why = explainGap(gap, command);
    await context.warn(
      joinSentences(`${subject} exists as ${cron_job_id}. Its schedule could not be compared: ${why}`),
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

/** Explains what Ctrl-C waits for while a request is in flight. */
export function explainInterrupt(
  { signals: { interrupt }, notice }: Pick<Context, 'signals' | 'notice'>,
  posting: Promise<string>,
): void {
  const explain = (): void => {
    void notice(
      'The request was sent. Waiting briefly for the response, which contains the id of the job. If you press Ctrl-C again, run `partnerctl cron reconcile` to find out whether the job exists.',
    );
  };
  interrupt.addEventListener('abort', explain, { once: true });
  const end = (): void => interrupt.removeEventListener('abort', explain);
  posting.then(end, end);
}
