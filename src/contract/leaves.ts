/** Where the value of a leaf comes from. */
export const SOURCES = ['spec', 'assumed', 'observed', 'imported', 'override'] as const;

export type Source = (typeof SOURCES)[number];

/** What the value of a leaf means. Determines its form. */
export type LeafKind = 'operation' | 'parameter' | 'items' | 'next' | 'field' | 'values' | 'slash';

/** A value of the wire format that a user can look up and change, with its default. */
export interface LeafSpec {
  readonly kind: LeafKind;
  readonly value: string;
  readonly source: 'spec' | 'assumed';
  readonly note: string;
}

function leaf(kind: LeafKind, source: LeafSpec['source'], value: string, note: string): LeafSpec {
  return { kind, source, value, note };
}

/** Generic names of ids. */
const EQUAL_IDS = 'id|uuid|uid|guid|pk|_id|$id';
/** Names of ids on well-known platforms. */
const OTHER_IDS = 'gid|sid|object_id|sys_id|identifier';

/** Some platforms call every id `documentId`. For uploads it is not generic: it could be the id of something else. */
function idLeaf(own: string, generic = `${EQUAL_IDS}|document_id, ${OTHER_IDS}`): LeafSpec {
  const [first = own] = own.split(',');
  const others = ['uuid', 'guid', 'arn'].map((kind) => first.replace(/id$/, kind)).join('|');
  return leaf('field', 'assumed', `${own}, ${others}, ${generic}`, 'its own name first; equals must agree');
}

const ITEMS = leaf('items', 'assumed', 'auto', 'where the items are: auto looks in the known envelopes');
const NEXT = leaf('next', 'assumed', 'auto', 'how the next page is requested: auto proves what a response announces');

const OPERATION_LEAVES = {
  'spaces.list': leaf('operation', 'spec', 'GET /automation/spaces/', 'spec §4, endpoint 1'),
  'spaces.provision': leaf(
    'operation',
    'spec',
    'POST /automation/agent-templates/provision-space/',
    'spec §4, endpoint 2',
  ),
  'agents.list': leaf('operation', 'spec', 'GET /automation/spaces/{space_id}/agents/', 'spec §4, endpoint 3'),
  'sources.setup': leaf(
    'operation',
    'spec',
    'POST /automation/spaces/{space_id}/agents/{agent_id}/api-chat/',
    'spec §4, endpoint 4',
  ),
  'messages.send': leaf('operation', 'spec', 'POST /integrations/api-chat/message/', 'spec §4, endpoint 5'),
  'messages.history': leaf(
    'operation',
    'assumed',
    'GET /integrations/api-chat/history/',
    'spec §4, endpoint 6 leaves the method open',
  ),
  'documents.create': leaf(
    'operation',
    'assumed',
    'POST /automation/documents/',
    'spec §4, endpoint 7 leaves the method open',
  ),
  'file_attachments.create': leaf(
    'operation',
    'assumed',
    'POST /automation/file-attachments/',
    'spec §4, endpoint 8 leaves the method open',
  ),
  'cron_jobs.create': leaf('operation', 'spec', 'POST /automation/partner-cron-jobs/', 'spec §4, endpoint 9'),
  'cron_jobs.list': leaf(
    'operation',
    'assumed',
    'GET /automation/partner-cron-jobs/',
    'spec §4, endpoint 10 leaves the method open; none: there is no list',
  ),
} as const;

