import { parseField } from '../contract/leaf-value.ts';
import { type FieldLeaf, isLeafName, LEAVES, type LeafName, type ParameterLeaf } from '../contract/leaves.ts';

/** Returns a text that is equal for all spellings of a name: `source_id`, `sourceId`, and `source-id`. */
export function plainName(name: string): string {
  return name.toLowerCase().replace(/[^\p{L}\p{N}]/gu, '');
}

/** Like `plainName`, for the names of a path. */
export function plainPath(path: readonly string[]): string {
  return path.map(plainName).join('.');
}

export type Resource = 'space' | 'agent' | 'source' | 'message' | 'cron_job' | 'document' | 'file_attachment';

/** The resources whose fields a request sends, by the beginning of its parameters. */
const SENT: readonly (readonly [prefix: string, resource: Resource])[] = [
  ['spaces.provision.agents.', 'agent'],
  ['spaces.provision.', 'space'],
  ['sources.setup.', 'source'],
  ['messages.', 'message'],
  ['cron_jobs.create.', 'cron_job'],
  ['documents.create.', 'document'],
];

/** Returns the resource whose field a parameter sends. */
export function resourceOf(leaf: ParameterLeaf): Resource {
  return SENT.find(([prefix]) => leaf.startsWith(prefix))?.[1] ?? 'file_attachment';
}

/** Keys that nest one kind of resource, as `plainName` writes them. */
const OWN_KEYS: Readonly<Record<Resource, readonly string[]>> = {
  space: ['space'],
  agent: ['agent'],
  source: ['source', 'apichat', 'apichatsource', 'chatsource'],
  message: ['message'],
  cron_job: ['cronjob', 'partnercronjob', 'job'],
  document: ['document'],
  file_attachment: ['fileattachment', 'attachment', 'file'],
};

/** Keys that only group values, such as those of JSON:API and Kubernetes. */
const GROUPS =
  'data attributes properties fields sys metadata meta spec details info object node resource filter params input'.split(
    ' ',
  );

/** Keys around one resource in a response. */
const ENVELOPES = 'data result results response payload item items'.split(' ');

/** Returns whether a key only groups the values of a resource. @param more other keys that do */
export function groupsOf(resource: Resource, more: readonly string[] = []): (key: string) => boolean {
  const keys = new Set([...GROUPS, ...OWN_KEYS[resource], ...more.map(plainName)]);
  return (key) => keys.has(plainName(key));
}

/** Whether a key may be around one resource in a response. */
export function isEnvelope(resource: Resource, key: string): boolean {
  return [...ENVELOPES, ...OWN_KEYS[resource]].includes(plainName(key));
}

/** Whether a path has a name, perhaps below keys that only group values. */
export function isCalled(path: readonly string[], name: string, isGroup: (key: string) => boolean): boolean {
  const rest = plainPath(path);
  if (rest === name) return true;
  const [first = '', ...others] = path;
  return others.length > 0 && isGroup(first) && isCalled(others, name, isGroup);
}

const SESSION = ['session.id', 'session_key', 'conversation_id', 'conversation', 'thread_id', 'chat_id', 'session'];
const SOURCE = ['source', 'source.id', 'chat_source_id', 'api_chat_source_id', 'channel_id', 'channel'];

/** Names that a document may use beside those that the contract accepts: with its schema, they have one meaning. */
const DOCUMENTED: Partial<Record<LeafName, readonly string[]>> = {
  'space.id': ['workspace_id'],
  'space.external_space_id': ['client_reference', 'reference'],
  'space.description': ['summary', 'about'],
  'space.is_org_wide': ['organization_wide'],
  'agent.id': ['assistant_id', 'bot_id'],
  'agent.template_id': ['template', 'template.id', 'template_key'],
  'source.id': ['chat_source_id', 'api_chat_source_id', 'channel_id'],
  'source.reply_capable': ['can_reply', 'replies_enabled'],
  'source.routing_mode': ['routing', 'mode'],
  'message.source_id': SOURCE,
  'message.session_id': SESSION,
  'message.external_message_id': ['client_id', 'idempotency_key', 'deduplication_id'],
  'message.text': ['message_text'],
  'cron_job.id': ['partner_cron_job_id', 'job_id'],
  'cron_job.agent_id': ['agent', 'agent.id'],
  'cron_job.instructions': ['task', 'description'],
  'cron_job.timezone': ['time_zone'],
  'document.id': ['doc_id'],
  'file_attachment.id': ['upload_id'],
  'spaces.provision.agents.auto_create_api_chat': ['create_api_chat', 'with_api_chat'],
  'spaces.provision.agents.api_chat_routing_mode': ['routing_mode'],
  'messages.send.response_mode': ['reply_mode'],
  'messages.history.after_message_id': ['after_id', 'after', 'since_id', 'since', 'last_message_id'],
  'cron_jobs.create.type': ['schedule.type', 'schedule_type'],
  'cron_jobs.create.minute': ['minutes'],
  'cron_jobs.create.hour': ['hours'],
  'cron_jobs.create.day_of_week': ['days_of_week', 'weekday', 'weekdays', 'dow'],
  'documents.create.file': ['upload', 'document', 'attachment', 'content'],
  'file_attachments.create.file': ['upload', 'attachment', 'content'],
};

/** Whether a leaf with this name is a field of a resource. */
export function isFieldLeaf(name: string): name is FieldLeaf {
  return isLeafName(name) && LEAVES[name].kind === 'field';
}

function plainNames(names: readonly string[]): readonly string[] {
  return names.map((name) => plainPath(name.split('.')));
}

/** Returns the names of a field in documents, as `plainPath` writes them, the best first. */
export function fieldNames(leaf: FieldLeaf): readonly string[] {
  const accepted = parseField(LEAVES[leaf].value).flatMap((rank) => rank.map(plainPath));
  return [...accepted, ...plainNames(DOCUMENTED[leaf] ?? [])];
}

/** Returns the names of a parameter in documents, as `plainPath` writes them, the best first: those of its field, too. */
export function parameterNames(leaf: ParameterLeaf): readonly string[] {
  const own = leaf.slice(leaf.lastIndexOf('.') + 1);
  // A type may be that of anything.
  const first = leaf === 'cron_jobs.create.type' ? [] : [own];
  const field = `${resourceOf(leaf)}.${own}`;
  return [...plainNames([...first, ...(DOCUMENTED[leaf] ?? [])]), ...(isFieldLeaf(field) ? fieldNames(field) : [])];
}
