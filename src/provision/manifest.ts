import * as v from 'valibot';
import { CHAT_DEFAULTS, ROUTING_MODES } from '../contract/chat-fields.ts';
import { NOT_SHOWN } from '../cron/job.ts';
import { agentJobSchema, knownText } from '../cron/job-file.ts';
import { identifier, mapping, nonBlankText } from '../yaml/schema.ts';

function flag(description: string) {
  return v.exactOptional(v.pipe(v.boolean(), v.description(description)));
}

const MODES =
  'agent_inbox: into the inbox of the agent, which can handle related messages in one thread. session_workflow: each message starts a workflow run of its own.';

/** What `chat setup` takes as flags (spec §4.2). */
const chat = v.pipe(
  mapping({
    name: v.exactOptional(nonBlankText(`The display name of a new source. Default: ${CHAT_DEFAULTS.name}.`)),
    reply_capable: flag(`Whether the agent replies through a new source. Default: ${CHAT_DEFAULTS.reply_capable}.`),
    routing_mode: v.exactOptional(
      v.pipe(
        v.picklist([...ROUTING_MODES, NOT_SHOWN]),
        v.description(
          `How a new source routes messages. Default: api_chat_routing_mode, or else ${CHAT_DEFAULTS.routing_mode}. ${MODES}`,
        ),
        v.transform((mode) => (mode === NOT_SHOWN ? undefined : mode)),
      ),
    ),
  }),
  v.description(
    'Sets up the API chat source of the agent after its installation. An agent has one source; an existing one is not changed. Every field is optional; {} takes the defaults.',
  ),
);

/** One agent of a manifest. */
export const agentSchema = v.pipe(
  mapping({
    template_id: v.pipe(identifier('The approved template to install.'), knownText),
    name: nonBlankText('The name of the installed agent.'),
    auto_create_api_chat: flag('Whether an API chat source is created for the new agent.'),
    api_chat_routing_mode: v.exactOptional(
      v.pipe(v.picklist(ROUTING_MODES), v.description(`How the new API chat source routes messages. ${MODES}`)),
    ),
    chat: v.exactOptional(chat),
    cron: v.exactOptional(v.pipe(v.array(agentJobSchema), v.description('Jobs that the agent runs on a schedule.'))),
  }),
  v.forward(
    v.check(
      ({ chat: asked, api_chat_routing_mode: automatic }) =>
        [undefined, automatic].includes(asked?.routing_mode) || automatic === undefined,
      'must be the same as "api_chat_routing_mode": an agent has one source',
    ),
    ['chat', 'routing_mode'],
  ),
  v.description('One agent to install into the space.'),
);

/** The fields that may differ. */
const FIELDS = [
  ...(['name', 'description', 'is_org_wide', 'reply_capable', 'routing_mode'] as const),
  ...(['minute', 'hour', 'day_of_week', 'timezone', 'instructions'] as const),
];

const ignored = v.pipe(
  mapping({
    resource: v.pipe(v.picklist(['space', 'agent', 'chat', 'job']), v.description('A chat has the name of its agent.')),
    name: v.exactOptional(nonBlankText('Only the one of this name, or of this id if the manifest does not have it.')),
    field: v.exactOptional(v.pipe(v.picklist(FIELDS), v.description('Only the differences of this field.'))),
  }),
  v.description('What the plan leaves out: differences that no call can change, agents and jobs not in the manifest.'),
);

/** One document of a manifest: a space to create or reuse, and its agents (spec §4.1). */
export const manifestSchema = v.pipe(
  mapping({
    external_space_id: identifier('Your own stable identifier of the space. A space with this identifier is reused.'),
    space: v.pipe(
      mapping({
        name: nonBlankText('The name of the customer workspace.'),
        description: v.exactOptional(v.pipe(v.string(), v.description('What the workspace is for.'))),
        is_org_wide: flag('Whether the whole organization has access to the space.'),
      }),
      v.description('The customer workspace.'),
    ),
    agents: v.pipe(
      v.array(agentSchema),
      v.nonEmpty('must list at least one agent'),
      v.description('The agents to install, each one from an approved template.'),
    ),
    ignore: v.exactOptional(v.pipe(v.array(ignored), v.description('Known drift that the plan does not show.'))),
  }),
  v.description(
    'A customer workspace and its agents. ${NAME} and ${NAME:-default} are replaced by environment variables.',
  ),
);

export type Manifest = v.InferOutput<typeof manifestSchema>;

/** A manifest as it is written. */
export type ManifestInput = v.InferInput<typeof manifestSchema>;

export type ManifestAgent = Manifest['agents'][number];

export interface ManifestDocument {
  /** File and line where the content of the document starts: `acme.yaml:1`. */
  readonly source: string;
  /** From 0, over all sources. */
  readonly index: number;
  readonly manifest: Manifest;
  /**
   * File and line of each agent, `agents/0`, and job, `agents/0/cron/1`; and, below them, of each text that is missing,
   * because the service did not show it: `agents/0/template_id`.
   */
  readonly places: Readonly<Record<string, string>>;
  /** Its texts that were made from variables, each as it was written; none in the file of a plan. */
  readonly written?: ReadonlyMap<string, string>;
}

/** File and line of an agent, a job, or, for any other key, of the document. */
export function sourceOf({ places, source }: ManifestDocument, key: string): string {
  return places[key] ?? places[key.replace(/\/chat$/, '')] ?? source;
}
