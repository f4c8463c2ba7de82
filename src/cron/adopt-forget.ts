import { ListUnavailable, nameListFailure } from '../api/list.ts';
import { resolveBaseUrl } from '../config/settings.ts';
import type { ListedCronJob } from '../contract/resources.ts';
import { InputError, isTokenRejected, NotFoundError, UsageError } from '../errors.ts';
import { waitOutLeases } from '../state/lease.ts';
import type { CronContext } from './context.ts';
import {
  cronKey,
  JOB_KIND,
  type JobData,
  type JobIdentity,
  type JobStandings,
  matchIdentity,
  toJobData,
} from './job.ts';
import { findAgent, type NamedJob } from './job-flags.ts';
import { JOB_LIST, JobLists, listNamedJobs } from './job-list.ts';
import { completeSchedule } from './schedule.ts';

const NOTHING_CHANGED = 'Nothing was changed.';

/** @throws UsageError unless the user confirms */
async function confirmChange(context: CronContext, question: string, yes: boolean): Promise<void> {
  context.progress.stop();
  if (yes || (await context.prompts.confirm?.(question))) return;
  throw new UsageError(`Not confirmed. ${NOTHING_CHANGED}`, { hint: 'To answer in advance, add --yes.' });
}

function showHint({ command }: CronContext): string {
  return `To see what the state has (is it in another one?): ${command(['state', 'show'])}`;
}

function unnamedError(context: CronContext): UsageError {
  return new UsageError('No job is named.', { hint: `Give --agent and --name. ${showHint(context)}` });
}

function unknownJobError(context: CronContext, named: string): NotFoundError {
  return new NotFoundError(`The state knows no job ${named}.`, { hint: showHint(context) });
}

/** @throws UsageError without a base URL; as `findAgent` */
async function identify(context: CronContext, named: NamedJob): Promise<JobIdentity> {
  const origin = resolveBaseUrl(context)?.value;
  if (origin === undefined) throw new UsageError('No base URL is configured.', { hint: 'Name the job by its key.' });
  return { origin, agent_id: await findAgent(context, named), name: named.name };
}

/** Finds a job by its key or id. @throws UsageError without one; NotFoundError if the state does not have it */
function findKnown(context: CronContext, all: JobStandings, named: string | undefined): JobIdentity {
  if (named === undefined) throw unnamedError(context);
  // Several services may have a job with this id.
  const byId = new Map(all.objects().flatMap((job) => (job.object === named ? [[job.key, job]] : [])));
  const { objects, open } = all.of(named);
  const found = objects.at(-1) ?? open[0] ?? (byId.size === 1 ? [...byId.values()][0] : undefined);
  if (found) return found.data;
  throw unknownJobError(context, named);
}

async function fetchListed(context: CronContext, cronJobId: string): Promise<ListedCronJob | undefined> {
  context.progress.start('Reading the jobs');
  const http = await context.http();
  const { clock } = context;
  const list = await new JobLists({ list: () => listNamedJobs(http), clock, hint: () => NOTHING_CHANGED }).anew();
  if (list instanceof ListUnavailable) {
    if (isTokenRejected(list.reason)) throw nameListFailure(list.reason, JOB_LIST, NOTHING_CHANGED);
    await context.warn(`Cannot check whether the service has ${cronJobId}: ${list.message}`);
    return undefined;
  }
  const listed = list.jobs.get(cronJobId);
  if (listed) return listed;
  throw new NotFoundError(`The service does not list a job ${cronJobId}.`, {
    hint: `${NOTHING_CHANGED} To see the jobs that the service has: ${context.command(['cron', 'list'])}`,
  });
}

/**
 * Records a job of the service as the named job; without a name, as the one that the list shows.
 * @throws NotFoundError if the service does not list it; UsageError if no job is named; as `findAgent` and `recordJob`
 */
