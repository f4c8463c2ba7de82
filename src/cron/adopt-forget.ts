import type { Http } from '../api/http.ts';
import { ListUnavailable, nameListFailure } from '../api/list-failure.ts';
import type { ListedCronJob } from '../contract/cron.ts';
import { InputError, isTokenRejected, NotFoundError, UsageError } from '../errors.ts';
import { waitOutLeases } from '../state/lease.ts';
import { standingOf, standings } from '../state/standing.ts';
import type { CronContext } from './context.ts';
import { cronKey, JOBS, type JobData, type JobIdentity, type JobStanding, matchIdentity, toJobData } from './job.ts';
import { findAgent, type NamedJob } from './job-flags.ts';
import { completeSchedule } from './schedule.ts';
import { JOB_LIST, listNamedJobs, readJobList } from './service-jobs.ts';

export type ForgetContext = Omit<CronContext, 'env' | 'io' | 'warn'>;

const NOTHING_CHANGED = 'Nothing was changed.';

/**
 * Waits until others can no longer create the job, and asks the user.
 * @param yes whether the user confirmed in advance
 * @param skipUnknown whether the requests of those others are known to be sent
 * @throws UsageError if the user declines or cannot be asked
 */
async function confirmChange(
  context: ForgetContext,
  { open }: JobStanding,
  { yes, skipUnknown, question }: { readonly yes: boolean; readonly skipUnknown: boolean; readonly question: string },
): Promise<void> {
  const { clock, abortSignal: signal, progress } = context;
  await waitOutLeases({ log: await context.log(), clock, signal }, JOBS, new Set(open.map(({ id }) => id)), {
    skipUnknown,
    onWait: (ms) => progress.start('Waiting, because another process may still be creating the job', ms),
  });
  progress.stop();
  if (yes || (context.isInteractive && (await context.confirm(question)))) return;
  throw new UsageError(`Not confirmed. ${NOTHING_CHANGED}`, { hint: 'To answer in advance, add --yes.' });
}

function dataOf({ objects, open }: JobStanding): JobData | undefined {
  return objects.at(-1)?.data ?? open[0]?.data;
}

function unnamedError({ command }: Pick<CronContext, 'command'>): UsageError {
  return new UsageError('No job is named.', {
    hint: `Give --agent and --name. To see what the state has: ${command(['state', 'show'])}`,
  });
}

/** @param named the job's key, id, or name, as typed */
function unknownJobError({ command }: Pick<CronContext, 'command'>, named: string): NotFoundError {
  return new NotFoundError(`The state knows no job ${named}.`, {
    hint: `To see what it has: ${command(['state', 'show'])}\nIs it in another state (--state)?`,
  });
}

