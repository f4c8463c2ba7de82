import { readCreatedCronJob, type WireSchedule } from '../contract/cron.ts';
import type { JsonObject } from '../contract/json.ts';
import { OPERATIONS } from '../contract/operations.ts';
import type { Paged } from '../output/paged.ts';
import type { Http } from './http.ts';
import { listAll } from './list.ts';

/** A job to create (spec §2). All fields are sent unchanged. */
export interface NewCronJob {
  readonly agent_id: string;
  readonly name: string;
  readonly instructions: string;
  readonly schedule: WireSchedule;
}

/**
 * Creates a scheduled job (spec §4.5) and returns its id. The service creates another job for every request that it
 * receives, so the call is retried only if the request never left this machine.
 * @param timeoutMs limits the whole call; no request is sent after it expires
 * @throws OutcomeUnknownError if the job may have been created, but no readable response confirms it. Every other
 * PartnerctlError proves that the job was not created (see `provesNothingDone`)
 */
export async function createCronJob(http: Http, job: NewCronJob, timeoutMs: number): Promise<string> {
  const { agent_id, name, instructions } = job;
  const { minute, hour, day_of_week, timezone } = job.schedule;
  const response = await http.call(OPERATIONS.createCronJob, {
    values: { agent_id, name, instructions, type: 'cron', minute, hour, day_of_week, timezone },
    timeoutMs,
  });
  return response.read(readCreatedCronJob);
}

/** Lists the scheduled jobs that the token has access to, as the service describes them (assumption `cron.list`). */
export function listCronJobs(http: Http): Paged<JsonObject> {
  return listAll(http, OPERATIONS.listCronJobs, 'cron_jobs');
}
