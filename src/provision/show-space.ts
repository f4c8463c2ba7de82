import { listAgents } from '../api/calls.ts';
import { ListUnavailable, toListFailure } from '../api/list.ts';
import { findSpace, parseReference } from '../api/references.ts';
import type { ListedAgent, ListedSpace } from '../contract/resources.ts';
import { comparableAgent } from '../contract/values.ts';
import type { CronContext } from '../cron/context.ts';
import type { AgentNames } from '../cron/job-flags.ts';
import { JOB_LIST } from '../cron/job-list.ts';
import { type JobRow, listJobsOf } from '../cron/job-rows.ts';
import { groupBy } from '../platform/group-by.ts';

export interface SpaceView {
  readonly space: ListedSpace;
  readonly agents: readonly (ListedAgent & { readonly jobs: readonly JobRow[] })[];
  /** All of them, in the order of the list; undefined if they cannot be listed. */
  readonly jobs: readonly JobRow[] | undefined;
}

async function readJobs(context: CronContext, agents: AgentNames): Promise<readonly JobRow[] | undefined> {
  const jobs: JobRow[] = [];
  try {
    for await (const row of listJobsOf(context, agents)) jobs.push(row);
    return jobs;
  } catch (error) {
    const failure = toListFailure(error, JOB_LIST, jobs.length > 0);
    if (!(failure instanceof ListUnavailable)) throw error;
    await context.warn(`The jobs cannot be listed: ${failure.message}`);
    return undefined;
  }
}

/**
 * Reads all that the service and the state have of a space.
 * @param typed a space_id, `ext:<external_space_id>`, or `name:<name>`
 * @throws NotFoundError if no space matches, UsageError if several do; the errors of the lists of spaces and agents
 */
export async function showSpace(context: CronContext, typed: string): Promise<SpaceView> {
  const http = await context.http();
  context.progress.start('Reading the space');
  const space = await findSpace(http, parseReference(typed));
  const agents: ListedAgent[] = [];
  for await (const agent of listAgents(http, space.space_id, 'show')) agents.push(agent);
  const names = new Map(agents.map(({ agent_id, name }) => [comparableAgent(agent_id), name]));
  const jobs = await readJobs(context, names);
  const byAgent = groupBy(jobs ?? [], ({ agent_id, agent_text = '' }) => comparableAgent(agent_id ?? agent_text));
  const withJobs = agents.map((each) => ({ ...each, jobs: byAgent.get(comparableAgent(each.agent_id)) ?? [] }));
  return { space, agents: withJobs, jobs };
}
