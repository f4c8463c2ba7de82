import * as v from 'valibot';

/*
 * What the service stores and returns (spec §2). The reference document is made from these schemas; the spec leaves
 * most fields of responses open (§4.7), so they are this service's own.
 */

const text = v.string();
const flag = v.boolean();
const time = v.pipe(v.string(), v.isoTimestamp());

const ROUTING_MODES = ['agent_inbox', 'session_workflow'] as const;

export const routingModeSchema = v.picklist(ROUTING_MODES, `must be one of ${ROUTING_MODES.join(', ')}`);

export const roleSchema = v.picklist(['user', 'assistant'], 'must be one of user, assistant');

export const spaceSchema = v.object({
  space_id: text,
  external_space_id: text,
  name: text,
  description: text,
  is_org_wide: flag,
  created_at: time,
});

export type Space = v.InferOutput<typeof spaceSchema>;

const agentEntries = { agent_id: text, space_id: text, template_id: text, name: text, created_at: time };

export type Agent = v.InferOutput<v.ObjectSchema<typeof agentEntries, undefined>>;

const publicSourceEntries = { source_id: text, name: text, reply_capable: flag, routing_mode: routingModeSchema };

const sourceEntries = { ...publicSourceEntries, agent_id: text, created_at: time };

export type ChatSource = v.InferOutput<v.ObjectSchema<typeof sourceEntries, undefined>>;

/** An agent with its public integration metadata; `created` is only in the response to provisioning. */
export const agentSchema = v.object({
  ...agentEntries,
  integrations: v.object({ api_chat: v.nullable(v.object(publicSourceEntries)) }),
  created: v.optional(flag),
});

export const sourceSchema = v.object({ ...sourceEntries, space_id: text, created: flag });

export const provisioningSchema = v.object({ created: flag, space: spaceSchema, agents: v.array(agentSchema) });

export const messageSchema = v.object({
  message_id: text,
  source_id: text,
  session_id: text,
  role: roleSchema,
  text,
  /** Null for a message that no caller sent. */
  external_message_id: v.nullable(text),
  created_at: time,
});

export type Message = v.InferOutput<typeof messageSchema>;

export const receiptSchema = v.object({ message_id: text, created: flag });

export const cronJobSchema = v.object({
  cron_job_id: text,
  agent_id: text,
  name: text,
  instructions: text,
  schedule: v.object({
    type: v.literal('cron'),
    data: v.object({ minute: text, hour: text, day_of_week: text }),
    timezone: text,
  }),
  created_at: time,
  last_run_at: v.nullable(time),
  /** Null if it never runs. */
  next_run_at: v.nullable(time),
});

export type CronJob = v.InferOutput<typeof cronJobSchema>;

const fileEntries = {
  content_type: text,
  bytes: v.pipe(v.number(), v.integer(), v.minValue(0)),
  sha256: text,
  /** The other fields of the form, in order. */
  fields: v.array(v.tuple([text, text])),
  created_at: time,
};

export const documentSchema = v.object({ document_id: text, name: text, ...fileEntries });

export const attachmentSchema = v.object({ file_attachment_id: text, filename: text, ...fileEntries });

/** A document or a file attachment. Its bytes are in a file of their own. */
export interface Upload extends v.InferOutput<v.ObjectSchema<typeof fileEntries, undefined>> {
  readonly upload_id: string;
  readonly as: 'document' | 'file_attachment';
  /** As the caller sent it; never the name of a file on this machine. */
  readonly filename: string;
}

/** A partner token, and what it may be used for. */
export interface Token {
  readonly token: string;
  readonly scopes: readonly string[];
  readonly allowed_ip_cidrs: readonly string[];
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
  /** Null unless pending. */
  readonly next_attempt_at: string | null;
}

/** The status of a receiver's response, or null without one, and why the attempt failed, or null. */
export interface DeliveryAttempt {
  readonly at: string;
  readonly status: number | null;
  readonly error: string | null;
}

/** The largest page of a list, and the largest `page_size` that a request may ask for. */
export const MAX_PAGE_SIZE = 1_000;

export const settingsSchema = v.strictObject({
  balance_usd: v.optional(v.pipe(v.number(), v.finite()), 100),
  rate_limit: v.optional(
    v.nullable(
      v.strictObject({
        requests: v.pipe(v.number(), v.integer(), v.minValue(1)),
        per_seconds: v.pipe(v.number(), v.minValue(0.001), v.maxValue(86_400)),
      }),
    ),
    null,
  ),
  page_size: v.optional(v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(MAX_PAGE_SIZE)), 100),
  /** Whether a repeated provisioning reuses an agent of the same name and template, or installs another. */
  agents_on_repeat: v.optional(v.picklist(['reuse', 'install']), 'reuse'),
});

export type Settings = v.InferOutput<typeof settingsSchema>;
