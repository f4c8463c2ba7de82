import type { Http } from '../api/http.ts';
import { parseReference, resolveAgentId, resolveSpaceId } from '../api/references.ts';
import { type AgentInput, parseAgentInput } from '../cli/agent-args.ts';
import type { Args } from '../cli/command.ts';
import { UsageError } from '../errors.ts';
import { shellQuote } from '../shell-quote.ts';

/** Reads --agent, and --space when the agent is given by name. @throws UsageError */
export function parseJobAgent(args: Args): AgentInput {
  const input = parseAgentInput(args);
  if (input.agent.by === 'name' || input.space === undefined) return input;
  throw new UsageError('--space can only be used with --agent name:<name>.', {
    hint: `If ${JSON.stringify(input.agent.value)} is its name: --agent ${shellQuote(`name:${input.agent.value}`)}`,
  });
}

/** Resolves agent references, each only once. */
export class AgentFinder {
  private readonly http: Http;
  private readonly spaces = new Map<string, Promise<string>>();
  private readonly agents = new Map<string, Promise<string>>();

  constructor(http: Http) {
    this.http = http;
  }

  /** The agent's id. @throws NotFoundError, UsageError as `resolveSpaceId` and `resolveAgentId` do */
  async find({ agent, space = '' }: AgentInput): Promise<string> {
    if (agent.by === 'id') return agent.value;
    const spaceId = this.spaces.get(space) ?? resolveSpaceId(this.http, parseReference(space));
    this.spaces.set(space, spaceId);
    const key = JSON.stringify([space, agent.value]);
    const agentId = this.agents.get(key) ?? spaceId.then((id) => resolveAgentId(this.http, id, agent));
    this.agents.set(key, agentId);
    return await agentId;
  }
}
