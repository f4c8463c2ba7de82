import { EQUAL_IDS, OTHER_IDS, ownNames, PARTS, type Resource } from './field-names.ts';

/** What the value of a leaf means. Determines its form. */
export type LeafKind = 'operation' | 'parameter' | 'items' | 'next' | 'at' | 'field' | 'values' | 'slash';

/** A value of the wire format that a user can look up and change, with its default. */
export interface LeafSpec {
  readonly kind: LeafKind;
  readonly value: string;
  readonly source: 'spec' | 'assumed';
  readonly note: string;
  /** Whether a parameter or a list may be `none`: calls keep their meaning without it. */
  readonly isOptional: boolean;
}

function leaf(kind: LeafKind, source: LeafSpec['source'], value: string, note: string): LeafSpec {
  return { kind, source, value, note, isOptional: false };
}

function optional(spec: LeafSpec): LeafSpec {
  return { ...spec, isOptional: true };
}

function field(value: string, note: string): LeafSpec {
  return leaf('field', 'assumed', value, note);
}

function inRequests(value: string): LeafSpec {
  return field(value, 'named as in requests');
}

/** An operation whose method the spec leaves open. */
function openOperation(value: string, endpoint: string): LeafSpec {
  return leaf('operation', 'assumed', value, `spec §4, endpoint ${endpoint} leaves the method open`);
}

function openParameter(value: string): LeafSpec {
  const isForm = value.startsWith('form:');
  const note = isForm ? 'spec §4.7 leaves the field open' : 'spec §4.4 leaves the place open';
  return { ...leaf('parameter', 'assumed', value, note), isOptional: !isForm };
}

/** For an attachment, `documentId` is not generic: it could be the id of something else. */
function idLeaf(own: string, isAttachment = false): LeafSpec {
  const [first = own] = own.split(',');
  const others = ['uuid', 'guid', 'arn'].map((kind) => first.replace(/id$/, kind)).join('|');
  const equal = [...EQUAL_IDS, ...(isAttachment ? [] : ['document_id'])].join('|');
  return field(`${own}, ${others}, ${equal}, ${OTHER_IDS.join(', ')}`, 'its own name first; equals must agree');
}

/** The listing of agents has integration metadata (spec §2), whose shape is not shown. */
export const METADATA = ['integrations', 'integration_metadata', 'metadata'] as const;
const SOURCE_IDS = ['', ...METADATA.map((name) => `${name}.`)]
  .flatMap((place) =>
    ['source_id', 'api_chat_source_id', 'api_chat.source_id', 'api_chat.id', 'source.source_id', 'source.id'].map(
      (path) => place + path,
    ),
  )
  .join('|');

const ITEMS = leaf('items', 'assumed', 'auto', 'where the items are: auto takes the only list');
const NEXT = leaf('next', 'assumed', 'auto', 'how the next page is requested: auto follows what a page announces');

const OPERATION_LEAVES = {
  'spaces.list': optional(leaf('operation', 'spec', 'GET /automation/spaces/', 'spec §4, endpoint 1')),
  'spaces.provision': leaf(
    'operation',
    'spec',
    'POST /automation/agent-templates/provision-space/',
    'spec §4, endpoint 2',
  ),
  'agents.list': optional(
    leaf('operation', 'spec', 'GET /automation/spaces/{space_id}/agents/', 'spec §4, endpoint 3'),
  ),
  'sources.setup': leaf(
    'operation',
    'spec',
    'POST /automation/spaces/{space_id}/agents/{agent_id}/api-chat/',
    'spec §4, endpoint 4',
  ),
  'messages.send': leaf('operation', 'spec', 'POST /integrations/api-chat/message/', 'spec §4, endpoint 5'),
  'messages.history': openOperation('GET /integrations/api-chat/history/', '6'),
  'documents.create': openOperation('POST /automation/documents/', '7'),
  'file_attachments.create': openOperation('POST /automation/file-attachments/', '8'),
  'cron_jobs.create': leaf('operation', 'spec', 'POST /automation/partner-cron-jobs/', 'spec §4, endpoint 9'),
  'cron_jobs.list': optional(
    leaf(
      'operation',
      'assumed',
      'GET /automation/partner-cron-jobs/',
      'spec §4, endpoint 10 leaves the method open; none: there is no list',
    ),
  ),
} as const;