export async function adoptJob(context: CronContext, cronJobId: string, named: NamedJob | undefined, yes: boolean) {
  const { baseUrl: origin } = await context.http();
  // A state that cannot be used is reported as such, not as a failure of the list.
  await (await context.log()).read();
  const agentId = named && (await findAgent(context, named));
  const listed = await fetchListed(context, cronJobId);
  const { agent_id = listed?.agent_id, name = listed?.name } = { agent_id: agentId, name: named?.name };
  if (agent_id === undefined || typeof name !== 'string') throw unnamedError(context);
  return await recordJob(context, cronJobId, { origin, agent_id, name }, { yes, listed });
}

/**
 * Records a job of the service as the job of this agent and name. Waits for nobody: it creates nothing, and a person has
 * named the id.
 * @param options `listed` the job as the service lists it; undefined if the list cannot be read
 * @returns its key and what was recorded
 * @throws InputError if it is another job; UsageError if the user does not confirm; LocalError for the state
 */
export async function recordJob(
  context: CronContext,
  cron_job_id: string,
  job: JobIdentity,
  { yes, listed }: { readonly yes: boolean; readonly listed: ListedCronJob | undefined },
) {
  const named = `job ${JSON.stringify(job.name)} of agent ${job.agent_id}`;
  if (listed && matchIdentity(listed, job.agent_id, job.name) === 'no') {
    throw new InputError(`${cron_job_id} is another job.`, {
      why: `It is ${JSON.stringify(listed.name ?? '')} of agent ${listed.agent_id ?? '(unknown)'}, not ${named}.`,
      hint: NOTHING_CHANGED,
    });
  }
  await confirmChange(context, `Record ${cron_job_id} as ${named}?`, yes);
  const log = await context.log();
  const key = cronKey(job);
  const { objects, open } = (await log.follow(JOB_KIND)()).of(key);
  const shown = toJobData(job, { ...listed, schedule: completeSchedule(listed?.schedule) });
  // The list may leave out a part of the content.
  const isPartial = shown.schedule === null || shown.instructions_hash === null;
  const recorded = objects.find(({ object }) => object === cron_job_id) ?? open[0];
  const data: JobData = { ...(isPartial && recorded ? recorded.data : shown), ...job };
  const of = open.map(({ id }) => id);
  await log.append([log.newRecord('cron.created', { key, object: cron_job_id, data, ...(of.length > 0 && { of }) })]);
  return { key, data };
}

/**
 * Removes a job from the state, so that it can be created again. The job at the service stays.
 * @param typed its key or id
 * @param selection its agent and name, in place of that
 * @throws NotFoundError if the state has no such job; UsageError if it is named by both or neither, or the user does not
 *   confirm; as `findAgent`; LocalError for the state
 */
export async function forgetJob(
  context: CronContext,
  typed: string | undefined,
  selection: NamedJob | undefined,
  yes: boolean,
) {
  if (typed !== undefined && selection) {
    throw new UsageError('A job is named by its key, or by --agent and --name, but not by both.');
  }
  const log = await context.log();
  const read = log.follow(JOB_KIND);
  const job = selection ? await identify(context, selection) : findKnown(context, await read(), typed);
  const key = cronKey(job);
  const { open } = (await read()).of(key);
  // A lost request may still create its job, and the service may list it later: the next run would create another.
  const { clock, abortSignal: signal, progress } = context;
  const onWait = (ms: number) => progress.start('Waiting, because another process may still be creating the job', ms);
  await waitOutLeases({ log, clock, signal, onWait }, JOB_KIND, new Set(open.map(({ id }) => id)));
  const { live, objects } = (await read()).of(key);
  if (live.length === 0) throw unknownJobError(context, JSON.stringify(job.name));
  const ids = objects.map(({ object }) => object).join(', ');
  const remains = ids === '' ? 'Its id is not known' : `${ids} keeps running at the service`;
  const what = `Forget the record of ${JSON.stringify(job.name)} of agent ${job.agent_id}?`;
  const question = `${what} ${remains}; this only lets a job of that name be created again.`;
  await confirmChange(context, question, yes);
  await log.append([log.newRecord('cron.forgotten', { key, of: live })]);
  if (yes && ids !== '')
    await context.notice(`note: The API deletes no job: if the service still has ${ids}, it keeps running.`);
  return { key, job };
}
