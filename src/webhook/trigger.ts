import * as v from 'valibot';
import { isLoopback } from '../config/base-url.ts';
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

const errorSchema = v.object({ error: v.object({ message: v.string() }) });

/** A delivery of the sandbox, as its admin API returns it. */
export type SandboxDelivery = v.InferOutput<typeof deliverySchema>;

/** What a trigger needs of a command. */
export interface TriggerContext {
  readonly env: Environment;
  readonly clock: Clock;
  readonly abortSignal: AbortSignal;
  readonly progress: { start(text: string): void };
  addSecret(text: string): void;
}

/** The options of `webhook trigger`. Without a source, the message is made up. `to`: delivers only there. */
interface TriggerOptions {
  readonly source?: string | undefined;
  readonly session?: string | undefined;
  readonly text?: string | undefined;
  readonly to?: string | undefined;
}

/** Longer than the sandbox waits for a receiver. */
const MAX_WAIT_MS = 15_000;
const POLL_MS = 50;

/**
 * Finds the admin API of the sandbox that the environment names: `http://127.0.0.1:4310/_sandbox`.
 * @throws UsageError if the environment names none
 */
function findSandbox(env: Environment): { readonly url: URL; readonly key: string } {
  const { PARTNER_SANDBOX_URL: address = '', PARTNER_SANDBOX_KEY: key } = env;
  const url = URL.canParse(address) ? new URL(address) : undefined;
  if (url?.protocol === 'http:' && isLoopback(url) && key) return { url, key };
  throw new UsageError('webhook trigger works only with a sandbox on this machine.', {
    why: 'PARTNER_SANDBOX_URL or PARTNER_SANDBOX_KEY is not set, or does not name one.',
    hint: 'Start a sandbox with `partnerctl sandbox start --webhook <url>`, and set the variables that it prints.',
  });
}

/**
 * Calls the admin API of a sandbox once.
 * @throws CredentialsError for 401, NotFoundError for 404, UsageError for any other status; ServiceError if it does not
 *   respond; the signal's reason
 */
async function callSandbox(env: Environment, path: string, signal: AbortSignal, message?: object): Promise<unknown> {
  const { url, key } = findSandbox(env);
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
  const post = message && { method: 'POST', body: JSON.stringify(message) };
  const response = await fetch(`${url.href}${path}`, { headers, signal, ...post }).catch((error: unknown) => {
    signal.throwIfAborted();
    throw new ServiceError(`The sandbox at ${url.origin} did not respond.`, {
      why: errorMessage(error),
      hint: 'Check that it is running, and that PARTNER_SANDBOX_URL is its address.',
      cause: error,
    });
  });
  const { ok, status } = response;
  const body: unknown = await response.json().catch(() => undefined);
  if (ok) return body;
  const Kind = status === 404 ? NotFoundError : status === 401 ? CredentialsError : UsageError;
  throw new Kind(`The sandbox did not send a webhook (${status}).`, {
    why: v.is(errorSchema, body) ? body.error.message : undefined,
    hint: 'Check PARTNER_SANDBOX_KEY, --source, --session, and --to. Without --to, it needs a webhook: partnerctl sandbox start --webhook <url>',
    status,
  });
}

/**
 * Makes the sandbox deliver a message, and waits for the first attempt, up to 15 seconds. A delivery to `to` is signed
 * with PARTNER_WEBHOOK_SECRET, if it is set.
 * @throws UsageError if the environment names no sandbox; else as `callSandbox`
 */
export async function trigger(context: TriggerContext, options: TriggerOptions): Promise<SandboxDelivery> {
  const { env, clock, abortSignal, progress, addSecret } = context;
  const { source: source_id, session: session_id, text, to: url } = options;
  const secret = url === undefined ? undefined : env.PARTNER_WEBHOOK_SECRET?.trim().split('\n')[0];
  for (const each of [env.PARTNER_SANDBOX_KEY, secret]) if (each) addSecret(each);
  progress.start('Waiting for the receiver');
  const message = { source_id, session_id, text, url, secret };
  const { deliveries } = v.parse(createdSchema, await callSandbox(env, '/deliveries', abortSignal, message));
  let [current] = deliveries;
  const path = `/deliveries/${encodeURIComponent(current.delivery_id)}`;
  const end = clock.monotonic() + MAX_WAIT_MS;
  while (current.status === 'pending' && current.attempts.length === 0 && clock.monotonic() < end) {
    await clock.sleep(POLL_MS, abortSignal);
    current = v.parse(deliverySchema, await callSandbox(env, path, abortSignal));
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
  if (delivery.status === 'delivered') return undefined;
  return new ServiceError('The receiver did not accept the delivery.', {
    why: `${delivery.delivery_id} to ${delivery.url}: ${describeLatestAttempt(delivery)}`,
    hint: `Check the receiver. The next attempt of the sandbox is at: ${delivery.next_attempt_at ?? 'never'}`,
  });
}
