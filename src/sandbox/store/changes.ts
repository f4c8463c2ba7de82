import * as v from 'valibot';
import { scriptSchema } from '../agents/reply-script.ts';
import { settingsSchema } from '../settings.ts';

/**
 * The names of spec §5 are `spaces.read`, `agents.read`, and `cron_jobs.write`; the spec leaves the others open, so they
 * are this service's own.
 */
export const SCOPES = [
  'spaces.read',
  'spaces.provision',
  'agents.read',
  'api_chat.setup',
  'api_chat.runtime',
  'documents.read',
  'documents.write',
  'file_attachments.read',
  'file_attachments.write',
  'cron_jobs.read',
  'cron_jobs.write',
] as const;

/** What a token may be allowed to do. */
export type Scope = (typeof SCOPES)[number];

export const scopeSchema = v.picklist(SCOPES, `must be one of ${SCOPES.join(', ')}`);

const ROUTING_MODES = ['agent_inbox', 'session_workflow'] as const;

export const routingModeSchema = v.picklist(ROUTING_MODES, `must be one of ${ROUTING_MODES.join(', ')}`);

export const messageRoleSchema = v.picklist(['user', 'assistant'], 'must be one of user, assistant');

const tokenSchema = v.strictObject({
  token_id: v.string(),
  /** The secret itself is never stored. */
  secret_sha256: v.string(),
  scopes: v.array(scopeSchema),
  allowed_ip_cidrs: v.array(v.string()),
  /** The one source that an API chat token is for; null for a partner token. */
  source_id: v.nullable(v.string()),
  created_at: v.string(),
});

export type Token = v.InferOutput<typeof tokenSchema>;

const templateSchema = v.strictObject({ template_id: v.string(), name: v.string() });

/** An approved agent template (spec §2): what `template_id` may name. */
export type Template = v.InferOutput<typeof templateSchema>;

const spaceSchema = v.strictObject({
  space_id: v.string(),
  external_space_id: v.string(),
  name: v.string(),
  description: v.string(),
  is_org_wide: v.boolean(),
  created_at: v.string(),
});

/** A customer workspace (spec §2). */
export type Space = v.InferOutput<typeof spaceSchema>;

const agentSchema = v.strictObject({
  agent_id: v.string(),
  space_id: v.string(),
  template_id: v.string(),
  name: v.string(),
  created_at: v.string(),
});

/** An agent installed from a template (spec §2). */
export type Agent = v.InferOutput<typeof agentSchema>;

const sourceSchema = v.strictObject({
  source_id: v.string(),
  agent_id: v.string(),
  name: v.string(),
  reply_capable: v.boolean(),
  routing_mode: routingModeSchema,
  created_at: v.string(),
});

/** An agent's auto-managed API chat source (spec §2): at most one for each agent. */
export type ChatSource = v.InferOutput<typeof sourceSchema>;

const messageSchema = v.strictObject({
  message_id: v.string(),
  source_id: v.string(),
  session_id: v.string(),
  role: messageRoleSchema,
  text: v.string(),
  /** Null for messages that no caller registered. */
  external_message_id: v.nullable(v.string()),
  /** For a reply, the newest of the messages that it replies to. */
  in_reply_to: v.nullable(v.string()),
  /** The scheduled job that sent the message; only such messages have it. */
  cron_job_id: v.optional(v.string()),
  created_at: v.string(),
});

/** A message of a session, in either direction (spec §2). */
export type Message = v.InferOutput<typeof messageSchema>;

const pendingReplySchema = v.strictObject({
  /** The id that the reply will have, so that a crash cannot send it twice. */
  message_id: v.string(),
  role: messageRoleSchema,
  text: v.string(),
  in_reply_to: v.string(),
  /** Milliseconds since the epoch. */
  due_at: v.number(),
});

/** A reply that an agent has planned and not sent yet. */
export type PendingReply = v.InferOutput<typeof pendingReplySchema>;

const agentRunSchema = v.strictObject({
  source_id: v.string(),
  session_id: v.string(),
  replies: v.array(pendingReplySchema),
});

/** An agent has taken all messages that waited in a session, and will send these replies. */
export type AgentRun = v.InferOutput<typeof agentRunSchema>;

const cronJobSchema = v.strictObject({
  cron_job_id: v.string(),
  agent_id: v.string(),
  name: v.string(),
  instructions: v.string(),
  schedule: v.strictObject({
    type: v.literal('cron'),
    data: v.strictObject({ minute: v.string(), hour: v.string(), day_of_week: v.string() }),
    timezone: v.string(),
  }),
  created_at: v.string(),
});

/** A scheduled job of an agent (spec §2). */
export type CronJob = v.InferOutput<typeof cronJobSchema>;

const uploadKindSchema = v.picklist(['document', 'file_attachment']);

export type UploadKind = v.InferOutput<typeof uploadKindSchema>;

