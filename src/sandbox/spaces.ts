import * as v from 'valibot';
import { ensureChatSource } from './agents.ts';
import { invalidInput, nonBlank, Problem, quote, readBody } from './input.ts';
import { pageOf } from './pages.ts';
import {
  type Agent,
  agentSchema,
  provisioningSchema,
  routingModeSchema,
  type Space,
  spaceSchema,
  type Template,
} from './resources.ts';
import { createId, type Operation, type Service, timestamp } from './service.ts';
import { settingsOf } from './store.ts';

/** The templates that are approved by default. */
const DEFAULT_TEMPLATES: readonly Template[] = [
  { template_id: 'tmpl_support', name: 'Customer support' },
  { template_id: 'tmpl_sales', name: 'Sales assistant' },
  { template_id: 'tmpl_onboarding', name: 'Onboarding guide' },
  { template_id: 'tmpl_billing', name: 'Billing questions' },
];

/** The body of spec §4.1. The spec leaves defaults open: here descriptions are optional, and flags are false. */
const provisionSchema = v.strictObject({
  external_space_id: nonBlank(),
  space: v.strictObject({
    name: nonBlank(),
    description: v.optional(v.pipe(v.string(), v.maxLength(5_000, 'must have at most 5000 characters')), ''),
    is_org_wide: v.optional(v.boolean(), false),
  }),
  agents: v.pipe(
    v.array(
      v.strictObject({
        template_id: v.string(),
        name: nonBlank(),
        auto_create_api_chat: v.optional(v.boolean(), false),
        api_chat_routing_mode: v.optional(routingModeSchema, 'agent_inbox'),
      }),
    ),
    v.minLength(1, 'must have at least one item'),
    v.maxLength(100, 'must have at most 100 items'),
  ),
});

type Provision = v.InferOutput<typeof provisionSchema>;

/** The approved templates, in the order of approval. */
export function templatesOf({ store }: Service): Template[] {
  return [...DEFAULT_TEMPLATES, ...store.templates.all()];
}

/** @throws Problem 404 when there is no such space */
export function requireSpace({ store }: Service, spaceId: string): Space {
  const space = store.spaces.get(spaceId);
  if (space) return space;
  throw new Problem(404, 'space_not_found', `There is no space ${quote(spaceId)}.`);
}

/** Returns the space of an external id, unchanged, or creates it. */
export function ensureSpace(
  service: Service,
  external_space_id: string,
  { name, description, is_org_wide }: Provision['space'],
): { space: Space; created: boolean } {
  const [existing] = service.store.spaces.in(external_space_id);
  if (existing) return { space: existing, created: false };
  const text = { external_space_id, name, description };
  const space = { space_id: createId('spc'), ...text, is_org_wide, created_at: timestamp(service) };
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
  const approved = new Set(templatesOf(service).map(({ template_id }) => template_id));
  const unknown = input.agents.flatMap(({ template_id }, index) =>
    approved.has(template_id)
      ? []
      : [{ path: `agents[${index}].template_id`, message: `names no approved template: ${quote(template_id)}` }],
  );
  if (unknown.length > 0) throw invalidInput(unknown);
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

/** Spaces and their agents (spec §4, endpoints 1 to 3). Every token sees every space. */
export function spaceOperations(service: Service): Operation[] {
  const { store } = service;
  return [
    {
      id: 'listSpaces',
      method: 'GET',
      path: '/automation/spaces/',
      scope: 'spaces.read',
      summary: 'Lists the spaces available to the token.',
      returns: spaceSchema,
      list: 'counted',
      handle: (c) => c.json(pageOf(service, c, store.spaces.all(), (space) => space)),
    },
    {
      id: 'provisionSpace',
      method: 'POST',
      path: '/automation/agent-templates/provision-space/',
      scope: 'spaces.provision',
      summary: 'Creates or reuses a space and installs agents. 201 for a new space, else 200.',
      body: provisionSchema,
      returns: provisioningSchema,
      statuses: [200, 201],
      handle: async (c) => {
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
      handle: (c) => {
        const { space_id } = requireSpace(service, c.req.param('space_id') ?? '');
        return c.json(pageOf(service, c, store.agents.in(space_id), (agent) => toPublicAgent(service, agent)));
      },
    },
  ];
}
