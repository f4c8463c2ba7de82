import { hash } from 'node:crypto';
import type { ListedCronJob } from '../contract/resources.ts';
import { comparableAgent } from '../contract/values.ts';
import { findDifferences, instructionsHash, toNfc } from '../cron/job.ts';
import { groupBy } from '../platform/group-by.ts';
import { sourceDifferences, spaceDifferences, wantedChat } from './differences.ts';
import type { AgentSteps, SpacePlan, Step } from './plan.ts';

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
  /** Whether one of these steps, of an earlier plan, created it. */
  readonly isOf: (steps: readonly Step[]) => boolean;
}

/** A thing in the space, and how to tell whether it is what a plan was to create. */
function thingsOf({ document: { manifest }, observed: { space, agents } }: SpacePlan, jobs: JobsByAgent): Thing[] {
  if (!space) return [];
  const { space_id, external_space_id, name, description, is_org_wide } = space;
  const ofAgent = <Op extends AgentSteps['op']>(steps: readonly Step[], op: Op, id: string) =>
    steps.filter((step): step is Extract<AgentSteps, { op: Op }> => step.op === op && step.agent.agent_id === id);
  return [
    {
      id: `space ${space_id}`,
      content: [external_space_id, name, description, is_org_wide],
      isOf: (steps) => steps.some(({ op }) => op === 'create_space') && spaceDifferences(manifest, space).length === 0,
    },
    ...agents.flatMap(({ agent_id, name, template_id, source_id, source }): Thing[] => {
      const isInstalled = (steps: readonly Step[]) => ofAgent(steps, 'install_agent', agent_id).length > 0;
      const isSetUp = ({ agent: { wanted } }: AgentSteps) =>
        !source || sourceDifferences(wanted.name, source, wantedChat(wanted) ?? {}).length === 0;
      return [
        { id: `agent ${agent_id}`, content: [name, template_id], isOf: isInstalled },
        {
          id: `chat ${source_id}`,
          content: source,
          isOf: (steps: readonly Step[]) => isInstalled(steps) || ofAgent(steps, 'setup_chat', agent_id).some(isSetUp),
        },
        ...(jobs.get(comparableAgent(agent_id)) ?? []).map((job) => ({
          id: `job ${job.cron_job_id}`,
          content: [
            job.name,
            job.schedule,
            job.instructions === undefined ? null : instructionsHash(job.instructions),
            agent_id,
          ],
          isOf: (steps: readonly Step[]) =>
            ofAgent(steps, 'create_job', agent_id).some(
              ({ wanted }) => toNfc(wanted.name) === toNfc(job.name ?? '') && findDifferences(job, wanted).length === 0,
            ),
        })),
      ].filter(({ id }) => source_id || !id.startsWith('chat '));
    }),
  ];
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
 * @param planned the steps of the earlier plan, as they are now
 */
export function changesSince(
  before: Snapshot,
  plan: SpacePlan,
  jobs: JobsByAgent,
  planned: readonly Step[],
): readonly string[] {
  const things = thingsOf(plan, jobs);
  const now = new Map(things.map(({ id, content }) => [id, hashOf(content)]));
  return [
    ...things.filter(({ id, isOf }) => !(id in before) && !isOf(planned)).map(({ id }) => `added: ${id}`),
    ...Object.keys(before).flatMap((id) => {
      if (!now.has(id)) return [`removed: ${id}`];
      return now.get(id) === before[id] ? [] : [`changed: ${id}`];
    }),
  ];
}
