import { listAgents } from '../api/calls.ts';
import { parseReference, resolveAgentId, resolveSpaceId } from '../api/references.ts';
import { comparableAgent } from '../contract/values.ts';
import { UsageError } from '../errors.ts';
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

/** Returns a function that finds agents as `findAgent`, each once. */
export function createAgentFinder(context: FinderContext): (input: AgentInput) => Promise<string> {
  const found = new Map<string, Promise<string>>();
  return (input) => {
    const key = JSON.stringify(input);
    const finding = found.get(key) ?? findAgent(context, input);
    found.set(key, finding);
    return finding;
  };
}

/** The agents of a list, as `comparableAgent` gives them. */
export type AgentIds = ReadonlySet<string>;

/**
 * Finds the agents that --agent and --space name; undefined if neither is given.
 * @throws UsageError for invalid values; NotFoundError as `findAgent`
 */
export async function findOwnerAgents(
  context: FinderContext,
  options: AgentOptions & { readonly local: boolean },
): Promise<AgentIds | undefined> {
  const { agent, space, local } = options;
  const input = agent === undefined ? undefined : parseJobAgent({ agent, space });
  if (input?.agent.by !== 'id' && space !== undefined && local) {
    throw new UsageError('Names and spaces can only be looked up at the service, and not with --local.', {
      hint: 'Give --agent <agent_id>.',
    });
  }
  if (input) return new Set([comparableAgent(await findAgent(context, input))]);
  if (space === undefined) return undefined;
  const http = await context.http();
  context.progress.start('Looking up the agents');
  const ids = new Set<string>();
  const spaceId = await resolveSpaceId(http, parseReference(space));
  for await (const { agent_id } of listAgents(http, spaceId)) ids.add(comparableAgent(agent_id));
  return ids;
}
