import * as v from 'valibot';
import { parseAgentReference, parseReference } from '../api/references.ts';
import { InputError, NotFoundError, UsageError, withHint } from '../errors.ts';
import { describePath, readYaml } from '../yaml/check.ts';
import type { Path, YamlDocument } from '../yaml/document.ts';
import { jsonSchema } from '../yaml/json-schema.ts';
import { type Problem, problemsError, type YamlSource } from '../yaml/problem.ts';
import { choice, identifier } from '../yaml/schema.ts';
import { readSources } from '../yaml/sources.ts';
import type { CronContext } from './context.ts';
import { AgentFinder } from './find-agent.ts';
import { cronKey } from './job.ts';
import { checkSchedule, checkTimezone, checkUniqueName, jobEntries, timezone, toSchedule } from './job-schema.ts';
import type { WantedJob } from './result.ts';
import type { CronSchedule } from './schedule.ts';

const owner = {
  agent: v.exactOptional(
    identifier('Agent', 'The agent that does the job: its agent_id, or name:<name> with a space.'),
  ),
  space: v.exactOptional(
    identifier('Space', 'The space of an agent given by name: a space_id, ext:<external_space_id>, or name:<name>.'),
  ),
};

const jobSchema = v.pipe(
  v.strictObject({ ...owner, ...jobEntries }),
  v.title('Cron job'),
  v.description('One job of one agent.'),
);

const jobList = v.pipe(
  v.array(jobSchema),
  v.nonEmpty('must list at least one job'),
  v.title('Jobs'),
  v.description('The jobs to create.'),
);

const group = v.pipe(
  v.strictObject({ ...owner, timezone: v.exactOptional(timezone), jobs: jobList }),
  v.title('Jobs with defaults'),
  v.description('Jobs, with defaults for the agent, the space, and the time zone.'),
);

/** A mapping is a single job when it has a key that only a job can have. */
function isSingle(value: object): boolean {
  return !('jobs' in value) && ['name', 'instructions', 'schedule'].some((key) => key in value);
}

const jobsSchema = v.pipe(
  choice([jobSchema, jobList, group], (value) => {
    if (Array.isArray(value)) return jobList;
    return typeof value === 'object' && value !== null && !isSingle(value) ? group : jobSchema;
  }),
  v.title('partnerctl cron jobs'),
  v.description('Scheduled jobs of agents. ${NAME} and ${NAME:-default} insert environment variables.'),
);

type Job = v.InferOutput<typeof jobSchema>;
type Group = v.InferOutput<typeof group>;

/** A job from a file. Its agent still has to be looked up. */
interface FileJob {
  /** The file and line of the job: `jobs.yaml:3`. */
  readonly source: string;
  /** An agent_id, or `name:<name>`. */
  readonly agent: string;
  /** A space_id, `ext:<external_space_id>` or `name:<name>`; set if the agent is a name. */
  readonly space: string | undefined;
  readonly name: string;
  readonly instructions: string;
  readonly schedule: CronSchedule;
}

function jobsIn(value: Job | Job[] | Group): readonly (readonly [job: Job, path: Path])[] {
  if (Array.isArray(value)) return value.map((job, index) => [job, [index]]);
  return 'jobs' in value ? value.jobs.map((job, index) => [job, ['jobs', index]]) : [[value, []]];
}

/** Checks the agent of a job, which is set in the job itself or beside the list of jobs. @returns undefined after a problem */
function checkAgent(
  document: YamlDocument<unknown>,
  job: Job,
  path: Path,
  defaults: Partial<Group>,
): Pick<FileJob, 'agent' | 'space'> | undefined {
  const { agent = defaults.agent, space = defaults.space } = job;
  const at = job.agent === undefined ? ['agent'] : [...path, 'agent'];
  if (agent === undefined) {
    document.report(path, `the key "agent" is missing${path.length > 0 ? ` in ${describePath(path)}` : ''}`);
    return undefined;
  }
  const { by, value } = parseReference(agent);
  if (by === 'external_space_id' || value === '') {
    document.report(at, `${describePath(at)} must be an agent_id, or "name:" and the agent's name`);
  } else if (by === 'name' && space === undefined) {
    const hint = 'add "space": a space_id, ext:<external_space_id>, or name:<name>';
    document.report(at, 'an agent name needs a space', hint);
  } else return { agent, space: by === 'name' ? space : undefined };
  return undefined;
}

