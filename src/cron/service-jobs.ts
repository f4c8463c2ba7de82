import { listJobs } from '../api/calls.ts';
import type { Http } from '../api/http.ts';
import { ListUnavailable, nameListFailure, readItem, toListFailure } from '../api/list-failure.ts';
import type { Contract } from '../contract/contract.ts';
import { type ListedCronJob, readCronJob } from '../contract/cron.ts';
import { fieldsOf } from '../contract/fields.ts';
import { isJsonObject, type JsonObject } from '../contract/json.ts';
import { OPERATIONS } from '../contract/operations.ts';
import { type PartnerctlError, RefusedError } from '../errors.ts';
import { type Clock, startStopwatch } from '../platform/clock.ts';
import type { Log } from '../state/log.ts';
import type { LogRecord } from '../state/record.ts';
import type { CronContext } from './context.ts';
import { matchIdentity, toNfc } from './job.ts';

/** The list of jobs in messages. */
export const JOB_LIST = 'the list of jobs';

/** Reads an item of the service's list. @throws ShapeError if it has no id, or its name or agent cannot be read */
export function readListedJob(item: JsonObject, contract: Contract): ListedCronJob {
  return readItem(OPERATIONS.listCronJobs, () => readCronJob(item, contract));
}

/** How old a list may be when a write depends on it: another machine may have written since. */
const MAX_AGE_MS = 2_000;
/** How many times as long as reading it took a list may be old, so that reading takes a seventh of the time at most. */
const MAX_AGE_FACTOR = 6;

/** What one reading of the list showed. */
export interface JobList {
  readonly kind: 'read';
  /** By id. */
  readonly jobs: ReadonlyMap<string, ListedCronJob>;
  /** By name in NFC. */
  readonly byName: ReadonlyMap<string, readonly ListedCronJob[]>;
}

/** The list cannot be read at all: only the state tells what exists. */
interface ClosedList {
  readonly kind: 'closed';
  readonly reason: PartnerctlError;
}

/** The service's list, which is read again and again. A closed list is not. */
export interface JobLists {
  /** Returns a recent reading, even one that failed. @throws PartnerctlError if reading may succeed later */
  readonly recent: () => Promise<JobList | ClosedList>;
  /** Returns a reading that begins now. @throws as `recent` */
  readonly anew: () => Promise<JobList | ClosedList>;
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

function toJobList(listed: readonly ListedCronJob[]): JobList {
  // A job may be listed twice: pages shift while the list grows.
  const jobs = new Map(listed.map((job) => [job.cron_job_id, job]));
  const byName = new Map<string, ListedCronJob[]>();
  for (const job of jobs.values()) {
    const name = toNfc(job.name ?? '');
    const named = byName.get(name);
    if (named) named.push(job);
    else byName.set(name, [job]);
  }
  return { kind: 'read', jobs, byName };
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

/** A job whose name cannot be read may be the wanted one. @throws ShapeError */
function refuseNameless(item: JsonObject, contract: Contract): never {
  return readItem(OPERATIONS.listCronJobs, () => {
    throw fieldsOf(item, 'cron_job', contract).unreadable(
      'cron_job.name',
      'A listed job has no name that can be read.',
    );
  });
}

/** Reads the service's list once. @throws as `toListFailure` */
export async function readJobList({ list, contract, wasReadBefore }: JobSource): Promise<JobList> {
  const jobs: ListedCronJob[] = [];
  let nameless: JsonObject | undefined;
  try {
    for await (const item of list()) {
      const listed = readListedJob(item, contract);
      if (listed.name === undefined) refuseNameless(item, contract);
      if (listed.name === null) nameless ??= item;
      jobs.push(listed);
    }
    // One without a name is not ours if others have one: what this tool creates always does.
    if (nameless && jobs.every(({ name }) => name === null)) refuseNameless(nameless, contract);
  } catch (error) {
    const wasRead = await wasReadBefore();
    throw toListFailure(error, { name: JOB_LIST, wasRead, isPartlyRead: jobs.length > 0 });
  }
  return toJobList(jobs);
}

/** What to do if the list cannot be read now; `refusal`: also if the service refuses the request as invalid. */
interface ListHints {
  readonly failure: string;
  readonly refusal?: string;
}

/**
 * Creates the list of a command's jobs, which is read again when it is too old. One that is not available is not asked for
 * again. Calls at the same time share a reading.
 */
export function createJobLists(source: JobSource, hints: ListHints): JobLists {
  let wasRead = false;
  const wasReadBefore = async () => wasRead || (await source.wasReadBefore());
  let closed: ClosedList | undefined;
  let latest: { readonly list: Promise<JobList | ClosedList>; isRecent: () => boolean } | undefined;

  async function read(): Promise<JobList | ClosedList> {
    if (closed) return closed;
    try {
      const list = await readJobList({ ...source, wasReadBefore });
      wasRead = true;
      return list;
    } catch (error) {
      if (error instanceof ListUnavailable) {
        closed = { kind: 'closed', reason: error.reason };
        return closed;
      }
      const isRefused = error instanceof RefusedError && [400, 422].includes(error.info.status ?? 0);
      const hint = isRefused && hints.refusal ? `${hints.failure}\n${hints.refusal}` : hints.failure;
      throw nameListFailure(error, JOB_LIST, hint);
    }
  }

  function anew(): Promise<JobList | ClosedList> {
    const age = startStopwatch(source.clock);
    const reading = { list: read(), isRecent: () => true };
    const letAge = (): void => {
      const maxAgeMs = Math.max(MAX_AGE_MS, MAX_AGE_FACTOR * age());
      reading.isRecent = () => age() <= maxAgeMs;
    };
    reading.list.then(letAge, letAge);
    latest = reading;
    return reading.list;
  }

  return { anew, recent: () => (latest?.isRecent() ? latest.list : anew()) };
}

/** Whether the records prove that the service's list of jobs was read before. A job may also be adopted without the list. */
function provesListRead(records: readonly LogRecord[], origin: string): boolean {
  return records.some(({ type, data, seen, of }) => {
    if (!isJsonObject(data) || data.origin !== origin) return false;
    // Only the list knows the content of a job that has no reservation.
    return type === 'cron.reserved' ? Array.isArray(seen) : type === 'cron.created' && !of && data.schedule !== null;
  });
}

/** The list of a service. @param log the state: after a first reading, the service does not lose its list */
export function jobSourceOf(http: Http, log: Log, clock: JobSource['clock']): JobSource {
  return {
    list: () => listJobs(http),
    contract: http.contract,
    clock,
    wasReadBefore: async () => provesListRead(await log.read(), http.baseUrl),
  };
}

/** The hints of a command that creates jobs, or that plans to. */
export function createHints({ command }: Pick<CronContext, 'command'>, dryRun: boolean): ListHints {
  return {
    failure: dryRun ? 'Nothing was sent.' : 'The job was not sent: it may exist already, and only the list can tell.',
    refusal: `If the service has no list of all jobs, go on without one. Then only the state prevents duplicates: ${command(['contract', 'set', 'cron_jobs.list', 'none'])}`,
  };
}

/** Returns a function that reads a list which must be readable. @param hint what to do if it is not */
export function jobListReader(source: JobSource, hint: string): () => Promise<JobList> {
  const lists = createJobLists(source, { failure: hint });
  return async () => {
    const list = await lists.anew();
    if (list.kind === 'closed') throw nameListFailure(list.reason, JOB_LIST, hint);
    return list;
  };
}
