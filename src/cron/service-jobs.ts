import { readItem } from '../api/api-response.ts';
import { listJobs } from '../api/calls.ts';
import { createFreshList } from '../api/fresh-list.ts';
import type { Http } from '../api/http.ts';
import { ListUnavailable, nameListFailure, toListFailure } from '../api/list-failure.ts';
import type { Contract } from '../contract/contract.ts';
import { readCronJob } from '../contract/cron.ts';
import { fieldsOf } from '../contract/fields.ts';
import type { JsonObject } from '../contract/json.ts';
import { OPERATIONS } from '../contract/operations.ts';
import { comparableAgent } from '../contract/values.ts';
import {
  ErrorInSuccessBody,
  isTokenRejected,
  NotFoundError,
  NotJsonError,
  type PartnerctlError,
  RefusedError,
  ShapeError,
} from '../errors.ts';
import type { Clock } from '../platform/clock.ts';
import type { Log } from '../state/log.ts';
import { type CronJob, toNfc } from './job.ts';
import { type ListedJob, matchIdentity } from './listed-job.ts';
import { provesListRead } from './recorded-job.ts';

/** The list of jobs in messages. */
export const JOB_LIST = 'the list of jobs';

/** Converts an item of the service's list. @throws ShapeError when it has no id, or its name or agent cannot be read */
export function toListedJob(item: JsonObject, contract: Contract): ListedJob {
  const job = readItem(OPERATIONS.listCronJobs, () => readCronJob(item, contract));
  return { ...job, name: job.name ?? undefined };
}

/** Where the list of jobs comes from. */
export interface JobSource {
  /** Yields the service's list, page after page. */
  readonly list: () => AsyncIterable<JsonObject>;
  readonly contract: Contract;
  readonly clock: Pick<Clock, 'now' | 'monotonic'>;
  /** Whether the state proves that the service has this list. */
  readonly wasReadBefore: () => Promise<boolean>;
}

/** What one reading of the list showed. */
export interface JobList {
  readonly kind: 'read';
  readonly jobs: ReadonlyMap<string, ListedJob>;
  /** By name and agent; see `identityKey`. */
  readonly byIdentity: ReadonlyMap<string, readonly ListedJob[]>;
  readonly nameless: readonly ListedJob[];
}

/** The list cannot be read at all: only the state tells what exists. */
interface ClosedList {
  readonly kind: 'closed';
  readonly reason: PartnerctlError;
}

/** The listed jobs that match one job; `closed` if the list cannot be read. */
export type FoundJobs =
  | {
      readonly kind: 'read';
      /** The listed jobs of this agent and name. */
      readonly same: readonly ListedJob[];
      /** Listed jobs that may match: the service does not return their agent or name. */
      readonly maybe: readonly ListedJob[];
      /** All listed jobs, by id. */
      readonly jobs: ReadonlyMap<string, ListedJob>;
    }
  | { readonly kind: 'closed' };

/** @param agentId undefined for jobs whose agent the service does not return */
function identityKey(name: string, agentId: string | undefined): string {
  return JSON.stringify([toNfc(name), agentId === undefined ? null : comparableAgent(agentId)]);
}

/** Groups the jobs with a name. */
function byIdentity(jobs: readonly ListedJob[]): JobList['byIdentity'] {
  const groups = new Map<string, ListedJob[]>();
  for (const job of jobs) {
    if (job.name === undefined) continue;
    const key = identityKey(job.name, job.agent_id);
    groups.set(key, [...(groups.get(key) ?? []), job]);
  }
  return groups;
}

/** Finds a job in a list, by its agent and name. */
export function findInList(
  list: JobList | ClosedList,
  { agent_id, name }: Pick<CronJob, 'agent_id' | 'name'>,
): FoundJobs {
  if (list.kind === 'closed') return { kind: 'closed' };
  const { jobs, byIdentity, nameless } = list;
  const named = [agent_id, undefined].flatMap((agent) => byIdentity.get(identityKey(name, agent)) ?? []);
  const candidates = [...named, ...nameless];
  const matching = (identity: 'yes' | 'maybe') =>
    candidates.filter((listed) => matchIdentity(listed, agent_id, name) === identity);
  return { kind: 'read', same: matching('yes'), maybe: matching('maybe'), jobs };
}

/**
 * Refuses a list with a job whose name cannot be read: it may be the wanted one. A job can have no name if others have
 * one, as what this tool creates always has.
 * @throws ShapeError
 */
function refuseNameless(nameless: readonly JsonObject[], isAnyNamed: boolean, contract: Contract): void {
  for (const item of nameless) {
    const fields = fieldsOf(item, 'cron_job', contract);
    if (isAnyNamed && fields.value('cron_job.name') === null) continue;
    readItem(OPERATIONS.listCronJobs, () => {
      throw fields.unreadable('cron_job.name', 'A listed job has no name that can be read.');
    });
  }
}

/**
 * Reads the service's list once.
 * @param wasRead whether this process has read it before
 * @throws as `toListFailure`
 */
