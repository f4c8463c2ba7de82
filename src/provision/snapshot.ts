import { hash } from 'node:crypto';
import type { ListedCronJob } from '../contract/resources.ts';
import { comparableAgent } from '../contract/values.ts';
import { findDifferences, instructionsHash, toNfc } from '../cron/job.ts';
import { groupBy } from '../platform/group-by.ts';
import { sourceDifferences, spaceDifferences, wantedChat } from './differences.ts';
import type { SpacePlan, Step } from './plan.ts';

/** The jobs of a service, by `comparableAgent`. */
export type JobsByAgent = ReadonlyMap<string, readonly ListedCronJob[]>;

/** Groups the jobs of a list by their agents. */
export function jobsByAgent(jobs: Iterable<ListedCronJob>): JobsByAgent {
  return groupBy(jobs, ({ agent_id, agent_text = '' }) => comparableAgent(agent_id ?? agent_text));
}

/** What was read of a space: a hash of each thing, by what it is and its id: `agent agt_1`. */
export type Snapshot = Readonly<Record<string, string>>;

interface Thing {
  readonly id: string;
  readonly content: unknown;
  /** The keys of the steps that would have made it as it is. */
  readonly madeBy: readonly string[];
}

function thingsOf({ document, observed: { space, agents }, steps }: SpacePlan, jobs: JobsByAgent): Thing[] {
  if (!space) return [];
  const { space_id, external_space_id, name, description, is_org_wide } = space;
  const isAsPlanned = spaceDifferences(document.manifest, space).length === 0;
  const content = [external_space_id, name, description, is_org_wide];
  const things: Thing[] = [{ id: `space ${space_id}`, content, madeBy: isAsPlanned ? ['space'] : [] }];
  const stepsOf = groupBy(steps, (step) => (step.op === 'create_space' ? '' : (step.agent.agent_id ?? '')));
  for (const { agent_id, name: agentName, template_id, source_id, source } of agents) {
    const own = stepsOf.get(agent_id) ?? [];
    const installs = own.filter(({ op }) => op === 'install_agent').map(({ key }) => key);
    const chats = own.flatMap((step) => {
      if (step.op !== 'setup_chat') return [];
      const { wanted } = step.agent;
      const asked = wantedChat(wanted) ?? {};
      return !source || sourceDifferences(wanted.name, source, asked).length === 0 ? [step.key] : [];
    });
    things.push({ id: `agent ${agent_id}`, content: [agentName, template_id], madeBy: installs });
    if (source_id) things.push({ id: `chat ${source_id}`, content: source, madeBy: [...installs, ...chats] });
    for (const job of jobs.get(comparableAgent(agent_id)) ?? []) {
      const text = job.instructions === undefined ? null : instructionsHash(job.instructions);
      const isMade = (step: Step) =>
        step.op === 'create_job' &&
        toNfc(step.wanted.name) === toNfc(job.name ?? '') &&
        findDifferences(job, step.wanted).length === 0;
      const madeBy = own.filter(isMade).map(({ key }) => key);
      things.push({ id: `job ${job.cron_job_id}`, content: [job.name, job.schedule, text, agent_id], madeBy });
    }
  }
  return things;
}

function hashOf(content: unknown): string {
  return hash('sha256', JSON.stringify(content) ?? '', 'hex').slice(0, 24);
}

/** What was read of the space of a plan: the space, its agents, their chats, and their jobs. */
export function snapshotOf(plan: SpacePlan, jobs: JobsByAgent): Snapshot {
  return Object.fromEntries(thingsOf(plan, jobs).map(({ id, content }) => [id, hashOf(content)]));
}

/**
 * What was added, changed, or removed since an earlier plan: `added: agent agt_1`. What that plan itself was to create
 * is no change.
 * @param planned the keys of the steps of the earlier plan
 */
export function changesSince(
  before: Snapshot,
  plan: SpacePlan,
  jobs: JobsByAgent,
  planned: ReadonlySet<string>,
): readonly string[] {
  const now = snapshotOf(plan, jobs);
  const added = thingsOf(plan, jobs).filter(
    ({ id, madeBy }) => !(id in before) && !madeBy.some((key) => planned.has(key)),
  );
  return [
    ...added.map(({ id }) => `added: ${id}`),
    ...Object.keys(before).flatMap((id) => {
      if (!(id in now)) return [`removed: ${id}`];
      return now[id] === before[id] ? [] : [`changed: ${id}`];
    }),
  ];
}
