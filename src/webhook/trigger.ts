import * as v from 'valibot';
import type { Clock } from '../clock.ts';
import { isLoopback } from '../config/base-url.ts';
import { CredentialsError, NotFoundError, type PartnerctlError, ServiceError, UsageError } from '../errors.ts';

const deliverySchema = v.looseObject({
  delivery_id: v.string(),
  url: v.string(),
  status: v.string(),
  attempts: v.array(v.looseObject({ status: v.nullable(v.number()), error: v.nullable(v.string()) })),
  next_attempt_at: v.nullable(v.string()),
});

const createdSchema = v.looseObject({ deliveries: v.tuple([deliverySchema]) });

const errorSchema = v.object({ error: v.object({ code: v.optional(v.string()), message: v.string() }) });

/** A delivery of the sandbox, as its admin API returns it. */
export type SandboxDelivery = v.InferOutput<typeof deliverySchema>;

/** The admin API of a sandbox. */
export interface SandboxAdmin {
  /** `http://127.0.0.1:4310/_sandbox` */
  readonly url: URL;
  readonly key: string;
}

/** What to deliver: a message that the sandbox adds to a session of the source; without a source, a made-up message. */
export interface TriggerRequest {
  readonly source_id?: string | undefined;
  readonly session_id?: string | undefined;
  readonly text?: string | undefined;
  /** Delivers to this URL only, not to the configured webhook. */
  readonly url?: string | undefined;
  readonly secret?: string | undefined;
}

/** Longer than the sandbox waits for a receiver. */
const MAX_WAIT_MS = 15_000;
const POLL_MS = 50;

const START_HINT =
  'Start a sandbox with `partnerctl sandbox start --webhook <url>`, and set the variables that it prints.';

/**
 * Finds the sandbox that the environment names.
 * @param baseUrl of the configured service, if there is one
 * @throws UsageError if the environment names none, or if it is not the configured service
 */
export function findSandbox(
  env: Readonly<Record<string, string | undefined>>,
  baseUrl: string | undefined,
): SandboxAdmin {
  const { PARTNER_SANDBOX_URL: address, PARTNER_SANDBOX_KEY: key } = env;
  if (!address || !key) {
    const missing = [!address && 'PARTNER_SANDBOX_URL', !key && 'PARTNER_SANDBOX_KEY'].filter(Boolean);
    throw new UsageError('webhook trigger works only with a sandbox.', {
      why: `Not set: ${missing.join(', ')}. A real service sends webhooks when an agent completes a message.`,
      hint: START_HINT,
    });
  }
  const url = URL.canParse(address) ? new URL(address) : undefined;
  if (url?.protocol !== 'http:' || !isLoopback(url)) {
    throw new UsageError('PARTNER_SANDBOX_URL is not the address of a sandbox on this machine.', { hint: START_HINT });
  }
  if (baseUrl !== undefined && new URL(baseUrl).origin !== url.origin) {
    throw new UsageError(`The service ${baseUrl} is not the sandbox at ${url.origin}.`, {
      why: 'webhook trigger works only with a sandbox. Nothing was sent.',
      hint: `Set PARTNER_BASE_URL to ${url.origin}/v1, or set PARTNER_SANDBOX_URL and PARTNER_SANDBOX_KEY to the sandbox at ${baseUrl}.`,
    });
  }
  return { url, key };
}

function toError(status: number, body: unknown): PartnerctlError {
  const parsed = v.safeParse(errorSchema, body);
  const error = parsed.success ? parsed.output.error : undefined;
  const info = { why: error?.message ?? `It responded with ${status}.`, status };
  if (status === 401) {
    return new CredentialsError('The sandbox rejected the key from PARTNER_SANDBOX_KEY (401).', {
      hint: 'Set the key that the sandbox printed when it started.',
      status,
    });
  }
  if (error?.code === 'no_webhook') {
    const hint =
      'Set a webhook with `partnerctl sandbox start --webhook <url>`, or send to a URL of this machine: --to <url>';
    return new UsageError('The sandbox sends no webhook.', { ...info, hint });
  }
  if (status >= 500) return new ServiceError('The sandbox failed.', info);
  const refused = { ...info, hint: 'Correct --source, --session, --text, or --to.' };
  if (status === 404) return new NotFoundError('The sandbox refused the delivery.', refused);
  return new UsageError('The sandbox refused the delivery.', refused);
}

/**
 * Calls the admin API of a sandbox once.
 * @throws CredentialsError for 401, NotFoundError for 404, UsageError for any other 4xx, ServiceError for 5xx and a sandbox
 *   that cannot be reached; the signal's reason
 */
async function callSandbox({ url, key }: SandboxAdmin, path: string, signal: AbortSignal, body?: unknown) {
  const method = body === undefined ? 'GET' : 'POST';
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
  const init = { method, headers, signal, ...(body !== undefined && { body: JSON.stringify(body) }) };
  let status: number;
  let answer: unknown;
  try {
    const response = await fetch(`${url.origin}${url.pathname}${path}`, init);
    status = response.status;
    answer = await response.json();
  } catch (error) {
    signal.throwIfAborted();
    throw new ServiceError(`The sandbox at ${url.origin} did not respond.`, {
      why: error instanceof Error ? error.message : String(error),
      hint: 'Check that it is running, and that PARTNER_SANDBOX_URL is its address.',
      cause: error,
    });
  }
  if (status >= 200 && status < 300) return answer;
  throw toError(status, answer);
}

/**
 * Makes the sandbox deliver a message, and waits for the first attempt, up to 15 seconds.
 * @throws as `callSandbox`
 */
export async function triggerDelivery(
  admin: SandboxAdmin,
  trigger: TriggerRequest,
  { clock, signal }: { readonly clock: Clock; readonly signal: AbortSignal },
): Promise<SandboxDelivery> {
  const { deliveries } = v.parse(createdSchema, await callSandbox(admin, '/deliveries', signal, trigger));
  const end = clock.monotonic() + MAX_WAIT_MS;
  let [current] = deliveries;
  while (current.status === 'pending' && current.attempts.length === 0 && clock.monotonic() < end) {
    await clock.sleep(POLL_MS, signal);
    const path = `/deliveries/${encodeURIComponent(current.delivery_id)}`;
    current = v.parse(deliverySchema, await callSandbox(admin, path, signal));
  }
  return current;
}

/** Describes the outcome of the latest attempt. */
export function describeLatestAttempt({ attempts }: SandboxDelivery): string {
  const latest = attempts.at(-1);
  return latest ? (latest.error ?? `responded with ${latest.status}`) : 'not attempted yet';
}

/** Returns the error for a delivery that its receiver did not accept; undefined if it was accepted. */
export function deliveryFailure(delivery: SandboxDelivery): PartnerctlError | undefined {
  const { delivery_id, url, status, next_attempt_at } = delivery;
  if (status === 'delivered') return undefined;
  const retry = next_attempt_at === null ? '' : ` The sandbox tries again at ${next_attempt_at}, by its own clock.`;
  return new ServiceError('The receiver did not accept the delivery.', {
    why: `${delivery_id} to ${url}: ${describeLatestAttempt(delivery)}`,
    hint: `Check the receiver.${retry}`,
    details: { deliveries: [delivery_id] },
  });
}
