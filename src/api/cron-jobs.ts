import { readCreatedCronJob, type WireSchedule } from '../contract/cron.ts';
import type { JsonObject } from '../contract/json.ts';
import { OPERATIONS } from '../contract/operations.ts';
import type { Http } from './http.ts';
import { listAll } from './pages.ts';

/** A job to be created (spec §2); everything is sent as it is. */
export interface NewCronJob {
  readonly agent_id: string;
  readonly name: string;
  readonly instructions: string;
  readonly schedule: WireSchedule;
}

/**
 * Creates a scheduled job (spec §4.5). The service makes another one for every request that it receives, so the request
 * is repeated only while it never left this machine.
 * @param timeoutMs nothing is sent after this time
 * @returns the job's id
 * @throws OutcomeUnknownError when the job may have been created, though no readable answer says so. Every other
 * PartnerctlError proves that it was not (see `provesNothingDone`)
 */
export async function createCronJob(http: Http, job: NewCronJob, timeoutMs: number): Promise<string> {
  const { agent_id, name, instructions } = job;
  const { minute, hour, day_of_week, timezone } = job.schedule;
  const schedule = { type: 'cron', data: { minute, hour, day_of_week }, timezone };
  const answer = await http.call(OPERATIONS.createCronJob, {
    json: { agent_id, name, instructions, schedule },
    timeoutMs,
  });
  return answer.read(readCreatedCronJob);
}

/** The scheduled jobs available to the token, as the service describes them (assumption `cron.list`). */
export function listCronJobs(http: Http): AsyncGenerator<JsonObject> {
  return listAll(http, OPERATIONS.listCronJobs, 'cron_jobs');
}
