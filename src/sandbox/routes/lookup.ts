import { Problem } from '../problem.ts';
import type { Service } from '../service.ts';
import type { Agent, ChatSource, Space } from '../store/changes.ts';
import { quote } from '../validation.ts';

/** @throws Problem 404 when there is no such space */
export function requireSpace({ store }: Service, spaceId: string): Space {
  const space = store.world.spaces.get(spaceId);
  if (space) return space;
  throw new Problem(404, 'space_not_found', `There is no space ${quote(spaceId)}.`);
}

/** @throws Problem 404 when there is no such agent, or it is not in the space that is named */
export function requireAgent({ store }: Service, agentId: string, spaceId?: string): Agent {
  const agent = store.world.agents.get(agentId);
  if (agent && (spaceId === undefined || agent.space_id === spaceId)) return agent;
  const where = spaceId === undefined ? '' : ` in the space ${quote(spaceId)}`;
  throw new Problem(404, 'agent_not_found', `There is no agent ${quote(agentId)}${where}.`);
}

/** @throws Problem 404 when there is no such API chat source */
export function requireSource({ store }: Service, sourceId: string): ChatSource {
  const source = store.world.sources.get(sourceId);
  if (source) return source;
  throw new Problem(404, 'source_not_found', `There is no API chat source ${quote(sourceId)}.`);
}
