import { join } from 'node:path';
import { expect } from 'vitest';
import { type Chat, createChat, type HistoryEntry, type RoutingMode } from './chat.ts';
import { type Ran, type RunOptions, run, tempDirectory, tinyRandom, withDefaults } from './run.ts';
import {
  type ApiResponse,
  PROVISION,
  provisionBody,
  type SandboxClient,
  type Service,
  service as startService,
} from './service.ts';
import { type JobRecordKind, jobRecordKinds } from './state-file.ts';

/* Scheduled jobs: the bodies and the command lines that create one, and the jobs that a service has. */

export const CRON_JOBS = '/automation/partner-cron-jobs/';

/** A valid body for a job: weekdays at nine in Berlin; `more` replaces fields. */
export function jobBody(agent_id: string, more: Record<string, unknown> = {}): Record<string, unknown> {
  return {
    agent_id,
    name: 'Morning report',
    instructions: 'Write the report.',
    schedule: { type: 'cron', data: { minute: '0', hour: '9', day_of_week: '1-5' }, timezone: 'Europe/Berlin' },
    ...more,
  };
}

/** The schedule part of a body, from `minute hour day_of_week`. */
export function scheduleBody(fields: string, timezone = 'UTC'): Record<string, unknown> {
  const [minute, hour, day_of_week] = fields.split(' ');
  return { schedule: { type: 'cron', data: { minute, hour, day_of_week }, timezone } };
}

/** The arguments of a valid `cron create`, with JSON output. */
export function createArgs(agentId: string, name: string, ...more: string[]): string[] {
  const job = ['--agent', agentId, '--name', name, '--instructions', 'Sum up the day.', '--schedule', '0 9 * * 1-5'];
  return ['cron', 'create', ...job, '-o', 'json', ...more];
}

/** The flags of a valid job: on weekdays at nine, in Berlin. */
export function jobFlags(agentId: string): string[] {
  const what = ['--agent', agentId, '--name', 'daily', '--instructions', 'Sum up the day.'];
  return [...what, '--schedule', '0 9 * * 1-5', '--timezone', 'Europe/Berlin'];
}

/** A job as `cron create -o json` writes it. */
export interface JobAnswer {
  readonly source?: string;
  readonly cron_job_id: string | null;
  readonly status: string;
  readonly agent_id: string | null;
  readonly name: string;
  readonly schedule: unknown;
  readonly in_words: string;
  readonly key: string | null;
  readonly next_runs: readonly string[];
  readonly differences?: readonly unknown[];
  readonly error?: { readonly type: string; readonly message: string };
}

interface MadeJob {
  readonly cron_job_id: string;
  readonly agent_id: string;
  readonly name: string;
}

/** The jobs of a service, and an agent for which they are created. */
export interface Cron {
  readonly agent_id: string;
  /** The arguments of a valid `cron create` with this name, with JSON output. */
  create(name: string, ...more: string[]): string[];
  /** Creates a job at the service directly, without a record in a state. @returns its id */
  make(more?: Record<string, unknown>): Promise<string>;
  /** The jobs of all agents at the service. */
  jobs(): Promise<readonly MadeJob[]>;
  /** The ids of the jobs with a name. */
  idsOf(name: string): Promise<string[]>;
  /** The bodies of the POSTs of jobs that arrived. */
  bodies(): Promise<readonly Record<string, unknown>[]>;
  /** The number of POSTs of jobs that arrived, or of the job with this name. */
  posted(name?: string): Promise<number>;
  remove(id: string): Promise<void>;
}

function cronOf(service: Service, agent_id: string): Cron {
  // The admin API has no faults.
  const jobs = async (): Promise<readonly MadeJob[]> => (await service.admin('GET', '/cron-jobs')).json.cron_jobs;
  const bodies = async (): Promise<readonly Record<string, unknown>[]> =>
    (await service.posts()).filter(({ path }) => path.endsWith(CRON_JOBS)).map(({ body }) => Object(body));
  return {
    agent_id,
    create: (name, ...more) => createArgs(agent_id, name, ...more),
    make: async (more) => {
      const { status, json } = await service.partner('POST', CRON_JOBS, { body: jobBody(agent_id, more) });
      expect(status).toBe(201);
      return json.cron_job_id;
    },
    jobs,
    idsOf: async (name) => (await jobs()).filter((job) => job.name === name).map(({ cron_job_id }) => cron_job_id),
    bodies,
    posted: async (name) => (await bodies()).filter((body) => name === undefined || body.name === name).length,
    remove: async (id) => {
      expect((await service.admin('DELETE', `/cron-jobs/${id}`)).status).toBeLessThan(300);
    },
  };
}

