import { readItem } from '../../../api/api-response.ts';
import { listAgents } from '../../../api/calls.ts';
import type { Http } from '../../../api/http.ts';
import { parseReference, resolveAgentId, resolveSpaceId } from '../../../api/references.ts';
import { SpaceAgents } from '../../../api/space-agents.ts';
import { type AgentInput, parseAgentInput } from '../../../cli/agent-args.ts';
import type { Args } from '../../../cli/command.ts';
import type { Context } from '../../../cli/context.ts';
import { comparableAgent } from '../../../contract/agent-ids.ts';
import { readAgent } from '../../../contract/agents.ts';
import { OPERATIONS } from '../../../contract/operations.ts';
import type { OwnerAgents } from '../../../cron/rows.ts';
import { UsageError } from '../../../errors.ts';
import { shellQuote } from '../../../shell-quote.ts';

/** Reads --agent, and --space when the agent is given by name. @throws UsageError */
export function parseJobAgent(args: Args): AgentInput {
  const input = parseAgentInput(args);
  if (input.agent.by === 'name' || input.space === undefined) return input;
  throw new UsageError('--space can only be used with --agent name:<name>.', {
    hint: `If ${JSON.stringify(input.agent.value)} is its name: --agent ${shellQuote(`name:${input.agent.value}`)}`,
  });
}

/** Whose jobs are meant: those of one agent, or of all agents of a space. */
export type JobOwner = AgentInput | { readonly agent: undefined; readonly space: string };

/** Reads --agent and --space, of which none is required. @throws UsageError */
export function parseJobOwner(args: Args): JobOwner | undefined {
  if (args.value('agent') !== undefined) return parseJobAgent(args);
  const space = args.nonEmpty('space');
  return space === undefined ? undefined : { agent: undefined, space };
}

/** Resolves agent references, each only once. */
export class AgentFinder {
  private readonly progress: Context['progress'];
  private readonly http: Http;
  private readonly spaces = new Map<string, Promise<string>>();
  private readonly agents = new Map<string, Promise<string>>();

  constructor({ progress }: Pick<Context, 'progress'>, http: Http) {
    this.progress = progress;
    this.http = http;
  }

  /**
   * The agent's id. Shows progress, which the caller must stop.
   * @throws NotFoundError, UsageError as `resolveSpaceId` and `resolveAgentId` do
   */
  async find({ agent, space = '' }: AgentInput): Promise<string> {
    if (agent.by === 'id') return agent.value;
    this.progress.start('Looking up the agent');
    const spaceId = this.spaces.get(space) ?? resolveSpaceId(this.http, parseReference(space));
    this.spaces.set(space, spaceId);
    const key = JSON.stringify([space, agent.value]);
    const agentId = this.agents.get(key) ?? spaceId.then((id) => resolveAgentId(this.http, id, agent));
    this.agents.set(key, agentId);
    return await agentId;
  }
}

/**
 * The agents. Shows progress, which the caller must stop.
 * @throws NotFoundError, UsageError as `resolveSpaceId` and `resolveAgentId` do
 */
export async function findOwnerAgents(context: Context, http: Http, { agent, space }: JobOwner): Promise<OwnerAgents> {
  if (agent) return { ids: new Set([comparableAgent(await new AgentFinder(context, http).find({ agent, space }))]) };
  context.progress.start('Looking up the agents');
  const ids = new Set<string>();
  const { by, value } = parseReference(space);
  const spaceId = await resolveSpaceId(http, { by, value });
  const own = new SpaceAgents(spaceId);
  for await (const item of listAgents(http, spaceId)) {
    const listed = readItem(OPERATIONS.listAgents, () => readAgent(item, http.contract));
    if (own.includes(listed)) ids.add(comparableAgent(listed.agent_id));
  }
  own.check();
  return { ids, ...(by === 'external_space_id' && { external_space_id: value }) };
}

/** The agents, as far as they are known without the service; undefined if it has to look them up. */
export function recordedOwnerAgents({ agent, space = '' }: JobOwner): OwnerAgents | undefined {
  if (agent) return agent.by === 'id' ? { ids: new Set([comparableAgent(agent.value)]) } : undefined;
  const { by, value } = parseReference(space);
  return by === 'external_space_id' ? { ids: new Set(), external_space_id: value } : undefined;
}
