import * as v from 'valibot';
import { cronFieldProblem, isTimezone } from '../agents/cron-schedule.ts';
import { requireScope } from '../auth.ts';
import { pageOf } from '../paging.ts';
import { readBody } from '../request-body.ts';
import type { Service, ServiceApp } from '../service.ts';
import type { CronJob } from '../store/changes.ts';
import { closedObject, nonBlankText, quote } from '../validation.ts';
import { requireAgent } from './lookup.ts';

const MAX_INSTRUCTIONS = 100_000;

const PATH = '/automation/partner-cron-jobs/';

function cronField(field: Parameters<typeof cronFieldProblem>[0]) {
  return v.pipe(
    v.string(),
    v.check(
      (text) => cronFieldProblem(field, text) === undefined,
      ({ input }) => cronFieldProblem(field, input) ?? 'is not valid',
    ),
  );
}

/** The body of spec §4.5. The spec leaves open what is required: here every field is, and `cron` is the one type. */
const bodySchema = closedObject({
  agent_id: v.string(),
  name: nonBlankText(255),
  instructions: nonBlankText(MAX_INSTRUCTIONS),
  schedule: closedObject({
    type: v.literal('cron', 'must be cron'),
    data: closedObject({ minute: cronField('minute'), hour: cronField('hour'), day_of_week: cronField('day_of_week') }),
    timezone: v.pipe(
      v.string(),
      v.check(isTimezone, ({ input }) => `is not a known timezone: ${quote(input)}`),
    ),
  }),
});

/** The public form of a job. */
export function toPublicCronJob({ store, cron }: Service, job: CronJob) {
  const last_run_at = store.world.lastRuns.get(job.cron_job_id) ?? null;
  return { ...job, last_run_at, next_run_at: cron.nextRunAt(job) };
}

/**
 * POST and GET /automation/partner-cron-jobs/ (spec §4.5, endpoints 9 and 10). Creation is not idempotent: the same body
 * again creates another job. The list has all jobs of the organization, or those of the `agent_id` in the query.
 */
export function addCronJobRoutes(app: ServiceApp, service: Service): void {
  app.post(PATH, requireScope('cron_jobs.write'), async (c) => {
    const input = await readBody(c, bodySchema);
    requireAgent(service, input.agent_id);
    return c.json(toPublicCronJob(service, service.cron.create(input)), 201);
  });
  app.get(PATH, requireScope('cron_jobs.read'), (c) => {
    const all = [...service.store.world.cronJobs.values()];
    const agent_id = c.req.query('agent_id');
    const jobs = agent_id === undefined ? all : all.filter((job) => job.agent_id === agent_id);
    const toPublic = (job: CronJob) => toPublicCronJob(service, job);
    const filter = agent_id === undefined ? {} : { agent_id };
    return c.json(pageOf(service, c, jobs, { toPublic, filter }));
  });
}
