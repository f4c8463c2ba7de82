import * as v from 'valibot';
import { type AgentInput, parseReference } from '../api/references.ts';
import { canonicalId } from '../contract/values.ts';
import { PartnerctlError, withHint } from '../errors.ts';
import { readYaml } from '../yaml/check.ts';
import { fileAndLine, type Path, type SourceRange, type YamlDocument } from '../yaml/document.ts';
import { jsonSchema } from '../yaml/json-schema.ts';
import { type Problem, problemsError, type YamlSource } from '../yaml/problem.ts';
import { identifier, mapping, nonBlankText } from '../yaml/schema.ts';
import { readSources } from '../yaml/sources.ts';
import { quoted } from '../yaml/text.ts';
import type { CronContext } from './context.ts';
import type { WantedJob } from './ensure-jobs.ts';
import { type CronJob, isNotShown, toNfc } from './job.ts';
import { agentName, findAgent } from './job-flags.ts';
import {
  type CronFields,
  FIELD_VALUES,
  parseExpression,
  parseField,
  parseTimezone,
  ScheduleError,
} from './schedule.ts';

function parsedAs<Value extends string | number, Parsed>(key: string, parse: (text: string) => Parsed) {
  return v.rawTransform<Value, Parsed>(({ dataset, addIssue, NEVER }) => {
    try {
      return parse(String(dataset.value));
    } catch (error) {
      if (!(error instanceof ScheduleError)) throw error;
      addIssue({ message: `${key}: ${error.message}`, expected: error.hint });
      return NEVER;
    }
  });
}

function cronField(field: keyof CronFields) {
  return v.pipe(
    v.union([v.string(), v.number()]),
    // Before the parser: JSON Schema shows what is read, not what it becomes.
    v.description(`* or ${FIELD_VALUES[field]}; or lists, ranges, and steps of these.`),
    parsedAs('schedule', (text) => parseField(field, text)),
  );
}

const timezone = v.pipe(
  v.string(),
  v.description('The IANA name of the time zone of the schedule. Default: UTC.'),
  parsedAs('timezone', parseTimezone),
);

const expression = v.pipe(
  v.string(),
  v.description(
    'Five fields: minute, hour, day of the month, month, day of the week. The day of the month and the month must be *.',
  ),
  parsedAs('schedule', parseExpression),
);

const byFields = v.pipe(
  mapping({
    minute: cronField('minute'),
    hour: cronField('hour'),
    day_of_week: v.exactOptional(cronField('day_of_week'), '*'),
  }),
  v.description('The fields one by one.'),
);

const jobEntries = {
  name: identifier('The name of the job, unique per agent.'),
  // A job that was created with the name of a file as its text runs forever, and no call can change it.
  instructions: v.pipe(
    nonBlankText('What the agent does on each run.'),
    v.check((text) => !/^@\S+$/.test(text.trim()), 'must be the text itself: only the flag --instructions reads @file'),
  ),
  schedule: v.pipe(v.union([expression, byFields]), v.description('When the job runs.')),
  timezone: v.exactOptional(timezone),
};

/** Makes undefined of a text that the service did not show: it stands for what exists, and is never sent. */
export const knownText = v.transform((text: string) => (isNotShown(text) ? undefined : text));

export const agentJobSchema = v.pipe(
  mapping({ ...jobEntries, instructions: v.pipe(jobEntries.instructions, knownText) }),
  v.description('A scheduled job of the agent. It is created after the agent is installed.'),
);

const owner = {
  agent: v.exactOptional(identifier('The agent that does the job: its agent_id, or name:<name> with a space.')),
  space: v.exactOptional(
    identifier('The space of an agent given by name: a space_id, ext:<external_space_id>, or name:<name>.'),
  ),
};

const instructions = v.pipe(
  jobEntries.instructions,
  v.check((text) => !isNotShown(text), 'must be filled in: the service did not show it'),
);

const jobSchema = mapping({ ...owner, ...jobEntries, instructions });

const jobList = v.pipe(v.array(jobSchema), v.nonEmpty('must list at least one job'));

const group = v.pipe(
  mapping({ ...owner, timezone: v.exactOptional(timezone), jobs: jobList }),
  v.description('Jobs, with defaults for the agent, the space, and the time zone.'),
);

const jobsSchema = v.pipe(
  v.union([jobList, group]),
  v.description('Scheduled jobs of agents. ${NAME} and ${NAME:-default} insert environment variables.'),
);

type Job = v.InferOutput<typeof jobSchema>;
type Group = v.InferOutput<typeof group>;

/** A job from a file. Its agent still has to be looked up. */
interface FileJob extends AgentInput, Omit<CronJob, 'agent_id'> {
  readonly source: string;
  /** Of its name. */
  readonly place: SourceRange;
}

