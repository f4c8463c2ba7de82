import * as v from 'valibot';

const ROUTING_MODES = ['agent_inbox', 'session_workflow'] as const;

const CONTROL = /\p{Cc}/u;

function identifier(title: string, description: string) {
  return v.pipe(
    v.string(),
    v.nonEmpty('must not be empty'),
    v.regex(/^\S(.*\S)?$/, 'must not begin or end with white space, or hold a line break'),
    v.check((text) => !CONTROL.test(text), 'must not hold control characters'),
    v.title(title),
    v.description(description),
  );
}

function name(title: string, description: string) {
  return v.pipe(v.string(), v.regex(/\S/, 'must not be empty'), v.title(title), v.description(description));
}

const agent = v.pipe(
  v.strictObject({
    template_id: identifier('Template', 'The approved template to install.'),
    name: name('Agent name', 'The name of the installed agent.'),
    auto_create_api_chat: v.exactOptional(
      v.pipe(
        v.boolean(),
        v.title('Create API chat'),
        v.description('Whether an API chat source is created for the new agent.'),
      ),
    ),
    api_chat_routing_mode: v.exactOptional(
      v.pipe(
        v.picklist(ROUTING_MODES),
        v.title('Routing mode'),
        v.description(
          'How the new API chat source routes messages. agent_inbox: they enter the inbox of the agent, which can ' +
            'handle several related ones in one thread. session_workflow: each one starts a workflow run of its own.',
        ),
      ),
    ),
  }),
  v.title('Agent'),
  v.description('One agent to install into the space.'),
);

/** One document of a manifest: a space to create or reuse, and its agents (spec §4.1). */
export const manifestSchema = v.pipe(
  v.strictObject({
    external_space_id: identifier(
      'External space id',
      'Your own stable identifier of the space. The same one again reuses the space.',
    ),
    space: v.pipe(
      v.strictObject({
        name: name('Space name', 'The name of the customer workspace.'),
        description: v.exactOptional(
          v.pipe(v.string(), v.title('Space description'), v.description('What the workspace is for.')),
        ),
        is_org_wide: v.exactOptional(
          v.pipe(
            v.boolean(),
            v.title('Organization-wide'),
            v.description('Whether the whole organization has access to the space.'),
          ),
        ),
      }),
      v.title('Space'),
      v.description('The customer workspace.'),
    ),
    agents: v.pipe(
      v.array(agent),
      v.nonEmpty('must list at least one agent'),
      v.title('Agents'),
      v.description('The agents to install, each one from an approved template.'),
    ),
  }),
  v.title('partnerctl manifest'),
  v.description('A customer workspace and its agents. ${NAME} and ${NAME:-default} put in environment variables.'),
);

export type Manifest = v.InferOutput<typeof manifestSchema>;

export type ManifestAgent = Manifest['agents'][number];
