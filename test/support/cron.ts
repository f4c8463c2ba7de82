import { join } from 'node:path';
import { expect } from 'vitest';
import { tempDirectory } from './run.ts';
import { createChat } from './sandbox-chat.ts';
import { CRON_JOBS } from './sandbox-cron.ts';
import { type Service, service as startService } from './service.ts';

/* Scheduled jobs: the arguments that create one, and the jobs of the service. */

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
export async function createCronAgent(service: Service): Promise<Cron> {
  const { agent_id } = await createChat(service);
  await service.forget();
  // The admin API has no faults.
  const jobs = async (): Promise<readonly MadeJob[]> => (await service.admin('GET', '/cron-jobs')).json.cron_jobs;
  return {
    agent_id,
    create: (name, ...more) => createArgs(agent_id, name, ...more),
    jobs,
    idsOf: async (name) => (await jobs()).filter((job) => job.name === name).map(({ cron_job_id }) => cron_job_id),
    posted: async (name) => {
      const sent = (await service.posts()).filter(({ path }) => path.endsWith(CRON_JOBS));
      return sent.filter(({ body }) => name === undefined || Object(body).name === name).length;
    },
    remove: async (id) => {
      expect((await service.admin('DELETE', `/cron-jobs/${id}`)).status).toBeLessThan(300);
    },
  };
}

export interface CronService {
  readonly service: Service;
  readonly cron: Cron;
  readonly directory: string;
  /** A state file in the directory that does not exist yet. */
  readonly path: string;
}

/** Starts a service with an agent. */
export async function startCronService(): Promise<CronService> {
  const service = await startService();
  const directory = tempDirectory();
  return { service, cron: await createCronAgent(service), directory, path: join(directory, 'state.jsonl') };
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
