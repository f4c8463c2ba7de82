import type { Http } from '../api/http.ts';
import {
  type AgentReference,
  parseAgentReference,
  parseReference,
  resolveAgentId,
  resolveSpaceId,
} from '../api/references.ts';
import type { Args } from '../cli/command.ts';
import { UsageError } from '../errors.ts';

/** Which agent a job is for: by id, or by name within a space. */
export interface AgentInput {
  readonly agent: AgentReference;
  /** As typed; required when the agent is given by name. */
  readonly space: string | undefined;
}

/** Returns a flag that must have a value. @throws UsageError if it is missing or blank */
export function requiredText(args: Args, flag: string): string {
  const value = args.required(flag);
  if (value.trim()) return value;
  throw new UsageError(`--${flag} is empty.`);
}

/** Reads `--agent`, and `--space` when the agent is given by name. @throws UsageError */
export function parseAgentInput(args: Args): AgentInput {
  const agent = parseAgentReference(requiredText(args, 'agent'));
  const space = args.value('space');
  if (agent.by === 'name' && !space) {
    throw new UsageError('--agent name:<name> needs --space.', {
      hint: 'Add --space <space_id | ext:<id> | name:<name>>, or give the agent_id.',
    });
  }
  if (agent.by === 'id' && space !== undefined) {
    throw new UsageError('--space can only be used with --agent name:<name>.');
  }
  return { agent, space };
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