function inBody(path: string, section: string): LeafSpec {
  return leaf('parameter', 'spec', `body:${path}`, `spec §${section}`);
}

const PARAMETER_LEAVES = {
  'spaces.provision.external_space_id': inBody('external_space_id', '4.1'),
  'spaces.provision.name': inBody('space.name', '4.1'),
  'spaces.provision.description': optional(inBody('space.description', '4.1')),
  'spaces.provision.is_org_wide': optional(inBody('space.is_org_wide', '4.1')),
  'spaces.provision.agents.template_id': inBody('agents[].template_id', '4.1'),
  'spaces.provision.agents.name': inBody('agents[].name', '4.1'),
  'spaces.provision.agents.auto_create_api_chat': optional(inBody('agents[].auto_create_api_chat', '4.1')),
  'spaces.provision.agents.api_chat_routing_mode': optional(inBody('agents[].api_chat_routing_mode', '4.1')),
  'sources.setup.name': optional(inBody('name', '4.2')),
  'sources.setup.reply_capable': optional(inBody('reply_capable', '4.2')),
  'sources.setup.routing_mode': optional(inBody('routing_mode', '4.2')),
  'messages.send.source_id': inBody('source_id', '4.3'),
  'messages.send.session_id': inBody('session_id', '4.3'),
  'messages.send.text': inBody('text', '4.3'),
  'messages.send.external_message_id': inBody('external_message_id', '4.3'),
  'messages.send.response_mode': optional(inBody('response_mode', '4.3')),
  'messages.history.source_id': openParameter('query:source_id'),
  'messages.history.session_id': openParameter('query:session_id'),
  'messages.history.after_message_id': openParameter('query:after_message_id'),
  'cron_jobs.create.agent_id': inBody('agent_id', '4.5'),
  'cron_jobs.create.name': inBody('name', '4.5'),
  'cron_jobs.create.instructions': inBody('instructions', '4.5'),
  'cron_jobs.create.type': optional(leaf('parameter', 'spec', 'body:schedule.type', 'spec §4.5; always cron')),
  'cron_jobs.create.minute': inBody('schedule.data.minute', '4.5'),
  'cron_jobs.create.hour': inBody('schedule.data.hour', '4.5'),
  'cron_jobs.create.day_of_week': inBody('schedule.data.day_of_week', '4.5'),
  'cron_jobs.create.timezone': inBody('schedule.timezone', '4.5'),
  'documents.create.file': openParameter('form:file'),
  'file_attachments.create.file': openParameter('form:file'),
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

function atLeaf(resource: Resource): LeafSpec {
  return leaf(
    'at',
    'assumed',
    [...PARTS, ...ownNames(resource)].join(', '),
    'objects in an item that hold fields, beside the item',
  );
}

const AT_LEAVES = {
  'space.at': atLeaf('space'),
  'agent.at': atLeaf('agent'),
  'message.at': atLeaf('message'),
  'cron_job.at': atLeaf('cron_job'),
} as const;

const FIELD_LEAVES = {
  'space.id': idLeaf('space_id'),
  'space.external_space_id': inRequests(
    'external_space_id, external_id|external_ref|external_reference|external_key|ext_id',
  ),
  'space.name': inRequests('name, space_name|workspace_name, display_name, title, label, descriptor'),
  'space.description': inRequests('description, space_description, desc'),
  'space.is_org_wide': inRequests('is_org_wide, org_wide'),
  'agent.id': idLeaf('agent_id'),
  'agent.name': field(
    'name, agent_name, display_name, title, label, descriptor',
    'the name that it was installed with',
  ),
  'agent.template_id': field(
    'template_id, agent_template_id, template.template_id, template.id, agent_template.id',
    'as it was installed',
  ),
  'agent.source_id': field(SOURCE_IDS, 'in the integration metadata; all must agree'),
  'source.id': idLeaf('source_id'),
  'source.name': inRequests('name, display_name, title, descriptor'),
  'source.reply_capable': inRequests('reply_capable'),
  'source.routing_mode': inRequests('routing_mode, api_chat_routing_mode'),
  'message.id': idLeaf('message_id'),
  'message.session_id': inRequests('session_id'),
  'message.source_id': inRequests('source_id'),
  'message.external_message_id': inRequests('external_message_id, external_id, client_message_id'),
  'message.text': field(
    'text, plain_text, body_text|text_body|body_plain|plain_body, content, body, message, parts, msg, markdown, blocks, payload, data',
    'a string, a list of parts with text, or an object with either',
  ),
  'message.author': field(
    'role, author, sender, sender_type, author_type, sender_role, author_role, direction, from, actor, speaker, user, created_by, sent_by, written_by, is_bot, is_agent, is_assistant, is_ai, from_bot, from_agent, from_assistant, is_user, is_customer, is_human, from_user, from_customer, incoming, outgoing, is_incoming, is_outgoing, type, kind',
    'a name, an object with a role or type, or a flag such as is_bot',
  ),
  'message.created_at': field(
    'created_at, timestamp, sent_at, created, created_on, created_time, create_time, create_at, date_created, created_utc, created_date, posted_at, published_at, inserted_at, time, date, date_gmt, ts',
    'ISO 8601, or the seconds or milliseconds since 1970',
  ),
  'cron_job.id': idLeaf('cron_job_id'),
  'cron_job.agent_id': field(
    'agent_id, target_agent_id, agent_uuid|agent_guid|agent_arn, agent.agent_id, agent.id, assistant_id, assistant.id, relationships.agent.data.id',
    'named as in requests, or the id of an agent object',
  ),
  'cron_job.name': inRequests('name, job_name|cron_job_name, display_name, title, label, descriptor'),
  'cron_job.instructions': inRequests('instructions, instruction, prompt'),
  'cron_job.schedule': field(
    'schedule, cron_schedule, cron|cron_expression|crontab|expression',
    'as it was sent, as plain fields, or as one string of five cron fields',
  ),
  'cron_job.timezone': field(
    'timezone, tz, timezone_name|timezone_id|tz_name|iana_timezone, schedule_timezone|schedule_tz|cron_timezone|cron_tz',
    'of the schedule, or of the job',
  ),
  'document.id': idLeaf('document_id'),
  'file_attachment.id': idLeaf('file_attachment_id, attachment_id, file_id', true),
  'error.code': field(
    'code, error_code, errcode, extensions.code, type',
    'of an error response, or in its error object',
  ),
  'error.message': field(
    'message, detail, error_description, error_message, faultstring, msg, reason, description, title, error',
    'of an error response, or in its error object',
  ),
} as const;

const VALUE_LEAVES = {
  'message.author.agent': leaf(
    'values',
    'assumed',
    'assistant, agent, bot, chatbot, robot, ai, ai_agent, virtual_agent, outbound, outgoing, out, reply, model, assistant_message, agent_message, bot_message, ai_message, from_agent, from_bot, agent_to_user, to_user, to_customer',
    'authors of replies',
  ),
  'message.author.user': leaf(
    'values',
    'assumed',
    'user, human, person, customer, client, contact, visitor, guest, end_user, requester, inbound, incoming, in, user_message, human_message, customer_message, from_user, from_customer, user_to_agent, to_agent, to_bot',
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
  ...AT_LEAVES,
  ...FIELD_LEAVES,
  ...VALUE_LEAVES,
} as const satisfies Record<string, LeafSpec>;

export type LeafName = keyof typeof LEAVES;
export type OperationLeaf = keyof typeof OPERATION_LEAVES;
export type ParameterLeaf = keyof typeof PARAMETER_LEAVES;
export type AtLeaf = keyof typeof AT_LEAVES;
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
