import * as v from 'valibot';
import { toNfc } from '../cron/job.ts';
import type { ManifestDocument } from '../provision/manifest.ts';
import type { Store } from '../sandbox/store.ts';
import type { Mirror } from './mirror.ts';
import type { Ended } from './stage.ts';

/** What is wrong after a seed. `failed`: a run ended with an error. */
export interface Problem {
  readonly kind: 'failed' | 'missing' | 'twice';
  readonly message: string;
}

const quote = (name: string | undefined) => JSON.stringify(name ?? '');

/** What is read of an error with `-o json`. */
const errorSchema = v.object({
  error: v.object({
    message: v.string(),
    details: v.fallback(v.object({ why: v.optional(v.string(), '') }), { why: '' }),
  }),
});

/** Describes how a run failed. The last line of stderr has the error, unless the program crashed. */
export function describeFailure(command: string, { exitCode, stderr }: Ended): string {
  const line = stderr.trimEnd().split('\n').at(-1) ?? '';
  const { output, success } = v.safeParse(v.pipe(v.string(), v.parseJson(), errorSchema), line);
  const text = success ? `${output.error.message} ${output.error.details.why}`.trimEnd() : line;
  return `${command} exited with ${exitCode}: ${text.replaceAll('\n', '; ')}`;
}

/** What is read of `plan -o json`. */
const planSchema = v.object({
  spaces: v.array(
    v.object({
      external_space_id: v.string(),
      actions: v.array(v.object({ op: v.string(), name: v.string(), agent: v.optional(v.string()) })),
    }),
  ),
});

const THINGS: Readonly<Record<string, string>> = {
  install_agent: 'agent',
  setup_chat: 'chat of agent',
  create_job: 'job',
};

/** The things that are still to be created. @param plan the output of `plan -o json` */
export function findMissing(plan: string): Problem[] {
  const { spaces } = v.parse(planSchema, JSON.parse(plan));
  return spaces.flatMap(({ external_space_id, actions }): Problem[] => {
    // Then everything in it is missing, too.
    if (actions.some(({ op }) => op === 'create_space')) {
      return [{ kind: 'missing', message: `space ${external_space_id} is missing` }];
    }
    return actions.map(({ op, name, agent }) => {
      const owner = agent === undefined ? '' : ` of agent ${quote(agent)}`;
      return { kind: 'missing', message: `${THINGS[op]} ${quote(name)}${owner} is missing in ${external_space_id}` };
    });
  });
}

/** @param describe says what a row is, in the plural. Rows are the same thing if that is equal */
function findRepeated<Row>(
  rows: readonly Row[],
  before: readonly Row[],
  describe: (row: Row) => string,
  idOf: (row: Row) => string,
): Problem[] {
  const ids = new Map<string, string[]>();
  for (const row of rows) ids.set(describe(row), [...(ids.get(describe(row)) ?? []), idOf(row)]);
  const counts = new Map<string, number>();
  for (const row of before) counts.set(describe(row), (counts.get(describe(row)) ?? 0) + 1);
  return [...ids]
    .filter(([what, { length }]) => length > (counts.get(what) ?? 1))
    .map(([what, all]) => ({ kind: 'twice', message: `${all.length} ${what}: ${all.join(', ')}` }));
}

/** The spaces, agents, and jobs that are there more often than once, and than in the mirror. */
export function findDuplicates({ spaces, agents, cronJobs }: Store, mirror: Mirror): Problem[] {
  const describeAgent = (agent: Mirror['agents'][number] | undefined) =>
    `${quote(agent?.name)} (${agent?.template_id}) in ${spaces.get(agent?.space_id)?.external_space_id}`;
  const describeJob = ({ agent_id, name }: Mirror['cronJobs'][number]) =>
    `jobs ${quote(toNfc(name))} of agent ${describeAgent(agents.get(agent_id))}`;
  return [
    ...findRepeated(
      spaces.all(),
      mirror.spaces,
      (each) => `spaces ${each.external_space_id}`,
      (each) => each.space_id,
    ),
    ...findRepeated(
      agents.all(),
      mirror.agents,
      (each) => `agents ${describeAgent(each)}`,
      (each) => each.agent_id,
    ),
    ...findRepeated(cronJobs.all(), mirror.cronJobs, describeJob, (each) => each.cron_job_id),
  ];
}

/** A job of a manifest, by the names of its space and its agent. */
export interface JobName {
  readonly external_space_id: string;
  readonly agent: string;
  readonly name: string;
}

/** The jobs of the documents that exist, and have never run. */
export function findIdleJobs(documents: readonly ManifestDocument[], store: Store): JobName[] {
  const nameOf = ({ agent_id, name, last_run_at }: Mirror['cronJobs'][number]): string => {
    const agent = store.agents.get(agent_id);
    return JSON.stringify([
      store.spaces.get(agent?.space_id)?.external_space_id,
      agent?.name,
      toNfc(name),
      last_run_at,
    ]);
  };
  const jobs = new Set(store.cronJobs.all().map(nameOf));
  const wanted = documents.flatMap(({ manifest: { external_space_id, agents } }) =>
    agents.flatMap(({ name: agent, cron = [] }) => cron.map(({ name }) => ({ external_space_id, agent, name }))),
  );
  return wanted.filter(({ external_space_id, agent, name }) =>
    jobs.has(JSON.stringify([external_space_id, agent, toNfc(name), null])),
  );
}

/** The most requests within any one second. @param times when they arrived, in ISO 8601, ascending */
export function busiestSecond(times: readonly string[]): number {
  const arrived = times.map((time) => Date.parse(time));
  let [start, most] = [0, 0];
  for (const [index, at] of arrived.entries()) {
    while ((arrived[start] ?? at) <= at - 1000) start += 1;
    most = Math.max(most, index - start + 1);
  }
  return most;
}
