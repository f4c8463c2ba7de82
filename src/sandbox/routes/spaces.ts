import { requireScope } from '../auth.ts';
import { pageOf } from '../paging.ts';
import type { Service, ServiceApp } from '../service.ts';
import type { Agent } from '../store/changes.ts';
import { requireSpace } from './lookup.ts';

/** The public form of an agent, with its integration metadata (spec §2). */
export function toPublicAgent({ store }: Service, agent: Agent) {
  const source = store.world.sourceOf(agent.agent_id);
  if (!source) return { ...agent, integrations: { api_chat: null } };
  const { source_id, name, reply_capable, routing_mode } = source;
  return { ...agent, integrations: { api_chat: { source_id, name, reply_capable, routing_mode } } };
}

/** The list of spaces and of a space's agents (spec §4, endpoints 1 and 3). Every token sees every space. */
export function addSpaceRoutes(app: ServiceApp, service: Service): void {
  const { world } = service.store;
  app.get('/automation/spaces/', requireScope('spaces.read'), (c) =>
    c.json(pageOf(service, c, world.spaces.values(), { toPublic: (space) => space })),
  );
  app.get('/automation/spaces/:space_id/agents/', requireScope('agents.read'), (c) => {
    const { space_id } = requireSpace(service, c.req.param('space_id'));
    const toPublic = (agent: Agent) => toPublicAgent(service, agent);
    return c.json(pageOf(service, c, world.agentsOf(space_id), { toPublic }));
  });
}