const MANIFEST = { key: 'external_space_id', hint: 'a manifest is for: partnerctl provision' };

/**
 * Parses and checks files of jobs. A document is one job, a list of jobs, or `{ jobs: […] }` with `agent`, `space` and
 * `timezone` as defaults beside the list.
 * @param lookup returns the value of an environment variable; undefined if it is not set
 * @returns the jobs in order, none if there is a problem; and all problems, ordered by source, line, and column
 */
export function parseJobFiles(
  sources: readonly YamlSource[],
  lookup: (name: string) => string | undefined,
): { jobs: readonly FileJob[]; problems: readonly Problem[] } {
  const names = new Map<string, string>();
  const found: (() => FileJob)[] = [];
  const review = (document: YamlDocument<Job | Job[] | Group>): void => {
    const defaults: Partial<Group> = 'jobs' in document.value ? document.value : {};
    checkTimezone(document, ['timezone']);
    for (const [job, path] of jobsIn(document.value)) {
      const agent = checkAgent(document, job, path, defaults);
      checkSchedule(document, path);
      if (!agent) continue;
      checkUniqueName(document, path, JSON.stringify(agent), names);
      const { name, instructions } = job;
      const source = document.fileAndLine(path);
      found.push(() => ({ source, ...agent, name, instructions, schedule: toSchedule(job, defaults.timezone) }));
    }
  };
  const { problems } = readYaml(sources, { schema: jobsSchema, lookup, other: MANIFEST, review });
  return { jobs: problems.length > 0 ? [] : found.map((toJob) => toJob()), problems };
}

/** The JSON Schema of a file of jobs, for editors. */
export function cronJobsJsonSchema(): object {
  return jsonSchema(jobsSchema);
}

/** Runs after the agents were looked up, because two references can name one. @throws InputError if a job is described twice */
function refuseDuplicates(wanted: readonly WantedJob[]): void {
  const places = new Map<string, string | undefined>();
  for (const { source, job } of wanted) {
    const key = cronKey('', job.agent_id, job.name);
    if (places.has(key)) {
      throw new InputError(`Job ${JSON.stringify(job.name)} of agent ${job.agent_id} is described twice.`, {
        why: `It is at ${places.get(key)} and at ${source}.`,
        hint: 'Nothing was sent. Give each job of an agent its own name.',
      });
    }
    places.set(key, source);
  }
}

/**
 * Reads the jobs in files, and checks all of them before anything is sent.
 * @throws InputError that shows every mistake with file, line, and column; NotFoundError if an agent is not found
 */
export async function readJobFiles(context: CronContext, files: readonly string[]): Promise<readonly WantedJob[]> {
  const sources = await readSources(files, context.io.stdin, context.abortSignal);
  const { jobs, problems } = parseJobFiles(sources, (name) => context.env[name]);
  if (problems.length > 0) throw problemsError(problems);
  const finder = new AgentFinder(await context.http(), context.progress);
  const wanted: WantedJob[] = [];
  for (const [index, { source, agent, space, ...job }] of jobs.entries()) {
    const agent_id = await finder.find({ agent: parseAgentReference(agent), space }).catch((error: unknown) => {
      if (!(error instanceof NotFoundError || error instanceof UsageError)) throw error;
      const hint = `Job ${JSON.stringify(job.name)} at ${source} names it. Nothing was sent.`;
      throw withHint(error, { hint, details: { source } });
    });
    wanted.push({ index, source, job: { ...job, agent_id } });
  }
  refuseDuplicates(wanted);
  return wanted;
}
