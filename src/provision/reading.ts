import { hash } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import * as v from 'valibot';
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

/** A step as a plan file has it: what identifies it among those of its space. */
export const plannedStep = v.object({
  op: v.picklist(['create_space', 'install_agent', 'setup_chat', 'create_job']),
  name: v.string(),
  /** The name of the agent of a chat or a job, and the template of the agent. */
  agent: v.exactOptional(v.string()),
  template_id: v.exactOptional(v.string()),
});

type PlannedStep = v.InferOutput<typeof plannedStep>;

export function toPlannedStep(step: Step): PlannedStep {
  const { op, name } = step;
  if (op === 'create_space') return { op, name };
  const { name: agent, template_id } = step.agent.wanted;
  return { op, name, agent, template_id };
}

/** Whether a plan had this to do. */
export function isPlanned(step: Step, planned: readonly PlannedStep[]): boolean {
  const own = toPlannedStep(step);
  return planned.some((each) => isDeepStrictEqual(each, own));
}

function describeJob({ cron_job_id, name, schedule, instructions }: ListedCronJob): readonly unknown[] {
  return [cron_job_id, name, schedule, instructions === undefined ? null : instructionsHash(instructions)];
}

/**
 * Hashes what was read of a space for its plan: the space, its agents, their chats, and their jobs. What the steps of an
 * earlier plan created since then is left out, so that the hash is still that of the earlier plan if only these steps
 * were carried out.
 * @param planned what the earlier plan had to do
 */
export function readingOf(
  { document: { manifest }, observed: { space, agents }, steps }: SpacePlan,
  jobs: JobsByAgent,
  planned: readonly PlannedStep[] = [],
): string {
  const ofPlan = steps.filter((step) => isPlanned(step, planned));
  const stepsOf = <Op extends AgentSteps['op']>(op: Op, id: string) =>
    ofPlan.filter((step): step is Extract<AgentSteps, { op: Op }> => step.op === op && step.agent.agent_id === id);
  const present = agents.flatMap(({ agent_id, name, template_id, source_id, source }) => {
    const created = stepsOf('create_job', agent_id);
    const isOwnJob = (job: ListedCronJob) =>
      created.some(
        ({ wanted }) => toNfc(wanted.name) === toNfc(job.name ?? '') && findDifferences(job, wanted).length === 0,
      );
    const others = jobs.get(comparableAgent(agent_id))?.filter((job) => !isOwnJob(job)) ?? [];
    if (stepsOf('install_agent', agent_id).length > 0 && others.length === 0) return [];
    const isOwnChat = stepsOf('setup_chat', agent_id).some(
      ({ agent: { wanted } }) =>
        !source || sourceDifferences(wanted.name, source, wantedChat(wanted) ?? {}).length === 0,
    );
    const chat = isOwnChat ? [null, null] : [source_id, source];
    return [[agent_id, name, template_id, chat, others.map(describeJob).sort()]];
  });
  const isNew = ofPlan.some(({ op }) => op === 'create_space') && present.length === 0;
  const isOwnSpace = space && isNew && spaceDifferences(manifest, space).length === 0;
  const own = space && [space.space_id, space.external_space_id, space.name, space.description, space.is_org_wide];
  return hash('sha256', JSON.stringify(isOwnSpace || !own ? null : [own, present.sort()]), 'hex');
}
