import type { Http } from '../api/http.ts';
import type { Context } from '../cli/context.ts';
import { shellCommand } from '../cli/shell-command.ts';
import type { GlobalFlags } from '../config/global-flags.ts';
import { DuplicateError, InputError, NotFoundError, UsageError } from '../errors.ts';
import type { Ledger } from '../state-old/ledger.ts';
import { type Forgotten, keyHistories, liveRecordIds, stampRecord } from '../state-old/once-records.ts';
import { hasEnded } from '../state-old/owner.ts';
import { type OwnerLiveness, OwnerWatch } from '../state-old/owner-watch.ts';
import { randomRecordId } from '../state-old/record.ts';
import type { BlockingLine } from '../state-old/unusable-lines.ts';
import { findListedJob } from './find-listed-job.ts';
import { type CronJob, cronKey, identifyJob, type JobIdentity } from './job.ts';
import { AgentFinder } from './job-agent.ts';
import { openJobLedger } from './job-ledger.ts';
import { adoptedSnapshot, type JobSnapshot, type RecordedJob } from './job-records.ts';
import {
  findKeyById,
  type JobSelection,
  type SelectedJob,
  selectByKey,
  unknownJobError,
  unknownKeyError,
} from './job-selection.ts';
import { type ListedJob, matchIdentity } from './listed-job.ts';

/** What `adoptJob` and `forgetJob` need. */
export interface ForgetDeps extends OwnerLiveness {
  readonly ledger: Pick<Ledger<JobSnapshot>, 'readAll' | 'append' | 'resolveKey' | 'blockingLines'>;
  readonly newId: () => string;
  /** Resolves once the user has confirmed. @throws UsageError if the user declines or cannot be asked */
  readonly confirm: (question: string) => Promise<void>;
  /** Resolves at a time of the monotonic clock. Rejects if the command is interrupted. */
  readonly waitUntil: (monotonic: number) => Promise<void>;
}

/** The additional dependencies of `adoptJob`. */
export interface AdoptDeps extends ForgetDeps {
  /** The base URL of the service. */
  readonly origin: string;
  /**
   * Returns the job as the service lists it; undefined if the list cannot be read at all.
   * @throws NotFoundError if the list does not contain it; PartnerctlError if reading the list may succeed later
   */
  readonly fetchListed: (cronJobId: string) => Promise<ListedJob | undefined>;
  /** The global flags to repeat in the commands that hints show. */
  readonly flags: GlobalFlags;
}

/** Selects the job whose record is changed: by its key, or by agent and name. */
export type JobSelector = { readonly key: string } | Pick<CronJob, 'agent_id' | 'name'>;

/**
 * Refuses to change a job that is being created: its process would not notice the change.
 * @returns the monotonic time from which on no process on another machine can create it either
 */
async function refuseWhileInProgress(deps: ForgetDeps, { history, key }: SelectedJob): Promise<number> {
  const watch = new OwnerWatch(deps);
  let actsUntil = deps.clock.monotonic();
  for (const open of history.open) {
    actsUntil = Math.max(actsUntil, await watch.look(open));
    if (actsUntil < Number.POSITIVE_INFINITY) continue;
    throw new DuplicateError('Another process is creating this job.', {
      why: `It reserved the job at ${open.reservation.at}.`,
      hint: 'Wait until it is done.',
      details: { key },
    });
  }
  return actsUntil;
}

/** The file may have changed while the prompt was open. */
async function refuseIfChanged({ ledger }: ForgetDeps, { key, records }: SelectedJob): Promise<void> {
  const current = selectByKey(await ledger.readAll(), key);
  if (current.records.length === records.length) return;
  throw new DuplicateError('The records of this job changed while you were asked.', {
    hint: 'Nothing was changed. Look at the job again: partnerctl cron list',
    details: { key },
  });
}

function refuseOtherJob({ agent_id, name }: Pick<CronJob, 'agent_id' | 'name'>, listed: ListedJob): void {
  if (matchIdentity(listed, agent_id, name) !== 'no') return;
  throw new InputError(`${listed.cron_job_id} is another job.`, {
    why: `It is ${JSON.stringify(listed.name ?? '')} of agent ${listed.agent_id ?? '(unknown)'}, not ${JSON.stringify(name)} of agent ${agent_id}.`,
    hint: 'Nothing was changed.',
  });
}

