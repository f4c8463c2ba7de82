import * as v from 'valibot';
import { canReach } from './access.ts';
import { found, nonBlank, oneOf, Problem } from './input.ts';
import { listQuery, pageOf, pageSchema } from './pages.ts';
import { ROUTES } from './routes.ts';
import {
  type Agent,
  agentSchema,
  type ChatSource,
  createId,
  routingMode,
  type Space,
  sourceSchema,
  spaceSchema,
  TEMPLATES,
} from './rows.ts';
import { type Operation, readBody, type Service, type ServiceContext } from './service.ts';
import { settingsOf } from './store.ts';

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
    agents: v.array(
      v.strictObject({
        template_id: oneOf(...templates),
        name: nonBlank,
        auto_create_api_chat: v.optional(v.boolean(), false),
        api_chat_routing_mode: v.optional(routingMode, 'agent_inbox'),
      }),
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
function ensureChatSource(
  { store, clock }: Service,
  { agent_id, space_id, name: agentName }: Agent,
  options: v.InferOutput<typeof setupBody>,
): { source: ChatSource; created: boolean } {
  const [existing] = store.sources.in({ agent_id });
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
  const [existing] = store.spaces.in({ external_space_id });
  if (existing) return { space: existing, created: false };
  const space = { space_id: createId('spc'), external_space_id, ...fields, created_at: clock.timestamp() };
  store.spaces.put(space);
  return { space, created: true };
}

function ensureAgent(service: Service, { space_id }: Space, input: Provision['agents'][number]) {
  const { store, clock } = service;
  const { template_id, name } = input;
  const existing = store.agents.in({ space_id }).find((each) => each.template_id === template_id && each.name === name);
  if (existing && settingsOf(store).agents_on_repeat === 'reuse') return { agent: existing, created: false };
  const agent: Agent = { agent_id: createId('agt'), space_id, template_id, name, created_at: clock.timestamp() };
  store.agents.put(agent);
  if (input.auto_create_api_chat) ensureChatSource(service, agent, { routing_mode: input.api_chat_routing_mode });
  return { agent, created: true };
}

/** There is no await between the changes of a request, so that they are written together or not at all. */
function provision(service: Service, c: ServiceContext, input: Provision) {
  const { store } = service;
  const { space_ids, ...token } = c.get('token');
  const [existing] = store.spaces.in({ external_space_id: input.external_space_id });
  if (existing && !canReach(c, existing.space_id))
    throw new Problem(403, 'space_not_available', 'The space of this external_space_id is not available to the token.');
  const { space, created } = ensureSpace(service, input.external_space_id, input.space);
  if (created && space_ids) store.tokens.put({ ...token, space_ids: [...space_ids, space.space_id] });
  const agents = input.agents.map((each) => {
    const installed = ensureAgent(service, space, each);
    return { ...toPublicAgent(service, installed.agent), created: installed.created };
  });
  return { created, space, agents };
}

function toPublicAgent({ store }: Service, agent: Agent) {
  return { ...agent, integrations: { api_chat: store.sources.in({ agent_id: agent.agent_id })[0] ?? null } };
}

function agentsOf({ store }: Service, c: ServiceContext): readonly Agent[] {
  const space_id = c.req.param('space_id') ?? '';
  found(canReach(c, space_id) ? store.spaces.get(space_id) : undefined, 'space', space_id);
  return store.agents.in({ space_id });
}

/** Spaces, their agents, and the agents' API chat sources (spec §4, endpoints 1 to 4). */
export const SPACE_OPERATIONS: readonly Operation[] = [
  {
    ...ROUTES.listSpaces,
    query: listQuery,
    returns: pageSchema(spaceSchema),
    handle: (service, c) => {
      const spaces = service.store.spaces.all().filter(({ space_id }) => canReach(c, space_id));
      return c.json(pageOf(service, c, spaces));
    },
  },
  {
    ...ROUTES.provision,
    body: provisionBody(TEMPLATES),
    returns: provisioned,
    handle: async (service, c) => {
      const body = provisionBody(settingsOf(service.store).templates);
      const result = provision(service, c, await readBody(c, body));
      return c.json(result, result.created ? 201 : 200);
    },
  },
  {
    ...ROUTES.listAgents,
    query: listQuery,
    returns: pageSchema(v.object(publicAgent)),
    handle: (service, c) => {
      const agents = agentsOf(service, c).map((agent) => toPublicAgent(service, agent));
      return c.json(pageOf(service, c, agents));
    },
  },
  {
    ...ROUTES.setUpChat,
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
