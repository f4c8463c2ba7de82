import * as v from 'valibot';

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

/** A partial update: missing fields keep their values. */
export const settingsPatchSchema = v.partial(settingsSchema);

export type Settings = v.InferOutput<typeof settingsSchema>;

export const DEFAULT_SETTINGS: Settings = v.parse(settingsSchema, {});
