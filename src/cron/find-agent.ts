import { listAgents } from '../api/calls.ts';
import { parseReference, resolveAgentId, resolveSpaceId } from '../api/references.ts';
import { comparableAgent } from '../contract/values.ts';
import type { CronContext } from './context.ts';
import { type AgentInput, type AgentOptions, parseJobAgent } from './job-flags.ts';

type FinderContext = Pick<CronContext, 'http' | 'progress'>;

/**
 * The id of an agent. Calls the service only to look it up by name.
 * @throws NotFoundError, UsageError as `resolveSpaceId` and `resolveAgentId` do
 */
export async function findAgent(context: FinderContext, { agent, space = '' }: AgentInput): Promise<string> {
  if (agent.by === 'id') return agent.value;
  const http = await context.http();
  context.progress.start('Looking up the agent');
  return await resolveAgentId(http, await resolveSpaceId(http, parseReference(space)), agent);
}

/** The agents of a list, as `comparableAgent` gives them. */
export type AgentIds = ReadonlySet<string>;

/**
 * Finds the agents that --agent and --space name; undefined if neither is given.
 * @throws UsageError for invalid values; NotFoundError as `findAgent`
 */
export async function findOwnerAgents(
  context: FinderContext,
  { agent, space }: AgentOptions,
): Promise<AgentIds | undefined> {
  if (agent !== undefined) return new Set([comparableAgent(await findAgent(context, parseJobAgent({ agent, space })))]);
  if (space === undefined) return undefined;
  const http = await context.http();
  context.progress.start('Looking up the agents');
  const ids = new Set<string>();
  const spaceId = await resolveSpaceId(http, parseReference(space));
  for await (const { agent_id } of listAgents(http, spaceId)) ids.add(comparableAgent(agent_id));
  return ids;
}
