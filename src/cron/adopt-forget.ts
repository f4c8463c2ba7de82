import type { Http } from '../api/http.ts';
import { ListUnavailable, nameListFailure } from '../api/list-failure.ts';
import type { ListedCronJob } from '../contract/cron.ts';
import { InputError, isTokenRejected, NotFoundError, UsageError } from '../errors.ts';
import type { Clock } from '../platform/clock.ts';
import { waitOutLeases } from '../state/lease.ts';
import type { Log } from '../state/log.ts';
import { standingOf, standings } from '../state/standing.ts';
import type { CronContext } from './context.ts';
import { findAgent } from './find-agent.ts';
import { cronKey, JOBS, type JobData, type JobIdentity, type JobStanding, matchIdentity, toJobData } from './job.ts';
import type { JobSelection } from './job-flags.ts';
import { completeSchedule } from './schedule.ts';
import { JOB_LIST, jobSourceOf, readJobList } from './service-jobs.ts';

/** What `adoptJob` and `forgetJob` need. */
export interface ChangeDeps extends Pick<CronContext, 'command'> {
  readonly log: Log;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** Resolves once the user has confirmed. @throws UsageError if the user declines or cannot be asked */
  readonly confirm: (question: string) => Promise<void>;
  /** Called before a wait for another process, with the milliseconds that it may take. */
  readonly onWait: (leftMs: number) => void;
}

function dataOf({ objects, open }: JobStanding): JobData | undefined {
  return objects.at(-1)?.data ?? open[0]?.data;
}

/** The error about a job that is not in the state. @param named its key, id, or name, as typed */
function unknownJobError({ command }: Pick<CronContext, 'command'>, named: string): NotFoundError {
  return new NotFoundError(`The state knows no job ${named}.`, {
    hint: `To see what it has: ${command(['state', 'show'])}\nIs it in another state (--state)?`,
  });
}

/**
 * Records a job of the service as the job of this agent and name.
 * @param listed the job as the service lists it; undefined if the list cannot be read
 * @returns its key and what was recorded
 * @throws InputError if it is another job; UsageError if the user does not confirm; LocalError if the state cannot be read or
 *   written
 */
export async function adoptJob(deps: ChangeDeps, cron_job_id: string, job: JobIdentity, listed?: ListedCronJob) {
  const { log } = deps;
  const { agent_id, name } = job;
  if (listed && matchIdentity(listed, agent_id, name) === 'no') {
    throw new InputError(`${cron_job_id} is another job.`, {
      why: `It is ${JSON.stringify(listed.name ?? '')} of agent ${listed.agent_id ?? '(unknown)'}, not ${JSON.stringify(name)} of agent ${agent_id}.`,
      hint: 'Nothing was changed.',
    });
  }
  const key = cronKey(job);
  const standing = standingOf(standings(await log.read(), JOBS), key);
  const of = standing.open.map(({ id }) => id);
  await waitOutLeases(deps, JOBS, new Set(of), { skipUnknown: true, onWait: deps.onWait });
  await deps.confirm(`Record ${cron_job_id} as job ${JSON.stringify(name)} of agent ${agent_id}?`);
  const { instructions, schedule } = listed ?? {};
  const shown = toJobData(job, { instructions, schedule: completeSchedule(schedule) });
  // The list may leave out a part of the content.
  const recorded = standing.objects.find(({ object }) => object === cron_job_id) ?? standing.open[0];
  const data: JobData = { ...(shown.content_hash === null && recorded ? recorded.data : shown), ...job };
  await log.append([log.newRecord('cron.created', { key, object: cron_job_id, data, ...(of.length > 0 && { of }) })]);
  return { key, data, cron_job_id };
}

/**
 * Removes a job from the state, so that it can be created again. The job at the service stays.
 * @param target the job, or its key or id
 * @throws NotFoundError if the state has no such job; UsageError if the user does not confirm; LocalError if the state cannot be
 *   read or written
 */
