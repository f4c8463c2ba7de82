import { sessionOf } from '../cron/runner.ts';
import { Problem } from '../problem.ts';
import { publicCronJob } from '../routes/cron-jobs.ts';
import type { Service } from '../service.ts';
import type { CronJobRecord } from '../store/cron-jobs.ts';
import type { AdminRoute } from './route.ts';

/** A job with the place where its runs are said; before the first run its agent may have no source. */
function withPlace(service: Service, job: CronJobRecord) {
  const source_id = service.store.world.agents.sourceOf(job.agent_id)?.source_id ?? null;
  return { ...publicCronJob(service, job), source_id, session_id: sessionOf(job) };
}

/** Scheduled jobs: all of them at once, and the end of one, for which the partner API has no call. */
export function cronAdmin(service: Service): AdminRoute[] {
  return [
    {
      method: 'GET',
      path: '/cron-jobs',
      handle: (c) => c.json({ cron_jobs: service.store.world.cronJobs.all().map((job) => withPlace(service, job)) }),
    },
    {
      method: 'DELETE',
      path: '/cron-jobs/:cron_job_id',
      handle: (c) => {
        const cron_job_id = c.req.param('cron_job_id') ?? '';
        const job = service.store.world.cronJobs.get(cron_job_id);
        if (!job) throw new Problem(404, 'cron_job_not_found', `There is no cron job ${cron_job_id}.`);
        service.cron.remove(job);
        return c.body(null, 204);
      },
    },
  ];
}
