import type { FieldLeaf, OperationLeaf, ParameterLeaf } from '../leaves.ts';

/** The words for an operation in paths, tags, and operation ids of documents. */
export interface Vocabulary {
  readonly methods: readonly string[];
  /** Its resource, in the singular, without separators; the usual name first. */
  readonly nouns: readonly string[];
  readonly verbs: readonly string[];
}

const READS = ['list', 'get', 'index', 'find', 'all', 'search', 'read', 'fetch', 'query'];
const WRITES = ['create', 'add', 'post', 'new', 'store', 'insert', 'upload', 'send'];

const JOBS = [
  'partnercronjob',
  'cronjob',
  'scheduledjob',
  'schedule',
  'job',
  'scheduledtask',
  'recurringjob',
  'recurringtask',
  'cron',
  'task',
];
const SPACES = ['space', 'workspace', 'customerspace', 'customerworkspace', 'tenant'];

/** The words for each operation. */
export const VOCABULARY: Readonly<Record<OperationLeaf, Vocabulary>> = {
  'spaces.list': { methods: ['GET'], nouns: SPACES, verbs: READS },
  'spaces.provision': {
    methods: ['POST', 'PUT'],
    nouns: ['provisionspace', 'provision', 'spaceprovision', 'provisioning', 'provisionworkspace', ...SPACES],
    verbs: ['provision', 'create', 'ensure', 'setup', 'install', 'upsert', 'onboard'],
  },
  'agents.list': { methods: ['GET'], nouns: ['agent', 'assistant', 'bot', 'installedagent'], verbs: READS },
  'sources.setup': {
    methods: ['POST', 'PUT'],
    nouns: ['apichat', 'chatsource', 'source', 'apichatsource', 'chat', 'setupchat', 'setupapichat', 'channel'],
    verbs: ['setup', 'create', 'ensure', 'connect', 'enable', 'chat', 'upsert'],
  },
  'messages.send': {
    methods: ['POST', 'PUT'],
    nouns: ['message', 'sendmessage', 'chatmessage', 'send', 'registermessage', 'inboundmessage'],
    verbs: ['send', 'register', 'post', 'create', 'submit', 'accept'],
  },
  'messages.history': {
    methods: ['GET', 'POST'],
    nouns: ['history', 'messagehistory', 'chathistory', 'message', 'chatmessage', 'transcript', 'event'],
    verbs: ['history', 'poll', ...READS],
  },
  'documents.create': { methods: ['POST', 'PUT'], nouns: ['document', 'doc', 'knowledgedocument'], verbs: WRITES },
  'file_attachments.create': {
    methods: ['POST', 'PUT'],
    nouns: ['fileattachment', 'attachment', 'file', 'upload', 'media'],
    verbs: WRITES,
  },
  'cron_jobs.create': { methods: ['POST', 'PUT'], nouns: JOBS, verbs: [...WRITES, 'schedule'] },
  'cron_jobs.list': { methods: ['GET'], nouns: JOBS, verbs: READS },
};

const IDS = [
  'id',
  'uuid',
  'uid',
  'guid',
  'pk',
  '_id',
  'sid',
  'gid',
  'oid',
  'identifier',
  'key',
  'urn',
  'digest',
  'number',
];
const SOURCE = ['source_id', 'source', 'chat_source_id', 'api_chat_source_id', 'channel_id', 'channel', 'inbox_id'];
const SESSION = ['session_id', 'session', 'session_key', 'conversation_id', 'conversation', 'thread_id', 'chat_id'];
const NAME = ['name', 'display_name', 'title', 'label'];
const ROUTING = ['routing_mode', 'routing', 'route_mode', 'mode'];
const TEMPLATE = ['template_id', 'template', 'agent_template_id', 'agent_template', 'template_key'];
const EXTERNAL_SPACE = [
  'external_space_id',
  'external_workspace_id',
  'external_id',
  'external_key',
  'external_ref',
  'external_reference',
  'space_external_id',
  'client_reference_id',
  'client_reference',
  'reference',
  'reference_id',
];
const EXTERNAL_MESSAGE = [
  'external_message_id',
  'external_id',
  'message_external_id',
  'client_message_id',
  'client_id',
  'client_reference',
  'idempotency_key',
  'dedupe_key',
  'deduplication_id',
  'request_id',
  'reference',
];
const TEXT = ['text', 'content', 'body', 'message', 'message_text', 'input'];
const INSTRUCTIONS = ['instructions', 'instruction', 'prompt', 'task', 'message', 'input', 'description'];
const DAY_OF_WEEK = ['day_of_week', 'days_of_week', 'weekday', 'weekdays', 'dow', 'week_day'];
const TIMEZONE = ['timezone', 'time_zone', 'tz', 'timezone_name', 'time_zone_id', 'zone'];
const FILE = ['file', 'upload', 'document', 'attachment', 'content', 'data', 'media', 'files', 'blob'];