const PARAMETER_LEAVES = {
  'spaces.provision.external_space_id': leaf('parameter', 'spec', 'body:external_space_id', 'spec §4.1'),
  'spaces.provision.name': leaf('parameter', 'spec', 'body:space.name', 'spec §4.1'),
  'spaces.provision.description': leaf('parameter', 'spec', 'body:space.description', 'spec §4.1'),
  'spaces.provision.is_org_wide': leaf('parameter', 'spec', 'body:space.is_org_wide', 'spec §4.1'),
  'spaces.provision.agents.template_id': leaf('parameter', 'spec', 'body:agents[].template_id', 'spec §4.1'),
  'spaces.provision.agents.name': leaf('parameter', 'spec', 'body:agents[].name', 'spec §4.1'),
  'spaces.provision.agents.auto_create_api_chat': leaf(
    'parameter',
    'spec',
    'body:agents[].auto_create_api_chat',
    'spec §4.1',
  ),
  'spaces.provision.agents.api_chat_routing_mode': leaf(
    'parameter',
    'spec',
    'body:agents[].api_chat_routing_mode',
    'spec §4.1',
  ),
  'sources.setup.name': leaf('parameter', 'spec', 'body:name', 'spec §4.2'),
  'sources.setup.reply_capable': leaf('parameter', 'spec', 'body:reply_capable', 'spec §4.2'),
  'sources.setup.routing_mode': leaf('parameter', 'spec', 'body:routing_mode', 'spec §4.2'),
  'messages.send.source_id': leaf('parameter', 'spec', 'body:source_id', 'spec §4.3'),
  'messages.send.session_id': leaf('parameter', 'spec', 'body:session_id', 'spec §4.3'),
  'messages.send.text': leaf('parameter', 'spec', 'body:text', 'spec §4.3'),
  'messages.send.external_message_id': leaf('parameter', 'spec', 'body:external_message_id', 'spec §4.3'),
  'messages.send.response_mode': leaf('parameter', 'spec', 'body:response_mode', 'spec §4.3'),
  'messages.history.source_id': leaf('parameter', 'assumed', 'query:source_id', 'spec §4.4 leaves the place open'),
  'messages.history.session_id': leaf('parameter', 'assumed', 'query:session_id', 'spec §4.4 leaves the place open'),
  'messages.history.after_message_id': leaf(
    'parameter',
    'assumed',
    'query:after_message_id',
    'spec §4.4 leaves the place open',
  ),
  'cron_jobs.create.agent_id': leaf('parameter', 'spec', 'body:agent_id', 'spec §4.5'),
  'cron_jobs.create.name': leaf('parameter', 'spec', 'body:name', 'spec §4.5'),
  'cron_jobs.create.instructions': leaf('parameter', 'spec', 'body:instructions', 'spec §4.5'),
  'cron_jobs.create.type': leaf('parameter', 'spec', 'body:schedule.type', 'spec §4.5; always cron'),
  'cron_jobs.create.minute': leaf('parameter', 'spec', 'body:schedule.data.minute', 'spec §4.5'),
  'cron_jobs.create.hour': leaf('parameter', 'spec', 'body:schedule.data.hour', 'spec §4.5'),
  'cron_jobs.create.day_of_week': leaf('parameter', 'spec', 'body:schedule.data.day_of_week', 'spec §4.5'),
  'cron_jobs.create.timezone': leaf('parameter', 'spec', 'body:schedule.timezone', 'spec §4.5'),
  'documents.create.file': leaf('parameter', 'assumed', 'form:file', 'spec §4.7 leaves the field open'),
  'file_attachments.create.file': leaf('parameter', 'assumed', 'form:file', 'spec §4.7 leaves the field open'),
} as const;

const LIST_LEAVES = {
  'spaces.list.items': ITEMS,
  'spaces.list.next': NEXT,
  'agents.list.items': ITEMS,
  'agents.list.next': NEXT,
  'messages.history.items': ITEMS,
  'messages.history.next': NEXT,
  'cron_jobs.list.items': ITEMS,
  'cron_jobs.list.next': NEXT,
} as const;

