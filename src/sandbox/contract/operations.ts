import type { Kind } from './resources.ts';
import { SCHEDULE } from './resources.ts';
import { flag, listOf, objectOf, type Schema, text } from './schema.ts';

/** A query parameter. */
interface Parameter {
  readonly name: string;
  readonly required?: boolean;
  readonly schema: Schema;
}

/** An operation of the partner API (spec §4) in the plain shape. */
export interface Operation {
  readonly id: string;
  readonly method: 'GET' | 'POST';
  /** Relative to the base URL; `{name}` is a path parameter. */
  readonly path: string;
  readonly tag: string;
  readonly summary: string;
  readonly scope: string;
  readonly kind: Kind;
  /** One resource, or a page of a list. */
  readonly returns: 'one' | 'list';
  /** The statuses of success. */
  readonly statuses: readonly (200 | 201)[];
  readonly query?: readonly Parameter[];
  /** The JSON body. */
  readonly body?: Schema;
  /** What the JSON body describes. */
  readonly bodyName?: string;
  /** Whether the body is, or may be, a form with a file. */
  readonly form?: boolean;
}

function nonBlank(description: string, maxLength = 255): Schema {
  return text(description, { minLength: 1, maxLength });
}

const ROUTING_MODE = text('How messages reach the agent (spec §2).', { enum: ['agent_inbox', 'session_workflow'] });
const CLOSED = { additionalProperties: false };

const PROVISION_BODY = objectOf(
  {
    external_space_id: nonBlank('The stable identifier of the caller. The same one again reuses the space.'),
    space: objectOf(
      {
        name: nonBlank('The name of the workspace.'),
        'description?': text('Its description.', { maxLength: 5_000 }),
        'is_org_wide?': flag('Whether the whole organization has access.'),
      },
      CLOSED,
    ),
    agents: listOf(
      objectOf(
        {
          template_id: text('An approved template.'),
          name: nonBlank('The name of the agent.'),
          'auto_create_api_chat?': flag('Whether a new agent gets an API chat source.'),
          'api_chat_routing_mode?': ROUTING_MODE,
        },
        CLOSED,
      ),
      { description: 'The agents to install.', minItems: 1, maxItems: 100 },
    ),
  },
  CLOSED,
);

const CHAT_BODY = objectOf(
  {
    'name?': nonBlank('The display name.'),
    'reply_capable?': flag('Whether the agent may reply.'),
    'routing_mode?': ROUTING_MODE,
  },
  CLOSED,
);

const MESSAGE_BODY = objectOf(
  {
    source_id: text('The source that receives the message.'),
    session_id: nonBlank('The conversation.'),
    text: text('The text of the message.', { minLength: 1 }),
    external_message_id: nonBlank('The stable identifier of the caller, unique in the session.'),
    'response_mode?': text('The only mode.', { enum: ['accepted'] }),
  },
  CLOSED,
);

const CRON_JOB_BODY = objectOf(
  {
    agent_id: text('The agent that runs the job.'),
    name: nonBlank('The name of the job.'),
    instructions: nonBlank('What the agent does on each run.', 100_000),
    schedule: SCHEDULE,
  },
  CLOSED,
);

const DOCUMENT_BODY = objectOf(
  { name: nonBlank('The name of the document.', 1_000), content: text('The text of the document.') },
  CLOSED,
);

const HISTORY_QUERY: readonly Parameter[] = [
  { name: 'source_id', required: true, schema: text('The source of the session.') },
  { name: 'session_id', required: true, schema: nonBlank('The conversation.') },
  { name: 'after_message_id', schema: text('Only messages after this one.') },
];

type UploadKind = Extract<Kind, 'document' | 'file_attachment'>;

