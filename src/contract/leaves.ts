/** Operations whose method the spec leaves open (§4, endpoints 6, 7, 8, and 10). */
const OPEN_METHODS = ['messages.history', 'documents.create', 'file_attachments.create', 'cron_jobs.list'];

const PARTS = 'attributes, properties, fields, node, resource, record';

/** Names of ids that any resource may have: those of one rank must agree. Strapi has a `documentId` beside the id. */
const IDS = 'id|uuid|uid|guid|pk|document_id, sid';
const NAMES = 'display_name, title, label, descriptor';

/** The listing of agents has integration metadata (spec §2), whose shape is not shown. */
const SOURCE_IDS =
  'source_id|api_chat_source_id|api_chat.source_id|api_chat.id|source.source_id|source.id|integrations.source_id|integrations.api_chat.source_id|integrations.api_chat.id|integrations.source.id|metadata.source_id|metadata.api_chat.source_id, integrations.api_chat';

/** The leaves by kind, with what the spec defines, and what is assumed where it leaves a gap (spec §4.7). */
const LEAVES = {
  operation: {
    'spaces.list': 'GET /automation/spaces/',
    'spaces.provision': 'POST /automation/agent-templates/provision-space/',
    'agents.list': 'GET /automation/spaces/{space_id}/agents/',
    'sources.setup': 'POST /automation/spaces/{space_id}/agents/{agent_id}/api-chat/',
    'messages.send': 'POST /integrations/api-chat/message/',
    'messages.history': 'GET /integrations/api-chat/history/',
    'documents.create': 'POST /automation/documents/',
    'file_attachments.create': 'POST /automation/file-attachments/',
    'cron_jobs.create': 'POST /automation/partner-cron-jobs/',
    'cron_jobs.list': 'GET /automation/partner-cron-jobs/',
  },
  parameter: {
    'messages.history.source_id': 'query:source_id',
    'messages.history.session_id': 'query:session_id',
    'messages.history.after_message_id': 'query:after_message_id',
    'documents.create.file': 'form:file',
    'file_attachments.create.file': 'form:file',
  },
  items: {
    'spaces.list.items': 'auto',
    'agents.list.items': 'auto',
    'messages.history.items': 'auto',
    'cron_jobs.list.items': 'auto',
  },
  next: {
    'spaces.list.next': 'auto',
    'agents.list.next': 'auto',
    'messages.history.next': 'auto',
    'cron_jobs.list.next': 'auto',
  },
  size: {
    'spaces.list.size': 'none',
    'agents.list.size': 'none',
    'messages.history.size': 'none',
    'cron_jobs.list.size': 'none',
  },
  at: {
    'space.at': `${PARTS}, space, workspace`,
    'agent.at': `${PARTS}, agent`,
    'message.at': `${PARTS}, message`,
    'cron_job.at': `${PARTS}, cron_job, partner_cron_job, job`,
  },
  field: {
    'space.id': `space_id, space_uuid|space_guid|space_arn, ${IDS}`,
    'space.external_space_id': 'external_space_id, external_id|external_ref|external_reference|external_key|ext_id',
    'space.name': `name, space_name|workspace_name, ${NAMES}`,
    'space.description': 'description, space_description, desc',
    'space.is_org_wide': 'is_org_wide, org_wide',
    'agent.id': `agent_id, agent_uuid|agent_guid|agent_arn, ${IDS}`,
    'agent.name': `name, agent_name, ${NAMES}`,
    'agent.template_id': 'template_id, agent_template_id, template.template_id, template.id, agent_template.id',
    'agent.source_id': SOURCE_IDS,
    'source.id': `source_id, source_uuid|source_guid|source_arn, ${IDS}`,
    'source.name': 'name, display_name, title, descriptor',
    'source.reply_capable': 'reply_capable',
    'source.routing_mode': 'routing_mode, api_chat_routing_mode',
    'message.id': `message_id, message_uuid|message_guid|message_arn, ${IDS}`,
    'message.session_id': 'session_id, session.session_id',
    'message.source_id': 'source_id, source.source_id',
    'message.external_message_id': 'external_message_id, external_id, client_message_id',
    'message.text': 'text, plain_text, content, body, message, parts, blocks',
    'message.author':
      'role, author, sender, sender_type, author_type, sender_role, author_role, direction, from, user, is_bot, is_agent, is_user, incoming, type, kind',
    'message.created_at':
      'created_at, timestamp, sent_at, created, created_on, created_time, create_time, date_created, created_date, posted_at, published_at, inserted_at, time, date, ts',
    'cron_job.id': `cron_job_id, cron_job_uuid|cron_job_guid|cron_job_arn, ${IDS}`,
    'cron_job.agent_id':
      'agent_id, target_agent_id, agent_uuid|agent_guid|agent_arn, agent.agent_id, agent.id, assistant_id, assistant.id, relationships.agent.data.id',
    'cron_job.name': `name, job_name|cron_job_name, ${NAMES}`,
    'cron_job.instructions': 'instructions, instruction, prompt',
    'cron_job.schedule': 'schedule, cron_schedule, cron|cron_expression|crontab|expression',
    'cron_job.timezone':
      'timezone, tz, timezone_name|timezone_id|tz_name|iana_timezone, schedule_timezone|schedule_tz|cron_timezone|cron_tz',
    'document.id': `document_id, ${IDS}`,
    'file_attachment.id': `file_attachment_id, attachment_id, file_id, ${IDS}`,
  },
  values: {
    'message.author.agent':
      'assistant, agent, bot, chatbot, robot, ai, ai_agent, virtual_agent, outbound, outgoing, out, reply, model, assistant_message, agent_message, bot_message, ai_message, from_agent, from_bot, agent_to_user, to_user, to_customer',
    'message.author.user':
      'user, human, person, customer, client, contact, visitor, guest, end_user, requester, inbound, incoming, in, user_message, human_message, customer_message, from_user, from_customer, user_to_agent, to_agent, to_bot',
  },
  slash: {
    'paths.trailing_slash': 'as-written',
  },
} as const;