const FIELD_LEAVES = {
  'space.id': idLeaf('space_id'),
  'space.external_space_id': leaf(
    'field',
    'assumed',
    'external_space_id, external_id|external_ref|external_reference|external_key|ext_id',
    'named as in requests',
  ),
  'space.name': leaf(
    'field',
    'assumed',
    'name, space_name|workspace_name, display_name, title, label, descriptor',
    'named as in requests',
  ),
  'space.description': leaf('field', 'assumed', 'description, space_description, desc', 'named as in requests'),
  'space.is_org_wide': leaf('field', 'assumed', 'is_org_wide, org_wide', 'named as in requests'),
  'agent.id': idLeaf('agent_id'),
  'agent.name': leaf(
    'field',
    'assumed',
    'name, agent_name, display_name, title, label, descriptor',
    'the name that it was installed with',
  ),
  'agent.template_id': leaf('field', 'assumed', 'template_id, agent_template_id', 'or the id of a template object'),
  'agent.source_id': leaf('field', 'assumed', 'source_id, api_chat_source_id', 'anywhere in the integration metadata'),
  'source.id': idLeaf('source_id'),
  'source.name': leaf('field', 'assumed', 'name, display_name, title, descriptor', 'named as in requests'),
  'source.reply_capable': leaf('field', 'assumed', 'reply_capable', 'named as in requests'),
  'source.routing_mode': leaf('field', 'assumed', 'routing_mode', 'named as in requests'),
  'message.id': idLeaf('message_id'),
  'message.session_id': leaf('field', 'assumed', 'session_id', 'named as in requests'),
  'message.source_id': leaf('field', 'assumed', 'source_id', 'named as in requests'),
  'message.external_message_id': leaf(
    'field',
    'assumed',
    'external_message_id, external_id, client_message_id',
    'named as in requests',
  ),
  'message.text': leaf(
    'field',
    'assumed',
    'text, plain_text, body_text|text_body|body_plain|plain_body, content, body, message, parts, msg, markdown, payload, data',
    'a string, a list of parts with text, or an object with either',
  ),
  'message.author': leaf(
    'field',
    'assumed',
    'role, author, sender, sender_type, author_type, sender_role, author_role, direction, from, actor, speaker, user, created_by, sent_by, written_by, is_bot, is_agent, is_assistant, is_ai, from_bot, from_agent, from_assistant, is_user, is_customer, is_human, from_user, from_customer, incoming, outgoing, is_incoming, is_outgoing, type, kind',
    'a name, an object with a role or type, or a flag such as is_bot',
  ),
  'message.created_at': leaf(
    'field',
    'assumed',
    'created_at, timestamp, sent_at, created, created_on, created_time, create_time, inserted_at, time, date, ts',
    'ISO 8601, or the seconds or milliseconds since 1970',
  ),
  'cron_job.id': idLeaf('cron_job_id'),
  'cron_job.agent_id': leaf(
    'field',
    'assumed',
    'agent_id, target_agent_id, agent_uuid|agent_guid|agent_arn',
    'or the id of an agent object',
  ),
  'cron_job.name': leaf(
    'field',
    'assumed',
    'name, job_name|cron_job_name, display_name, title, label, descriptor',
    'named as in requests',
  ),
  'cron_job.instructions': leaf('field', 'assumed', 'instructions, instruction, prompt', 'named as in requests'),
  'cron_job.schedule': leaf(
    'field',
    'assumed',
    'schedule, cron_schedule, cron|cron_expression|crontab|expression',
    'as it was sent, as plain fields, or as one string of five cron fields',
  ),
  'cron_job.timezone': leaf(
    'field',
    'assumed',
    'timezone, tz, timezone_name|timezone_id|tz_name|iana_timezone, schedule_timezone|schedule_tz|cron_timezone|cron_tz',
    'of the schedule, or of the job',
  ),
  'document.id': idLeaf('document_id'),
  'file_attachment.id': idLeaf('file_attachment_id, attachment_id, file_id', `${EQUAL_IDS}, ${OTHER_IDS}`),
  'error.code': leaf('field', 'assumed', 'code, error.code, error_code', 'of an error response'),
  'error.message': leaf(
    'field',
    'assumed',
    'message, error.message, detail, error.detail, error_description, error, title',
    'of an error response',
  ),
} as const;

const VALUE_LEAVES = {
  'message.author.agent': leaf(
    'values',
    'assumed',
    'assistant, agent, bot, robot, ai, outbound, outgoing, out, reply, model',
    'authors of replies',
  ),
  'message.author.user': leaf(
    'values',
    'assumed',
    'user, human, person, customer, client, contact, visitor, guest, end_user, requester, inbound, incoming, in',
    'authors of messages to the agent',
  ),
  'paths.trailing_slash': leaf(
    'slash',
    'spec',
    'as-written',
    'always or never, where the service redirects to the other form',
  ),
} as const;

/**
 * Every leaf of the contract: what the spec defines, and what is assumed where the spec leaves it open (spec §4.7). Leaves
 * are declared only here.
 */
export const LEAVES = {
  ...OPERATION_LEAVES,
  ...PARAMETER_LEAVES,
  ...LIST_LEAVES,
  ...FIELD_LEAVES,
  ...VALUE_LEAVES,
} as const satisfies Record<string, LeafSpec>;

export type LeafName = keyof typeof LEAVES;
export type OperationLeaf = keyof typeof OPERATION_LEAVES;
export type ParameterLeaf = keyof typeof PARAMETER_LEAVES;
export type FieldLeaf = keyof typeof FIELD_LEAVES;
export type ValuesLeaf = 'message.author.agent' | 'message.author.user';
export type ListLeaf = 'spaces.list' | 'agents.list' | 'messages.history' | 'cron_jobs.list';

/** Whether a leaf has this name. */
export function isLeafName(name: string): name is LeafName {
  return Object.hasOwn(LEAVES, name);
}

function isParameterLeaf(name: string): name is ParameterLeaf {
  return Object.hasOwn(PARAMETER_LEAVES, name);
}

/** Returns the leaves of an operation's parameters. */
export function parametersOf(operation: OperationLeaf): readonly ParameterLeaf[] {
  return Object.keys(PARAMETER_LEAVES)
    .filter(isParameterLeaf)
    .filter((name) => name.startsWith(`${operation}.`));
}