/** Looks a job up by its id. @returns undefined, after a warning, if the list cannot be read at all */
async function fetchListed(context: CronContext, http: Http, cronJobId: string): Promise<ListedCronJob | undefined> {
  context.progress.start('Reading the jobs');
  const list = await readJobList(listNamedJobs(http), () => NOTHING_CHANGED);
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
 * Records a job of the service as the selected job; without a selection, as the one that the list shows.
 * @param selection the job, or its key in the state
 * @param yes whether to do so without asking
 * @throws as `adoptJob`; NotFoundError if it is not listed, or the state has no such key; UsageError if the list does
 *   not tell what job it is
 */
export async function adopt(
  context: CronContext,
  cronJobId: string,
  selection: NamedJob | string | undefined,
  yes: boolean,
) {
  const http = await context.http();
  // A state that cannot be used is reported as such, not as a failure of the list.
  const all = standings(await (await context.log()).read(), JOBS);
  const known = typeof selection === 'string' ? dataOf(standingOf(all, selection)) : undefined;
  if (typeof selection === 'string' && known?.origin !== http.baseUrl) throw unknownJobError(context, selection);
  const listed = await fetchListed(context, http, cronJobId);
  const named = typeof selection === 'object' ? { ...selection, agent_id: await findAgent(context, selection) } : known;
  const { agent_id, name } = named ?? listed ?? {};
  if (typeof agent_id !== 'string' || typeof name !== 'string') throw unnamedError(context);
  return await adoptJob(context, cronJobId, { origin: http.baseUrl, agent_id, name }, { yes, listed });
}

/**
 * Records a job of the service as the job of this agent and name.
 * @param options `listed` the job as the service lists it; undefined if the list cannot be read
 * @returns its key and what was recorded
 * @throws InputError if it is another job; UsageError if the user does not confirm; LocalError if the state cannot be
 *   read or written
 */
export async function adoptJob(
  context: ForgetContext,
  cron_job_id: string,
  job: JobIdentity,
  { yes, listed }: { readonly yes: boolean; readonly listed: ListedCronJob | undefined },
) {
  const log = await context.log();
  const { agent_id, name } = job;
  if (listed && matchIdentity(listed, agent_id, name) === 'no') {
    throw new InputError(`${cron_job_id} is another job.`, {
      why: `It is ${JSON.stringify(listed.name ?? '')} of agent ${listed.agent_id ?? '(unknown)'}, not ${JSON.stringify(name)} of agent ${agent_id}.`,
      hint: NOTHING_CHANGED,
    });
  }
  const key = cronKey(job);
  const standing = standingOf(standings(await log.read(), JOBS), key);
  const question = `Record ${cron_job_id} as job ${JSON.stringify(name)} of agent ${agent_id}?`;
  await confirmChange(context, standing, { yes, skipUnknown: true, question });
  const shown = toJobData(job, { ...listed, schedule: completeSchedule(listed?.schedule) });
  // The list may leave out a part of the content.
  const isPartial = shown.schedule === null || shown.instructions_hash === null;
  const recorded = standing.objects.find(({ object }) => object === cron_job_id) ?? standing.open[0];
  const data: JobData = { ...(isPartial && recorded ? recorded.data : shown), ...job };
  const of = standing.open.map(({ id }) => id);
  await log.append([log.newRecord('cron.created', { key, object: cron_job_id, data, ...(of.length > 0 && { of }) })]);
  return { key, data, cron_job_id };
}

/** The key of the selected job. Calls the service only to look up an agent by name. */
async function keyOf(
  context: ForgetContext,
  all: ReadonlyMap<string, JobStanding>,
  selection: NamedJob | string,
): Promise<string> {
  if (typeof selection === 'string') {
    // Several services may have a job with this id.
    const [byId, ...others] = [...all].filter(([, { objects }]) => objects.some(({ object }) => object === selection));
    return byId && others.length === 0 ? byId[0] : selection;
  }
  const origin = await context.baseUrl();
  if (origin === undefined) throw new UsageError('No base URL is configured.', { hint: 'Name the job by its key.' });
  return cronKey({ origin, agent_id: await findAgent(context, selection), name: selection.name });
}

/**
 * Removes a job from the state, so that it can be created again. The job at the service stays.
 * @param selection the job, or its key or id
 * @param yes whether to do so without asking
 * @throws NotFoundError if the state has no such job; UsageError if the user does not confirm; LocalError if the state
 *   cannot be read or written
 */
export async function forget(context: ForgetContext, selection: NamedJob | string | undefined, yes: boolean) {
  if (!selection) throw unnamedError(context);
  const log = await context.log();
  const all = standings(await log.read(), JOBS);
  const key = await keyOf(context, all, selection);
  const standing = standingOf(all, key);
  const job = dataOf(standing);
  if (!job) {
    throw unknownJobError(context, typeof selection === 'string' ? selection : JSON.stringify(selection.name));
  }
  const ids = standing.objects.map(({ object }) => object).join(', ');
  const remains = ids === '' ? 'Its id is not known' : `${ids} keeps running at the service`;
  const what = `Forget the record of ${JSON.stringify(job.name)} of agent ${job.agent_id}?`;
  const question = `${what} ${remains}; this only lets a job of that name be created again.`;
  // A lost request may still create its job, and the service may list it later: the next run would create another.
  await confirmChange(context, standing, { yes, skipUnknown: false, question });
  await log.append([log.newRecord('cron.forgotten', { key, of: standing.live })]);
  return { key, job };
}
