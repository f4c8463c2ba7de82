import { pageOf } from '../paging.ts';
import { Problem } from '../problem.ts';
import type { Route, Service } from '../service.ts';
import type { AgentRecord } from '../store/agents.ts';
import type { SpaceRecord } from '../store/spaces.ts';

/** The space that a path names. @throws Problem 404 when there is none. */
export function spaceAt(service: Service, spaceId: string | undefined): SpaceRecord {
  const space = service.store.world.spaces.get(spaceId ?? '');
  if (space) return space;
  throw new Problem(404, 'space_not_found', `There is no space ${spaceId}.`);
}

/** An agent as the service shows it, with its public integration metadata (spec §2). */
export function publicAgent(service: Service, agent: AgentRecord) {
  const { agent_id, space_id, template_id, name, created_at } = agent;
  const source = service.store.world.agents.sourceOf(agent_id);
  const api_chat = source && {
    source_id: source.source_id,
    name: source.name,
    reply_capable: source.reply_capable,
    routing_mode: source.routing_mode,
  };
  return { agent_id, space_id, template_id, name, created_at, integrations: { api_chat: api_chat ?? null } };
}

/** GET /automation/spaces/<SPACE_ID>/agents/ (spec §4, endpoint 3). */
export function agentRoutes(service: Service): Route[] {
  return [
    {
      method: 'GET',
      path: '/automation/spaces/:space_id/agents/',
      scope: 'agents.read',
      handle: (c) => {
        const space = spaceAt(service, c.req.param('space_id'));
        const agents = service.store.world.agents.inSpace(space.space_id);
        return c.json(pageOf(service, c, agents, (agent) => publicAgent(service, agent)));
      },
    },
  ];
}