function uploadOperations(kind: UploadKind, path: string, what: string, more: Partial<Operation>): Operation[] {
  const name = kind === 'document' ? 'Document' : 'FileAttachment';
  const common = { kind, tag: `${what}s`, scope: `${kind}s.read` };
  const list = { id: `list${name}s`, method: 'GET', path, returns: 'list', statuses: [200] } as const;
  const create = { id: `upload${name}`, method: 'POST', path, returns: 'one', statuses: [201] } as const;
  const get = { id: `get${name}`, method: 'GET', path: `${path}{id}/`, returns: 'one', statuses: [200] } as const;
  return [
    { ...common, ...list, summary: `Lists the ${what}s.` },
    { ...common, ...create, scope: `${kind}s.write`, summary: `Uploads a ${what}.`, form: true, ...more },
    { ...common, ...get, summary: `Returns one ${what}.` },
  ];
}

/** Every operation of the partner API, in the order of spec §4. */
export const OPERATIONS: readonly Operation[] = [
  {
    id: 'listSpaces',
    method: 'GET',
    path: '/automation/spaces/',
    tag: 'spaces',
    summary: 'Lists the spaces available to the token.',
    scope: 'spaces.read',
    kind: 'space',
    returns: 'list',
    statuses: [200],
  },
  {
    id: 'provisionSpace',
    method: 'POST',
    path: '/automation/agent-templates/provision-space/',
    tag: 'spaces',
    summary: 'Creates or reuses a space and installs agents. 201 for a new space, else 200.',
    scope: 'spaces.provision',
    kind: 'provisioning',
    returns: 'one',
    statuses: [200, 201],
    body: PROVISION_BODY,
    bodyName: 'provisioning',
  },
  {
    id: 'listAgents',
    method: 'GET',
    path: '/automation/spaces/{space_id}/agents/',
    tag: 'agents',
    summary: 'Lists the agents of a space.',
    scope: 'agents.read',
    kind: 'agent',
    returns: 'list',
    statuses: [200],
  },
  {
    id: 'setUpApiChat',
    method: 'POST',
    path: '/automation/spaces/{space_id}/agents/{agent_id}/api-chat/',
    tag: 'api-chat',
    summary: "Creates or reuses the agent's API chat source. 201 for a new source, else 200.",
    scope: 'api_chat.setup',
    kind: 'source',
    returns: 'one',
    statuses: [200, 201],
    body: CHAT_BODY,
    bodyName: 'source',
  },
  {
    id: 'sendMessage',
    method: 'POST',
    path: '/integrations/api-chat/message/',
    tag: 'api-chat',
    summary: 'Registers a message. 201 for a new message, else 200.',
    scope: 'api_chat.runtime',
    kind: 'receipt',
    returns: 'one',
    statuses: [200, 201],
    body: MESSAGE_BODY,
    bodyName: 'message',
  },
  {
    id: 'readHistory',
    method: 'GET',
    path: '/integrations/api-chat/history/',
    tag: 'api-chat',
    summary: 'Reads the messages of a session after a cursor.',
    scope: 'api_chat.runtime',
    kind: 'message',
    returns: 'list',
    statuses: [200],
    query: HISTORY_QUERY,
  },
  ...uploadOperations('document', '/automation/documents/', 'document', { body: DOCUMENT_BODY, bodyName: 'document' }),
  ...uploadOperations('file_attachment', '/automation/file-attachments/', 'file attachment', {}),
  {
    id: 'createCronJob',
    method: 'POST',
    path: '/automation/partner-cron-jobs/',
    tag: 'cron-jobs',
    summary: 'Creates a scheduled job. The same request again creates another one.',
    scope: 'cron_jobs.write',
    kind: 'cron_job',
    returns: 'one',
    statuses: [201],
    body: CRON_JOB_BODY,
    bodyName: 'cron_job',
  },
  {
    id: 'listCronJobs',
    method: 'GET',
    path: '/automation/partner-cron-jobs/',
    tag: 'cron-jobs',
    summary: 'Lists the scheduled jobs, or those of one agent.',
    scope: 'cron_jobs.read',
    kind: 'cron_job',
    returns: 'list',
    statuses: [200],
    query: [{ name: 'agent_id', schema: text('Only the jobs of this agent.') }],
  },
];
