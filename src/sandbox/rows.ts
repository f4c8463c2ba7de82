import { randomBytes } from 'node:crypto';
import * as v from 'valibot';
import { integer, isoTime, nonBlank, oneOf } from './input.ts';

/* What the service stores. The spec leaves most fields of responses open (§4.7): they are this service's own. */

/** Creates an identifier: the prefix, an underscore, and 80 random bits in hexadecimal. */
export function createId(prefix: string): string {
  return `${prefix}_${randomBytes(10).toString('hex')}`;
}

export const routingMode = oneOf('agent_inbox', 'session_workflow');

export const spaceSchema = v.object({
  space_id: v.string(),
  external_space_id: v.string(),
  name: v.string(),
  description: v.string(),
  is_org_wide: v.boolean(),
  created_at: isoTime,
});

export type Space = v.InferOutput<typeof spaceSchema>;

export const agentSchema = v.object({
  agent_id: v.string(),
  space_id: v.string(),
  template_id: v.string(),
  name: v.string(),
  created_at: isoTime,
});

export type Agent = v.InferOutput<typeof agentSchema>;

export const sourceSchema = v.object({
  source_id: v.string(),
  space_id: v.string(),
  agent_id: v.string(),
  name: v.string(),
  reply_capable: v.boolean(),
  routing_mode: routingMode,
  created_at: isoTime,
});

export type ChatSource = v.InferOutput<typeof sourceSchema>;

export const roleSchema = oneOf('user', 'assistant');

export const messageSchema = v.object({
  message_id: v.string(),
  source_id: v.string(),
  session_id: v.string(),
  role: roleSchema,
  text: v.string(),
  /** Null for a message that no caller sent. */
  external_message_id: v.nullable(v.string()),
  /** The workflow run that the message started, or that replied; null in an inbox, which is one thread. */
  run_id: v.nullable(v.string()),
  created_at: isoTime,
});

export type Message = v.InferOutput<typeof messageSchema>;

/** A reply that is due later. Stored with the message that it answers, so that a crash neither loses nor repeats it. */
export interface PlannedReply extends Pick<Message, 'message_id' | 'source_id' | 'session_id' | 'run_id' | 'text'> {
  /** Milliseconds since the epoch. */
  readonly due_at: number;
}

export const scheduleFields = v.strictObject({
  type: v.literal('cron', 'must be cron'),
  data: v.strictObject({ minute: v.string(), hour: v.string(), day_of_week: v.string() }),
  timezone: nonBlank,
});

export type Schedule = v.InferOutput<typeof scheduleFields>;

export const jobSchema = v.object({
  cron_job_id: v.string(),
  agent_id: v.string(),
  name: v.string(),
  instructions: v.string(),
  schedule: scheduleFields,
  created_at: isoTime,
  last_run_at: v.nullable(isoTime),
  /** Null if it never runs. */
  next_run_at: v.nullable(isoTime),
});

export type CronJob = v.InferOutput<typeof jobSchema>;

export const fileSchema = v.object({
  /** As the caller sent it. */
  filename: v.string(),
  content_type: v.string(),
  bytes: v.number(),
  sha256: v.string(),
  created_at: isoTime,
});

/** A document or a file attachment. Its bytes are not kept: no operation returns them. */
export interface Upload extends v.InferOutput<typeof fileSchema> {
  readonly upload_id: string;
  readonly as: 'document' | 'file_attachment';
}

/** A partner token, and what it may be used for. */
export interface Token {
  readonly token: string;
  readonly scopes: readonly string[];
  /** None: any address (spec §5.4). */
  readonly allowed_ip_cidrs: readonly string[];
  /** The spaces that it can reach, and those that it created; undefined for all. */
  readonly space_ids?: readonly string[] | undefined;
}

/** One message for one receiver (spec §6): attempted until that responds with a 2xx, or the last attempt has failed. */
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

const rateLimit = v.strictObject({
  requests: v.pipe(v.number(), v.integer(), v.minValue(1)),
  per_seconds: v.pipe(v.number(), v.minValue(0.001), v.maxValue(86_400)),
});

/** The templates of a sandbox, unless its settings name others. */
export const TEMPLATES = ['tmpl_support', 'tmpl_sales', 'tmpl_onboarding', 'tmpl_billing'];

export const settingsSchema = v.strictObject({
  balance_usd: v.optional(v.pipe(v.number(), v.finite()), 100),
  rate_limit: v.optional(v.nullable(rateLimit), null),
  page_size: v.optional(integer(1, MAX_PAGE_SIZE), 100),
  /** Whether a repeated provisioning reuses an agent of the same name and template, or installs another. */
  agents_on_repeat: v.optional(oneOf('reuse', 'install'), 'reuse'),
  /** The ids of the templates that can be installed. */
  templates: v.optional(v.array(v.string()), TEMPLATES),
});

export type Settings = v.InferOutput<typeof settingsSchema>;
