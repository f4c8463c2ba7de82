import { flag, listOf, objectOf, orNull, type Schema, text, time } from './schema.ts';

/** What an operation of the service is about. */
export type Kind =
  | 'space'
  | 'agent'
  | 'source'
  | 'message'
  | 'receipt'
  | 'cron_job'
  | 'document'
  | 'file_attachment'
  | 'provisioning';

interface Resource {
  /** The name of its schema in the document. */
  readonly component: string;
  readonly singular: string;
  readonly plural: string;
  /** The field with the id; a provisioning has none. */
  readonly id?: string;
  readonly schema: Schema;
}

const ROUTING_MODE = text('How messages reach the agent (spec §2).', { enum: ['agent_inbox', 'session_workflow'] });

const CHAT_SUMMARY = objectOf({
  source_id: text('The source that accepts messages for the agent.'),
  name: text('The display name.'),
  reply_capable: flag('Whether the agent may reply.'),
  routing_mode: ROUTING_MODE,
});

const SPACE = objectOf(
  {
    space_id: text('The identifier that the service assigned.'),
    external_space_id: text('The identifier that the caller chose.'),
    name: text('The name of the workspace.'),
    description: text('Its description; may be empty.'),
    is_org_wide: flag('Whether the whole organization has access.'),
    created_at: time('When it was created.'),
  },
  { description: 'A customer workspace.' },
);

const AGENT = objectOf(
  {
    agent_id: text('The identifier that the service assigned.'),
    space_id: text('The space that the agent is in.'),
    template_id: text('The template that it was installed from.'),
    name: text('The name of the agent.'),
    created_at: time('When it was installed.'),
    integrations: objectOf(
      { api_chat: orNull(CHAT_SUMMARY) },
      { description: 'Its public integrations; `api_chat` is null until a source is created.' },
    ),
    'created?': flag('Whether this request installed it. Only in the response to provisioning.'),
  },
  { description: 'An agent of a space.' },
);

const SOURCE = objectOf(
  {
    source_id: text('The identifier that messages and the history name.'),
    agent_id: text('The agent that gets the messages.'),
    space_id: text('The space that the agent is in.'),
    name: text('The display name.'),
    reply_capable: flag('Whether the agent may reply.'),
    routing_mode: ROUTING_MODE,
    created_at: time('When it was created.'),
    created: flag('Whether this request created it.'),
  },
  { description: "An agent's API chat source." },
);

const MESSAGE = objectOf(
  {
    message_id: text('The identifier, which is also the cursor of the history.'),
    source_id: text('The source that the session belongs to.'),
    session_id: text('The conversation that the message belongs to.'),
    role: text('Who wrote it.', { enum: ['user', 'assistant'] }),
    text: text('The text.'),
    external_message_id: orNull(text('The identifier that the caller chose; null for other messages.')),
    in_reply_to: orNull(text('For a reply, the newest message that it replies to.')),
    'cron_job_id?': text('The scheduled job that sent it; only such messages have it.'),
    created_at: time('When it was registered.'),
  },
  { description: 'A message of a session, in either direction.' },
);

const RECEIPT = objectOf(
  {
    message_id: text('The identifier, which is also the cursor of the history.'),
    created: flag('False when the external_message_id already existed in the session.'),
  },
  { description: 'The acknowledgement of a message.' },
);

/** When a job runs (spec §2), in requests and responses. */
export const SCHEDULE = objectOf(
  {
    type: text('The kind of schedule.', { enum: ['cron'] }),
    data: objectOf(
      {
        minute: text('A cron field.'),
        hour: text('A cron field.'),
        day_of_week: text('A cron field; ranges such as 1-5 are accepted.'),
      },
      { additionalProperties: false },
    ),
    timezone: text('The name of a time zone, such as UTC.'),
  },
  { description: 'When the job runs.', additionalProperties: false },
);

const CRON_JOB = objectOf(
  {
    cron_job_id: text('The identifier that the service assigned.'),
    agent_id: text('The agent that runs the job.'),
    name: text('The name of the job.'),
    instructions: text('What the agent does on each run.'),
    schedule: SCHEDULE,
    created_at: time('When it was created.'),
    last_run_at: orNull(time('When it last ran; null before the first run.')),
    next_run_at: orNull(time('When it runs next; null if never.')),
  },
  { description: 'A scheduled job of an agent.' },
);

function upload(identity: Readonly<Record<string, Schema>>, description: string): Schema {
  return objectOf(
    {
      ...identity,
      content_type: text('The media type that the caller declared.'),
      bytes: { type: 'integer', minimum: 0, description: 'The size of the file.' },
      sha256: text('The SHA-256 of the file in hexadecimal.'),
      fields: {
        type: 'object',
        description: 'The other fields of the form; a repeated one is a list.',
        additionalProperties: { anyOf: [{ type: 'string' }, listOf({ type: 'string' })] },
      },
      created_at: time('When it was uploaded.'),
    },
    { description },
  );
}

const DOCUMENT = upload(
  { document_id: text('The identifier that workflows name.'), name: text('The name of the file.') },
  'An uploaded document.',
);

const FILE_ATTACHMENT = upload(
  { file_attachment_id: text('The identifier that workflows name.'), filename: text('The name of the file.') },
  'An uploaded file attachment.',
);

const PROVISIONING = objectOf(
  { created: flag('Whether this request created the space.'), space: SPACE, agents: listOf(AGENT) },
  { description: 'A space, created or reused, with the agents that the request named.' },
);

/** Every resource in the plain shape. */
export const RESOURCES: Readonly<Record<Kind, Resource>> = {
  space: { component: 'Space', singular: 'space', plural: 'spaces', id: 'space_id', schema: SPACE },
  agent: { component: 'Agent', singular: 'agent', plural: 'agents', id: 'agent_id', schema: AGENT },
  source: { component: 'ChatSource', singular: 'source', plural: 'sources', id: 'source_id', schema: SOURCE },
  message: { component: 'Message', singular: 'message', plural: 'messages', id: 'message_id', schema: MESSAGE },
  receipt: { component: 'MessageReceipt', singular: 'message', plural: 'messages', id: 'message_id', schema: RECEIPT },
  cron_job: { component: 'CronJob', singular: 'cron_job', plural: 'cron_jobs', id: 'cron_job_id', schema: CRON_JOB },
  document: {
    component: 'Document',
    singular: 'document',
    plural: 'documents',
    id: 'document_id',
    schema: DOCUMENT,
  },
  file_attachment: {
    component: 'FileAttachment',
    singular: 'file_attachment',
    plural: 'file_attachments',
    id: 'file_attachment_id',
    schema: FILE_ATTACHMENT,
  },
  provisioning: {
    component: 'Provisioning',
    singular: 'provisioning',
    plural: 'provisionings',
    schema: PROVISIONING,
  },
};
