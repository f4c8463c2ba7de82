import * as v from 'valibot';
import { found, nonBlank, readBody } from './input.ts';
import { pageOf } from './pages.ts';
import {
  type Agent,
  agentSchema,
  type ChatSource,
  provisioningSchema,
  routingModeSchema,
  type Space,
  sourceSchema,
  spaceSchema,
} from './resources.ts';
import { createId, type Operation, type Service, type ServiceContext, timestamp } from './service.ts';
import { settingsOf } from './store.ts';

/** The approved agent templates. */
const TEMPLATES = ['tmpl_support', 'tmpl_sales', 'tmpl_onboarding', 'tmpl_billing'];

/** The body of spec §4.1. The spec leaves defaults open: here descriptions are optional, and flags are false. */
const provisionSchema = v.strictObject({
  external_space_id: nonBlank,
  space: v.strictObject({
    name: nonBlank,
    description: v.optional(v.string(), ''),
    is_org_wide: v.optional(v.boolean(), false),
  }),
  agents: v.pipe(
    v.array(
      v.strictObject({
        template_id: v.picklist(TEMPLATES),
        name: nonBlank,
        auto_create_api_chat: v.optional(v.boolean(), false),
        api_chat_routing_mode: v.optional(routingModeSchema, 'agent_inbox'),
      }),
    ),
    v.minLength(1, 'must have at least one item'),
  ),
});

/** The body of spec §4.2. The spec leaves open what is required: here every field is optional. */
const setupBody = v.strictObject({
  name: v.optional(nonBlank),
  reply_capable: v.optional(v.boolean()),
  routing_mode: v.optional(routingModeSchema),
});

type Provision = v.InferOutput<typeof provisionSchema>;

/** Returns the agent's auto-managed API chat source (spec §2), unchanged, or creates it. */
export function ensureChatSource(
  service: Service,
  agent: Agent,
  options: v.InferOutput<typeof setupBody>,
): { source: ChatSource; created: boolean } {
  const [existing] = service.store.sources.in(agent.agent_id);
  if (existing) return { source: existing, created: false };
  const source: ChatSource = {
    source_id: createId('src'),
    agent_id: agent.agent_id,
    name: options.name ?? agent.name,
    reply_capable: options.reply_capable ?? true,
    routing_mode: options.routing_mode ?? 'agent_inbox',
    created_at: timestamp(service),
  };
  service.store.sources.put(source);
  return { source, created: true };
}

/** Returns the space of an external id, unchanged, or creates it. */
export function ensureSpace(
  service: Service,
  external_space_id: string,
  fields: Provision['space'],
): { space: Space; created: boolean } {
  const [existing] = service.store.spaces.in(external_space_id);
  if (existing) return { space: existing, created: false };
  const space = { space_id: createId('spc'), external_space_id, ...fields, created_at: timestamp(service) };
  service.store.spaces.put(space);
  return { space, created: true };
}

function ensureAgent(service: Service, { space_id }: Space, input: Provision['agents'][number]) {
  const { store } = service;
  const { template_id, name } = input;
  if (settingsOf(store).agents_on_repeat === 'reuse') {
    const existing = store.agents.in(space_id).find((each) => each.template_id === template_id && each.name === name);
    if (existing) return { agent: existing, created: false };
  }
  const agent: Agent = { agent_id: createId('agt'), space_id, template_id, name, created_at: timestamp(service) };
  store.agents.put(agent);
  if (input.auto_create_api_chat) ensureChatSource(service, agent, { routing_mode: input.api_chat_routing_mode });
  return { agent, created: true };
}

/** There is no await between the changes of a request, so that they are written together or not at all. */
function provision(service: Service, input: Provision) {
  const { space, created } = ensureSpace(service, input.external_space_id, input.space);
  const agents = input.agents.map((each) => {
    const installed = ensureAgent(service, space, each);
    return { ...toPublicAgent(service, installed.agent), created: installed.created };
  });
  return { created, space, agents };
}

function toPublicAgent({ store }: Service, agent: Agent) {
  const [source] = store.sources.in(agent.agent_id);
  if (!source) return { ...agent, integrations: { api_chat: null } };
  const { source_id, name, reply_capable, routing_mode } = source;
  return { ...agent, integrations: { api_chat: { source_id, name, reply_capable, routing_mode } } };
}

/** The space that the path names. @throws Problem 404 when there is none */
function spaceOf({ store }: Service, c: ServiceContext): Space {
  const id = c.req.param('space_id') ?? '';
  return found(store.spaces.get(id), 'space', id);
}

/** Spaces, their agents, and the agents' API chat sources (spec §4, endpoints 1 to 4). Every token sees every space. */
export const SPACE_OPERATIONS: readonly Operation[] = [
  {
    id: 'listSpaces',
    method: 'GET',
    path: '/automation/spaces/',
    scope: 'spaces.read',
    summary: 'Lists the spaces available to the token.',
    returns: spaceSchema,
    list: 'counted',
    handle: (service, c) => c.json(pageOf(service, c, service.store.spaces.all())),
  },
  {
    id: 'provisionSpace',
    method: 'POST',
    path: '/automation/agent-templates/provision-space/',
    scope: 'spaces.provision',
    summary: 'Creates or reuses a space and installs agents. 201 for a new space, else 200.',
    body: provisionSchema,
    returns: provisioningSchema,
    handle: async (service, c) => {
      const result = provision(service, await readBody(c, provisionSchema));
      return c.json(result, result.created ? 201 : 200);
    },
  },
  {
    id: 'listAgents',
    method: 'GET',
    path: '/automation/spaces/:space_id/agents/',
    scope: 'agents.read',
    summary: 'Lists the agents of a space.',
    returns: agentSchema,
    list: 'counted',
    handle: (service, c) => {
      const { space_id } = spaceOf(service, c);
      const agents = service.store.agents.in(space_id).map((agent) => toPublicAgent(service, agent));
      return c.json(pageOf(service, c, agents));
    },
  },
  {
    id: 'setUpApiChat',
    method: 'POST',
    path: '/automation/spaces/:space_id/agents/:agent_id/api-chat/',
    scope: 'api_chat.setup',
    summary: "Creates or reuses the agent's API chat source. 201 for a new source, else 200.",
    body: setupBody,
    returns: sourceSchema,
    handle: async (service, c) => {
      const input = await readBody(c, setupBody);
      const { space_id } = spaceOf(service, c);
      const id = c.req.param('agent_id') ?? '';
      const agent = service.store.agents.get(id);
      const inSpace = found(agent?.space_id === space_id ? agent : undefined, 'agent', id);
      const { source, created } = ensureChatSource(service, inSpace, input);
      return c.json({ ...source, space_id, created }, created ? 201 : 200);
    },
  },
];