/** Refuses a job that the state file records under another key: some services do not return the agent of a job. */
async function refuseRecordedForOther({ ledger, origin, flags }: AdoptDeps, key: string, id: string): Promise<void> {
  const records = await ledger.readAll();
  const jobs = [...keyHistories(records).values()].flatMap(({ objects }) => objects);
  const other = jobs.find((job) => job.remoteId === id && job.snapshot.origin === origin && job.key !== key);
  if (!other) return;
  throw new InputError(`${id} is another job.`, {
    why: `The state has it as ${JSON.stringify(other.snapshot.name)} of agent ${other.snapshot.agent_id}.`,
    hint: `Nothing was changed. If that record is wrong, remove it first: ${shellCommand(['cron', 'forget', other.key], flags)}`,
  });
}

async function selectJob({ ledger, origin }: AdoptDeps, selector: JobSelector) {
  const records = await ledger.readAll();
  if (!('key' in selector)) {
    const { agent_id, name } = selector;
    return { selected: selectByKey(records, cronKey(origin, agent_id, name)), agent_id, name };
  }
  const selected = selectByKey(records, ledger.resolveKey(selector.key));
  if (selected.snapshot?.origin !== origin) throw unknownKeyError(selector.key);
  return { selected, agent_id: selected.snapshot.agent_id, name: selected.snapshot.name };
}

/**
 * Records a job of the service as the job of this agent and name.
 * @throws NotFoundError if the key or the job does not exist; InputError if it is another job; DuplicateError if another
 * process is creating it or changed its records; UsageError if the user does not confirm; LocalError if the state file
 * cannot be written
 */
export async function adoptJob(deps: AdoptDeps, cronJobId: string, selector: JobSelector): Promise<RecordedJob> {
  const { origin, ledger } = deps;
  const { selected, agent_id, name } = await selectJob(deps, selector);
  const { key, history } = selected;
  await refuseWhileInProgress(deps, selected);
  const listed = await deps.fetchListed(cronJobId);
  if (listed) refuseOtherJob({ agent_id, name }, listed);
  if (listed?.agent_id === undefined || listed.name === undefined) {
    await refuseRecordedForOther(deps, key, cronJobId);
  }
  await deps.confirm(`Record ${cronJobId} as job ${JSON.stringify(name)} of agent ${agent_id}?`);
  await refuseIfChanged(deps, selected);
  const recorded = history.objects.find(({ remoteId }) => remoteId === cronJobId) ?? history.open[0]?.reservation;
  const adopted: RecordedJob = {
    kind: 'adopted',
    ...stampRecord(deps),
    key,
    snapshot: adoptedSnapshot({ origin, agent_id, name }, listed, recorded?.snapshot),
    reservation: history.open[0]?.reservation.id ?? null,
    remoteId: cronJobId,
  };
  await ledger.append(adopted);
  return adopted;
}

function forgetQuestion(job: string, { objects }: SelectedJob['history'], damaged: readonly BlockingLine[]): string {
  const ids = objects.map(({ remoteId }) => remoteId).join(', ');
  const remains = ids === '' ? 'Its id is not known' : `${ids} keeps running at the service`;
  const lines = damaged.map(({ line }) => line).join(', ');
  const settled = lines === '' ? '' : ` Damaged lines of the state (${lines}) then count as not about it.`;
  return `Forget the record of ${job}? ${remains}; this only lets a job of that name be created again.${settled}`;
}

/**
 * Removes a job from the state file, so that it can be created again, and settles the damaged lines that may be about it.
 * The job at the service stays.
 * @returns the record, and the job if it is known
 * @throws NotFoundError if the state file has no such job; DuplicateError if another process is creating it or changed its
 * records; UsageError if the user does not confirm; LocalError if the state file cannot be written
 */
