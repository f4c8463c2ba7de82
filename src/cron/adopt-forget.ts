import type { Http } from '../api/http.ts';
import { ListUnavailable, nameListFailure } from '../api/list-failure.ts';
import type { ListedCronJob } from '../contract/cron.ts';
import {
  DuplicateError,
  InputError,
  isTokenRejected,
  isUnexpectedShape,
  NotFoundError,
  UsageError,
} from '../errors.ts';
import type { Clock } from '../platform/clock.ts';
import { errorMessage } from '../platform/error-code.ts';
import { waitOutLeases } from '../state/lease.ts';
import type { Log } from '../state/log.ts';
import { standingOf, standings } from '../state/standing.ts';
import type { CronContext } from './context.ts';
import { findAgent } from './find-agent.ts';
import { cronKey, type JobData, type JobIdentity, matchIdentity, toJobData } from './job.ts';
import type { JobSelection } from './job-flags.ts';
import { JOBS, type JobStanding, unknownJobError } from './recorded-job.ts';
import { JOB_LIST, jobSourceOf, readJobList } from './service-jobs.ts';

/** What `forgetJob` needs. */
export interface ForgetDeps extends Pick<CronContext, 'command'> {
  readonly log: Log;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** Resolves once the user has confirmed. @throws UsageError if the user declines or cannot be asked */
  readonly confirm: (question: string) => Promise<void>;
  /** Called before a wait for another process, with the milliseconds that it may take. */
  readonly onWait: (leftMs: number) => void;
}

/** What `adoptJob` needs. */
export interface AdoptDeps extends ForgetDeps {
  /** The base URL of the service. */
  readonly origin: string;
  /**
   * Returns the job as the service lists it; undefined if the list cannot be read at all.
   * @throws NotFoundError if the list does not contain it; PartnerctlError if reading the list may succeed later
   */
  readonly fetchListed: (cronJobId: string) => Promise<ListedCronJob | undefined>;
}

/** The job whose record is changed: by its key or its id, or by what identifies it. */
type Target = { readonly key: string } | JobIdentity;

interface Selected {
  readonly key: string;
  /** Undefined if the state does not know the job. */
  readonly data: JobData | undefined;
  readonly standing: JobStanding;
}

async function select(log: Log, target: Target): Promise<Selected> {
  const all = standings(await log.read(), JOBS);
  const hasId = ({ objects }: JobStanding) => 'key' in target && objects.some(({ object }) => object === target.key);
  const [byId, ...others] = [...all].filter(([, standing]) => hasId(standing)).map(([key]) => key);
  const typed = 'key' in target ? target.key : cronKey(target.origin, target.agent_id, target.name);
  const key = byId !== undefined && others.length === 0 ? byId : typed;
  const standing = standingOf(all, key);
  return { key, standing, data: standing.objects.at(-1)?.data ?? standing.open[0]?.data };
}

/** The state may have changed while this process waited, or while the prompt was open. */
async function refuseIfChanged({ log, command }: ForgetDeps, { key, standing }: Selected): Promise<void> {
  const current = await select(log, { key });
  const unknown = ({ open }: JobStanding) => open.filter(({ isUnknown }) => isUnknown).length;
  if (current.standing.live.join() === standing.live.join() && unknown(current.standing) === unknown(standing)) return;
  throw new DuplicateError('The records of this job have changed since this command read them.', {
    hint: `Nothing was changed. Look at the job again: ${command(['cron', 'list'])}`,
    details: { key },
  });
}

function refuseOtherJob({ agent_id, name }: JobIdentity, listed: ListedCronJob | undefined): void {
  if (!listed || matchIdentity(listed, agent_id, name) !== 'no') return;
  throw new InputError(`${listed.cron_job_id} is another job.`, {
    why: `It is ${JSON.stringify(listed.name ?? '')} of agent ${listed.agent_id ?? '(unknown)'}, not ${JSON.stringify(name)} of agent ${agent_id}.`,
    hint: 'Nothing was changed.',
  });
}

