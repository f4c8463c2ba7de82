import type { Readable } from 'node:stream';
import * as v from 'valibot';
import { isLoopback } from '../config/base-url.ts';
import { readWebhookSecrets } from '../config/webhook-secret.ts';
import { CredentialsError, NotFoundError, type PartnerctlError, ServiceError, UsageError } from '../errors.ts';
import type { Clock } from '../platform/clock.ts';
import { errorMessage } from '../platform/error-code.ts';
import type { Environment } from '../platform/io.ts';

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

/** What a trigger needs of a command. */
export interface TriggerContext {
  readonly env: Environment;
  readonly clock: Clock;
  readonly io: { readonly stdin: Readable };
  readonly abortSignal: AbortSignal;
  readonly progress: { start(text: string): void };
  baseUrl(): Promise<string | undefined>;
  addSecret(text: string): void;
  warn(text: string): Promise<void>;
}

/** What to deliver: a message that the sandbox adds to a session of the source; without a source, a made-up message. */
export interface TriggerOptions {
  readonly source?: string | undefined;
  readonly session?: string | undefined;
  readonly text?: string | undefined;
  /** Delivers to this URL only, not to the configured webhook. */
  readonly to?: string | undefined;
  /** The file with the secret that signs a delivery to `to`. */
  readonly secretFile?: string | undefined;
}

/** Longer than the sandbox waits for a receiver. */
const MAX_WAIT_MS = 15_000;
const POLL_MS = 50;

/**
 * Finds the admin API of the sandbox that the environment names: `http://127.0.0.1:4310/_sandbox`.
 * @param baseUrl of the configured service, if there is one
 * @throws UsageError if the environment names none, or if it is not the configured service
 */
function findSandbox(env: Environment, baseUrl: string | undefined): { readonly url: URL; readonly key: string } {
  const { PARTNER_SANDBOX_URL: address = '', PARTNER_SANDBOX_KEY: key } = env;
  const url = URL.canParse(address) ? new URL(address) : undefined;
  if (url?.protocol !== 'http:' || !isLoopback(url) || !key) {
    throw new UsageError('webhook trigger works only with a sandbox on this machine.', {
      why: 'PARTNER_SANDBOX_URL or PARTNER_SANDBOX_KEY is not set, or does not name one. A real service sends webhooks when an agent completes a message.',
      hint: 'Start a sandbox with `partnerctl sandbox start --webhook <url>`, and set the variables that it prints.',
    });
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
  const { code, message } = parsed.success ? parsed.output.error : { message: `It responded with ${status}.` };
  const info = { why: message, status };
  if (status === 401) {
    const hint = 'Set the key that the sandbox printed when it started.';
    return new CredentialsError('The sandbox rejected the key from PARTNER_SANDBOX_KEY (401).', { hint, status });
  }
  if (code === 'no_webhook') {
    const hint =
      'Set a webhook with `partnerctl sandbox start --webhook <url>`, or send to a URL of this machine: --to <url>';
    return new UsageError('The sandbox sends no webhook.', { ...info, hint });
  }
  if (status >= 500) return new ServiceError('The sandbox failed.', info);
  const Kind = status === 404 ? NotFoundError : UsageError;
  return new Kind('The sandbox refused the delivery.', {
    ...info,
    hint: 'Correct --source, --session, --text, or --to.',
  });
}

/**
 * Calls the admin API of a sandbox once.
 * @throws CredentialsError for 401, NotFoundError for 404, UsageError for any other 4xx, ServiceError for 5xx and a sandbox
 *   that cannot be reached; the signal's reason
 */
async function callSandbox(
  { url, key }: ReturnType<typeof findSandbox>,
  path: string,
  signal: AbortSignal,
  body?: unknown,
): Promise<unknown> {
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
  const post = body !== undefined && { method: 'POST', body: JSON.stringify(body) };
  const call = async () => {
    const response = await fetch(`${url.origin}${url.pathname}${path}`, { headers, signal, ...post });
    const answer: unknown = await response.json();
    return { response, answer };
  };
  const { response, answer } = await call().catch((error: unknown) => {
    signal.throwIfAborted();
    throw new ServiceError(`The sandbox at ${url.origin} did not respond.`, {
      why: errorMessage(error),
      hint: 'Check that it is running, and that PARTNER_SANDBOX_URL is its address.',
      cause: error,
    });
  });
  if (response.ok) return answer;
  throw toError(response.status, answer);
}

/** Reads the secret that signs a delivery to `to`. Warns if there is none. */
async function readSecret({ env, io, abortSignal, addSecret, warn }: TriggerContext, secretFile: string | undefined) {
  const given = await readWebhookSecrets({ secretFile, env, stdin: () => io.stdin, signal: abortSignal });
  for (const secret of given?.secrets ?? []) addSecret(secret);
  if (given) return given.secrets[0];
  await warn('The delivery is not signed. Set PARTNER_WEBHOOK_SECRET or give --secret-file to sign it.');
  return undefined;
}

/**
 * Makes the sandbox deliver a message, and waits for the first attempt, up to 15 seconds.
 * @throws UsageError if the options contradict each other, or the environment names no sandbox; else as `callSandbox`
 */
export async function trigger(context: TriggerContext, options: TriggerOptions): Promise<SandboxDelivery> {
  const { env, clock, abortSignal, progress } = context;
  const { source: source_id, session: session_id, text, to: url, secretFile } = options;
  if (secretFile !== undefined && url === undefined) {
    throw new UsageError('--secret-file is for a delivery to --to, which is missing.', {
      hint: 'The configured webhook has a secret of its own. Add --to <url>, or remove --secret-file.',
    });
  }
  const admin = findSandbox(env, await context.baseUrl());
  context.addSecret(admin.key);
  const secret = url === undefined ? undefined : await readSecret(context, secretFile);
  progress.start('Waiting for the receiver');
  const message = { source_id, session_id, text, url, secret };
  const { deliveries } = v.parse(createdSchema, await callSandbox(admin, '/deliveries', abortSignal, message));
  const end = clock.monotonic() + MAX_WAIT_MS;
  let [current] = deliveries;
  while (current.status === 'pending' && current.attempts.length === 0 && clock.monotonic() < end) {
    await clock.sleep(POLL_MS, abortSignal);
    const path = `/deliveries/${encodeURIComponent(current.delivery_id)}`;
    current = v.parse(deliverySchema, await callSandbox(admin, path, abortSignal));
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
