import { join } from 'node:path';
import { type Ran, type RunOptions, run, tempDirectory, tinyRandom, withDefaults } from './run.ts';
import { PROVISION, provisionBody } from './sandbox-client.ts';
import { CRON_JOBS, jobBody } from './sandbox-cron.ts';
import { type Service, service as startService } from './service.ts';
import { type JobRecordKind, jobRecordKinds } from './state-file.ts';

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

export interface Schedules extends Service {
  readonly agent: string;
  readonly space: string;
  /** The state file; every test has its own. */
  readonly state: string;
  /** Runs `partnerctl cron …` with the state file. */
  cron(args: readonly string[], options?: RunOptions): Promise<Ran>;
  /** Creates the job that `JOB` describes, with these changes. */
  create(more?: readonly string[], options?: RunOptions): Promise<Ran>;
  /** A job that is created at the service directly, without a record in the state file. */
  make(more?: Record<string, unknown>): Promise<string>;
  jobs(): Promise<readonly { readonly cron_job_id: string; readonly name: string }[]>;
  /** The requests to the creation path. */
  created(): Promise<readonly unknown[]>;
  /** The kinds of the records of the state file, in order. */
  records(): Promise<readonly JobRecordKind[]>;
}

/** The flags of a valid job: on weekdays at nine, in Berlin. */
export const JOB = (agent: string): readonly string[] => [
  '--agent',
  agent,
  '--name',
  'daily',
  '--instructions',
  'Sum up the day.',
  '--schedule',
  '0 9 * * 1-5',
  '--timezone',
  'Europe/Berlin',
];

/** A service with an agent, for one test. */
export async function schedules(external = 'acme', agentName = 'Support'): Promise<Schedules> {
  const service = await startService();
  const agents = [{ template_id: 'tmpl_support', name: agentName }];
  const { json } = await service.partner('POST', PROVISION, { body: provisionBody(external, { agents }) });
  const agent: string = json.agents[0].agent_id;
  await service.forget();
  const state = join(tempDirectory(), 'state.jsonl');
  const cron: Schedules['cron'] = (args, options = {}) =>
    run(['cron', ...withDefaults(['--state', state], args)], {
      random: tinyRandom,
      ...options,
      env: { ...service.env, ...options.env },
    });
  return {
    ...service,
    agent,
    space: json.space.space_id,
    state,
    cron,
    create: (more = [], options) => cron(['create', ...withDefaults(JOB(agent), more)], options),
    make: async (more) => {
      const made = await service.partner('POST', CRON_JOBS, { body: jobBody(agent, more) });
      if (made.status !== 201) throw new Error(`The sandbox refused: ${made.status} ${made.text}`);
      return made.json.cron_job_id;
    },
    jobs: async () => (await service.partner('GET', `${CRON_JOBS}?page_size=1000`)).json.results,
    created: async () => (await service.posts()).filter(({ path }) => path.includes(CRON_JOBS)).map(({ body }) => body),
    records: () => jobRecordKinds(state),
  };
}
