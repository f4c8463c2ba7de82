import type { Http } from '../api/http.ts';
import { type AgentReference, parseReference, resolveAgentId, resolveSpaceId } from '../api/references.ts';

/** Which agent a job is for: by id, or by name within a space. */
export interface AgentInput {
  readonly agent: AgentReference;
  /** As typed; needed for a name. */
  readonly space: string | undefined;
}

/** Looks agents up, each reference once. */
export class AgentFinder {
  private readonly http: Http;
  private readonly spaces = new Map<string, Promise<string>>();
  private readonly agents = new Map<string, Promise<string>>();

  constructor(http: Http) {
    this.http = http;
  }

  /** The agent's id. @throws NotFoundError, UsageError as `findSpaceId` and `findAgentId` do */
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
