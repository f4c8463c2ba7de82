import type { ServerResponse } from 'node:http';
import { join } from 'node:path';
import { expect } from 'vitest';
import { createChat } from './chat.ts';
import { forwardTo, type Handler, passOn, type Step, sendJson, startFakeService } from './fake-service.ts';
import { fastClock, type RunOptions, run, tempDirectory, tinyRandom, withDefaults } from './run.ts';
import {
  type ApiResponse,
  PROVISION,
  provisionBody,
  type SandboxClient,
  type Service,
  service as startService,
} from './service.ts';
import { jobRecordKinds } from './state-file.ts';

/* Scheduled jobs: the bodies and the command lines that create one, and the jobs that a service has. */

export const CRON_JOBS = '/automation/partner-cron-jobs/';

type Body = Record<string, unknown>;

/** A valid body for a job: weekdays at nine in Berlin; `more` replaces fields. */
export function jobBody(agent_id: string, more: Body = {}): Body {
  return {
    agent_id,
    name: 'Morning report',
    instructions: 'Write the report.',
    schedule: { type: 'cron', data: { minute: '0', hour: '9', day_of_week: '1-5' }, timezone: 'Europe/Berlin' },
    ...more,
  };
}

/** The schedule part of a body, from `minute hour day_of_week`. */
export function scheduleBody(fields: string, timezone = 'UTC'): Body {
  const [minute, hour, day_of_week] = fields.split(' ');
  return { schedule: { type: 'cron', data: { minute, hour, day_of_week }, timezone } };
}

/** Each name has a text of its own: a job with the text and the schedule of another is taken for that one, renamed. */
function flagsOf(agent: string, name: string): string[] {
  const text = name === 'daily' ? 'Sum up the day.' : `Sum up the day for ${name.normalize()}.`;
  const content = ['--instructions', text, '--schedule', '0 9 * * 1-5'];
  return ['--agent', agent, '--name', name, ...content];
}

/** The arguments of a valid `cron create`, with JSON output. */
export function createArgs(agentId: string, name: string, ...more: string[]): string[] {
  return ['cron', 'create', ...flagsOf(agentId, name), '-o', 'json', ...more];
}

/** The flags of a valid job: on weekdays at nine, in Berlin. */
export function jobFlags(agentId: string, name = 'daily'): string[] {
  return [...flagsOf(agentId, name), '--timezone', 'Europe/Berlin'];
}

/** A job as `cron create -o json` writes it, in part. */
export interface JobAnswer {
  readonly source?: string;
  readonly cron_job_id: string | null;
  readonly status: string;
  readonly name: string;
  readonly key: string | null;
  readonly next_runs: readonly string[];
}

/** A job of the sandbox. */
interface MadeJob {
  readonly cron_job_id: string;
  readonly agent_id: string;
  readonly name: string;
  readonly next_run_at: string | null;
}

export type Cron = ReturnType<typeof cronOf>;

/** The jobs of a service, and an agent for which they are created. */
function cronOf(service: Service, agent_id: string, space_id: string) {
  /** The jobs of all agents. The admin API has no faults. */
  const jobs = async (): Promise<readonly MadeJob[]> => (await service.admin('GET', '/cron-jobs')).json.cron_jobs;
  /** The bodies of the POSTs of jobs that arrived. */
  const bodies = async (): Promise<readonly Body[]> =>
    (await service.posts()).filter(({ path }) => path.endsWith(CRON_JOBS)).map(({ body }) => Object(body));
  return {
    agent_id,
    space_id,
    jobs,
    bodies,
    /** The arguments of a valid `cron create` with this name, with JSON output. */
    create: (name: string, ...more: string[]) => createArgs(agent_id, name, ...more),
    /** Creates a job at the service directly, without a record in a state. @returns its id */
    async make(more?: Body): Promise<string> {
      const { status, json } = await service.partner('POST', CRON_JOBS, { body: jobBody(agent_id, more) });
      expect(status).toBe(201);
      return json.cron_job_id;
    },
    /** The ids of the jobs with a name. */
    idsOf: async (name: string) =>
      (await jobs()).filter((job) => job.name === name).map(({ cron_job_id }) => cron_job_id),
    /** The number of POSTs of jobs that arrived. */
    posted: async () => (await bodies()).length,
    async remove(id: string) {
      expect((await service.admin('DELETE', `/cron-jobs/${id}`)).status).toBeLessThan(300);
    },
  };
}

/** Provisions an agent, and returns a client for its jobs. */
export async function createCronAgent(service: Service): Promise<Cron> {
  const agents = [{ template_id: 'tmpl_support', name: 'Support' }];
  const { json } = await service.partner('POST', PROVISION, { body: provisionBody('acme', { agents }) });
  await service.forget();
  return cronOf(service, json.agents[0].agent_id, json.space.space_id);
}

export type CronService = Awaited<ReturnType<typeof startCronService>>;

/** Starts a service with an agent. `path` is that of a state file in the directory that does not exist yet. */
export async function startCronService() {
  const service = await startService();
  const directory = tempDirectory();
  return { service, cron: await createCronAgent(service), directory, path: join(directory, 'state.jsonl') };
}

export type CronBehindGateway = Awaited<ReturnType<typeof startCronBehindGateway>>;

