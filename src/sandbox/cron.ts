import { Cron } from 'croner';
import * as v from 'valibot';
import { registerMessage } from './chat.ts';
import { found, isoTime, nonBlank, readBody, usableBy } from './input.ts';
import { listQuery, pageOf, pageSchema } from './pages.ts';
import type { Operation, Service } from './service.ts';
import { ensureChatSource } from './spaces.ts';
import { createId } from './store.ts';

const scheduleFields = v.strictObject({
  type: v.literal('cron', 'must be cron'),
  data: v.strictObject({ minute: v.string(), hour: v.string(), day_of_week: v.string() }),
  timezone: nonBlank,
});

function createCron({ data, timezone }: v.InferOutput<typeof scheduleFields>): Cron {
  const { minute, hour, day_of_week } = data;
  return new Cron(`${minute} ${hour} * * ${day_of_week}`, { timezone, paused: true, mode: '5-part' });
}

/** When a job runs. */
export const scheduleSchema = v.pipe(
  scheduleFields,
  usableBy((given) => createCron(given).nextRun(), 'is not a valid schedule in a known timezone'),
);

/** The body of spec §4.5. The spec leaves open what is required: here every field is, and `cron` is the one type. */
const jobBody = v.strictObject({
  agent_id: v.string(),
  name: nonBlank,
  instructions: nonBlank,
  schedule: scheduleSchema,
});

const jobSchema = v.object({
  cron_job_id: v.string(),
  ...jobBody.entries,
  created_at: isoTime,
  last_run_at: v.nullable(isoTime),
  /** Null if it never runs. */
  next_run_at: v.nullable(isoTime),
});

export type CronJob = v.InferOutput<typeof jobSchema>;

/**
 * Stores a job with its next run, and schedules that. When clocks go forward, a job with one run a day that falls into
 * the gap runs at the gap's end; when they go back, it runs only the first time. Jobs with wildcards, lists, or ranges
 * follow the wall clock. As with cron itself, a run that is due while the service is down is skipped.
 */
export function scheduleJob(service: Service, job: CronJob): CronJob {
  const { clock, store } = service;
  const after = Math.max(Date.parse(job.last_run_at ?? job.created_at), clock.now());
  const next = createCron(job.schedule).nextRun(new Date(after));
  const scheduled = { ...job, next_run_at: next?.toISOString() ?? null };
  store.cronJobs.put(scheduled);
  if (!next) return scheduled;
  clock.schedule(next.getTime(), () => {
    if (!store.cronJobs.get(job.cron_job_id)) return;
    run(service, scheduleJob(service, { ...job, last_run_at: next.toISOString() }));
  });
  return scheduled;
}

/**
 * Sends the instructions to the agent. The time of the run is stored together with the message and is part of its
 * external id, so that no run happens twice.
 */
function run(service: Service, job: CronJob): void {
  const agent = found(service.store.agents.get(job.agent_id), 'agent', job.agent_id);
  const { source } = ensureChatSource(service, agent, {});
  registerMessage(service, source, {
    session_id: `cron:${job.cron_job_id}`,
    text: job.instructions,
    external_message_id: `cron:${job.last_run_at}`,
  });
}

/** Scheduled jobs (spec §4.5, endpoints 9 and 10). The same body again creates another job. */
export const CRON_OPERATIONS: readonly Operation[] = [
  {
    method: 'POST',
    path: '/automation/partner-cron-jobs/',
    scope: 'cron_jobs.write',
    summary: 'Creates a scheduled job. The same request again creates another one.',
    body: jobBody,
    returns: jobSchema,
    handle: async (service, c) => {
      const input = await readBody(c, jobBody);
      found(service.store.agents.get(input.agent_id), 'agent', input.agent_id);
      const times = { created_at: service.clock.timestamp(), last_run_at: null, next_run_at: null };
      return c.json(scheduleJob(service, { cron_job_id: createId('cron'), ...input, ...times }), 201);
    },
  },
  {
    method: 'GET',
    path: '/automation/partner-cron-jobs/',
    scope: 'cron_jobs.read',
    summary: 'Lists the scheduled jobs, or those of one agent.',
    query: v.object({ ...listQuery.entries, agent_id: v.optional(v.string()) }),
    returns: pageSchema(jobSchema),
    handle: (service, c) => {
      const agentId = c.req.query('agent_id');
      const jobs = service.store.cronJobs.all();
      return c.json(pageOf(service, c, agentId === undefined ? jobs : jobs.filter((job) => job.agent_id === agentId)));
    },
  },
];
