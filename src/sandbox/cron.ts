import { Cron } from 'croner';
import * as v from 'valibot';
import { registerMessage } from './chat.ts';
import { nonBlank, readBody } from './input.ts';
import { pageOf } from './pages.ts';
import { type CronJob, cronJobSchema } from './resources.ts';
import { createId, type Operation, type Service, timestamp } from './service.ts';
import { ensureChatSource, requireAgent } from './spaces.ts';

/** A missed run still happens if it is less than this many milliseconds late. */
const GRACE_MS = 60_000;

function createCron({ data, timezone }: CronJob['schedule']): Cron {
  const { minute, hour, day_of_week } = data;
  return new Cron(`${minute} ${hour} * * ${day_of_week}`, { timezone, paused: true, mode: '5-part' });
}

/** Describes what is wrong with a schedule; undefined if it is valid. */
function scheduleProblem(schedule: CronJob['schedule']): string | undefined {
  try {
    createCron(schedule).nextRun();
    return schedule.timezone === '' ? 'needs a timezone' : undefined;
  } catch (error) {
    return `is not valid: ${error instanceof Error ? error.message : error}`;
  }
}

/** The body of spec §4.5. The spec leaves open what is required: here every field is, and `cron` is the one type. */
const jobBody = v.strictObject({
  agent_id: v.string(),
  name: nonBlank(),
  instructions: nonBlank(100_000),
  schedule: v.pipe(
    v.strictObject({
      type: v.literal('cron', 'must be cron'),
      data: v.strictObject({ minute: v.string(), hour: v.string(), day_of_week: v.string() }),
      timezone: v.string(),
    }),
    v.check(
      (schedule) => scheduleProblem(schedule) === undefined,
      ({ input }) => scheduleProblem(input) ?? '',
    ),
  ),
});

const listQuery = v.object({ agent_id: v.optional(v.string()) });

/** The session of a job's runs, in the API chat source of its agent. */
export function sessionIdOf({ cron_job_id }: CronJob): string {
  return `cron:${cron_job_id}`;
}

/** A job as the service returns it. */
export function toPublicJob({ clock }: Service, job: CronJob) {
  const next = clock.dueAt(sessionIdOf(job));
  return { ...job, next_run_at: next === undefined ? null : new Date(next).toISOString() };
}

/**
 * Schedules the next run of a job. When clocks go forward, a job with one run a day that falls into the gap runs at the gap's
 * end; when they go back, it runs only the first time. Jobs with wildcards, lists, or ranges follow the wall clock.
 *
 * As with cron itself, a run that is missed while the service is down is skipped, unless it is less than a minute late.
 */
export function scheduleJob(service: Service, job: CronJob): void {
  const { clock, store } = service;
  const after = Math.max(Date.parse(job.last_run_at ?? job.created_at), clock.now() - GRACE_MS);
  const next = createCron(job.schedule).nextRun(new Date(after));
  if (!next) return;
  clock.schedule(sessionIdOf(job), next.getTime(), (due) => {
    const ran = { ...job, last_run_at: new Date(due).toISOString() };
    const isMissed = clock.now() - due >= GRACE_MS;
    if (!isMissed) {
      store.cronJobs.put(ran);
      run(service, ran);
    }
    scheduleJob(service, isMissed ? job : ran);
  });
}

/**
 * Sends the instructions to the agent. The time of the run is stored together with the message and is part of its external id,
 * so that no run happens twice.
 */
function run(service: Service, job: CronJob): void {
  const { source } = ensureChatSource(service, requireAgent(service, job.agent_id), {});
  registerMessage(service, source, {
    session_id: sessionIdOf(job),
    text: job.instructions,
    external_message_id: `cron:${job.last_run_at}`,
    cron_job_id: job.cron_job_id,
  });
}

/** Deletes a job, and the schedule of its runs. */
export function removeJob({ store, clock }: Service, job: CronJob): void {
  store.cronJobs.remove(job.cron_job_id);
  clock.cancel(sessionIdOf(job));
}

/** Scheduled jobs (spec §4.5, endpoints 9 and 10). Creation is not idempotent: the same body again creates another job. */
export function cronOperations(service: Service): Operation[] {
  const { store } = service;
  const path = '/automation/partner-cron-jobs/';
  return [
    {
      id: 'createCronJob',
      method: 'POST',
      path,
      scope: 'cron_jobs.write',
      summary: 'Creates a scheduled job. The same request again creates another one.',
      body: jobBody,
      returns: cronJobSchema,
      statuses: [201],
      handle: async (c) => {
        const input = await readBody(c, jobBody);
        requireAgent(service, input.agent_id);
        const job = { cron_job_id: createId('cron'), ...input, created_at: timestamp(service), last_run_at: null };
        store.cronJobs.put(job);
        scheduleJob(service, job);
        return c.json(toPublicJob(service, job), 201);
      },
    },
    {
      id: 'listCronJobs',
      method: 'GET',
      path,
      scope: 'cron_jobs.read',
      summary: 'Lists the scheduled jobs, or those of one agent.',
      query: listQuery,
      returns: cronJobSchema,
      list: 'counted',
      handle: (c) => {
        const agentId = c.req.query('agent_id');
        const jobs = store.cronJobs.all().filter(({ agent_id }) => agentId === undefined || agent_id === agentId);
        return c.json(pageOf(service, c, jobs, (job) => toPublicJob(service, job)));
      },
    },
  ];
}
