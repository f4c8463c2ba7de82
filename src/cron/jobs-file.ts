import * as v from 'valibot';
import { parseReference } from '../api/references.ts';
import type { Path } from '../yaml/document-value.ts';
import { describePath } from '../yaml/issue-message.ts';
import { jsonSchema } from '../yaml/json-schema.ts';
import type { Problem } from '../yaml/problem.ts';
import { readYaml, type YamlDocument } from '../yaml/read.ts';
import { choice, identifier } from '../yaml/schema.ts';
import type { YamlSource } from '../yaml/source-text.ts';
import { reviewName, reviewSchedule, reviewTimezone, toSchedule } from './check-job.ts';
import { jobEntries, timezone } from './job-schema.ts';
import type { CronSchedule } from './schedule.ts';

const owner = {
  agent: v.exactOptional(
    identifier('Agent', 'The agent that does the job: its agent_id, or name:<name> with a space.'),
  ),
  space: v.exactOptional(
    identifier('Space', 'Where an agent is looked up by name: a space_id, ext:<external_space_id> or name:<name>.'),
  ),
};

const jobSchema = v.pipe(
  v.strictObject({
    ...owner,
    agent_id: v.exactOptional(identifier('Agent id', 'The same as agent, for an agent_id.')),
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
  v.description('Jobs, and what holds for those of them that do not say otherwise.'),
);

/** A mapping is a single job where anything in it can only be one's. */
function isSingle(value: object): boolean {
  return !('jobs' in value) && ['name', 'instructions', 'schedule', 'agent_id'].some((key) => key in value);
}

const jobsSchema = v.pipe(
  choice([jobSchema, jobList, group], (value) => {
    if (Array.isArray(value)) return jobList;
    return typeof value === 'object' && value !== null && !isSingle(value) ? group : jobSchema;
  }),
  v.title('partnerctl cron jobs'),
  v.description('Jobs that agents do again and again. ${NAME} and ${NAME:-default} put in environment variables.'),
);

type Job = v.InferOutput<typeof jobSchema>;
type Group = v.InferOutput<typeof group>;

/** A job of a file, ready to be created once its agent has been looked up. */
export interface FileJob {
  /** File and line where the job begins: `jobs.yaml:3`. */
  readonly source: string;
  /** An agent_id, or `name:<name>`. */
  readonly agent: string;
  /** A space_id, `ext:<external_space_id>` or `name:<name>`; there wherever the agent is given by name. */
  readonly space: string | undefined;
  readonly name: string;
  readonly instructions: string;
  readonly schedule: CronSchedule;
}

function jobPaths(document: YamlDocument<unknown>): Path[] {
  const root = document.get([]);
  if (Array.isArray(root)) return [...root.keys()].map((index) => [index]);
  if (typeof root !== 'object' || root === null) return [];
  const jobs = document.get(['jobs']);
  if (Array.isArray(jobs)) return [...jobs.keys()].map((index) => ['jobs', index]);
  return isSingle(root) ? [[]] : [];
}

/** The text of a job's key, or of the same key beside the list of jobs. */
function textAt(document: YamlDocument<unknown>, path: Path, key: string): { text: string; path: Path } | undefined {
  const places = [[...path, key], ...(path[0] === 'jobs' ? [[key]] : [])];
  for (const place of places) {
    const text = document.get(place);
    if (typeof text === 'string' && text !== '') return { text, path: place };
  }
  return undefined;
}

function keysOf(document: YamlDocument<unknown>, path: Path): string[] {
  const holder = document.get(path);
  return typeof holder === 'object' && holder !== null ? Object.keys(holder) : [];
}

/** Checks by whom a job is done. @returns what tells the agent apart, as far as it can be told. */
function reviewAgent(document: YamlDocument<unknown>, path: Path): string | undefined {
  const keys = keysOf(document, path);
  const byId = keys.includes('agent_id');
  const byReference = keys.includes('agent');
  if (byId && byReference) {
    const message = 'the agent is given twice, as "agent" and as "agent_id"';
    document.report([...path, 'agent_id'], message, 'leave one of them out');
    return undefined;
  }
  const inherits = path[0] === 'jobs' && keysOf(document, []).includes('agent');
  if (!byId && !byReference && !inherits) {
    const within = path.length > 0 ? ` in ${describePath(path)}` : '';
    document.report(path, `the key "agent" is missing${within}`);
    return undefined;
  }
  const agent = textAt(document, path, byId ? 'agent_id' : 'agent');
  if (!agent) return undefined;
  if (parseReference(agent.text).by === 'id') return JSON.stringify([agent.text]);
  return byId ? refuseId(document, agent) : reviewReference(document, path, agent);
}

function refuseId(document: YamlDocument<unknown>, agent: { readonly text: string; readonly path: Path }): undefined {
  document.report(
    agent.path,
    `${describePath(agent.path)} must be an agent_id`,
    'write it under "agent" to look it up',
  );
}

function reviewReference(
  document: YamlDocument<unknown>,
  path: Path,
  agent: { readonly text: string; readonly path: Path },
): string | undefined {
  const { by, value } = parseReference(agent.text);
  if (by !== 'name' || value === '') {
    document.report(agent.path, `${describePath(agent.path)} must be an agent_id, or "name:" and the agent's name`);
    return undefined;
  }
  const space = textAt(document, path, 'space');
  if (space) return JSON.stringify([agent.text, space.text]);
  if (!keysOf(document, path).includes('space')) {
    const hint = 'name the space with "space": a space_id, ext:<external_space_id> or name:<name>';
    document.report(agent.path, `an agent is looked up by name in a space, and none is given`, hint);
  }
  return undefined;
}

/**
 * Reads and checks files of jobs. A document is one job, a list of jobs, or `{ jobs: […] }` with `agent`, `space` and
 * `timezone` beside it for the jobs that do not name their own.
 * @param lookup the value of a variable that a file puts in; undefined where it is not set
 * @returns the jobs of valid documents in order, and everything that is wrong, ordered by source, line and column.
 *   Nothing may be sent while there is a problem.
 */
export function readJobsFile(
  sources: readonly YamlSource[],
  lookup: (name: string) => string | undefined,
): { jobs: FileJob[]; problems: Problem[] } {
  const names = new Map<string, string>();
  const places: string[][] = [];
  const review = (document: YamlDocument<unknown>): void => {
    const paths = jobPaths(document);
    places.push(paths.map((path) => document.fileAndLine(path)));
    reviewTimezone(document, ['timezone']);
    for (const path of paths) {
      const agent = reviewAgent(document, path);
      reviewSchedule(document, path);
      if (agent !== undefined) reviewName(document, path, agent, names);
    }
  };
  const { documents, problems } = readYaml(sources, { schema: jobsSchema, lookup, review });
  const jobs = documents.flatMap(({ value }, index) => {
    const { list, defaults } = spread(value);
    return list.map((job, at) => readyJob(job, defaults, places[index]?.[at] ?? ''));
  });
  return { jobs, problems };
}

function spread(value: Job | Job[] | Group): { list: readonly Job[]; defaults: Partial<Group> } {
  if (Array.isArray(value)) return { list: value, defaults: {} };
  return 'jobs' in value ? { list: value.jobs, defaults: value } : { list: [value], defaults: {} };
}

function readyJob(job: Job, defaults: Partial<Group>, source: string): FileJob {
  return {
    source,
    agent: job.agent_id ?? job.agent ?? defaults.agent ?? '',
    space: job.space ?? defaults.space,
    name: job.name,
    instructions: job.instructions,
    schedule: toSchedule(job, defaults.timezone),
  };
}

/** The JSON Schema of a file of jobs, for editors; made from the definition that validates. */
export function cronJobsJsonSchema(): object {
  return jsonSchema(jobsSchema);
}
