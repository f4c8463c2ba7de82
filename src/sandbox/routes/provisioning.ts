import * as v from 'valibot';
import { readBody } from '../body.ts';
import { sourceFor } from '../chat/source.ts';
import { makeId } from '../ids.ts';
import { type Route, type Service, timestamp } from '../service.ts';
import { closed, filledText, shown } from '../shapes.ts';
import { type AgentRecord, routingModeSchema } from '../store/agents.ts';
import type { SpaceRecord } from '../store/spaces.ts';
import { publicAgent } from './agents.ts';
import { publicSpace } from './spaces.ts';

/** The body of spec §4.1. What the spec leaves open: descriptions may be left out, flags are false when they are. */
function bodySchema(service: Service) {
  const isApproved = (templateId: string): boolean => service.store.world.templates.has(templateId);
  return closed({
    external_space_id: filledText(255),
    space: closed({
      name: filledText(255),
      description: v.optional(v.pipe(v.string(), v.maxLength(5_000, 'must have at most 5000 characters')), ''),
      is_org_wide: v.optional(v.boolean(), false),
    }),
    agents: v.pipe(
      v.array(
        closed({
          template_id: v.pipe(
            v.string(),
            v.check(isApproved, ({ input }) => `names no approved template: ${shown(input)}`),
          ),
          name: filledText(255),
          auto_create_api_chat: v.optional(v.boolean(), false),
          api_chat_routing_mode: v.optional(routingModeSchema, 'agent_inbox'),
        }),
      ),
      v.minLength(1, 'must have at least one item'),
      v.maxLength(100, 'must have at most 100 items'),
    ),
  });
}

type Provisioning = v.InferOutput<ReturnType<typeof bodySchema>>;
type WantedAgent = Provisioning['agents'][number];

function spaceFor(service: Service, wanted: Provisioning): { space: SpaceRecord; created: boolean } {
  const existing = service.store.world.spaces.byExternalId(wanted.external_space_id);
  if (existing) return { space: existing, created: false };
  const space: SpaceRecord = {
    space_id: makeId('spc'),
    external_space_id: wanted.external_space_id,
    name: wanted.space.name,
    description: wanted.space.description,
    is_org_wide: wanted.space.is_org_wide,
    created_at: timestamp(service),
  };
  service.store.commit({ kind: 'space', space });
  return { space, created: true };
}

function agentFor(service: Service, space: SpaceRecord, wanted: WantedAgent): { agent: AgentRecord; created: boolean } {
  const { world } = service.store;
  if (world.settings.agents_on_repeat === 'reuse') {
    const existing = world.agents.alike(space.space_id, wanted.template_id, wanted.name);
    if (existing) return { agent: existing, created: false };
  }
  const agent: AgentRecord = {
    agent_id: makeId('agt'),
    space_id: space.space_id,
    template_id: wanted.template_id,
    name: wanted.name,
    created_at: timestamp(service),
  };
  service.store.commit({ kind: 'agent', agent });
  if (wanted.auto_create_api_chat) sourceFor(service, agent, { routing_mode: wanted.api_chat_routing_mode });
  return { agent, created: true };
}

/**
 * POST /automation/agent-templates/provision-space/ (spec §4.1, endpoint 2): 201 when the space is new, else 200. A
 * space that is there is reused as it stands. All of a request's changes are made without a pause, so they reach the
 * disk together or not at all.
 */
export function provisioningRoutes(service: Service): Route[] {
  const schema = bodySchema(service);
  return [
    {
      method: 'POST',
      path: '/automation/agent-templates/provision-space/',
      scope: 'spaces.provision',
      handle: async (c) => {
        const wanted = await readBody(c, schema);
        const { space, created } = spaceFor(service, wanted);
        const agents = wanted.agents.map((each) => {
          const installed = agentFor(service, space, each);
          return { ...publicAgent(service, installed.agent), created: installed.created };
        });
        return c.json({ created, space: publicSpace(space), agents }, created ? 201 : 200);
      },
    },
  ];
}
