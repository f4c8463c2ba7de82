import type { Contract } from '../contract/contract.ts';
import { normalizeName } from '../contract/field-names.ts';
import { isJsonObject, type JsonObject } from '../contract/json.ts';
import { comparableAgent } from '../contract/values.ts';
import type { LogRecord } from '../state/record.ts';
import { standings } from '../state/standing.ts';
import { LISTED_WITHIN_MS } from './decide.ts';
import { completeSchedule } from './listed-job.ts';
import { nextRuns } from './next-runs.ts';
import { JOBS, type JobReservation, type RecordedJob } from './recorded-job.ts';
import { toWireSchedule } from './result.ts';
import type { CronSchedule } from './schedule.ts';
import { describeSchedule } from './schedule.ts';
import { toListedJob } from './service-jobs.ts';

/** Agents whose jobs are meant. */
export interface OwnerAgents {
  /** As `comparableAgent` gives them. */
  readonly ids: ReadonlySet<string>;
  /** Of the space that was asked for. Jobs may remain of agents that are no longer in it. */
  readonly external_space_id?: string;
}

/** A job as `cron list` shows it. */
export interface JobRow {
  readonly cron_job_id: string | null;
  readonly agent_id: string | undefined;
  /** What the service lists in place of an agent_id: the id or the name of the agent. */
  readonly agent_text?: string | undefined;
  readonly name: string | undefined;
  /** Of the space of the agent: as the service lists it, or else as the state knows it. */
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

const EXTERNAL_ID = normalizeName('external_space_id');

async function describeTimes(
  schedule: CronSchedule | undefined,
  now: number,
): Promise<Pick<JobRow, 'description' | 'next'>> {
  if (!schedule) return { description: undefined, next: undefined };
  const [next] = await nextRuns(schedule, now, 1);
  return { description: await describeSchedule(schedule), next };
}

/** The space that the service names for a job itself. Its names for other ids, such as `external_id`, may be the job's own. */
function listedExternalId(item: JsonObject): string | undefined {
  const key = Object.keys(item).find((name) => normalizeName(name) === EXTERNAL_ID);
  const id = key === undefined ? undefined : item[key];
  if (typeof id === 'string') return id;
  return isJsonObject(item.space) ? listedExternalId(item.space) : undefined;
}

async function toListedRow(
  item: JsonObject,
  contract: Contract,
  { jobs, spaces }: { readonly jobs: ReadonlyMap<string, RecordedJob> } & Pick<KnownJobs, 'spaces'>,
  now: number,
): Promise<JobRow> {
  const { cron_job_id, agent_id: listedAgentId, agent_text, name, schedule, retirement } = toListedJob(item, contract);
  const { key, data } = jobs.get(cron_job_id) ?? {};
  const agent_id = listedAgentId ?? data?.agent_id;
  const external_space_id = listedExternalId(item) ?? spaces.get(comparableAgent(agent_id ?? agent_text ?? ''));
  const times = await describeTimes(completeSchedule(schedule), now);
  return {
    cron_job_id,
    agent_id,
    agent_text,
    name,
    external_space_id,
    ...times,
    state: retirement ? 'gone' : key === undefined ? 'unrecorded' : 'recorded',
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
  { state, spaces }: Pick<JobRow, 'state'> & Pick<KnownJobs, 'spaces'>,
  now: number,
): Promise<JobRow> {
  const { key, at } = record;
  const { origin, agent_id, name, schedule } = record.data;
  const external_space_id = spaces.get(comparableAgent(agent_id));
  const cron_job_id = 'object' in record ? record.object : null;
  const times = await describeTimes(schedule ?? undefined, now);
  const remote = state === 'local' ? null : false;
  const json = {
    cron_job_id,
    agent_id,
    name,
    schedule: schedule && toWireSchedule(schedule),
    recorded: true,
    remote,
    status: state,
    key,
    origin,
    at,
    in_words: times.description ?? null,
    external_space_id,
  };
  return { cron_job_id, agent_id, name, external_space_id, ...times, state, key, json };
}

/**
 * Selects the rows of some agents.
 * @param onLeftOut gets the number of rows whose agent is not known, unless it is 0, after the last row
 */
export async function* rowsOfAgents(
  rows: AsyncIterable<JobRow>,
  { ids, external_space_id }: OwnerAgents,
  onLeftOut: (count: number) => Promise<void>,
): AsyncGenerator<JobRow> {
  let leftOut = 0;
  for await (const row of rows) {
    const { agent_id, agent_text = '' } = row;
    const isOfSpace = external_space_id !== undefined && row.external_space_id === external_space_id;
    if (isOfSpace || ids.has(comparableAgent(agent_id ?? agent_text))) yield row;
    else if (agent_id === undefined) leftOut += 1;
  }
  if (leftOut > 0) await onLeftOut(leftOut);
}

/** What the state knows of the jobs. */
export interface KnownJobs {
  readonly jobs: readonly RecordedJob[];
  readonly open: readonly JobReservation[];
  /** The external ids of spaces, by the keys of their agents. */
  readonly spaces: ReadonlyMap<string, string>;
}

/** The recorded jobs and open reservations of one service, or of all when `origin` is undefined. */
export function findKnownJobs(
  records: readonly LogRecord[],
  origin: string | undefined,
): Pick<KnownJobs, 'jobs' | 'open'> {
  const all = [...standings(records, JOBS).values()];
  const isOfService = ({ data }: RecordedJob | JobReservation) => origin === undefined || data.origin === origin;
  return {
    jobs: all.flatMap(({ objects }) => objects).filter(isOfService),
    open: all.flatMap(({ open }) => open).filter(isOfService),
  };
}

/** Rows for the jobs in the state, without calling the service. */
export async function* toLocalRows({ jobs, open, spaces }: KnownJobs, now: number): AsyncGenerator<JobRow> {
  for (const job of jobs) yield await toLocalRow(job, { state: 'local', spaces }, now);
  for (const reservation of open) yield await toLocalRow(reservation, { state: 'unknown', spaces }, now);
}

/**
 * Rows for the service's list, page after page, joined with the state. Jobs that are only in the state come last.
 */
export async function* joinRows(
  listed: { readonly items: AsyncIterable<JsonObject>; readonly contract: Contract },
  { jobs, open, spaces }: KnownJobs,
  now: number,
): AsyncGenerator<JobRow> {
  const known = { jobs: new Map(jobs.map((job) => [job.object, job])), spaces };
  const unseen = new Map(known.jobs);
  for await (const item of listed.items) {
    const row = await toListedRow(item, listed.contract, known, now);
    if (row.cron_job_id !== null) unseen.delete(row.cron_job_id);
    yield row;
  }
  for (const job of unseen.values()) {
    const isNew = now < Date.parse(job.at) + LISTED_WITHIN_MS;
    yield await toLocalRow(job, { state: isNew ? 'unlisted' : 'gone', spaces }, now);
  }
  for (const reservation of open) yield await toLocalRow(reservation, { state: 'unknown', spaces }, now);
}
