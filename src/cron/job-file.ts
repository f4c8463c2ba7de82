import * as v from 'valibot';
import { parseReference } from '../api/references.ts';
import { describePath, readYaml } from '../yaml/check.ts';
import type { Path, YamlDocument } from '../yaml/document.ts';
import { jsonSchema } from '../yaml/json-schema.ts';
import type { Problem, YamlSource } from '../yaml/problem.ts';
import { choice, identifier } from '../yaml/schema.ts';
import { checkSchedule, checkTimezone, checkUniqueName, jobEntries, timezone, toSchedule } from './job-schema.ts';
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
  v.strictObject({
    ...owner,
    agent_id: v.exactOptional(identifier('Agent id', 'The agent that does the job, by its agent_id.')),
    ...jobEntries,
  }),
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
  return !('jobs' in value) && ['name', 'instructions', 'schedule', 'agent_id'].some((key) => key in value);
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
export interface FileJob {
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

interface JobsDocument {
  readonly jobs: readonly { readonly job: Job; readonly path: Path }[];
  readonly defaults: Partial<Group>;
}

function jobsIn(value: Job | Job[] | Group): JobsDocument {
  if (Array.isArray(value)) return { jobs: value.map((job, index) => ({ job, path: [index] })), defaults: {} };
  if (!('jobs' in value)) return { jobs: [{ job: value, path: [] }], defaults: {} };
  return { jobs: value.jobs.map((job, index) => ({ job, path: ['jobs', index] })), defaults: value };
}

/** The agent of a job and its path in the document: in the job itself, or beside the list of jobs. */
function findAgent(job: Job, path: Path, defaults: Partial<Group>): { agent: string; at: Path } | undefined {
  if (job.agent_id !== undefined) return { agent: job.agent_id, at: [...path, 'agent_id'] };
  if (job.agent !== undefined) return { agent: job.agent, at: [...path, 'agent'] };
  return defaults.agent === undefined ? undefined : { agent: defaults.agent, at: ['agent'] };
}

/** Checks the agent of a job. @returns a key that is equal for jobs of the same agent; undefined after a problem */
function checkAgent(
  document: YamlDocument<unknown>,
  { job, path }: JobsDocument['jobs'][number],
  defaults: Partial<Group>,
): string | undefined {
  const refuse = (at: Path, problem: string, hint?: string): undefined => {
    document.report(at, problem, hint);
  };
  const found = findAgent(job, path, defaults);
  if (!found) return refuse(path, `the key "agent" is missing${path.length > 0 ? ` in ${describePath(path)}` : ''}`);
  if (job.agent_id !== undefined && job.agent !== undefined) {
    return refuse(found.at, 'the agent is set twice, as "agent" and as "agent_id"', 'remove one of them');
  }
  const { agent, at } = found;
  const { by, value } = parseReference(agent);
  if (by === 'id') return JSON.stringify([agent]);
  if (job.agent_id !== undefined) {
    return refuse(at, `${describePath(at)} must be an agent_id`, 'write it under "agent" to look it up by name');
  }
  if (by !== 'name' || value === '') {
    return refuse(at, `${describePath(at)} must be an agent_id, or "name:" and the agent's name`);
  }
  const space = job.space ?? defaults.space;
  if (space !== undefined) return JSON.stringify([agent, space]);
  const hint = 'add "space": a space_id, ext:<external_space_id>, or name:<name>';
  return refuse(at, 'an agent name needs a space', hint);
}

function toFileJob(job: Job, { agent, space, timezone }: Partial<Group>, source: string): FileJob {
  return {
    source,
    agent: job.agent_id ?? job.agent ?? agent ?? '',
    space: job.space ?? space,
    name: job.name,
    instructions: job.instructions,
    schedule: toSchedule(job, timezone),
  };
}

/**
 * Parses and checks files of jobs. A document is one job, a list of jobs, or `{ jobs: […] }` with `agent`, `space` and
 * `timezone` as defaults beside the list.
 * @param lookup returns the value of an environment variable; undefined if it is not set
 * @returns the jobs of valid documents in order, and all problems, ordered by source, line, and column. Send nothing if
 *   there is a problem.
 */
export function parseJobFiles(
  sources: readonly YamlSource[],
  lookup: (name: string) => string | undefined,
): { jobs: FileJob[]; problems: Problem[] } {
  const names = new Map<string, string>();
  const jobSources: string[][] = [];
  const review = (document: YamlDocument<Job | Job[] | Group>): void => {
    const { jobs, defaults } = jobsIn(document.value);
    jobSources.push(jobs.map(({ path }) => document.fileAndLine(path)));
    checkTimezone(document, ['timezone']);
    for (const each of jobs) {
      const agent = checkAgent(document, each, defaults);
      checkSchedule(document, each.path);
      if (agent !== undefined) checkUniqueName(document, each.path, agent, names);
    }
  };
  const { documents, problems } = readYaml(sources, { schema: jobsSchema, lookup, review });
  const jobs = documents.flatMap(({ value }, index) => {
    const { jobs, defaults } = jobsIn(value);
    return jobs.map(({ job }, at) => toFileJob(job, defaults, jobSources[index]?.[at] ?? ''));
  });
  return { jobs, problems };
}

/** The JSON Schema of a file of jobs, for editors. */
export function cronJobsJsonSchema(): object {
  return jsonSchema(jobsSchema);
}