export async function forgetJob(
  deps: ForgetDeps,
  target: { readonly key: string } | JobIdentity,
): Promise<{ readonly forgotten: Forgotten; readonly job: JobIdentity | undefined }> {
  const { ledger } = deps;
  const all = await ledger.readAll();
  const key =
    'key' in target
      ? (findKeyById(all, target.key) ?? ledger.resolveKey(target.key))
      : cronKey(target.origin, target.agent_id, target.name);
  const selected = selectByKey(all, key);
  const { history, records } = selected;
  const job = selected.snapshot ?? ('key' in target ? undefined : target);
  const lines = ledger.blockingLines(job ? identifyJob(job) : { keys: [key], texts: [] });
  const damaged = lines.filter(({ kind }) => kind === 'damaged');
  if (history.objects.length + history.open.length + damaged.length === 0)
    throw job ? unknownJobError(job) : unknownKeyError(key, 'key or id');
  const actsUntil = await refuseWhileInProgress(deps, selected);
  const named = job ? `${JSON.stringify(job.name)} of agent ${job.agent_id}` : `the job with the key ${key}`;
  await deps.confirm(forgetQuestion(named, history, damaged));
  await deps.waitUntil(actsUntil);
  await refuseIfChanged(deps, selected);
  const settled = { records: liveRecordIds(records), lines: damaged.map(({ digest }) => digest) };
  const forgotten: Forgotten = { kind: 'forgotten', ...stampRecord(deps), key, ...settled };
  await ledger.append(forgotten);
  return { forgotten, job };
}

async function createForgetDeps(context: Context, yes: boolean): Promise<ForgetDeps> {
  return {
    ledger: await openJobLedger(context),
    clock: context.clock,
    newId: randomRecordId,
    hasEnded,
    async waitUntil(monotonic) {
      const { clock, abortSignal, progress } = context;
      if (clock.monotonic() < monotonic) {
        progress.start('Waiting, because another machine may still be creating the job', monotonic - clock.monotonic());
      }
      while (clock.monotonic() < monotonic) await clock.sleep(monotonic - clock.monotonic(), abortSignal);
    },
    async confirm(question) {
      if (yes) return;
      if (!context.isInteractive) {
        throw new UsageError('Changing the record of a job needs a confirmation.', {
          hint: 'Without a terminal, confirm with --yes.',
        });
      }
      if (await context.confirm(question)) return;
      throw new UsageError('Nothing was changed.', { hint: 'Run it again and answer y, or pass --yes.' });
    },
  };
}

async function fetchListed(context: Context, http: Http, cronJobId: string): Promise<ListedJob | undefined> {
  context.progress.start('Reading the jobs');
  const found = await findListedJob(http, cronJobId);
  context.progress.stop();
  if (found.kind === 'listed') return found.job;
  if (found.kind === 'unreadable') {
    await context.warn(`cannot check whether the service has ${cronJobId}: ${found.reason.message}`);
    return undefined;
  }
  throw new NotFoundError(`The service does not list a job ${cronJobId}.`, {
    hint: 'Nothing was changed. partnerctl cron list shows the jobs that the service has.',
  });
}

/** Runs `adoptJob` for `cron adopt`. @param yes skips the confirmation */
export async function adopt(
  context: Context,
  cronJobId: string,
  selection: JobSelection,
  yes: boolean,
): Promise<RecordedJob> {
  const http = await context.http();
  const deps = {
    ...(await createForgetDeps(context, yes)),
    origin: http.baseUrl,
    fetchListed: (id: string) => fetchListed(context, http, id),
    flags: context.flags,
  };
  if ('key' in selection) return await adoptJob(deps, cronJobId, selection);
  const agent_id = await new AgentFinder(context, http).find(selection);
  return await adoptJob(deps, cronJobId, { agent_id, name: selection.name });
}

async function forgetTarget(context: Context, selection: JobSelection): Promise<Parameters<typeof forgetJob>[1]> {
  if ('key' in selection) return selection;
  const { agent, name } = selection;
  if (agent.by === 'name') {
    const http = await context.http();
    const agent_id = await new AgentFinder(context, http).find(selection);
    context.progress.stop();
    return { origin: http.baseUrl, agent_id, name };
  }
  const origin = await context.baseUrl();
  if (origin === undefined) {
    throw new UsageError('No base URL is configured.', { hint: 'Name the job by its key.' });
  }
  return { origin, agent_id: agent.value, name };
}

/** Runs `forgetJob` for `cron forget`. Calls the service only to look up an agent by name. */
export async function forget(context: Context, selection: JobSelection, yes: boolean): ReturnType<typeof forgetJob> {
  return await forgetJob(await createForgetDeps(context, yes), await forgetTarget(context, selection));
}
