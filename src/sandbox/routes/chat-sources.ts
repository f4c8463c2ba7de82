import * as v from 'valibot';
import { readBody } from '../body.ts';
import { sourceFor } from '../chat/source.ts';
import { Problem } from '../problem.ts';
import type { Route, Service, ServiceContext } from '../service.ts';
import { closed, filledText } from '../shapes.ts';
import { type AgentRecord, routingModeSchema } from '../store/agents.ts';
import { spaceAt } from './agents.ts';

/** The body of spec §4.2. What the spec leaves open: every field may be left out. */
const bodySchema = closed({
  name: v.optional(filledText(255)),
  reply_capable: v.optional(v.boolean()),
  routing_mode: v.optional(routingModeSchema),
});

/** The agent that a path names. @throws Problem 404 when the space is not there, or has no such agent. */
function agentAt(service: Service, c: ServiceContext): AgentRecord {
  const space = spaceAt(service, c.req.param('space_id'));
  const agentId = c.req.param('agent_id') ?? '';
  const agent = service.store.world.agents.get(agentId);
  if (agent?.space_id === space.space_id) return agent;
  throw new Problem(404, 'agent_not_found', `There is no agent ${agentId} in the space ${space.space_id}.`);
}

/**
 * POST /automation/spaces/<SPACE_ID>/agents/<AGENT_ID>/api-chat/ (spec §4.2, endpoint 4): 201 when the source is new, 200
 * when the agent had it already, which is then left as it stands.
 */
export function chatSourceRoutes(service: Service): Route[] {
  return [
    {
      method: 'POST',
      path: '/automation/spaces/:space_id/agents/:agent_id/api-chat/',
      scope: 'api_chat.setup',
      handle: async (c) => {
        const wanted = await readBody(c, bodySchema);
        const agent = agentAt(service, c);
        const { source, created } = sourceFor(service, agent, wanted);
        const { source_id, name, reply_capable, routing_mode, created_at } = source;
        const { agent_id, space_id } = agent;
        return c.json(
          { source_id, name, reply_capable, routing_mode, agent_id, space_id, created_at, created },
          created ? 201 : 200,
        );
      },
    },
  ];
}
