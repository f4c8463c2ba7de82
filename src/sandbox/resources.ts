import * as v from 'valibot';

/*
 * What the service stores and returns (spec §2). The reference document is made from these schemas; the spec leaves most
 * fields of responses open (§4.7), so they are this service's own.
 */

const text = (description: string) => v.pipe(v.string(), v.description(description));
const flag = (description: string) => v.pipe(v.boolean(), v.description(description));
const time = (description: string) => v.pipe(v.string(), v.isoTimestamp(), v.description(description));

const ROUTING_MODES = ['agent_inbox', 'session_workflow'] as const;

export const routingModeSchema = v.picklist(ROUTING_MODES, `must be one of ${ROUTING_MODES.join(', ')}`);

export const roleSchema = v.picklist(['user', 'assistant'], 'must be one of user, assistant');

export const spaceSchema = v.object({
  space_id: text('The identifier that the service assigned.'),
  external_space_id: text('The identifier that the caller chose.'),
  name: text('The name of the workspace.'),
  description: text('Its description; may be empty.'),
  is_org_wide: flag('Whether the whole organization has access.'),
  created_at: time('When it was created.'),
});

export type Space = v.InferOutput<typeof spaceSchema>;

const agentEntries = {
  agent_id: text('The identifier that the service assigned.'),
  space_id: text('The space that the agent is in.'),
  template_id: text('The template that it was installed from.'),
  name: text('The name of the agent.'),
  created_at: time('When it was installed.'),
};

export type Agent = v.InferOutput<v.ObjectSchema<typeof agentEntries, undefined>>;

const sourceEntries = {
  source_id: text('The identifier that messages and the history name.'),
  agent_id: text('The agent that gets the messages.'),
  name: text('The display name.'),
  reply_capable: flag('Whether the agent may reply.'),
  routing_mode: routingModeSchema,
  created_at: time('When it was created.'),
};

export type ChatSource = v.InferOutput<v.ObjectSchema<typeof sourceEntries, undefined>>;

/** An agent with its public integration metadata. */
export const agentSchema = v.object({
  ...agentEntries,
  integrations: v.object({
    api_chat: v.nullable(
      v.object({
        source_id: sourceEntries.source_id,
        name: sourceEntries.name,
        reply_capable: sourceEntries.reply_capable,
        routing_mode: routingModeSchema,
      }),
    ),
  }),
  created: v.optional(flag('Whether this request installed it. Only in the response to provisioning.')),
});

export const sourceSchema = v.object({
  ...sourceEntries,
  space_id: text('The space that the agent is in.'),
  created: flag('Whether this request created it.'),
});

export const provisioningSchema = v.object({
  created: flag('Whether this request created the space.'),
  space: spaceSchema,
  agents: v.array(agentSchema),
});

export const messageSchema = v.object({
  message_id: text('The identifier, which is also the cursor of the history.'),
  source_id: text('The source that the session belongs to.'),
  session_id: text('The conversation that the message belongs to.'),
  role: roleSchema,
  text: text('The text.'),
  external_message_id: v.nullable(text('The identifier that the caller chose; null for other messages.')),
  in_reply_to: v.nullable(text('For a reply, the newest message that it replies to.')),
  cron_job_id: v.optional(text('The scheduled job that sent it; only such messages have it.')),
  created_at: time('When it was registered.'),
});

export type Message = v.InferOutput<typeof messageSchema>;

export const receiptSchema = v.object({
  message_id: messageSchema.entries.message_id,
  created: flag('False when the external_message_id already existed in the session.'),
});

const jobEntries = {
  cron_job_id: text('The identifier that the service assigned.'),
  agent_id: text('The agent that runs the job.'),
  name: text('The name of the job.'),
  instructions: text('What the agent does on each run.'),
  schedule: v.object({
    type: v.literal('cron'),
    data: v.object({ minute: v.string(), hour: v.string(), day_of_week: v.string() }),
    timezone: v.string(),
  }),
  created_at: time('When it was created.'),
  last_run_at: v.nullable(time('When it last ran; null before the first run.')),
};

export type CronJob = v.InferOutput<v.ObjectSchema<typeof jobEntries, undefined>>;

export const cronJobSchema = v.object({
  ...jobEntries,
  next_run_at: v.nullable(time('When it runs next; null if never.')),
});

const fileEntries = {
  content_type: text('The media type that the caller declared.'),
  bytes: v.pipe(v.number(), v.integer(), v.minValue(0), v.description('The size of the file.')),
  sha256: text('The SHA-256 of the file in hexadecimal.'),
  fields: v.pipe(
    v.record(v.string(), v.union([v.string(), v.array(v.string())])),
    v.description('The other fields of the form; a repeated one is a list.'),
  ),
  created_at: time('When it was uploaded.'),
};

export const documentSchema = v.object({
  document_id: text('The identifier that workflows name.'),
  name: text('The name of the file.'),
  ...fileEntries,
});

export const attachmentSchema = v.object({
  file_attachment_id: text('The identifier that workflows name.'),
  filename: text('The name of the file.'),
  ...fileEntries,
});

/** A document or a file attachment. Its bytes are in a file of their own. */
export interface Upload {
  readonly upload_id: string;
  readonly as: 'document' | 'file_attachment';
  /** As the caller sent it; never the name of a file on this machine. */
  readonly filename: string;
  readonly content_type: string;
  readonly bytes: number;
  readonly sha256: string;
  /** The other fields of the form in order; a name may come more than once. */
  readonly fields: readonly (readonly [name: string, value: string])[];
  readonly created_at: string;
}

/** A partner token; its secret is never stored. */
export interface Token {
  readonly token_id: string;
  readonly secret_sha256: string;
  readonly scopes: readonly string[];
  readonly allowed_ip_cidrs: readonly string[];
  readonly created_at: string;
}

/** An approved agent template. */
export interface Template {
  readonly template_id: string;
  readonly name: string;
}

/** One message for one receiver (spec §6). */
export interface Delivery {
  readonly delivery_id: string;
  readonly url: string;
  /** Null for a delivery that is not signed. */
  readonly secret: string | null;
  readonly message: Message;
  readonly status: 'pending' | 'delivered' | 'failed';
  readonly attempts: readonly DeliveryAttempt[];
  /** Milliseconds since the epoch; null unless pending. */
  readonly next_attempt_at: number | null;
}

interface DeliveryAttempt extends AttemptOutcome {
  readonly at: string;
  readonly duration_ms: number;
}

/** The status of a receiver's response, or null without one, and why the attempt failed, or null. */
export interface AttemptOutcome {
  readonly status: number | null;
  readonly error: string | null;
}
