import { listJobs } from '../api/calls.ts';
import type { Http } from '../api/http.ts';
import { readItem } from '../api/list.ts';
import { OPERATIONS } from '../contract/operations.ts';
import { readCronJob } from '../contract/resources.ts';
import { comparableAgent } from '../contract/values.ts';
import { LEASE_MS } from '../state/lease.ts';
import type { LogRecord } from '../state/record.ts';
import { readAgents } from '../state/space-record.ts';
import { Standings } from '../state/standing.ts';
import type { CronContext } from './context.ts';
import { JOB_KIND, type JobReservation, type RecordedJob } from './job.ts';
import type { AgentNames } from './job-flags.ts';
import { type CronSchedule, completeSchedule, createScheduleDescriber, toWireSchedule } from './schedule.ts';

export interface JobRow {
  readonly cron_job_id: string | null;
  readonly agent_id: string | undefined;
  /** What the service lists in place of an agent_id: the id or the name of the agent. */
  readonly agent_text?: string | undefined;
  /** The name of the agent if it is known, else its id, or what the service lists in its place. */
  readonly agent: string | undefined;
  readonly name: string | undefined;
  /** Of the space of the agent, as the state knows it. */
  readonly external_space_id: string | undefined;
  /** The schedule in English, and the next run; undefined if the schedule is not known. */
  readonly description: string | undefined;
  readonly next: string | undefined;
  /** `unlisted`: recorded so recently that the service may list it later. `unknown`: it may have been created. */
  readonly state: 'recorded' | 'unrecorded' | 'gone' | 'unlisted' | 'unknown';
  readonly json: object;
}

type Found = Omit<JobRow, 'agent' | 'external_space_id' | 'description' | 'next'> & {
  readonly schedule: CronSchedule | null | undefined;
};

function toStateRow(record: RecordedJob | JobReservation, state: JobRow['state']): Found {
  const { key, at, data } = record;
  const { origin, agent_id, name, schedule } = data;
  const cron_job_id = 'object' in record ? record.object : null;
  const shown = { cron_job_id, agent_id, name, schedule: schedule && toWireSchedule(schedule) };
  const json = { ...shown, recorded: true, remote: false, status: state, key, origin, at };
  return { cron_job_id, agent_id, name, schedule, state, json };
}

async function* joinJobs(http: Http, records: readonly LogRecord[], now: number): AsyncGenerator<Found> {
  const standings = new Standings(JOB_KIND).add(records);
  const isHere = ({ data }: JobReservation | RecordedJob) => data.origin === http.baseUrl;
  const own = standings.objects().filter(isHere);
  const jobs = new Map(own.map((job) => [job.object, job]));
  const unseen = new Map(jobs);
  for await (const item of listJobs(http, 'show')) {
    const { cron_job_id, agent_id, agent_text, name, schedule } = readItem(OPERATIONS.listCronJobs, () =>
      readCronJob(item, http.contract),
    );
    const { key, data } = jobs.get(cron_job_id) ?? {};
    unseen.delete(cron_job_id);
    yield {
      ...{ cron_job_id, agent_id: agent_id ?? data?.agent_id, agent_text, name: name ?? undefined },
      schedule: completeSchedule(schedule),
      state: key === undefined ? 'unrecorded' : 'recorded',
      // The service's own fields stay, except for the one that scripts rely on.
      json: { ...(key !== undefined && { key }), ...item, recorded: key !== undefined },
    };
  }
  for (const job of unseen.values()) {
    yield toStateRow(job, now < Date.parse(job.at) + LEASE_MS ? 'unlisted' : 'gone');
  }
  for (const reservation of standings.open().filter(isHere)) yield toStateRow(reservation, 'unknown');
}

/**
 * Lists the jobs of the service, joined with the state. Damage of the state is a warning here: nothing is written.
 * @param agents whose jobs are meant; all jobs without them
 * @throws as `listJobs`, as the rows are read
 */
export async function* listJobsOf(context: CronContext, agents: AgentNames | undefined): AsyncGenerator<JobRow> {
  const http = await context.http();
  const log = await context.log();
  context.progress.start('Reading the jobs');
  const { records: intact, damaged } = await log.inspect();
  for (const line of damaged) await context.warn(log.describe(line));
  const records = intact.map(({ record }) => record);
  const known = readAgents(records, http.baseUrl);
  const describe = createScheduleDescriber(context.clock);
  let leftOut = 0;
  for await (const { schedule, ...job } of joinJobs(http, records, context.clock.now())) {
    const shown = job.agent_id ?? job.agent_text;
    const id = comparableAgent(shown ?? '');
    if (!agents || agents.has(id)) {
      const { name, external_space_id } = known.get(id) ?? {};
      const agent = agents?.get(id) ?? name ?? shown;
      const { description, next_runs } = schedule ? await describe(schedule) : {};
      const json = { in_words: description ?? null, ...job.json, ...(external_space_id && { external_space_id }) };
      yield { ...job, agent, external_space_id, description, next: next_runs?.[0], json };
    } else if (job.agent_id === undefined) leftOut += 1;
  }
  if (leftOut === 0) return;
  await context.warn(`Jobs left out, because the service does not say which agent runs them: ${leftOut}.`);
}
