import { listJobs } from '../api/calls.ts';
import type { Http } from '../api/http.ts';
import { ListUnavailable, nameListFailure, readItem, toListFailure } from '../api/list-failure.ts';
import type { Contract } from '../contract/contract.ts';
import { type ListedCronJob, readCronJob } from '../contract/cron.ts';
import { fieldsOf } from '../contract/fields.ts';
import type { JsonObject } from '../contract/json.ts';
import { OPERATIONS } from '../contract/operations.ts';
import { type Clock, startStopwatch } from '../platform/clock.ts';
import { matchIdentity, toNfc } from './job.ts';

/** The list of jobs in messages. */
export const JOB_LIST = 'the list of jobs';

/** How old a list may be when a write depends on it: another machine may have written since. */
const MAX_AGE_MS = 2_000;
/** How many times as long as reading it took a list may be old, so that reading takes a seventh of the time at most. */
const MAX_AGE_FACTOR = 6;

/** Reads an item of the service's list. @throws ShapeError if it has no id, or its name or agent cannot be read */
export function readListedJob(item: JsonObject, contract: Contract): ListedCronJob {
  return readItem(OPERATIONS.listCronJobs, () => readCronJob(item, contract));
}

/**
 * Yields the service's jobs, page after page.
 * @throws as `listJobs` and `readListedJob`; ShapeError for a job without a readable name: it may be the wanted one
 */
export async function* listNamedJobs(http: Http): AsyncGenerator<ListedCronJob> {
  const { contract } = http;
  for await (const item of listJobs(http)) {
    const job = readListedJob(item, contract);
    if (job.name === undefined) {
      readItem(OPERATIONS.listCronJobs, () => {
        const message = 'A listed job has no name that can be read.';
        throw fieldsOf(item, 'cron_job', contract).unreadable('cron_job.name', message);
      });
    }
    yield job;
  }
}

/** What one reading of the list showed. */
export interface JobList {
  /** By id. */
  readonly jobs: ReadonlyMap<string, ListedCronJob>;
  /** By name in NFC. */
  readonly byName: ReadonlyMap<string, readonly ListedCronJob[]>;
}

/** The listed jobs of an agent and a name, and those that may be: the service does not return their agent. */
export function findInList(
  { byName }: JobList,
  { agent_id, name }: { readonly agent_id: string; readonly name: string },
): { readonly same: readonly ListedCronJob[]; readonly maybe: readonly ListedCronJob[] } {
  const named = byName.get(toNfc(name)) ?? [];
  const matching = (identity: 'yes' | 'maybe') =>
    named.filter((listed) => matchIdentity(listed, agent_id, name) === identity);
  return { same: matching('yes'), maybe: matching('maybe') };
}

/**
 * Reads the service's list once.
 * @param wasRead whether it was read before: then the service has it
 * @throws as `toListFailure`
 */
export async function readJobList(listed: AsyncIterable<ListedCronJob>, wasRead = false): Promise<JobList> {
  // A job may be listed twice: pages shift while the list grows.
  const jobs = new Map<string, ListedCronJob>();
  try {
    for await (const job of listed) jobs.set(job.cron_job_id, job);
  } catch (error) {
    throw toListFailure(error, JOB_LIST, wasRead || jobs.size > 0);
  }
  const byName = new Map<string, ListedCronJob[]>();
  for (const job of jobs.values()) {
    const name = toNfc(job.name ?? '');
    const named = byName.get(name);
    if (named) named.push(job);
    else byName.set(name, [job]);
  }
  return { jobs, byName };
}

/** Reads a list that must be readable. @param hint what to do if it is not @throws PartnerctlError */
export async function readWholeList(listed: AsyncIterable<ListedCronJob>, hint: string): Promise<JobList> {
  return await readJobList(listed).catch((error: unknown) => {
    throw nameListFailure(error instanceof ListUnavailable ? error.reason : error, JOB_LIST, hint);
  });
}

interface ListDeps {
  readonly list: () => AsyncIterable<ListedCronJob>;
  readonly clock: Pick<Clock, 'now' | 'monotonic'>;
  /** What to do if reading fails. */
  readonly hint: (failure: unknown) => string;
}

/** A list, or why it cannot be read at all: only the state tells what exists. */
type Reading = JobList | ListUnavailable;

/** The list that a command reads again and again. One that is not available is not asked for again. */
export class JobLists {
  private readonly deps: ListDeps;
  private latest: { readonly list: Promise<Reading>; isRecent: () => boolean } | undefined;
  private wasRead = false;
  private unavailable: ListUnavailable | undefined;

  constructor(deps: ListDeps) {
    this.deps = deps;
  }

  /** Returns a recent reading, even one that failed. @throws PartnerctlError if reading may succeed later */
  recent(): Promise<Reading> {
    return this.latest?.isRecent() ? this.latest.list : this.anew();
  }

  /** Returns a reading that begins now. @throws as `recent` */
  anew(): Promise<Reading> {
    const age = startStopwatch(this.deps.clock);
    const reading = { list: this.read(), isRecent: () => true };
    const letAge = (): void => {
      const maxAgeMs = Math.max(MAX_AGE_MS, MAX_AGE_FACTOR * age());
      reading.isRecent = () => age() <= maxAgeMs;
    };
    reading.list.then(letAge, letAge);
    this.latest = reading;
    return reading.list;
  }

  private async read(): Promise<Reading> {
    if (this.unavailable) return this.unavailable;
    try {
      const list = await readJobList(this.deps.list(), this.wasRead);
      this.wasRead = true;
      return list;
    } catch (error) {
      if (!(error instanceof ListUnavailable)) throw nameListFailure(error, JOB_LIST, this.deps.hint(error));
      this.unavailable = error;
      return error;
    }
  }
}