/** The list may not show whose job it is, but the state may know. */
async function refuseRecordedForOther({ log, origin, command }: AdoptDeps, key: string, id: string): Promise<void> {
  const jobs = [...standings(await log.read(), JOBS).values()].flatMap(({ objects }) => objects);
  const other = jobs.find((job) => job.object === id && job.data.origin === origin && job.key !== key);
  if (!other) return;
  throw new InputError(`${id} is another job.`, {
    why: `The state has it as ${JSON.stringify(other.data.name)} of agent ${other.data.agent_id}.`,
    hint: `Nothing was changed. If that record is wrong, remove it first: ${command(['cron', 'forget', other.key])}`,
  });
}

/**
 * Records a job of the service as the job of this agent and name.
 * @returns its key and what was recorded
 * @throws NotFoundError if the key or the job does not exist; InputError if it is another job; DuplicateError if its records
 *   changed meanwhile; UsageError if the user does not confirm; LocalError if the state cannot be read or written
 */
export async function adoptJob(
  deps: AdoptDeps,
  cronJobId: string,
  target: Target,
): Promise<{ readonly key: string; readonly data: JobData; readonly cron_job_id: string }> {
  const { log, origin } = deps;
  const selected = await select(log, target);
  const { key, standing } = selected;
  const job = 'key' in target ? selected.data : target;
  if (job?.origin !== origin) throw unknownJobError(deps, `with the key ${key}`);
  const { agent_id, name } = job;
  const listed = await deps.fetchListed(cronJobId);
  refuseOtherJob(job, listed);
  await refuseRecordedForOther(deps, key, cronJobId);
  const of = standing.open.map(({ id }) => id);
  await waitOutLeases(deps, JOBS, new Set(of), { skipUnknown: true, onWait: deps.onWait });
  await deps.confirm(`Record ${cronJobId} as job ${JSON.stringify(name)} of agent ${agent_id}?`);
  await refuseIfChanged(deps, selected);
  const recorded = standing.objects.find(({ object }) => object === cronJobId) ?? standing.open[0];
  const shown = toJobData(job, listed ?? {});
  // The list may leave out a part of the content.
  const content = shown.content_hash === null && recorded ? recorded.data : shown;
  const data = { ...content, origin, agent_id, name };
  await log.append([log.newRecord('cron.created', { key, object: cronJobId, data, ...(of.length > 0 && { of }) })]);
  return { key, data, cron_job_id: cronJobId };
}

function forgetQuestion({ agent_id, name }: JobIdentity, { objects }: JobStanding): string {
  const ids = objects.map(({ object }) => object).join(', ');
  const remains = ids === '' ? 'Its id is not known' : `${ids} keeps running at the service`;
  return `Forget the record of ${JSON.stringify(name)} of agent ${agent_id}? ${remains}; this only lets a job of that name be created again.`;
}

/**
 * Removes a job from the state, so that it can be created again. The job at the service stays.
 * @throws NotFoundError if the state has no such job; DuplicateError if its records changed meanwhile; UsageError if the user
 *   does not confirm; LocalError if the state cannot be read or written
 */
export async function forgetJob(
  deps: ForgetDeps,
  target: Target,
): Promise<{ readonly key: string; readonly job: JobIdentity }> {
  const { log } = deps;
  const selected = await select(log, target);
  const { key, data: job, standing } = selected;
  if (!job) {
    const named =
      'key' in target ? `with the key or id ${key}` : `${JSON.stringify(target.name)} of agent ${target.agent_id}`;
    throw unknownJobError(deps, named);
  }
  // A lost request may still create its job, and the service may not list it yet: then the next run would create another.
  await waitOutLeases(deps, JOBS, new Set(standing.open.map(({ id }) => id)), { onWait: deps.onWait });
  await deps.confirm(forgetQuestion(job, standing));
  await refuseIfChanged(deps, selected);
  await log.append([log.newRecord('cron.forgotten', { key, of: standing.live })]);
  return { key, job };
}

