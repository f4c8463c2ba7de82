import { agentsOf } from '../api/calls.ts';
import type { Http } from '../api/http.ts';
import {
  type AgentReference,
  parseAgentReference,
  parseReference,
  resolveAgentId,
  resolveSpaceId,
} from '../api/references.ts';
import { comparableAgent } from '../contract/values.ts';
import { UsageError } from '../errors.ts';
import { shellQuote } from '../platform/shell-quote.ts';
import type { OwnerAgents } from './rows.ts';

/** An agent as the command line names it: by id, or by name within a space. */
export interface AgentInput {
  readonly agent: AgentReference;
  /** As typed; set exactly if the agent is given by name. */
  readonly space: string | undefined;
}

/** The values of --agent and --space. */
export interface AgentOptions {
  readonly agent?: string | undefined;
  readonly space?: string | undefined;
}

/** Reads --agent, and --space when the agent is given by name. @throws UsageError */
export function parseJobAgent({ agent: typed, space }: AgentOptions): AgentInput {
  if (typed === undefined) throw new UsageError('--agent is missing.');
  const agent = parseAgentReference(typed);
  if (agent.value.trim() === '') throw new UsageError('--agent is empty.');
  if (space?.trim() === '') throw new UsageError('--space is empty.');
  if (agent.by === 'name' && space === undefined) {
    throw new UsageError('--agent name:<name> needs --space.', {
      hint: 'Add --space <space_id | ext:<id> | name:<name>>, or give the agent_id.',
    });
  }
  if (agent.by === 'name' || space === undefined) return { agent, space };
  throw new UsageError('--space can only be used with --agent name:<name>.', {
    hint: `If ${JSON.stringify(agent.value)} is its name: --agent ${shellQuote(`name:${agent.value}`)}`,
  });
}

/** Whose jobs are meant: those of one agent, or of all agents of a space. */
export type JobOwner = AgentInput | { readonly agent: undefined; readonly space: string };

/** Reads --agent and --space, of which none is required. @throws UsageError */
export function parseJobOwner({ agent, space }: AgentOptions): JobOwner | undefined {
  if (agent !== undefined) return parseJobAgent({ agent, space });
  return space === undefined ? undefined : { agent: undefined, space };
}

/** Shows what a command is doing. */
interface Activity {
  start(text: string): void;
}

/** Resolves agent references, each only once. */
export class AgentFinder {
  private readonly progress: Activity;
  private readonly http: Http;
  private readonly spaces = new Map<string, Promise<string>>();
  private readonly agents = new Map<string, Promise<string>>();

  constructor({ progress }: { readonly progress: Activity }, http: Http) {
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
export async function findOwnerAgents(
  context: { readonly progress: Activity },
  http: Http,
  { agent, space }: JobOwner,
): Promise<OwnerAgents> {
  if (agent) return { ids: new Set([comparableAgent(await new AgentFinder(context, http).find({ agent, space }))]) };
  context.progress.start('Looking up the agents');
  const ids = new Set<string>();
  const { by, value } = parseReference(space);
  const spaceId = await resolveSpaceId(http, { by, value });
  for await (const { agent_id } of agentsOf(http, spaceId)) ids.add(comparableAgent(agent_id));
  return { ids, ...(by === 'external_space_id' && { external_space_id: value }) };
}

/** The agents, as far as they are known without the service; undefined if it has to look them up. */
export function recordedOwnerAgents({ agent, space = '' }: JobOwner): OwnerAgents | undefined {
  if (agent) return agent.by === 'id' ? { ids: new Set([comparableAgent(agent.value)]) } : undefined;
  const { by, value } = parseReference(space);
  return by === 'external_space_id' ? { ids: new Set(), external_space_id: value } : undefined;
}