export async function forgetJob(deps: ChangeDeps, target: string | JobIdentity) {
  const { log } = deps;
  const all = standings(await log.read(), JOBS);
  const [byId, ...others] = [...all].filter(([, { objects }]) => objects.some(({ object }) => object === target));
  const typed = typeof target === 'string' ? target : cronKey(target);
  const key = byId && others.length === 0 ? byId[0] : typed;
  const standing = standingOf(all, key);
  const job = dataOf(standing);
  if (!job) throw unknownJobError(deps, typeof target === 'string' ? key : JSON.stringify(target.name));
  // A lost request may still create its job, and the service may not list it yet: then the next run would create another.
  await waitOutLeases(deps, JOBS, new Set(standing.open.map(({ id }) => id)), { onWait: deps.onWait });
  const ids = standing.objects.map(({ object }) => object).join(', ');
  const remains = ids === '' ? 'Its id is not known' : `${ids} keeps running at the service`;
  await deps.confirm(
    `Forget the record of ${JSON.stringify(job.name)} of agent ${job.agent_id}? ${remains}; this only lets a job of that name be created again.`,
  );
  await log.append([log.newRecord('cron.forgotten', { key, of: standing.live })]);
  return { key, job };
}

async function changeDeps(context: CronContext, yes: boolean): Promise<ChangeDeps> {
  const { clock, abortSignal: signal, command, progress, isInteractive } = context;
  return {
    log: await context.log(),
    clock,
    signal,
    command,
    async confirm(question) {
      progress.stop();
      if (yes || (isInteractive && (await context.confirm(question)))) return;
      throw new UsageError('Not confirmed. Nothing was changed.', { hint: 'To answer in advance, add --yes.' });
    },
    onWait: (ms) => progress.start('Waiting, because another process may still be creating the job', ms),
  };
}

/** Looks a job up by its id. @returns undefined, after a warning, if the list cannot be read, now or later */
async function fetchListed(context: CronContext, http: Http, cronJobId: string): Promise<ListedCronJob | undefined> {
  context.progress.start('Reading the jobs');
  const source = jobSourceOf(http, await context.log(), context.clock);
  try {
    const job = (await readJobList(source)).jobs.get(cronJobId);
    if (job) return job;
  } catch (error) {
    const reason = error instanceof ListUnavailable ? error.reason : error;
    if (!(error instanceof ListUnavailable) || isTokenRejected(reason)) {
      throw nameListFailure(reason, JOB_LIST, 'Nothing was changed.');
    }
    await context.warn(`Cannot check whether the service has ${cronJobId}: ${error.message}`);
    return undefined;
  }
  throw new NotFoundError(`The service does not list a job ${cronJobId}.`, {
    hint: `Nothing was changed. To see the jobs that the service has: ${context.command(['cron', 'list'])}`,
  });
}

/** Calls the service only to look up an agent by name. */
async function identify(
  context: CronContext,
  { name, ...agent }: Exclude<JobSelection, string>,
  origin: string | undefined,
): Promise<JobIdentity> {
  if (origin === undefined) throw new UsageError('No base URL is configured.', { hint: 'Name the job by its key.' });
  return { origin, agent_id: await findAgent(context, agent), name };
}

function unnamedError({ command }: CronContext): UsageError {
  return new UsageError('No job is named.', {
    hint: `Give --agent and --name. To see what the state has: ${command(['state', 'show'])}`,
  });
}

/**
 * Records a job of the service as the selected job.
 * @param selection undefined for the agent and the name that the service lists
 * @param yes whether to change the record without asking
 * @throws as `adoptJob`; NotFoundError if the service does not list it; UsageError if the list does not tell what job it is
 */
export async function adopt(
  context: CronContext,
  cronJobId: string,
  selection: JobSelection | undefined,
  yes: boolean,
) {
  const http = await context.http();
  const origin = http.baseUrl;
  // A state that cannot be used is reported as such, not as a failure of the list.
  const all = standings(await (await context.log()).read(), JOBS);
  const known = typeof selection === 'string' ? dataOf(standingOf(all, selection)) : undefined;
  if (typeof selection === 'string' && known?.origin !== origin) throw unknownJobError(context, selection);
  const listed = await fetchListed(context, http, cronJobId);
  const { agent_id, name } = listed ?? {};
  const shown = typeof agent_id === 'string' && typeof name === 'string' ? { origin, agent_id, name } : undefined;
  const named = typeof selection === 'object' ? await identify(context, selection, origin) : shown;
  const job = known ?? named;
  if (!job) throw unnamedError(context);
  return await adoptJob(await changeDeps(context, yes), cronJobId, job, listed);
}

/** Removes the selected job from the state. @param yes whether to do so without asking @throws as `forgetJob` */
export async function forget(context: CronContext, selection: JobSelection | undefined, yes: boolean) {
  if (!selection) throw unnamedError(context);
  const target =
    typeof selection === 'string' ? selection : await identify(context, selection, await context.baseUrl());
  return await forgetJob(await changeDeps(context, yes), target);
}
