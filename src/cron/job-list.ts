import { listJobs } from '../api/calls.ts';
import type { Http } from '../api/http.ts';
import { ListUnavailable, nameListFailure, readItem, toListFailure } from '../api/list.ts';
import { Fields } from '../contract/fields.ts';
import { OPERATIONS } from '../contract/operations.ts';
import { type ListedCronJob, readCronJob } from '../contract/resources.ts';
import { type Clock, startStopwatch } from '../platform/clock.ts';
import { groupBy } from '../platform/group-by.ts';
import { matchIdentity, toNfc } from './job.ts';

export const JOB_LIST = 'the list of jobs';

/** How old a list may be when a write depends on it: another machine may have written since. */
const MAX_AGE_MS = 2_000;
/** How many times as long as reading it took a list may be old, so that reading takes a seventh of the time at most. */
const MAX_AGE_FACTOR = 6;

/** Yields the service's jobs. @throws ShapeError for one without a readable id, name, or agent: it may be wanted */
export async function* listNamedJobs(http: Http): AsyncGenerator<ListedCronJob> {
  const { contract } = http;
  for await (const item of listJobs(http)) {
    yield readItem(OPERATIONS.listCronJobs, () => {
      const job = readCronJob(item, contract);
      if (job.name !== undefined) return job;
      const message = 'A listed job has no name that can be read.';
      throw new Fields(item, 'cron_job', contract).unreadable('cron_job.name', message);
    });
  }
}

export interface JobList {
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

/** A list, or why it cannot be read at all: only the state tells what exists. */
type Reading = JobList | ListUnavailable;

interface ListDeps {
  readonly list: () => AsyncIterable<ListedCronJob>;
  readonly clock: Pick<Clock, 'now' | 'monotonic'>;
  readonly hint: (failure: unknown) => string;
}

/** The list that a command reads again and again. One that is not available is not asked for again. */
export class JobLists {
  private readonly deps: ListDeps;
  private latest: { readonly list: Promise<Reading>; readonly age: () => number; tookMs: number } | undefined;
  private wasRead = false;
  private unavailable: ListUnavailable | undefined;

  constructor(deps: ListDeps) {
    this.deps = deps;
  }

  /** Returns a recent reading, even one that failed. @throws PartnerctlError if reading may succeed later */
  recent(): Promise<Reading> {
    const { latest } = this;
    return latest && latest.age() <= Math.max(MAX_AGE_MS, MAX_AGE_FACTOR * latest.tookMs) ? latest.list : this.anew();
  }

  /** How long the latest reading took; without end while it goes on. */
  get tookMs(): number {
    return this.latest?.tookMs ?? 0;
  }

  /** Returns a reading that begins now. @throws as `recent` */
  anew(): Promise<Reading> {
    const age = startStopwatch(this.deps.clock);
    const reading = { list: this.read(), age, tookMs: Number.POSITIVE_INFINITY };
    const end = (): void => {
      reading.tookMs = age();
    };
    reading.list.then(end, end);
    this.latest = reading;
    return reading.list;
  }

  /** Returns a reading that begins now. @throws PartnerctlError for any failure */
  async whole(): Promise<JobList> {
    const list = await this.anew();
    if (!(list instanceof ListUnavailable)) return list;
    throw nameListFailure(list.reason, JOB_LIST, this.deps.hint(list.reason));
  }

  private async read(): Promise<Reading> {
    const { list, hint } = this.deps;
    if (this.unavailable) return this.unavailable;
    // A job may be listed twice: pages shift while the list grows.
    const jobs = new Map<string, ListedCronJob>();
    try {
      for await (const job of list()) jobs.set(job.cron_job_id, job);
    } catch (error) {
      const failure = toListFailure(error, JOB_LIST, this.wasRead || jobs.size > 0);
      if (!(failure instanceof ListUnavailable)) throw nameListFailure(failure, JOB_LIST, hint(failure));
      this.unavailable = failure;
      return failure;
    }
    this.wasRead = true;
    return { jobs, byName: groupBy(jobs.values(), ({ name }) => toNfc(name ?? '')) };
  }
}
