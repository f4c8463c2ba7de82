import { Cron } from 'croner';
import * as v from 'valibot';
import { canReach } from './access.ts';
import { registerMessage } from './chat.ts';
import { found, nonBlank, usableBy } from './input.ts';
import { listQuery, pageOf, pageSchema } from './pages.ts';
import { ROUTES } from './routes.ts';
import { type CronJob, createId, jobSchema, type Schedule, scheduleFields } from './rows.ts';
import { type Operation, readBody, type Service } from './service.ts';

/** A field of cron: `*`, numbers, names, ranges, steps, and lists of them. Croner also takes others, such as `5L`. */
const FIELD = /^(\*|(\d{1,2}|[a-z]{3})(-(\d{1,2}|[a-z]{3}))?)(\/\d{1,2})?$/i;

/** @throws Error unless the schedule is valid */
function createCron({ data, timezone }: Schedule): Cron {
  const { minute, hour, day_of_week } = data;
  const parts = [minute, hour, day_of_week].flatMap((field) => field.split(','));
  if (!parts.every((part) => FIELD.test(part))) throw new TypeError('It has a field that is no cron field.');
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
 * Sends the instructions to the agent. They are a message in the agent's API chat source, if it has one: a run sets up
 * none. The time of the run is stored together with the message and is part of its external id, so that no run happens
 * twice.
 */
function run(service: Service, { agent_id, cron_job_id, instructions, last_run_at }: CronJob): void {
  const [source] = service.store.sources.in({ agent_id });
  if (!source) return;
  const session_id = `cron:${cron_job_id}`;
  registerMessage(service, source, { session_id, text: instructions, external_message_id: `cron:${last_run_at}` });
}

/** Scheduled jobs (spec §4.5, endpoints 9 and 10). The same body again creates another job. */
export const CRON_OPERATIONS: readonly Operation[] = [
  {
    ...ROUTES.createJob,
    body: jobBody,
    returns: jobSchema,
    handle: async (service, c) => {
      const input = await readBody(c, jobBody);
      const agent = service.store.agents.get(input.agent_id);
      found(canReach(c, agent?.space_id) ? agent : undefined, 'agent', input.agent_id);
      const times = { created_at: service.clock.timestamp(), last_run_at: null, next_run_at: null };
      return c.json(scheduleJob(service, { cron_job_id: createId('cron'), ...input, ...times }), 201);
    },
  },
  {
    ...ROUTES.listJobs,
    query: v.object({ ...listQuery.entries, agent_id: v.optional(v.string()) }),
    returns: pageSchema(jobSchema),
    handle: (service, c) => {
      const { cronJobs, agents } = service.store;
      const wanted = c.req.query('agent_id');
      const jobs = cronJobs.all().filter(({ agent_id }) => {
        return (wanted ?? agent_id) === agent_id && canReach(c, agents.get(agent_id)?.space_id);
      });
      return c.json(pageOf(service, c, jobs));
    },
  },
];