export type LeafKind = keyof typeof LEAVES;
export type LeafName = { [Kind in LeafKind]: keyof (typeof LEAVES)[Kind] }[LeafKind];
export type OperationLeaf = keyof typeof LEAVES.operation;
export type ParameterLeaf = keyof typeof LEAVES.parameter;
export type AtLeaf = keyof typeof LEAVES.at;
export type FieldLeaf = keyof typeof LEAVES.field;
export type ValuesLeaf = keyof typeof LEAVES.values;
export type ListLeaf = 'spaces.list' | 'agents.list' | 'messages.history' | 'cron_jobs.list';

function namesIn<Name extends string>(leaves: Readonly<Record<Name, unknown>>): readonly Name[] {
  const isName = (name: string): name is Name => Object.hasOwn(leaves, name);
  return Object.keys(leaves).filter(isName);
}

/** The value that each leaf has unless it is set or imported. */
export const DEFAULTS: Readonly<Record<LeafName, string>> = Object.assign({}, ...Object.values(LEAVES));

export const LEAF_NAMES = namesIn(DEFAULTS);

/** Whether a leaf has this name. */
export function isLeafName(name: string): name is LeafName {
  return Object.hasOwn(DEFAULTS, name);
}

/** Returns the leaves of the parameters of an operation that the spec leaves open. The bodies of the others it fixes (§4). */
export function parametersOf(operation: LeafName): readonly ParameterLeaf[] {
  return namesIn(LEAVES.parameter).filter((name) => name.startsWith(`${operation}.`));
}

/** Returns the leaves of a resource's fields. */
export function fieldsOfResource(resource: string): readonly FieldLeaf[] {
  return namesIn(LEAVES.field).filter((name) => name.startsWith(`${resource}.`));
}

export function kindOf(name: LeafName): LeafKind {
  return namesIn(LEAVES).find((kind) => Object.hasOwn(LEAVES[kind], name)) ?? 'field';
}

/** Whether the spec defines the default of a leaf. Otherwise, it is assumed. */
export function isSpecified(name: LeafName): boolean {
  const kind = kindOf(name);
  return kind === 'operation' ? !OPEN_METHODS.includes(name) : kind === 'slash';
}

/** Whether an operation or a parameter may be `none`. */
export function mayBeNone(name: LeafName): boolean {
  return kindOf(name) === 'operation' ? name.endsWith('.list') : name.startsWith('messages.history.');
}
