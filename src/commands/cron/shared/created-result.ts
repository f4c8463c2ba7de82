import { createJob } from '../../../api/calls.ts';
import type { Context } from '../../../cli/context.ts';
import { shellCommand } from '../../../cli/shell-command.ts';
import type { CreateDeps } from '../../../cron/create.ts';
import type { WantedJob } from '../../../cron/job.ts';
import type { ScheduleGap } from '../../../cron/listed-job.ts';
import { type CreateOutcome, outcomeError } from '../../../cron/outcomes.ts';
import { type CronResult, type DescribeSchedule, initialCronResult } from '../../../cron/result.ts';
import type { JobAccess, JobLists } from '../../../cron/service-jobs.ts';
import { joinSentences } from '../../../output/sentences.ts';

/** What `createJobs` needs. @param onPost called with each request that is sent */
export function createDeps(
  { warn, progress }: Context,
  { http, log, clock, signal }: JobAccess,
  lists: JobLists,
  onPost: (posting: Promise<string>) => void = () => undefined,
): CreateDeps {
  return {
    origin: http.baseUrl,
    log,
    clock,
    signal,
    lists,
    onUnavailable: (error) =>
      warn(`Cannot read the list of jobs: ${error.message} Only the state prevents duplicates.`),
    onWait: (ms) => progress.countdown(ms, (left) => `looking again in ${left}`),
    async post(job, { timeoutMs, maySend }) {
      const posting = createJob(http, job, { timeoutMs, maySend });
      onPost(posting);
      return await posting;
    },
  };
}

/** Returns the result to show for a job that was to be created. */
export async function toCreatedResult(
  wanted: WantedJob,
  outcome: CreateOutcome,
  { clock, flags }: Context,
  describe: DescribeSchedule,
): Promise<CronResult> {
  const { job } = wanted;
  return {
    ...(await initialCronResult({ ...wanted, key: outcome.key }, clock.now(), describe)),
    status: outcome.status,
    gap: 'gap' in outcome ? outcome.gap : undefined,
    cron_job_id: 'cron_job_id' in outcome ? outcome.cron_job_id : null,
    differences: outcome.status === 'blocked' ? (outcome.differences ?? []) : [],
    why: outcome.status === 'blocked' ? outcome.why : undefined,
    error: outcomeError(outcome, { job, command: (words) => shellCommand(words, flags) }),
  };
}

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
export function createGapWarner(context: Context): (result: CronResult) => Promise<void> {
  let isWarned = false;
  return async ({ job, cron_job_id, gap }) => {
    if (gap === undefined || isWarned) return;
    isWarned = true;
    const command = (leaf: string) => shellCommand(['contract', 'set', leaf, '<path>'], context.flags);
    const subject = `Job ${JSON.stringify(job.name)} of agent ${job.agent_id}`;
    const why = explainGap(gap, command);
    await context.warn(
      joinSentences(`${subject} exists as ${cron_job_id}. Its schedule could not be compared: ${why}`),
    );
  };
}