/** Provisions an agent, and returns a client for its jobs. */
export async function createCronAgent(service: Service): Promise<Cron> {
  const { agent_id } = await createChat(service);
  await service.forget();
  return cronOf(service, agent_id);
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

export interface Schedules extends Service, Pick<Cron, 'make' | 'jobs' | 'bodies'> {
  readonly agent: string;
  readonly space: string;
  /** The state file; every test has its own. */
  readonly state: string;
  /** Runs `partnerctl cron …` with the state file. */
  cron(args: readonly string[], options?: RunOptions): Promise<Ran>;
  /** Creates the job of `jobFlags`, with these changes. */
  create(more?: readonly string[], options?: RunOptions): Promise<Ran>;
  /** The kinds of the records of the state file, in order. */
  records(): Promise<readonly JobRecordKind[]>;
}

/** Starts a service with an agent, for runs of `cron` commands. */
export async function schedules(): Promise<Schedules> {
  const service = await startService();
  const agents = [{ template_id: 'tmpl_support', name: 'Support' }];
  const { json } = await service.partner('POST', PROVISION, { body: provisionBody('acme', { agents }) });
  const agent: string = json.agents[0].agent_id;
  await service.forget();
  const state = join(tempDirectory(), 'state.jsonl');
  const cron: Schedules['cron'] = (args, options = {}) =>
    run(['cron', ...withDefaults(['--state', state], args)], {
      random: tinyRandom,
      ...options,
      env: { ...service.env, ...options.env },
    });
  const { make, jobs, bodies } = cronOf(service, agent);
  return {
    ...service,
    ...{ make, jobs, bodies },
    agent,
    space: json.space.space_id,
    state,
    cron,
    create: (more = [], options) => cron(['create', ...withDefaults(jobFlags(agent), more)], options),
    records: () => jobRecordKinds(state),
  };
}

interface ScheduledJob {
  readonly cron_job_id: string;
  readonly next_run_at: string | null;
  readonly last_run_at: string | null;
}

interface CronClient {
  readonly chat: Chat;
  post(more?: Record<string, unknown>): Promise<ApiResponse>;
  /** Creates a job from `minute hour day_of_week`. */
  create(fields: string, timezone?: string, more?: Record<string, unknown>): Promise<ScheduledJob>;
  jobs(): Promise<readonly ScheduledJob[]>;
  /** All messages in the session of a job. */
  history(job: ScheduledJob): Promise<HistoryEntry[]>;
  /** The times of a job's runs, in ISO 8601. */
  runs(job: ScheduledJob): Promise<string[]>;
  clock(change: Record<string, unknown>): Promise<ApiResponse>;
}

/** Provisions an agent, and returns a client for its jobs and their runs, for tests of the sandbox itself. */
export async function createCronClient(on: SandboxClient, mode: RoutingMode = 'session_workflow'): Promise<CronClient> {
  const chat = await createChat(on, mode);
  const post: CronClient['post'] = (more) => on.partner('POST', CRON_JOBS, { body: jobBody(chat.agent_id, more) });
  const client: CronClient = {
    chat,
    post,
    create: async (fields, timezone, more = {}) => {
      const { status, json } = await post({ ...scheduleBody(fields, timezone), ...more });
      expect(status).toBe(201);
      return json;
    },
    jobs: async () => (await on.partner('GET', `${CRON_JOBS}?page_size=1000`)).json.results,
    history: ({ cron_job_id }) => chat.history({ session_id: `cron:${cron_job_id}`, page_size: '1000' }),
    runs: async (job) =>
      (await client.history(job)).filter(({ role }) => role === 'user').map(({ created_at }) => created_at),
    clock: async (change) => {
      const answer = await on.admin('PATCH', '/clock', change);
      expect([answer.status, answer.text]).toEqual([200, expect.any(String)]);
      return answer;
    },
  };
  return client;
}
