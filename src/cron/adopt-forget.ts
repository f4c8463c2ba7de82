import { DuplicateError, InputError } from '../errors.ts';
import type { Clock } from '../platform/clock.ts';
import { outlive } from '../state/lease.ts';
import type { Log } from '../state/log.ts';
import type { LogRecord } from '../state/record.ts';
import { standingOf, standings } from '../state/standing.ts';
import { type CronJob, cronKey, type JobIdentity } from './job.ts';
import { type ListedJob, matchIdentity } from './listed-job.ts';
import {
  adoptedData,
  findKeyById,
  JOBS,
  type JobData,
  type JobReservation,
  type JobStanding,
  unknownJobError,
  unknownKeyError,
} from './recorded-job.ts';

/** What `adoptJob` and `forgetJob` need. */
export interface ForgetDeps {
  readonly log: Log;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** Resolves once the user has confirmed. @throws UsageError if the user declines or cannot be asked */
  readonly confirm: (question: string) => Promise<void>;
  /** Called before a wait for another process, with the milliseconds that it may take. */
  readonly onWait: (leftMs: number) => void;
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
  /** Returns the command line to type, with the global flags that this command was given. */
  readonly command: (words: readonly string[]) => string;
}

/** Selects the job whose record is changed: by its key, or by agent and name. */
export type JobSelector = { readonly key: string } | Pick<CronJob, 'agent_id' | 'name'>;

interface Selected {
  readonly key: string;
  /** Undefined if the state does not know the job. */
  readonly data: JobData | undefined;
  readonly standing: JobStanding;
}

function select(records: readonly LogRecord[], key: string): Selected {
  const standing = standingOf(standings(records, JOBS), key);
  const data = standing.objects.at(-1)?.data ?? standing.open[0]?.data;
  return { key, data, standing };
}

/** Waits until no process can create the job any more: an owner sends nothing after its lease. */
async function waitForOwners(
  deps: ForgetDeps,
  { standing }: Selected,
  isAwaited?: (reservation: JobReservation) => boolean,
): Promise<void> {
  const ids = new Set(standing.open.map(({ id }) => id));
  await outlive(deps, JOBS, ids, { ...(isAwaited && { isAwaited }), onWait: deps.onWait });
}

/** The state may have changed while this process waited, or while the prompt was open. */
async function refuseIfChanged({ log }: ForgetDeps, { key, standing }: Selected): Promise<void> {
  const current = select(await log.read(), key);
  const unknown = ({ open }: JobStanding) => open.filter(({ isUnknown }) => isUnknown).length;
  if (current.standing.live.join() === standing.live.join() && unknown(current.standing) === unknown(standing)) return;
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

/** Refuses a job that the state records under another key: some services do not return the agent of a job. */
async function refuseRecordedForOther({ log, origin, command }: AdoptDeps, key: string, id: string): Promise<void> {
  const jobs = [...standings(await log.read(), JOBS).values()].flatMap(({ objects }) => objects);
  const other = jobs.find((job) => job.object === id && job.data.origin === origin && job.key !== key);
  if (!other) return;
  throw new InputError(`${id} is another job.`, {
    why: `The state has it as ${JSON.stringify(other.data.name)} of agent ${other.data.agent_id}.`,
    hint: `Nothing was changed. If that record is wrong, remove it first: ${command(['cron', 'forget', other.key])}`,
  });
}

async function selectToAdopt({ log, origin }: AdoptDeps, selector: JobSelector) {
  const records = await log.read();
  if (!('key' in selector)) {
    const { agent_id, name } = selector;
    return { selected: select(records, cronKey(origin, agent_id, name)), job: { origin, agent_id, name } };
  }
  const selected = select(records, selector.key);
  if (selected.data?.origin !== origin) throw unknownKeyError(selector.key);
  return { selected, job: selected.data };
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
  selector: JobSelector,
): Promise<{ readonly key: string; readonly data: JobData; readonly cron_job_id: string }> {
  const { log } = deps;
  const { selected, job } = await selectToAdopt(deps, selector);
  const { key } = selected;
  const listed = await deps.fetchListed(cronJobId);
  if (listed) refuseOtherJob(job, listed);
  if (listed?.agent_id === undefined || listed.name === undefined) await refuseRecordedForOther(deps, key, cronJobId);
  // One that recorded an unknown outcome has sent its request, and the key stays blocked.
  await waitForOwners(deps, selected, ({ isUnknown }) => !isUnknown);
  await deps.confirm(`Record ${cronJobId} as job ${JSON.stringify(job.name)} of agent ${job.agent_id}?`);
  await refuseIfChanged(deps, selected);
  const { objects, open } = selected.standing;
  const recorded = objects.find(({ object }) => object === cronJobId) ?? open[0];
  const data = adoptedData(job, listed, recorded?.data);
  const of = open.map(({ id }) => id);
  await log.append([log.newRecord('cron.created', { key, object: cronJobId, data, ...(of.length > 0 && { of }) })]);
  return { key, data, cron_job_id: cronJobId };
}

function forgetQuestion(job: string, { objects }: JobStanding): string {
  const ids = objects.map(({ object }) => object).join(', ');
  const remains = ids === '' ? 'Its id is not known' : `${ids} keeps running at the service`;
  return `Forget the record of ${job}? ${remains}; this only lets a job of that name be created again.`;
}

/**
 * Removes a job from the state, so that it can be created again. The job at the service stays.
 * @param target the key or the id of the job, or what identifies it
 * @returns its key, and the job if it is known
 * @throws NotFoundError if the state has no such job; DuplicateError if its records changed meanwhile; UsageError if the user
 *   does not confirm; LocalError if the state cannot be read or written
 */
export async function forgetJob(
  deps: ForgetDeps,
  target: { readonly key: string } | JobIdentity,
): Promise<{ readonly key: string; readonly job: JobIdentity }> {
  const { log } = deps;
  const records = await log.read();
  const all = standings(records, JOBS);
  const key =
    'key' in target
      ? (findKeyById(all, target.key) ?? target.key)
      : cronKey(target.origin, target.agent_id, target.name);
  const selected = select(records, key);
  const job = selected.data;
  if (!job) throw 'key' in target ? unknownKeyError(key, 'key or id') : unknownJobError(target);
  // A lost request may still create its job, and the service may not list it yet: then the next run would create another.
  await waitForOwners(deps, selected);
  await deps.confirm(forgetQuestion(`${JSON.stringify(job.name)} of agent ${job.agent_id}`, selected.standing));
  await refuseIfChanged(deps, selected);
  await log.append([log.newRecord('cron.forgotten', { key, of: selected.standing.live })]);
  return { key, job };
}
