import { expect } from 'vitest';
import { JOB_RECORDS, type JobRecord } from '../../src/cron/job-records.ts';
import { readLog } from '../../src/state/file-store.ts';
import { fromLogRecord } from '../../src/state/ledger.ts';
import type { LogEntry } from '../../src/state/store.ts';
import { createChat } from './sandbox-chat.ts';
import { CRON_JOBS } from './sandbox-cron.ts';
import type { Service } from './service.ts';

/*
 * Scheduled jobs: the arguments that create one, the jobs of the service, and the records of the state file.
 */

interface MadeJob {
  readonly cron_job_id: string;
  readonly agent_id: string;
  readonly name: string;
}

export interface Cron {
  readonly agent_id: string;
  /** The arguments of a valid `cron create` with this name, with JSON output. */
  create(name: string, ...more: string[]): string[];
  /** The jobs of all agents at the service. */
  jobs(): Promise<readonly MadeJob[]>;
  /** The ids of the jobs with a name. */
  idsOf(name: string): Promise<string[]>;
  /** The number of POSTs of jobs that arrived, or of the job with this name. */
  posted(name?: string): Promise<number>;
  remove(id: string): Promise<void>;
}

/** Provisions an agent, and returns a client for its jobs. */
export async function createCronAgent(it: Service): Promise<Cron> {
  const { agent_id } = await createChat(it);
  await it.forget();
  // The admin API has no faults.
  const jobs = async (): Promise<readonly MadeJob[]> => (await it.admin('GET', '/cron-jobs')).json.cron_jobs;
  return {
    agent_id,
    create: (name, ...more) => createArgs(agent_id, name, ...more),
    jobs,
    idsOf: async (name) => (await jobs()).filter((job) => job.name === name).map(({ cron_job_id }) => cron_job_id),
    posted: async (name) => {
      const sent = (await it.posts()).filter(({ path }) => path.endsWith(CRON_JOBS));
      return sent.filter(({ body }) => name === undefined || Object(body).name === name).length;
    },
    remove: async (id) => {
      expect((await it.admin('DELETE', `/cron-jobs/${id}`)).status).toBeLessThan(300);
    },
  };
}

/** The arguments of a valid `cron create`, with JSON output. */
export function createArgs(agentId: string, name: string, ...more: string[]): string[] {
  const job = ['--agent', agentId, '--name', name, '--instructions', 'Sum up the day.', '--schedule', '0 9 * * 1-5'];
  return ['cron', 'create', ...job, '-o', 'json', ...more];
}

/** A job in the output of `cron create -o json`. */
export interface CreatedJob {
  readonly cron_job_id: string | null;
  readonly status: string;
}

export interface LogContent {
  readonly records: readonly JobRecord[];
  /** The job ids in the records, in order. */
  readonly ids: readonly string[];
  /** Why lines are unusable. */
  readonly damage: readonly string[];
}

/** Reads the job records of a state file. */
export function readJobLog(path: string): Promise<LogContent> {
  return readJobs(readLog(path));
}

/** Extracts the job records from the entries of a log. */
export async function readJobs(entries: AsyncIterable<LogEntry>): Promise<LogContent> {
  const records: JobRecord[] = [];
  const damage: string[] = [];
  for await (const entry of entries) {
    if (entry.kind === 'damaged') damage.push(entry.why);
    const record = entry.kind === 'record' ? fromLogRecord(entry.record, JOB_RECORDS) : undefined;
    if (record) records.push(record);
  }
  const ids = records.flatMap((record) => ('remoteId' in record ? [record.remoteId] : []));
  return { records, ids, damage };
}