/** The names of parameters in documents, the usual name first. */
export const PARAMETER_NAMES: Readonly<Record<ParameterLeaf, readonly string[]>> = {
  'spaces.provision.external_space_id': EXTERNAL_SPACE,
  'spaces.provision.name': [...NAME, 'space_name', 'workspace_name'],
  'spaces.provision.description': ['description', 'summary', 'about'],
  'spaces.provision.is_org_wide': ['is_org_wide', 'org_wide', 'organization_wide', 'is_organization_wide', 'shared'],
  'spaces.provision.agents.template_id': [...TEMPLATE, 'id'],
  'spaces.provision.agents.name': [...NAME, 'agent_name'],
  'spaces.provision.agents.auto_create_api_chat': [
    'auto_create_api_chat',
    'create_api_chat',
    'api_chat',
    'with_api_chat',
    'auto_create_chat',
  ],
  'spaces.provision.agents.api_chat_routing_mode': ['api_chat_routing_mode', 'chat_routing_mode', ...ROUTING],
  'sources.setup.name': [...NAME, 'source_name'],
  'sources.setup.reply_capable': [
    'reply_capable',
    'is_reply_capable',
    'can_reply',
    'replies_enabled',
    'supports_replies',
  ],
  'sources.setup.routing_mode': ROUTING,
  'messages.send.source_id': SOURCE,
  'messages.send.session_id': SESSION,
  'messages.send.text': TEXT,
  'messages.send.external_message_id': EXTERNAL_MESSAGE,
  'messages.send.response_mode': ['response_mode', 'reply_mode', 'mode'],
  'messages.history.source_id': SOURCE,
  'messages.history.session_id': SESSION,
  'messages.history.after_message_id': [
    'after_message_id',
    'after_id',
    'after',
    'since_message_id',
    'since_id',
    'since',
    'starting_after',
    'last_message_id',
    'from_message_id',
    'min_id',
    'newer_than',
    'oldest',
  ],
  'cron_jobs.create.agent_id': ['agent_id', 'agent', 'assistant_id', 'bot_id', 'agent_uuid'],
  'cron_jobs.create.name': [...NAME, 'job_name'],
  'cron_jobs.create.instructions': INSTRUCTIONS,
  'cron_jobs.create.type': ['type', 'schedule_type', 'kind'],
  'cron_jobs.create.minute': ['minute', 'minutes', 'min'],
  'cron_jobs.create.hour': ['hour', 'hours'],
  'cron_jobs.create.day_of_week': DAY_OF_WEEK,
  'cron_jobs.create.timezone': TIMEZONE,
  'documents.create.file': FILE,
  'file_attachments.create.file': FILE,
};

/** The names of fields in documents, the usual name first; `.` separates the keys of a path. */
export const FIELD_NAMES: Readonly<Record<FieldLeaf, readonly string[]>> = {
  'space.id': ['space_id', 'workspace_id', ...IDS],
  'space.external_space_id': EXTERNAL_SPACE,
  'space.name': [...NAME, 'space_name', 'workspace_name'],
  'space.description': ['description', 'summary', 'about', 'details'],
  'space.is_org_wide': ['is_org_wide', 'org_wide', 'organization_wide', 'is_organization_wide'],
  'agent.id': ['agent_id', 'assistant_id', 'bot_id', ...IDS],
  'agent.name': [...NAME, 'agent_name'],
  'agent.template_id': ['template_id', 'agent_template_id', 'template.template_id', 'template.id', 'template_key'],
  'agent.source_id': [
    'source_id',
    'api_chat_source_id',
    'chat_source_id',
    'source.id',
    'api_chat.id',
    'api_chat_source.id',
  ],
  'source.id': [...SOURCE.filter((name) => name.endsWith('id')), ...IDS],
  'source.name': [...NAME, 'source_name'],
  'source.reply_capable': ['reply_capable', 'is_reply_capable', 'can_reply', 'replies_enabled', 'supports_replies'],
  'source.routing_mode': ROUTING,
  'message.id': ['message_id', ...IDS],
  'message.session_id': [
    ...SESSION.filter((name) => !['session', 'conversation'].includes(name)),
    'session.id',
    'conversation.id',
    'session',
  ],
  'message.source_id': [...SOURCE.filter((name) => name.endsWith('id')), 'source.id', 'channel.id'],
  'message.external_message_id': EXTERNAL_MESSAGE,
  'message.text': [...TEXT, 'parts', 'text.body', 'content.text', 'body.text', 'message.text', 'payload.text'],
  'message.author': [
    'role',
    'author',
    'sender',
    'sender_type',
    'author_type',
    'direction',
    'from',
    'author_role',
    'sender_role',
    'speaker',
    'participant',
    'originator',
    'actor',
    'sent_by',
    'created_by',
    'kind',
  ],
  'message.created_at': [
    'created_at',
    'created',
    'create_time',
    'created_on',
    'creation_date',
    'date_created',
    'timestamp',
    'sent_at',
    'time',
    'date',
    'occurred_at',
    'ts',
  ],
  'cron_job.id': ['cron_job_id', 'partner_cron_job_id', 'job_id', 'schedule_id', ...IDS],
  'cron_job.agent_id': ['agent_id', 'assistant_id', 'bot_id', 'agent_uuid', 'agent.agent_id', 'agent.id', 'agent'],
  'cron_job.name': [...NAME, 'job_name'],
  'cron_job.instructions': INSTRUCTIONS,
  'cron_job.schedule': [
    'schedule',
    'cron',
    'cron_schedule',
    'cron_expression',
    'recurrence',
    'timing',
    'trigger',
    'crontab',
  ],
  'cron_job.timezone': [...TIMEZONE, ...TIMEZONE.map((name) => `schedule.${name}`)],
  'document.id': ['document_id', 'doc_id', ...IDS],
  'file_attachment.id': ['file_attachment_id', 'attachment_id', 'file_id', 'upload_id', ...IDS],
  'error.code': ['code', 'error.code', 'error_code', 'error.type'],
  'error.message': ['message', 'error.message', 'detail', 'error.detail', 'error_description', 'error', 'title', 'msg'],
};
