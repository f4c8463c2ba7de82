import type { Http } from '../../../api/http.ts';
import type { Context } from '../../../cli/context.ts';
import { createWanted } from '../../../cron/create-wanted.ts';
import { createScheduleDescriber } from '../../../cron/describe-schedule.ts';
import type { CronResult, WantedJob } from '../../../cron/result.ts';
import { createHints, createJobLists, jobSourceOf } from '../../../cron/service-jobs.ts';
import type { Log } from '../../../state/log.ts';

/** Explains what Ctrl-C waits for while a request is in flight. */
function explainInterrupt({ signals: { interrupt }, notice, command }: Context, posting: Promise<string>): void {
  const explain = (): void => {
    void notice(
      `The request was sent. Waiting briefly for the response, which contains the id of the job. If you press Ctrl-C again, find out whether the job exists with: ${command(['cron', 'reconcile'])}`,
    );
  };
  interrupt.addEventListener('abort', explain, { once: true });
  const end = (): void => interrupt.removeEventListener('abort', explain);
  posting.then(end, end);
}

/** The warning about a job whose schedule could not be compared. */
function scheduleWarning({ job, cron_job_id }: CronResult, { command }: Context): string {
  const set = (leaf: string) => command(['contract', 'set', leaf, '<path>']);
  const subject = `Job ${JSON.stringify(job.name)} of agent ${job.agent_id}`;
  return `${subject} exists as ${cron_job_id}. Its schedule could not be compared: the list does not show all of it, or not in a known form. Compare it at the service. If the list has it, or its time zone, under another name: ${set('cron_job.schedule')} or ${set('cron_job.timezone')}`;
}

/** Opens what creates the jobs of a command, which reads the list of the service's jobs once, and warns of a schedule once. */
export function openJobs(
  context: Context,
  {
    http,
    log,
    ...options
  }: { readonly http: Http; readonly log: Log; readonly ensure: boolean; readonly dryRun: boolean },
) {
  const { clock, warn, progress } = context;
  const describe = createScheduleDescriber();
  const lists = createJobLists(jobSourceOf(http, log, clock), createHints(context, options.dryRun));
  const hooks = {
    ...options,
    ...{ http, log, describe, lists },
    onUnavailable: (error: Error) =>
      warn(`Cannot read the list of jobs: ${error.message} Only the state prevents duplicates.`),
    onWait: (ms: number) => progress.countdown(ms, (left) => `looking again in ${left}`),
    onPost: (posting: Promise<string>) => explainInterrupt(context, posting),
  };
  let isWarned = false;
  async function* create(wanted: readonly WantedJob[]): AsyncGenerator<CronResult> {
    for await (const result of createWanted(context, wanted, hooks)) {
      if (result.isScheduleUnknown && !isWarned) {
        isWarned = true;
        await warn(scheduleWarning(result, context));
      }
      yield result;
    }
  }
  return { describe, lists, create };
}
