import { readItem } from '../api/api-response.ts';
import { createFreshList } from '../api/fresh-list.ts';
import { ListUnavailable, nameListFailure, toListFailure } from '../api/list-failure.ts';
import type { Clock } from '../clock.ts';
import type { Contract } from '../contract/contract.ts';
import { readCronJob } from '../contract/cron.ts';
import { fieldsOf } from '../contract/fields.ts';
import type { JsonObject } from '../contract/json.ts';
import { OPERATIONS } from '../contract/operations.ts';
import { comparableAgent } from '../contract/values.ts';
import { type PartnerctlError, RefusedError } from '../errors.ts';
import { type CronJob, toNfc } from './job.ts';
import { type ListedJob, matchIdentity } from './listed-job.ts';

/** The job to look up. */
type Wanted = Pick<CronJob, 'agent_id' | 'name'>;

/** Converts an item of the service's list. @throws ShapeError when it has no id, or its name or agent cannot be read */
export function toListedJob(item: JsonObject, contract: Contract): ListedJob {
  const job = readItem(OPERATIONS.listCronJobs, () => readCronJob(item, contract));
  return { ...job, name: job.name ?? undefined };
}

/**
 * Refuses a list with a job whose name cannot be read: it may be the wanted one. A job can have no name if others have
 * one, as what this tool creates always has.
 * @param nameless the jobs without a name
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

/** The list of jobs in messages. */
export const JOB_LIST = 'the list of jobs';

/** The entries of the service's list that match one job; `closed` if the list is unavailable. */
export type FoundJobs =
  | {
      readonly kind: 'read';
      /** The listed jobs of this agent and name. */
      readonly same: readonly ListedJob[];
      /** Listed jobs that may match: the service does not return their agent or name. */
      readonly maybe: readonly ListedJob[];
      /** Whether the list has a job with this id, whatever its name. */
      readonly isListed: (cronJobId: string) => boolean;
      /** The job with this id, if it was kept. */
      readonly byId: (cronJobId: string) => ListedJob | undefined;
    }
  | { readonly kind: 'closed' };

/** Looks a job up in the service's list. @throws PartnerctlError when reading the list may succeed later */
export type FindJob = (job: Wanted) => Promise<FoundJobs>;

export interface JobListOptions {
  /** The service's list, page after page. */
  readonly list: () => AsyncIterable<JsonObject>;
  readonly contract: Contract;
  /** The jobs to look up; for all others only the ids are kept. */
  readonly wanted: readonly Pick<Wanted, 'name'>[];
  readonly clock: Pick<Clock, 'now' | 'monotonic'>;
  /** Whether the state file proves that the service has this list. */
  readonly wasReadBefore: () => Promise<boolean>;
  /** What a list that cannot be read means for the command. */
  readonly failureHint: string;
  /** What to do if the service refuses the request for the list as invalid. */
  readonly refusalHint?: string;
  /** Called once if the list is unavailable. If it throws, every lookup throws the same error. */
  readonly onUnavailable: (error: PartnerctlError) => Promise<void>;
}

/** What one read of the list showed. */
interface JobList {
  readonly ids: ReadonlySet<string>;
  /** The jobs that were kept. */
  readonly byId: ReadonlyMap<string, ListedJob>;
  /** The jobs with a wanted name, by name and agent; see `identityKey`. */
  readonly byIdentity: ReadonlyMap<string, readonly ListedJob[]>;
  readonly nameless: readonly ListedJob[];
}

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

/** Says which jobs of a list to keep. */
function wantedFilter({ wanted }: JobListOptions): (listed: ListedJob) => boolean {
  const names = new Set(wanted.map(({ name }) => toNfc(name)));
  return ({ name }) => name === undefined || names.has(toNfc(name));
}

/**
 * Reads the service's list once.
 * @param wasRead whether this process has read it before
 * @returns undefined if it is unavailable
 */
async function readJobList(options: JobListOptions, wasRead: boolean): Promise<JobList | undefined> {
  const isWanted = wantedFilter(options);
  const ids = new Set<string>();
  // A map, because a job may be listed twice: pages shift while the list grows.
  const jobs = new Map<string, ListedJob>();
  const nameless: JsonObject[] = [];
  try {
    for await (const item of options.list()) {
      const listed = toListedJob(item, options.contract);
      // What the service has deleted, and lists all the same, does not exist.
      if (listed.retirement) continue;
      const { cron_job_id, name } = listed;
      if (name === undefined) nameless.push(item);
      ids.add(cron_job_id);
      if (isWanted(listed)) jobs.set(cron_job_id, listed);
    }
    refuseNameless(nameless, nameless.length < ids.size, options.contract);
    const kept = [...jobs.values()];
    return {
      ids,
      byId: jobs,
      byIdentity: byIdentity(kept),
      nameless: kept.filter(({ name }) => name === undefined),
    };
  } catch (error) {
    const fail = (known: boolean) =>
      toListFailure(error, { name: JOB_LIST, wasRead: known, isPartlyRead: ids.size > 0 });
    const failure = fail(wasRead);
    const isLost = failure instanceof ListUnavailable && failure.isAbsent && (await options.wasReadBefore());
    if (failure instanceof ListUnavailable && !isLost) {
      await options.onUnavailable(failure.reason);
      return undefined;
    }
    const isRefused = failure instanceof RefusedError && [400, 422].includes(failure.info.status ?? 0);
    const hints = [options.failureHint, isRefused ? options.refusalHint : undefined].filter(
      (hint) => hint !== undefined,
    );
    throw nameListFailure(isLost ? fail(true) : failure, JOB_LIST, hints.join('\n'));
  }
}

function findIn(list: JobList | undefined, { agent_id, name }: Wanted): FoundJobs {
  if (!list) return { kind: 'closed' };
  const { ids, byId, byIdentity, nameless } = list;
  const named = [agent_id, undefined].flatMap((agent) => byIdentity.get(identityKey(name, agent)) ?? []);
  const candidates = [...named, ...nameless];
  const matching = (identity: 'yes' | 'maybe') =>
    candidates.filter((listed) => matchIdentity(listed, agent_id, name) === identity);
  return {
    kind: 'read',
    same: matching('yes'),
    maybe: matching('maybe'),
    isListed: (id) => ids.has(id),
    byId: (id) => byId.get(id),
  };
}

/** Creates a function that looks up jobs in one read of the service's list, which the first lookup starts. */
export function createJobFinder(options: JobListOptions): FindJob {
  let reading: Promise<JobList | undefined> | undefined;
  return async (job) => {
    reading ??= readJobList(options, false);
    return findIn(await reading, job);
  };
}

/** Looks jobs up in a list that is read again and again. */
export interface FreshJobLists {
  /** Looks in a recent read. Lookups at the same time share one. */
  readonly find: FindJob;
  /** Returns a function that looks in a read that begins now. */
  readonly readAgain: () => FindJob;
}

/** Creates lookups in the service's list. An unavailable list is not read again. */
export function createFreshJobLists(options: JobListOptions): FreshJobLists {
  let wasRead = false;
  let isClosed = false;
  const list = createFreshList(async () => {
    if (isClosed) return undefined;
    const read = await readJobList(options, wasRead);
    if (read) wasRead = true;
    else isClosed = true;
    return read;
  }, options.clock);
  return {
    find: async (job) => findIn(await list.recent(), job),
    readAgain() {
      const reading = list.anew();
      return async (job) => findIn(await reading, job);
    },
  };
}
