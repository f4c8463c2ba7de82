import * as v from 'valibot';
import { toNfc } from '../cron/job.ts';
import type { ManifestDocument } from '../provision/manifest.ts';
import type { Store } from '../sandbox/store.ts';
import type { Mirror } from './mirror.ts';

/** What is wrong after a seed. `failed`: a run ended with an error. */
export interface Problem {
  readonly kind: 'failed' | 'missing' | 'twice';
  readonly message: string;
}

/** What the checks read of `plan -o json`. */
const planSchema = v.object({
  spaces: v.array(
    v.object({
      external_space_id: v.string(),
      actions: v.array(v.object({ op: v.string(), name: v.string(), agent: v.optional(v.string()) })),
    }),
  ),
});

const THINGS: Readonly<Record<string, string>> = {
  create_space: 'space',
  install_agent: 'agent',
  setup_chat: 'chat of agent',
  create_job: 'job',
};

/** The things that a plan would still create. @param plan the output of `plan -o json` */
export function findMissing(plan: string): Problem[] {
  const { spaces } = v.parse(planSchema, JSON.parse(plan));
  return spaces.flatMap(({ external_space_id, actions }) =>
    actions.map(({ op, name, agent }) => {
      const owner = agent === undefined ? '' : ` of agent ${JSON.stringify(agent)}`;
      const message = `${THINGS[op]} ${JSON.stringify(name)}${owner} is missing in ${external_space_id}`;
      return { kind: 'missing' as const, message };
    }),
  );
}

/** The groups of rows with the same key that have more than one row, and more than before. */
function findGrown<Row>(rows: readonly Row[], before: readonly Row[], keyOf: (row: Row) => string): Row[][] {
  const groups = new Map<string, Row[]>();
  for (const row of rows) groups.set(keyOf(row), [...(groups.get(keyOf(row)) ?? []), row]);
  const countBefore = (key: string) => before.filter((row) => keyOf(row) === key).length;
  return [...groups].flatMap(([key, group]) => (group.length > Math.max(1, countBefore(key)) ? [group] : []));
}

/** The spaces, agents, and jobs that are there more often than once, and than the mirror has them. */
export function findDuplicates(store: Store, mirror: Mirror): Problem[] {
  const agentKey = (agent: Mirror['agents'][number]) =>
    JSON.stringify([agent.space_id, agent.template_id, toNfc(agent.name)]);
  const jobKey = (job: Mirror['cronJobs'][number]) => JSON.stringify([job.agent_id, toNfc(job.name)]);
  const spaceOf = (id: string | undefined) => store.spaces.get(id)?.external_space_id;
  const messages = [
    ...findGrown(store.spaces.all(), mirror.spaces, ({ external_space_id: id }) => id).map(
      (found) => `${found.length} spaces ${spaceOf(found[0]?.space_id)}: ${found.map((each) => each.space_id)}`,
    ),
    ...findGrown(store.agents.all(), mirror.agents, agentKey).map((found) => {
      const name = JSON.stringify(found[0]?.name);
      return `${found.length} agents ${name} in ${spaceOf(found[0]?.space_id)}: ${found.map((each) => each.agent_id)}`;
    }),
    ...findGrown(store.cronJobs.all(), mirror.cronJobs, jobKey).map((found) => {
      const agent = store.agents.get(found[0]?.agent_id);
      const what = `${found.length} jobs ${JSON.stringify(found[0]?.name)} of agent ${JSON.stringify(agent?.name)}`;
      return `${what} in ${spaceOf(agent?.space_id)}: ${found.map((each) => each.cron_job_id)}`;
    }),
  ];
  return messages.map((message) => ({ kind: 'twice', message: message.replaceAll(',', ', ') }));
}

/** A job of a manifest, by the names of its space and its agent. */
export interface JobName {
  readonly external_space_id: string | undefined;
  readonly agent: string | undefined;
  readonly name: string;
}

/** The jobs of the documents that have never run. */
export function findIdleJobs(documents: readonly ManifestDocument[], store: Store): JobName[] {
  const keyOf = ({ external_space_id, agent, name }: JobName) =>
    JSON.stringify([external_space_id, agent, toNfc(name)]);
  const ran = store.cronJobs.all().flatMap(({ agent_id, name, last_run_at }) => {
    const agent = store.agents.get(agent_id);
    const external_space_id = store.spaces.get(agent?.space_id)?.external_space_id;
    return last_run_at === null ? [] : [keyOf({ external_space_id, agent: agent?.name, name })];
  });
  const wanted = documents.flatMap(({ manifest: { external_space_id, agents } }) =>
    agents.flatMap(({ name: agent, cron = [] }) => cron.map(({ name }) => ({ external_space_id, agent, name }))),
  );
  return wanted.filter((job) => !ran.includes(keyOf(job)));
}

/** The most requests within any one second. @param times when they were received, in ISO 8601, ascending */
export function busiestSecond(times: readonly string[]): number {
  const ms = times.map((time) => Date.parse(time));
  return Math.max(0, ...ms.map((start, index) => ms.slice(index).filter((at) => at < start + 1000).length));
}
