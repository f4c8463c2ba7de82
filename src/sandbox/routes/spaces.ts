import { pageOf } from '../paging.ts';
import type { Route, Service } from '../service.ts';
import type { Agent, Space } from '../store/changes.ts';
import { requireSpace } from './lookup.ts';

/** A space as the service shows it. */
export function toPublicSpace(space: Space) {
  const { space_id, external_space_id, name, description, is_org_wide, created_at } = space;
  return { space_id, external_space_id, name, description, is_org_wide, created_at };
}

/** An agent as the service shows it, with its public integration metadata (spec §2). */
export function toPublicAgent({ store }: Service, agent: Agent) {
  const { agent_id, space_id, template_id, name, created_at } = agent;
  const source = store.world.sourceOf(agent_id);
  const api_chat = source && {
    source_id: source.source_id,
    name: source.name,
    reply_capable: source.reply_capable,
    routing_mode: source.routing_mode,
  };
  return { agent_id, space_id, template_id, name, created_at, integrations: { api_chat: api_chat ?? null } };
}

/** The list of spaces and of a space's agents (spec §4, endpoints 1 and 3). Every token sees every space. */
export function spaceRoutes(service: Service): Route[] {
  const { world } = service.store;
  return [
    {
      method: 'GET',
      path: '/automation/spaces/',
      scope: 'spaces.read',
      handle: (c) => c.json(pageOf(service, c, world.spaces.values(), toPublicSpace)),
    },
    {
      method: 'GET',
      path: '/automation/spaces/:space_id/agents/',
      scope: 'agents.read',
      handle: (c) => {
        const { space_id } = requireSpace(service, c.req.param('space_id') ?? '');
        return c.json(pageOf(service, c, world.agentsOf(space_id), (agent) => toPublicAgent(service, agent)));
      },
    },
  ];
}