async function readJobList({ list, contract, wasReadBefore }: JobSource, wasRead: boolean): Promise<JobList> {
  // A map, because a job may be listed twice: pages shift while the list grows.
  const jobs = new Map<string, ListedJob>();
  const nameless: JsonObject[] = [];
  try {
    for await (const item of list()) {
      const listed = toListedJob(item, contract);
      // What the service has deleted, and lists all the same, does not exist.
      if (listed.retirement) continue;
      if (listed.name === undefined) nameless.push(item);
      jobs.set(listed.cron_job_id, listed);
    }
    refuseNameless(nameless, nameless.length < jobs.size, contract);
  } catch (error) {
    const fail = (known: boolean) =>
      toListFailure(error, { name: JOB_LIST, wasRead: known, isPartlyRead: jobs.size > 0 });
    const failure = fail(wasRead);
    const isLost = failure instanceof ListUnavailable && failure.isAbsent && (await wasReadBefore());
    throw isLost ? fail(true) : failure;
  }
  const all = [...jobs.values()];
  return {
    kind: 'read',
    jobs,
    byIdentity: byIdentity(all),
    nameless: all.filter(({ name }) => name === undefined),
  };
}

/** What a list that cannot be read means for a command. */
interface ListHints {
  readonly failure: string;
  /** What to do if the service refuses the request for the list as invalid. */
  readonly refusal?: string;
}

/** The service's list, which is read again and again. @throws PartnerctlError when reading it may succeed later */
export interface JobLists {
  /** Returns a recent reading. Calls at the same time share one. */
  readonly recent: () => Promise<JobList | ClosedList>;
  /** Returns a reading that begins now. A list that is closed is not read again. */
  readonly anew: () => Promise<JobList | ClosedList>;
}

export function createJobLists(source: JobSource, hints: ListHints): JobLists {
  let wasRead = false;
  let closed: ClosedList | undefined;
  return createFreshList(async () => {
    if (closed) return closed;
    try {
      const list = await readJobList(source, wasRead);
      wasRead = true;
      return list;
    } catch (error) {
      if (error instanceof ListUnavailable) {
        closed = { kind: 'closed', reason: error.reason };
        return closed;
      }
      const isRefused = error instanceof RefusedError && [400, 422].includes(error.info.status ?? 0);
      const hint = [hints.failure, ...(isRefused && hints.refusal ? [hints.refusal] : [])].join('\n');
      throw nameListFailure(error, JOB_LIST, hint);
    }
  }, source.clock);
}

/** The service and the state. */
export interface JobAccess {
  readonly http: Http;
  readonly log: Log;
  readonly clock: Clock;
}

function sourceOf({ http, log, clock }: JobAccess): JobSource {
  return {
    list: () => listJobs(http),
    contract: http.contract,
    clock,
    wasReadBefore: async () => provesListRead(await log.read(), http.baseUrl),
  };
}

/** The list for a command that creates jobs, or that plans to. */
export function jobListsOf(access: JobAccess, { dryRun }: { readonly dryRun: boolean }): JobLists {
  return createJobLists(sourceOf(access), {
    failure: dryRun ? 'Nothing was sent.' : 'The job was not sent: it may exist already, and only the list can tell.',
    refusal:
      'If the service has no list of all jobs, go on without one: partnerctl contract set cron_jobs.list none. Then only the state prevents duplicates.',
  });
}

/** Returns a function that reads a list which must be readable. @param hint what to do if it is not */
export function jobListReader(access: JobAccess, hint: string): () => Promise<JobList> {
  const lists = createJobLists(sourceOf(access), { failure: hint });
  return async () => {
    const list = await lists.anew();
    if (list.kind === 'closed') throw nameListFailure(list.reason, JOB_LIST, hint);
    return list;
  };
}

/**
 * Looks up a job by its id.
 * @returns the job; why the list cannot be read, now or later: then a person has to say what exists
 * @throws NotFoundError if the service does not list it; PartnerctlError if reading the list may succeed later
 */
export async function findListedJob(
  access: JobAccess,
  cronJobId: string,
): Promise<{ readonly job: ListedJob } | { readonly unreadable: PartnerctlError }> {
  let list: JobList;
  try {
    list = await readJobList(sourceOf(access), false);
  } catch (error) {
    const reason = error instanceof ListUnavailable ? error.reason : error;
    const isForeign = reason instanceof NotJsonError || reason instanceof ErrorInSuccessBody || isTokenRejected(reason);
    const isUnreadable = error instanceof ListUnavailable || error instanceof ShapeError;
    if (isUnreadable && !isForeign) return { unreadable: error instanceof ListUnavailable ? error.reason : error };
    throw nameListFailure(reason, JOB_LIST, 'Nothing was changed.');
  }
  const job = list.jobs.get(cronJobId);
  if (job) return { job };
  throw new NotFoundError(`The service does not list a job ${cronJobId}.`, {
    hint: 'Nothing was changed. partnerctl cron list shows the jobs that the service has.',
  });
}
