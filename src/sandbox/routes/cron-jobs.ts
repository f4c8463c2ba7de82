import * as v from 'valibot';
import { readBody } from '../body.ts';
import { fieldProblem, isTimezone } from '../cron/moments.ts';
import { pageOf } from '../paging.ts';
import { Problem } from '../problem.ts';
import type { Route, Service } from '../service.ts';
import { closed, filledText, shown } from '../shapes.ts';
import type { CronJobRecord } from '../store/cron-jobs.ts';

const MAX_INSTRUCTIONS = 100_000;

const PATH = '/automation/partner-cron-jobs/';

function cronField(field: Parameters<typeof fieldProblem>[0]) {
  return v.pipe(
    v.string(),
    v.check(
      (text) => fieldProblem(field, text) === undefined,
      ({ input }) => fieldProblem(field, input) ?? 'is not valid',
    ),
  );
}

/** The body of spec §4.5. What the spec leaves open: every field must be given, and `cron` is the one type. */
const bodySchema = closed({
  agent_id: v.string(),
  name: filledText(255),
  instructions: filledText(MAX_INSTRUCTIONS),
  schedule: closed({
    type: v.literal('cron', 'must be cron'),
    data: closed({ minute: cronField('minute'), hour: cronField('hour'), day_of_week: cronField('day_of_week') }),
    timezone: v.pipe(
      v.string(),
      v.check(isTimezone, ({ input }) => `is not a known timezone: ${shown(input)}`),
    ),
  }),
});

/** A job as the service shows it. */
export function publicCronJob(service: Service, job: CronJobRecord) {
  const { cron_job_id, agent_id, name, instructions, schedule, created_at } = job;
  const last_run_at = service.store.world.cronJobs.lastRun(cron_job_id)?.scheduled_for ?? null;
  const next_run_at = service.cron.nextRunAt(job);
  return { cron_job_id, agent_id, name, instructions, schedule, created_at, last_run_at, next_run_at };
}

/**
 * POST and GET /automation/partner-cron-jobs/ (spec §4.5, endpoints 9 and 10). Creation is not idempotent: the same body
 * again makes another job. The list is of all the organization's jobs, or of those of the `agent_id` in the query.
 */
export function cronJobRoutes(service: Service): Route[] {
  return [
    {
      method: 'POST',
      path: PATH,
      scope: 'cron_jobs.write',
      handle: async (c) => {
        const wanted = await readBody(c, bodySchema);
        if (!service.store.world.agents.get(wanted.agent_id)) {
          throw new Problem(404, 'agent_not_found', `There is no agent ${shown(wanted.agent_id)}.`);
        }
        return c.json(publicCronJob(service, service.cron.create(wanted)), 201);
      },
    },
    {
      method: 'GET',
      path: PATH,
      scope: 'cron_jobs.read',
      handle: (c) => {
        const { cronJobs } = service.store.world;
        const agent_id = c.req.query('agent_id');
        const jobs = agent_id === undefined ? cronJobs.all() : cronJobs.ofAgent(agent_id);
        const show = (job: CronJobRecord) => publicCronJob(service, job);
        return c.json(pageOf(service, c, jobs, show, agent_id === undefined ? {} : { agent_id }));
      },
    },
  ];
}
