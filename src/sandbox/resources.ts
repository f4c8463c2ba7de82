import * as v from 'valibot';

/*
 * What the service stores and returns (spec §2). The reference document is made from these schemas; the spec leaves most
 * fields of responses open (§4.7), so they are this service's own.
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
  /** For a reply, the newest message that it replies to. */
  in_reply_to: v.nullable(text),
  /** Only in a message that a scheduled job sent. */
  cron_job_id: v.optional(text),
  created_at: time,
});

export type Message = v.InferOutput<typeof messageSchema>;

export const receiptSchema = v.object({ message_id: text, created: flag });

const jobEntries = {
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
};

export type CronJob = v.InferOutput<v.ObjectSchema<typeof jobEntries, undefined>>;

/** A job with its next run; null if it never runs. */
export const cronJobSchema = v.object({ ...jobEntries, next_run_at: v.nullable(time) });

const fileEntries = {
  content_type: text,
  bytes: v.pipe(v.number(), v.integer(), v.minValue(0)),
  sha256: text,
  /** The other fields of the form; a repeated one is a list. */
  fields: v.record(text, v.union([text, v.array(text)])),
  created_at: time,
};

export const documentSchema = v.object({ document_id: text, name: text, ...fileEntries });

export const attachmentSchema = v.object({ file_attachment_id: text, filename: text, ...fileEntries });

/** A document or a file attachment. Its bytes are in a file of their own. */
export interface Upload {
  readonly upload_id: string;
  readonly as: 'document' | 'file_attachment';
  /** As the caller sent it; never the name of a file on this machine. */
  readonly filename: string;
  readonly content_type: string;
  readonly bytes: number;
  readonly sha256: string;
  readonly fields: Readonly<Record<string, string | string[]>>;
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

/** The largest page of a list, and the largest `page_size` that a request may ask for. */
export const MAX_PAGE_SIZE = 1_000;

const MAX_UPLOAD_BYTES = 10 * 1024 ** 3;

const byteLimit = v.pipe(v.number(), v.safeInteger(), v.minValue(0));

export const settingsSchema = v.strictObject({
  /** The organization's pay-as-you-go balance in USD. */
  balance_usd: v.optional(v.pipe(v.number(), v.finite()), 100),
  /** How many requests a token may make in each window; null for no limit. */
  rate_limit: v.optional(
    v.nullable(
      v.strictObject({
        requests: v.pipe(v.number(), v.integer(), v.minValue(1)),
        per_seconds: v.pipe(v.number(), v.minValue(0.001), v.maxValue(86_400)),
        /** The Retry-After of a 429: in whole seconds, as an HTTP date, or none. */
        retry_after: v.optional(v.picklist(['seconds', 'date', 'none']), 'seconds'),
      }),
    ),
    null,
  ),
  /** Items on a page, unless the request sets `page_size`. */
  page_size: v.optional(v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(MAX_PAGE_SIZE)), 100),
  /** Whether a repeated provisioning reuses an agent of the same name and template, or installs another. */
  agents_on_repeat: v.optional(v.picklist(['reuse', 'install']), 'reuse'),
  /** A larger document is refused with 413. */
  max_document_bytes: v.optional(byteLimit, MAX_UPLOAD_BYTES),
  /** A larger file attachment is refused with 413. */
  max_file_attachment_bytes: v.optional(byteLimit, MAX_UPLOAD_BYTES),
  /** Milliseconds before each partner request is processed. */
  latency_ms: v.optional(v.pipe(v.number(), v.integer(), v.minValue(0), v.maxValue(600_000)), 0),
});

export type Settings = v.InferOutput<typeof settingsSchema>;
