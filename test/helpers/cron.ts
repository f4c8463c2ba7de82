import { expect } from 'vitest';
import { JOB_RECORDS, type JobRecord } from '../../src/cron/job-records.ts';
import { fromLogRecord } from '../../src/state/ledger.ts';
import { readLog } from '../../src/state/log.ts';
import { createChat } from '../sandbox/chat.ts';
import { CRON_JOBS } from '../sandbox/cron.ts';
import type { Service } from './service.ts';

/*
 * The creation of scheduled jobs: the words that create one, what the service has, and what the state file says.
 */

interface MadeJob {
  readonly cron_job_id: string;
  readonly agent_id: string;
  readonly name: string;
}

export interface Cron {
  readonly agent_id: string;
  /** `cron create` of a job of this name that is in order, as JSON. */
  create(name: string, ...more: string[]): string[];
  /** The jobs that the service has, of all agents. */
  jobs(): Promise<readonly MadeJob[]>;
  /** The ids of the jobs of a name. */
  idsOf(name: string): Promise<string[]>;
  /** How many POSTs for a job came in; `name` counts those of one job. */
  posted(name?: string): Promise<number>;
  remove(id: string): Promise<void>;
}

/** An agent at a service whose jobs are created. */
export async function cronOn(it: Service): Promise<Cron> {
  const { agent_id } = await createChat(it);
  await it.forget();
  // Beside the command's own ways to the service, so that its faults do not strike the one who looks.
  const jobs = async (): Promise<readonly MadeJob[]> => (await it.admin('GET', '/cron-jobs')).json.cron_jobs;
  return {
    agent_id,
    create: (name, ...more) => createWords(agent_id, name, ...more),
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

/** `cron create` of a job that is in order, as JSON. */
export function createWords(agentId: string, name: string, ...more: string[]): string[] {
  const job = ['--agent', agentId, '--name', name, '--instructions', 'Sum up the day.', '--schedule', '0 9 * * 1-5'];
  return ['cron', 'create', ...job, '-o', 'json', ...more];
}

/** What `cron create -o json` says of a job. */
export interface Said {
  readonly cron_job_id: string | null;
  readonly status: string;
}

export interface LogContent {
  readonly records: readonly JobRecord[];
  /** The ids of the jobs that it knows, in its order. */
  readonly ids: readonly string[];
  /** Why lines of it cannot be used. */
  readonly damage: readonly string[];
}

/** Everything that a state file holds. */
export async function logContent(path: string): Promise<LogContent> {
  const records: JobRecord[] = [];
  const damage: string[] = [];
  for await (const entry of readLog(path)) {
    if (entry.kind === 'damaged') damage.push(entry.why);
    const record = entry.kind === 'record' ? fromLogRecord(entry.record, JOB_RECORDS) : undefined;
    if (record) records.push(record);
  }
  const ids = records.flatMap((record) => ('remoteId' in record ? [record.remoteId] : []));
  return { records, ids, damage };
}
