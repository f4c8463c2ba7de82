import * as v from 'valibot';
import { CHAT_DEFAULTS, ROUTING_MODES } from '../chat/chat-fields.ts';
import type { CronJob } from '../cron/job.ts';
import { agentJobSchema } from '../cron/job-schema.ts';
import { identifier, mapping, nonBlankText } from '../yaml/schema.ts';

const ROUTING =
  'agent_inbox: into the inbox of the agent, which can handle related messages in one thread. ' +
  'session_workflow: each message starts a workflow run of its own.';

function flag(title: string, description: string) {
  return v.exactOptional(v.pipe(v.boolean(), v.title(title), v.description(description)));
}

function routingMode(description: string) {
  return v.exactOptional(v.pipe(v.picklist(ROUTING_MODES), v.title('Routing mode'), v.description(description)));
}

/** What `chat setup` takes as flags (spec §4.2). */
const chat = v.pipe(
  mapping({
    name: v.exactOptional(
      nonBlankText('API chat name', `The display name of a new source. Default: ${CHAT_DEFAULTS.name}.`),
    ),
    reply_capable: flag(
      'Reply capable',
      `Whether the agent replies through a new source. Default: ${CHAT_DEFAULTS.reply_capable}.`,
    ),
    routing_mode: routingMode(
      `How a new source routes messages. ${ROUTING} Default: api_chat_routing_mode, or else ${CHAT_DEFAULTS.routing_mode}.`,
    ),
  }),
  v.title('API chat'),
  v.description(
    'Sets up the API chat source of the agent after its installation. An agent has one source; an existing one is not ' +
      'changed. Every field is optional; {} takes the defaults.',
  ),
);

const agent = v.pipe(
  mapping({
    template_id: identifier('Template', 'The approved template to install.'),
    name: nonBlankText('Agent name', 'The name of the installed agent.'),
    auto_create_api_chat: flag('Create API chat', 'Whether an API chat source is created for the new agent.'),
    api_chat_routing_mode: routingMode(`How the new API chat source routes messages. ${ROUTING}`),
    chat: v.exactOptional(chat),
    cron: v.exactOptional(
      v.pipe(v.array(agentJobSchema), v.title('Cron jobs'), v.description('Jobs that the agent runs on a schedule.')),
    ),
  }),
  v.forward(
    v.check(
      ({ chat: asked, api_chat_routing_mode: automatic }) =>
        asked?.routing_mode === undefined || automatic === undefined || asked.routing_mode === automatic,
      'must be the same as "api_chat_routing_mode": an agent has one source',
    ),
    ['chat', 'routing_mode'],
  ),
  v.title('Agent'),
  v.description('One agent to install into the space.'),
);

/** One document of a manifest: a space to create or reuse, and its agents (spec §4.1). */
export const manifestSchema = v.pipe(
  mapping({
    external_space_id: identifier(
      'External space id',
      'Your own stable identifier of the space. A space with this identifier is reused.',
    ),
    space: v.pipe(
      mapping({
        name: nonBlankText('Space name', 'The name of the customer workspace.'),
        description: v.exactOptional(
          v.pipe(v.string(), v.title('Space description'), v.description('What the workspace is for.')),
        ),
        is_org_wide: flag('Organization-wide', 'Whether the whole organization has access to the space.'),
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
  v.description(
    'A customer workspace and its agents. ${NAME} and ${NAME:-default} are replaced by environment variables.',
  ),
);

export type Manifest = v.InferOutput<typeof manifestSchema>;

export type ManifestAgent = Manifest['agents'][number];

export interface ManifestDocument {
  /** File and line where the content of the document starts: `acme.yaml:1`. */
  readonly source: string;
  /** From 0, over all sources. */
  readonly index: number;
  readonly manifest: Manifest;
}

/** The cron jobs of an agent. */
export function cronJobsOf({ cron = [] }: ManifestAgent): Omit<CronJob, 'agent_id'>[] {
  return cron.map(({ timezone = 'UTC', ...job }) => ({ ...job, schedule: { ...job.schedule, timezone } }));
}
