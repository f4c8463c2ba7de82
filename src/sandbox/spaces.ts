import * as v from 'valibot';
import { found, isoTime, nonBlank, oneOf, readBody } from './input.ts';
import { listQuery, pageOf, pageSchema } from './pages.ts';
import type { Operation, Service, ServiceContext } from './service.ts';
import { createId, settingsOf, TEMPLATES } from './store.ts';

const routingMode = oneOf('agent_inbox', 'session_workflow');

/* As stored and returned. The spec leaves most fields of responses open (§4.7): they are this service's own. */

const spaceSchema = v.object({
  space_id: v.string(),
  external_space_id: v.string(),
  name: v.string(),
  description: v.string(),
  is_org_wide: v.boolean(),
  created_at: isoTime,
});

export type Space = v.InferOutput<typeof spaceSchema>;

const agentSchema = v.object({
  agent_id: v.string(),
  space_id: v.string(),
  template_id: v.string(),
  name: v.string(),
  created_at: isoTime,
});

export type Agent = v.InferOutput<typeof agentSchema>;

const sourceSchema = v.object({
  source_id: v.string(),
  space_id: v.string(),
  agent_id: v.string(),
  name: v.string(),
  reply_capable: v.boolean(),
  routing_mode: routingMode,
  created_at: isoTime,
});

export type ChatSource = v.InferOutput<typeof sourceSchema>;

const isCreated = { created: v.boolean() };

const publicAgent = { ...agentSchema.entries, integrations: v.object({ api_chat: v.nullable(sourceSchema) }) };

const provisioned = v.object({
  ...isCreated,
  space: spaceSchema,
  agents: v.array(v.object({ ...publicAgent, ...isCreated })),
});

/** The body of spec §4.1. The spec leaves defaults open: here descriptions are optional, and flags are false. */
function provisionBody(templates: readonly string[]) {
  return v.strictObject({
    external_space_id: nonBlank,
    space: v.strictObject({
      name: nonBlank,
      description: v.optional(v.string(), ''),
      is_org_wide: v.optional(v.boolean(), false),
    }),
    agents: v.pipe(
      v.array(
        v.strictObject({
          template_id: oneOf(...templates),
          name: nonBlank,
          auto_create_api_chat: v.optional(v.boolean(), false),
          api_chat_routing_mode: v.optional(routingMode, 'agent_inbox'),
        }),
      ),
      v.minLength(1, 'must have at least one item'),
    ),
  });
}

type Provision = v.InferOutput<ReturnType<typeof provisionBody>>;

/** The body of spec §4.2. The spec leaves open what is required: here every field is optional. */
const setupBody = v.strictObject({
  name: v.optional(nonBlank),
  reply_capable: v.optional(v.boolean()),
  routing_mode: v.optional(routingMode),
});

/** Returns the agent's auto-managed API chat source (spec §2), unchanged, or creates it. */
export function ensureChatSource(
  { store, clock }: Service,
  { agent_id, space_id, name: agentName }: Agent,
  options: v.InferOutput<typeof setupBody>,
): { source: ChatSource; created: boolean } {
  const [existing] = store.sources.in(agent_id);
  if (existing) return { source: existing, created: false };
  const { name = agentName, reply_capable = true, routing_mode = 'agent_inbox' } = options;
  const own = { source_id: createId('src'), space_id, agent_id, created_at: clock.timestamp() };
  const source = { ...own, name, reply_capable, routing_mode };
  store.sources.put(source);
  return { source, created: true };
}

/** Returns the space of an external id, unchanged, or creates it. */
export function ensureSpace(
  { store, clock }: Service,
  external_space_id: string,
  fields: Provision['space'],
): { space: Space; created: boolean } {
  const [existing] = store.spaces.in(external_space_id);
  if (existing) return { space: existing, created: false };
  const space = { space_id: createId('spc'), external_space_id, ...fields, created_at: clock.timestamp() };
  store.spaces.put(space);
  return { space, created: true };
}

function ensureAgent(service: Service, { space_id }: Space, input: Provision['agents'][number]) {
  const { store, clock } = service;
  const { template_id, name } = input;
  const existing = store.agents.in(space_id).find((each) => each.template_id === template_id && each.name === name);
  if (existing && settingsOf(store).agents_on_repeat === 'reuse') return { agent: existing, created: false };
  const agent: Agent = { agent_id: createId('agt'), space_id, template_id, name, created_at: clock.timestamp() };
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
  return { ...agent, integrations: { api_chat: store.sources.in(agent.agent_id)[0] ?? null } };
}

function agentsOf({ store }: Service, c: ServiceContext): readonly Agent[] {
  const id = c.req.param('space_id') ?? '';
  return store.agents.in(found(store.spaces.get(id), 'space', id).space_id);
}

/** Spaces, their agents, and the agents' API chat sources (spec §4, endpoints 1 to 4). Every token sees every space. */
export const SPACE_OPERATIONS: readonly Operation[] = [
  {
    method: 'GET',
    path: '/automation/spaces/',
    scope: 'spaces.read',
    summary: 'Lists the spaces available to the token.',
    query: listQuery,
    returns: pageSchema(spaceSchema),
    handle: (service, c) => c.json(pageOf(service, c, service.store.spaces.all())),
  },
  {
    method: 'POST',
    path: '/automation/agent-templates/provision-space/',
    scope: 'spaces.provision',
    summary: 'Creates or reuses a space and installs agents. 201 for a new space, else 200.',
    body: provisionBody(TEMPLATES),
    returns: provisioned,
    handle: async (service, c) => {
      const body = provisionBody(settingsOf(service.store).templates);
      const result = provision(service, await readBody(c, body));
      return c.json(result, result.created ? 201 : 200);
    },
  },
  {
    method: 'GET',
    path: '/automation/spaces/:space_id/agents/',
    scope: 'agents.read',
    summary: 'Lists the agents of a space.',
    query: listQuery,
    returns: pageSchema(v.object(publicAgent)),
    handle: (service, c) => {
      const agents = agentsOf(service, c).map((agent) => toPublicAgent(service, agent));
      return c.json(pageOf(service, c, agents));
    },
  },
  {
    method: 'POST',
    path: '/automation/spaces/:space_id/agents/:agent_id/api-chat/',
    scope: 'api_chat.setup',
    summary: "Creates or reuses the agent's API chat source. 201 for a new source, else 200.",
    body: setupBody,
    returns: v.object({ ...sourceSchema.entries, ...isCreated }),
    handle: async (service, c) => {
      const input = await readBody(c, setupBody);
      const id = c.req.param('agent_id') ?? '';
      const agent = agentsOf(service, c).find(({ agent_id }) => agent_id === id);
      const { source, created } = ensureChatSource(service, found(agent, 'agent', id), input);
      return c.json({ ...source, created }, created ? 201 : 200);
    },
  },
];