const uploadSchema = v.strictObject({
  upload_id: v.string(),
  as: uploadKindSchema,
  /** As the caller sent it; never the name of a file on this machine. */
  filename: v.string(),
  content_type: v.string(),
  bytes: v.number(),
  /** In hexadecimal. */
  sha256: v.string(),
  /** The other fields of the form as `[name, value]`, in order; a name may come more than once. */
  fields: v.array(v.tuple([v.string(), v.string()])),
  created_at: v.string(),
});

/** A document or a file attachment (spec §2). Its bytes are in a file of their own. */
export type Upload = v.InferOutput<typeof uploadSchema>;

const clockSchema = v.strictObject({
  /** The time of a frozen clock, in milliseconds since the epoch; null while it runs. */
  frozen_at: v.nullable(v.number()),
  /** How far a running clock is ahead of the machine's, in milliseconds. */
  offset_ms: v.number(),
});

export type ClockState = v.InferOutput<typeof clockSchema>;

/** The kinds of events that webhooks deliver (spec §6). */
export const eventTypeSchema = v.picklist(['message.completed'], 'must be message.completed');

const webhookSecretSchema = v.strictObject({
  /** `whsec_` and the key in Base64. It is stored as it is: signing needs it. */
  secret: v.string(),
  /** Milliseconds since the epoch; null for the secret in use. */
  expires_at: v.nullable(v.number()),
});

const webhookSchema = v.strictObject({
  webhook_id: v.string(),
  /** Null for every source. */
  source_id: v.nullable(v.string()),
  url: v.string(),
  events: v.array(eventTypeSchema),
  /** The one in use, then those that a rotation replaced, the newest first. */
  secrets: v.array(webhookSecretSchema),
  created_at: v.string(),
});

/** A URL that gets the completed messages of a source (spec §6). */
export type Webhook = v.InferOutput<typeof webhookSchema>;

const deliverySchema = v.strictObject({
  delivery_id: v.string(),
  /** Null for a delivery to a URL given for it alone. */
  webhook_id: v.nullable(v.string()),
  url: v.string(),
  /** The secret to sign such a delivery with; without one, it is not signed. */
  secret: v.optional(v.string()),
  type: eventTypeSchema,
  source_id: v.string(),
  session_id: v.string(),
  message_id: v.string(),
  /** The message, if it is in no session. */
  message: v.optional(messageSchema),
  /** When to attempt it first, in milliseconds since the epoch. */
  due_at: v.number(),
});

/** One event for one URL. */
export type Delivery = v.InferOutput<typeof deliverySchema>;

const deliveryAttemptSchema = v.strictObject({
  at: v.string(),
  /** The HTTP status of the response; null without one. */
  status: v.nullable(v.number()),
  /** Why it failed; null if it did not. */
  error: v.nullable(v.string()),
  duration_ms: v.number(),
});

export type DeliveryAttempt = v.InferOutput<typeof deliveryAttemptSchema>;

/** One change. The service's data is the result of all changes in order. */
export const changeSchema = v.variant('kind', [
  v.strictObject({ kind: v.literal('token'), token: tokenSchema }),
  v.strictObject({ kind: v.literal('token_deleted'), token_id: v.string() }),
  v.strictObject({ kind: v.literal('settings'), settings: settingsSchema }),
  v.strictObject({ kind: v.literal('template'), template: templateSchema }),
  v.strictObject({ kind: v.literal('space'), space: spaceSchema }),
  v.strictObject({ kind: v.literal('agent'), agent: agentSchema }),
  v.strictObject({ kind: v.literal('source'), source: sourceSchema }),
  v.strictObject({ kind: v.literal('script'), script: scriptSchema }),
  v.strictObject({ kind: v.literal('message'), message: messageSchema, needs_reply: v.boolean() }),
  v.strictObject({ kind: v.literal('agent_run'), run: agentRunSchema }),
  v.strictObject({ kind: v.literal('cron_job'), job: cronJobSchema }),
  v.strictObject({ kind: v.literal('cron_job_deleted'), cron_job_id: v.string() }),
  v.strictObject({ kind: v.literal('cron_run'), cron_job_id: v.string(), scheduled_for: v.string() }),
  v.strictObject({ kind: v.literal('upload'), upload: uploadSchema }),
  v.strictObject({ kind: v.literal('webhook'), webhook: webhookSchema }),
  v.strictObject({ kind: v.literal('webhook_deleted'), webhook_id: v.string() }),
  v.strictObject({ kind: v.literal('delivery'), delivery: deliverySchema }),
  v.strictObject({
    kind: v.literal('delivery_attempt'),
    delivery_id: v.string(),
    attempt: deliveryAttemptSchema,
    /** Milliseconds since the epoch; null if this was the last one. */
    next_attempt_at: v.nullable(v.number()),
  }),
  v.strictObject({ kind: v.literal('delivery_replayed'), delivery_id: v.string(), due_at: v.number() }),
  v.strictObject({ kind: v.literal('clock'), clock: clockSchema }),
  v.strictObject({ kind: v.literal('reset'), keep_tokens: v.boolean() }),
]);

export type Change = v.InferOutput<typeof changeSchema>;