/** Reports a second job of an agent and name, in any Unicode form. @param places of earlier ones, by these */
export function checkUnique(
  places: Map<string, SourceRange>,
  job: readonly string[],
  place: SourceRange,
  hint?: string,
): void {
  const key = JSON.stringify(job.map(toNfc));
  const first = places.get(key);
  if (first === undefined) places.set(key, place);
  else place.problems.add(place.range, `this agent already has a job of this name at ${fileAndLine(first)}`, hint);
}

/** Reads the agent of a job, which is set in the job or beside the list of jobs. @returns undefined after a problem */
function readAgent(document: YamlDocument, job: Job, path: Path, defaults: Partial<Group>): AgentInput | undefined {
  const { agent = defaults.agent, space = defaults.space } = job;
  if (agent === undefined) {
    document.report(path, 'the key "agent" is missing');
    return undefined;
  }
  const { by, value } = parseReference(agent);
  if (by === 'id' || (by === 'name' && space !== undefined)) return { agent: { by, value }, space };
  const at = job.agent === undefined ? ['agent'] : [...path, 'agent'];
  document.report(at, 'must be an agent_id; or name:<name>, with a "space" beside it');
  return undefined;
}

const MANIFEST = { key: 'external_space_id', hint: 'a manifest is for: partnerctl provision' };

/**
 * Parses and checks files of jobs. A document is a list of jobs, or `{ jobs: […] }` with `agent`, `space` and
 * `timezone` as defaults beside the list.
 * @param lookup returns the value of an environment variable; undefined if it is not set
 * @returns the jobs in order, and the problems. Nothing may be sent while there is a problem
 */
export function parseJobFiles(
  sources: readonly YamlSource[],
  lookup: (name: string) => string | undefined,
): { jobs: readonly FileJob[]; problems: readonly Problem[] } {
  const places = new Map<string, SourceRange>();
  const jobs: FileJob[] = [];
  const review = (document: YamlDocument, value: Job[] | Group): void => {
    const [listed, defaults, at] = Array.isArray(value) ? [value, {}, []] : [value.jobs, value, ['jobs']];
    for (const [index, job] of listed.entries()) {
      const path = [...at, index];
      const agent = readAgent(document, job, path, defaults);
      if (!agent) continue;
      const place = document.place([...path, 'name']);
      checkUnique(places, [JSON.stringify(agent), job.name], place);
      const { name, instructions, timezone: zone = defaults.timezone ?? 'UTC' } = job;
      const schedule = { ...job.schedule, timezone: zone };
      jobs.push({ source: fileAndLine(document.place(path)), place, ...agent, name, instructions, schedule });
    }
  };
  const { problems } = readYaml(sources, { schema: jobsSchema, lookup, other: MANIFEST, review });
  return { jobs, problems };
}

/** The JSON Schema of a file of jobs, for editors. */
export function cronJobsJsonSchema(): object {
  return jsonSchema(jobsSchema);
}

/**
 * Reads jobs, and checks all before anything is sent. An agent that is given by name is looked up.
 * @param confirm called once the files are valid, before the service is asked for an agent
 * @throws InputError that shows every mistake, also one job that is given by its agent's id and by its name; as `findAgent`
 */
export async function readJobFiles(
  context: CronContext,
  files: readonly string[],
  confirm: () => Promise<void>,
): Promise<readonly WantedJob[]> {
  const sources = await readSources(files, context.io.stdin, context.abortSignal);
  const { jobs, problems } = parseJobFiles(sources, (name) => context.env[name]);
  if (problems.length > 0) throw problemsError(problems);
  await confirm();
  const agents = new Map<string, string>();
  const places = new Map<string, SourceRange>();
  const wanted: WantedJob[] = [];
  for (const [index, { source, place, agent, space, ...job }] of jobs.entries()) {
    const named = JSON.stringify([agent, space]);
    try {
      const agent_id = agents.get(named) ?? (await findAgent(context, { agent, space }));
      agents.set(named, agent_id);
      const hint = `the id of the agent is ${quoted(agent_id)} in both`;
      checkUnique(places, [canonicalId(agent_id), job.name], place, hint);
      wanted.push({ index, source, agent: agentName({ agent, space }), job: { ...job, agent_id } });
    } catch (error) {
      if (!(error instanceof PartnerctlError)) throw error;
      const hint = `Job ${JSON.stringify(job.name)} at ${source} names it. Nothing was sent.`;
      throw withHint(error, { hint, details: { source } });
    }
  }
  const repeated = [...new Set(jobs.map(({ place }) => place.problems))].flatMap((list) => list.sorted());
  if (repeated.length > 0) throw problemsError(repeated);
  return wanted;
}
