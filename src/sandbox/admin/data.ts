import * as v from 'valibot';
import { sessionIdOf } from '../agents/cron-runner.ts';
import { FaultInjector } from '../faults.ts';
import { Problem } from '../problem.ts';
import { readBody } from '../request-body.ts';
import { toPublicCronJob } from '../routes/cron-jobs.ts';
import { toPublicUpload } from '../routes/uploads.ts';
import { createId, type Service, type ServiceApp, timestamp } from '../service.ts';
import type { Space } from '../store/changes.ts';
import { closedObject, nonBlankText } from '../validation.ts';

const newTemplateSchema = closedObject({ template_id: nonBlankText(255), name: nonBlankText(255) });

const bulkSchema = closedObject({
  count: v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(100_000)),
  prefix: v.optional(nonBlankText(200), 'space'),
});

const resetSchema = closedObject({ keep_tokens: v.optional(v.boolean(), true) });

/** Creates those of the spaces `<prefix>-1` to `<prefix>-<count>` that do not exist. @returns how many it created */
function createSpaces(service: Service, count: number, prefix: string): number {
  const created_at = timestamp(service);
  let created = 0;
  for (let number = 1; number <= count; number += 1) {
    const external_space_id = `${prefix}-${number}`;
    if (service.store.world.findSpace(external_space_id)) continue;
    const text = { name: `${prefix} ${number}`, description: '' };
    const space: Space = { space_id: createId('spc'), external_space_id, ...text, is_org_wide: false, created_at };
    service.store.commit({ kind: 'space', space });
    created += 1;
  }
  return created;
}

async function reset(service: Service, keepTokens: boolean): Promise<void> {
  const { store, scheduler, webhooks, limiter, log, random } = service;
  const uploadIds = [...store.world.uploads.keys()];
  store.commit({ kind: 'reset', keep_tokens: keepTokens });
  scheduler.clear();
  webhooks.clear();
  // The clock may have gone back, which would extend the windows of the rate limit.
  limiter.clear();
  log.clear();
  service.faults = new FaultInjector({ rules: [] }, random);
  // A crash may leave a file without a record, but never a record without its file.
  await store.durable();
  await store.files.remove(uploadIds);
}

/** Creates templates and spaces in bulk, and resets the service. */
export function addDataAdmin(app: ServiceApp, service: Service): void {
  const { store } = service;
  app.get('/templates', (c) => c.json({ templates: [...store.world.templates.values()] }));
  app.post('/templates', async (c) => {
    const { template_id, name } = await readBody(c, newTemplateSchema);
    if (store.world.templates.has(template_id)) {
      throw new Problem(409, 'template_exists', `The template ${template_id} already exists.`);
    }
    store.commit({ kind: 'template', template: { template_id, name } });
    return c.json({ template_id, name }, 201);
  });
  app.post('/spaces', async (c) => {
    const { count, prefix } = await readBody(c, bulkSchema);
    return c.json({ created: createSpaces(service, count, prefix) }, 201);
  });
  app.post('/reset', async (c) => {
    const { keep_tokens } = await readBody(c, resetSchema);
    await reset(service, keep_tokens);
    return c.body(null, 204);
  });
}

/** Lists all scheduled jobs with the sessions of their runs, and deletes jobs, which the partner API cannot. */
export function addCronAdmin(app: ServiceApp, service: Service): void {
  const { cronJobs } = service.store.world;
  app.get('/cron-jobs', (c) => {
    const jobs = [...cronJobs.values()].map((job) => {
      // Before the first run the agent may have no source.
      const source_id = service.store.world.sourceOf(job.agent_id)?.source_id ?? null;
      return { ...toPublicCronJob(service, job), source_id, session_id: sessionIdOf(job) };
    });
    return c.json({ cron_jobs: jobs });
  });
  app.delete('/cron-jobs/:cron_job_id', (c) => {
    const cron_job_id = c.req.param('cron_job_id');
    const job = cronJobs.get(cron_job_id);
    if (!job) throw new Problem(404, 'cron_job_not_found', `There is no cron job ${cron_job_id}.`);
    service.cron.remove(job);
    return c.body(null, 204);
  });
}

/** Lists all uploads, and returns their content, which the partner API cannot. */
export function addUploadAdmin(app: ServiceApp, { store }: Service): void {
  const { uploads } = store.world;
  app.get('/uploads', (c) => c.json({ uploads: [...uploads.values()].map(toPublicUpload) }));
  app.get('/uploads/:upload_id/content', async (c) => {
    const upload_id = c.req.param('upload_id');
    const upload = uploads.get(upload_id);
    if (!upload) throw new Problem(404, 'upload_not_found', `There is no upload ${upload_id}.`);
    // Not the uploaded content type: a browser must not execute uploads.
    const headers = { 'Content-Type': 'application/octet-stream', 'Content-Length': String(upload.bytes) };
    if (c.req.method === 'HEAD') return c.body(null, 200, headers);
    const file = await store.files.open(upload_id);
    return c.body(ReadableStream.from(file.createReadStream()), 200, headers);
  });
}
