import type { Contract } from '../contract/contract.ts';
import type { JsonObject } from '../contract/json.ts';
import { comparableAgent } from '../contract/values.ts';
import { LISTED_WITHIN_MS } from './decide.ts';
import { describeSchedule, nextRuns } from './describe-schedule.ts';
import type { JobReservation, RecordedJob } from './recorded-job.ts';
import { type CronSchedule, completeSchedule, toWireSchedule } from './schedule.ts';
import { readListedJob } from './service-jobs.ts';

/** A job as `cron list` shows it. */
export interface JobRow {
  readonly cron_job_id: string | null;
  readonly agent_id: string | undefined;
  /** What the service lists in place of an agent_id: the id or the name of the agent. */
  readonly agent_text?: string | undefined;
  readonly name: string | undefined;
  /** Of the space of the agent, as the state knows it. */
  readonly external_space_id: string | undefined;
  /** The schedule in English, and the next run; undefined if the schedule is not known. */
  readonly description: string | undefined;
  readonly next: string | undefined;
  /**
   * `recorded`: the service lists it, and the state has it. `unrecorded`: the state does not have it. `gone`:
   * the service no longer lists it, or lists it as deleted. `unlisted`: like `gone`, but recorded so recently that
   * the service may list it later. `unknown`: it may have been created. `local`: the service was not called.
   */
  readonly state: 'recorded' | 'unrecorded' | 'gone' | 'unlisted' | 'unknown' | 'local';
  /** Its key in the state; undefined if the state does not have it. */
  readonly key: string | undefined;
  readonly json: object;
}

/** What the state knows of the jobs. */
export interface KnownJobs {
  readonly jobs: readonly RecordedJob[];
  readonly open: readonly JobReservation[];
  /** The external ids of spaces, by the keys of their agents. */
  readonly spaces: ReadonlyMap<string, string>;
}

async function describeTimes(
  schedule: CronSchedule | null | undefined,
  now: number,
): Promise<Pick<JobRow, 'description' | 'next'>> {
  if (!schedule) return { description: undefined, next: undefined };
  const [next] = await nextRuns(schedule, now, 1);
  return { description: await describeSchedule(schedule), next };
}

async function toListedRow(
  item: JsonObject,
  contract: Contract,
  { jobs, spaces }: { readonly jobs: ReadonlyMap<string, RecordedJob> } & Pick<KnownJobs, 'spaces'>,
  now: number,
): Promise<JobRow> {
  const listed = readListedJob(item, contract);
  const { cron_job_id, agent_text, schedule } = listed;
  const { key, data } = jobs.get(cron_job_id) ?? {};
  const agent_id = listed.agent_id ?? data?.agent_id;
  const external_space_id = spaces.get(comparableAgent(agent_id ?? agent_text ?? ''));
  const times = await describeTimes(completeSchedule(schedule), now);
  return {
    cron_job_id,
    agent_id,
    agent_text,
    name: listed.name ?? undefined,
    external_space_id,
    ...times,
    state: key === undefined ? 'unrecorded' : 'recorded',
    key,
    // The service's own fields stay, except for those that scripts rely on.
    json: {
      in_words: times.description ?? null,
      ...(key !== undefined && { key }),
      ...item,
      ...(external_space_id !== undefined && { external_space_id }),
      recorded: key !== undefined,
    },
  };
}

async function toLocalRow(
  record: RecordedJob | JobReservation,
  state: JobRow['state'],
  { spaces }: Pick<KnownJobs, 'spaces'>,
  now: number,
): Promise<JobRow> {
  const { key, at } = record;
  const { origin, agent_id, name, schedule } = record.data;
  const external_space_id = spaces.get(comparableAgent(agent_id));
  const cron_job_id = 'object' in record ? record.object : null;
  const times = await describeTimes(schedule, now);
  const json = {
    cron_job_id,
    agent_id,
    name,
    schedule: schedule && toWireSchedule(schedule),
    recorded: true,
    remote: state === 'local' ? null : false,
    status: state,
    key,
    origin,
    at,
    in_words: times.description ?? null,
    external_space_id,
  };
  return { cron_job_id, agent_id, name, external_space_id, ...times, state, key, json };
}

/** Rows for the jobs in the state, without calling the service. */
export async function* toLocalRows(known: KnownJobs, now: number): AsyncGenerator<JobRow> {
  for (const job of known.jobs) yield await toLocalRow(job, 'local', known, now);
  for (const reservation of known.open) yield await toLocalRow(reservation, 'unknown', known, now);
}

/** Rows for the service's list, page after page, joined with the state. Jobs that are only in the state come last. */
export async function* joinRows(
  listed: { readonly items: AsyncIterable<JsonObject>; readonly contract: Contract },
  known: KnownJobs,
  now: number,
): AsyncGenerator<JobRow> {
  const { spaces } = known;
  const jobs = new Map(known.jobs.map((job) => [job.object, job]));
  const unseen = new Map(jobs);
  for await (const item of listed.items) {
    const row = await toListedRow(item, listed.contract, { jobs, spaces }, now);
    if (row.cron_job_id !== null) unseen.delete(row.cron_job_id);
    yield row;
  }
  for (const job of unseen.values()) {
    const isNew = now < Date.parse(job.at) + LISTED_WITHIN_MS;
    yield await toLocalRow(job, isNew ? 'unlisted' : 'gone', known, now);
  }
  for (const reservation of known.open) yield await toLocalRow(reservation, 'unknown', known, now);
}
