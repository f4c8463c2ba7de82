import * as v from 'valibot';
import { ensureChatSource } from '../agents/chat-source.ts';
import { requireScope } from '../auth.ts';
import { readBody } from '../request-body.ts';
import { createId, type Service, type ServiceApp, timestamp } from '../service.ts';
import { type Agent, routingModeSchema, type Space } from '../store/changes.ts';
import { closedObject, nonBlankText, quote } from '../validation.ts';
import { toPublicAgent } from './spaces.ts';

/** The body of spec §4.1. The spec leaves defaults open: here descriptions are optional, and flags are false. */
function bodySchema({ store }: Service) {
  const isApproved = (templateId: string): boolean => store.world.templates.has(templateId);
  const agent = closedObject({
    template_id: v.pipe(
      v.string(),
      v.check(isApproved, ({ input }) => `names no approved template: ${quote(input)}`),
    ),
    name: nonBlankText(255),
    auto_create_api_chat: v.optional(v.boolean(), false),
    api_chat_routing_mode: v.optional(routingModeSchema, 'agent_inbox'),
  });
  return closedObject({
    external_space_id: nonBlankText(255),
    space: closedObject({
      name: nonBlankText(255),
      description: v.optional(v.pipe(v.string(), v.maxLength(5_000, 'must have at most 5000 characters')), ''),
      is_org_wide: v.optional(v.boolean(), false),
    }),
    agents: v.pipe(
      v.array(v.unknown()),
      v.minLength(1, 'must have at least one item'),
      v.maxLength(100, 'must have at most 100 items'),
      v.array(agent),
    ),
  });
}

type ProvisionBody = v.InferOutput<ReturnType<typeof bodySchema>>;

function ensureSpace(service: Service, input: ProvisionBody): { space: Space; created: boolean } {
  const existing = service.store.world.findSpace(input.external_space_id);
  if (existing) return { space: existing, created: false };
  const { name, description, is_org_wide } = input.space;
  const space: Space = {
    space_id: createId('spc'),
    external_space_id: input.external_space_id,
    name,
    description,
    is_org_wide,
    created_at: timestamp(service),
  };
  service.store.commit({ kind: 'space', space });
  return { space, created: true };
}

function ensureAgent(
  service: Service,
  { space_id }: Space,
  input: ProvisionBody['agents'][number],
): { agent: Agent; created: boolean } {
  const { world } = service.store;
  const { template_id, name } = input;
  if (world.settings.agents_on_repeat === 'reuse') {
    const existing = world.agentsOf(space_id).find((each) => each.template_id === template_id && each.name === name);
    if (existing) return { agent: existing, created: false };
  }
  const agent: Agent = { agent_id: createId('agt'), space_id, template_id, name, created_at: timestamp(service) };
  service.store.commit({ kind: 'agent', agent });
  if (input.auto_create_api_chat) ensureChatSource(service, agent, { routing_mode: input.api_chat_routing_mode });
  return { agent, created: true };
}

/**
 * POST /automation/agent-templates/provision-space/ (spec §4.1, endpoint 2): 201 for a new space, else 200. An existing
 * space is reused unchanged. There is no await between the changes of a request, so that they are written together or not
 * at all.
 */
export function addProvisioningRoutes(app: ServiceApp, service: Service): void {
  const schema = bodySchema(service);
  app.post('/automation/agent-templates/provision-space/', requireScope('spaces.provision'), async (c) => {
    const input = await readBody(c, schema);
    const { space, created } = ensureSpace(service, input);
    const agents = input.agents.map((each) => {
      const installed = ensureAgent(service, space, each);
      return { ...toPublicAgent(service, installed.agent), created: installed.created };
    });
    return c.json({ created, space, agents }, created ? 201 : 200);
  });
}
