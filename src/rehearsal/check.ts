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

/** The groups of rows with the same key that have more than one row, and more than before. */
function findGrown<Row>(rows: readonly Row[], before: readonly Row[], keyOf: (row: Row) => string): Row[][] {
  const groups = new Map<string, Row[]>();
  for (const row of rows) groups.set(keyOf(row), [...(groups.get(keyOf(row)) ?? []), row]);
  const countBefore = (key: string) => before.filter((row) => keyOf(row) === key).length;
  return [...groups].flatMap(([key, group]) => (group.length > Math.max(1, countBefore(key)) ? [group] : []));
}

/** The spaces, agents, and jobs that are there more often than once, and than in the mirror. */
export function findDuplicates(store: Store, mirror: Mirror): Problem[] {
  const inSpace = (id: string | undefined) => `in ${store.spaces.get(id)?.external_space_id}`;
  const twice = (what: string, ids: readonly string[]): Problem => {
    return { kind: 'twice', message: `${ids.length} ${what}: ${ids.join(', ')}` };
  };
  return [
    ...findGrown(store.spaces.all(), mirror.spaces, (space) => space.external_space_id).map((found) => {
      return twice(
        `spaces ${found[0]?.external_space_id}`,
        found.map(({ space_id }) => space_id),
      );
    }),
    ...findGrown(store.agents.all(), mirror.agents, ({ space_id, template_id, name }) =>
      JSON.stringify([space_id, template_id, name]),
    ).map((found) => {
      const what = `agents ${quote(found[0]?.name)} ${inSpace(found[0]?.space_id)}`;
      return twice(
        what,
        found.map(({ agent_id }) => agent_id),
      );
    }),
    ...findGrown(store.cronJobs.all(), mirror.cronJobs, ({ agent_id, name }) =>
      JSON.stringify([agent_id, toNfc(name)]),
    ).map((found) => {
      const agent = store.agents.get(found[0]?.agent_id);
      const what = `jobs ${quote(found[0]?.name)} of agent ${quote(agent?.name)} ${inSpace(agent?.space_id)}`;
      return twice(
        what,
        found.map(({ cron_job_id }) => cron_job_id),
      );
    }),
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