/** A service with an agent, behind a fake service that passes everything on, until a test replaces the response to a job request. */
export async function startCronBehindGateway() {
  const at = await startCronService();
  const { sandbox, token } = at.service;
  const pass = forwardTo(sandbox.baseUrl);
  const fake = await startFakeService(pass);
  const [posting, listing] = [`POST ${CRON_JOBS}`, `GET ${CRON_JOBS}`];
  const script: Record<string, Step> = { [posting]: pass, [listing]: pass, '* *': pass };
  const replace = (route: string, handler: Handler | undefined): void => {
    script[route] = handler ?? pass;
    fake.respond({ ...script });
  };
  const env = { PARTNER_BASE_URL: fake.baseUrl, PARTNER_TOKEN: token, PARTNER_STATE: at.path };
  return {
    ...at,
    env,
    make: at.cron.make,
    /** Runs a command with the state file; waits take no time unless a clock is given. */
    run: (args: readonly string[], options: RunOptions = {}) => run(args, { clock: fastClock(), env, ...options }),
    gateway: {
      ...fake,
      /** Responds to the next POSTs of jobs; without a handler, they are passed on. */
      onPost: (handler?: Handler) => replace(posting, handler),
      /** Responds to the next reads of the job list; without a handler, they are passed on. */
      onList: (handler?: Handler) => replace(listing, handler),
      /** A handler that passes the request on, and responds in its own way once the sandbox has responded. */
      passThen(respond: (response: ServerResponse, passed: ApiResponse) => unknown): Handler {
        return async (request, response) => respond(response, await passOn(request, sandbox.baseUrl));
      },
      /** The POSTs of jobs so far. */
      posts: () => fake.posts().filter(({ path }) => path.endsWith(CRON_JOBS)),
    },
  };
}

/** A job of `jobService`. */
export interface Made {
  readonly id: number;
  readonly agent_id: string;
  readonly name: string;
  readonly instructions: string;
  readonly schedule: object;
}

/**
 * A service that numbers jobs from 1 and creates a job for every POST. The specification does not define the list of jobs: this
 * one returns lists that it therefore allows.
 * @param options `kept` converts a job as sent to the job as stored, and `shown` that to the job as listed
 */
export async function jobService({ kept = (job: Made): Made => job, shown = (job: Made): object => job } = {}) {
  const made: Made[] = [];
  let instead: Handler | undefined;
  const service = await startFakeService((request, response, count) => {
    const isPost = request.method === 'POST';
    if (isPost) made.push(kept({ id: made.length + 1, ...JSON.parse(request.body) }));
    if (instead) return instead(request, response, count);
    return isPost ? sendJson(response, made.at(-1), 201) : sendJson(response, made.map(shown));
  });
  /** Replaces the next responses. A POST still creates its job. */
  const meet = (next: Handler | undefined): void => {
    instead = next;
  };
  return { ...service, made, meet };
}

export type Schedules = Awaited<ReturnType<typeof schedules>>;

/** Starts a service with an agent, for runs of `cron` commands. */
export async function schedules() {
  const { service, cron: ofAgent, path: state } = await startCronService();
  const { agent_id: agent, space_id: space, make, jobs, bodies } = ofAgent;
  /** Runs `partnerctl cron …` with the state file. */
  const cron = (args: readonly string[], options: RunOptions = {}) =>
    run(['cron', ...withDefaults(['--state', state], args)], {
      random: tinyRandom,
      ...options,
      env: { ...service.env, ...options.env },
    });
  return {
    ...service,
    ...{ make, jobs, bodies, agent, space, state, cron },
    /** Creates the job of `jobFlags`, with these changes. */
    create: (more: readonly string[] = [], options?: RunOptions) =>
      cron(
        ['create', ...withDefaults(jobFlags(agent, more[more.indexOf('--name') + 1 || more.length]), more)],
        options,
      ),
    /** The kinds of the records of the state file, in order. */
    records: () => jobRecordKinds(state),
  };
}

/** Provisions an agent, and returns a client for its jobs and their runs, for tests of the sandbox itself. */
export async function createCronClient(on: SandboxClient, mode?: 'agent_inbox') {
  const chat = await createChat(on, mode);
  const post = (more?: Body) => on.partner('POST', CRON_JOBS, { body: jobBody(chat.agent_id, more) });
  /** All messages in the session of a job. */
  const history = ({ cron_job_id }: MadeJob) => chat.history({ session_id: `cron:${cron_job_id}`, page_size: '1000' });
  return {
    chat,
    post,
    history,
    /** Creates a job from `minute hour day_of_week`. */
    async create(fields: string, timezone?: string, more: Body = {}): Promise<MadeJob> {
      const { status, json } = await post({ ...scheduleBody(fields, timezone), ...more });
      expect(status).toBe(201);
      return json;
    },
    jobs: async (): Promise<readonly MadeJob[]> => (await on.partner('GET', CRON_JOBS)).json.results,
    /** The times of a job's runs, in ISO 8601. */
    runs: async (job: MadeJob) =>
      (await history(job)).filter(({ role }) => role === 'user').map(({ created_at }) => created_at),
    async clock(change: Body) {
      expect(await on.admin('PATCH', '/clock', change)).toMatchObject({ status: 200 });
    },
  };
}