async function changeDeps(context: CronContext, yes: boolean): Promise<ForgetDeps> {
  const { clock, abortSignal: signal, command, progress, isInteractive } = context;
  return {
    log: await context.log(),
    clock,
    signal,
    command,
    async confirm(question) {
      progress.stop();
      if (yes) return;
      if (!isInteractive) {
        throw new UsageError('Changing the record of a job needs a confirmation.', {
          hint: 'Without a terminal, confirm with --yes.',
        });
      }
      if (await context.confirm(question)) return;
      throw new UsageError('Not confirmed. Nothing was changed.', { hint: 'To answer in advance, add --yes.' });
    },
    onWait: (ms) => progress.start('Waiting, because another process may still be creating the job', ms),
  };
}

/** Looks a job up by its id. @returns undefined, after a warning, if the list cannot be read, now or later */
async function fetchListed(context: CronContext, http: Http, cronJobId: string): Promise<ListedCronJob | undefined> {
  context.progress.start('Reading the jobs');
  const source = jobSourceOf(http, await context.log(), context.clock);
  const list = await readJobList(source).catch(async (error: unknown) => {
    const reason = error instanceof ListUnavailable ? error.reason : error;
    const isUnreadable = error instanceof ListUnavailable || isUnexpectedShape(error);
    if (!isUnreadable || isTokenRejected(reason)) throw nameListFailure(reason, JOB_LIST, 'Nothing was changed.');
    return errorMessage(reason);
  });
  context.progress.stop();
  if (typeof list === 'string') {
    await context.warn(`Cannot check whether the service has ${cronJobId}: ${list}`);
    return undefined;
  }
  const job = list.jobs.get(cronJobId);
  if (job) return job;
  throw new NotFoundError(`The service does not list a job ${cronJobId}.`, {
    hint: `Nothing was changed. To see the jobs that the service has: ${context.command(['cron', 'list'])}`,
  });
}

/** The error if no job is named. */
function unnamedError({ command }: CronContext): UsageError {
  return new UsageError('No job is named.', {
    hint: `Give its key, or --agent and --name. To see the keys: ${command(['cron', 'list', '--local', '-o', 'json'])}`,
  });
}

/**
 * Records a job of the service as the selected job.
 * @param selection undefined for the agent and the name that the service lists
 * @param yes whether to change the record without asking
 * @throws as `adoptJob`, and UsageError for an invalid id, or if the list does not tell what job it is
 */
export async function adopt(
  context: CronContext,
  cronJobId: string,
  selection: JobSelection | undefined,
  yes: boolean,
) {
  // Nothing else checks the id if the list cannot be read.
  if (!/^\S+$/.test(cronJobId)) {
    throw new UsageError(`${JSON.stringify(cronJobId)} is not the id of a job.`, {
      hint: `To see the ids: ${context.command(['cron', 'list'])}`,
    });
  }
  const http = await context.http();
  const origin = http.baseUrl;
  const deps = {
    ...(await changeDeps(context, yes)),
    origin,
    fetchListed: (id: string) => fetchListed(context, http, id),
  };
  if (selection) return await adoptJob(deps, cronJobId, await findTarget(context, selection, origin));
  const listed = await deps.fetchListed(cronJobId);
  const { agent_id, name } = listed ?? {};
  if (agent_id === undefined || name === undefined || name === null) throw unnamedError(context);
  return await adoptJob({ ...deps, fetchListed: async () => listed }, cronJobId, { origin, agent_id, name });
}

/** Calls the service only to look up an agent by name. */
async function findTarget(context: CronContext, selection: JobSelection, origin: string | undefined): Promise<Target> {
  if ('key' in selection) return selection;
  if (origin === undefined) throw new UsageError('No base URL is configured.', { hint: 'Name the job by its key.' });
  const agent_id = await findAgent(context, selection);
  context.progress.stop();
  return { origin, agent_id, name: selection.name };
}

/** Removes the selected job from the state. @param yes whether to do so without asking @throws as `forgetJob` */
export async function forget(context: CronContext, selection: JobSelection | undefined, yes: boolean) {
  if (!selection) throw unnamedError(context);
  const target = await findTarget(context, selection, await context.baseUrl());
  return await forgetJob(await changeDeps(context, yes), target);
}
