import * as v from 'valibot';
import { isLoopback } from '../config/base-url.ts';
import { CredentialsError, NotFoundError, type PartnerctlError, ServiceError, UsageError } from '../errors.ts';
import { errorMessage } from '../platform/error-code.ts';
import type { Environment } from '../platform/io.ts';

const deliverySchema = v.looseObject({
  delivery_id: v.string(),
  url: v.string(),
  status: v.string(),
  attempts: v.array(v.looseObject({ status: v.nullable(v.number()), error: v.nullable(v.string()) })),
  next_attempt_at: v.nullable(v.string()),
});

const errorSchema = v.object({ error: v.object({ message: v.string() }) });

export type SandboxDelivery = v.InferOutput<typeof deliverySchema>;

export interface TriggerContext {
  readonly env: Environment;
  readonly abortSignal: AbortSignal;
  readonly progress: { start(text: string): void };
  addSecret(text: string): void;
}

/** Without a source, the message is made up. `to`: delivers only there. */
interface TriggerOptions {
  readonly source?: string | undefined;
  readonly session?: string | undefined;
  readonly text?: string | undefined;
  readonly to?: string | undefined;
}

/** Finds the admin API of the sandbox: `http://127.0.0.1:4310/_sandbox`. @throws UsageError if `env` names none */
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
 * Makes the sandbox deliver a message, and waits for the first attempt, ten seconds at most. A delivery to `to` is signed
 * with PARTNER_WEBHOOK_SECRET, if it is set.
 * @throws UsageError if the environment names no sandbox, CredentialsError for 401, NotFoundError for 404, UsageError for
 *   any other status; ServiceError if it does not respond; the signal's reason
 */
export async function trigger(context: TriggerContext, options: TriggerOptions): Promise<SandboxDelivery> {
  const { env, abortSignal: signal, progress, addSecret } = context;
  const { source: source_id, session: session_id, text, to } = options;
  const secret = to === undefined ? undefined : env.PARTNER_WEBHOOK_SECRET?.trim().split('\n')[0];
  for (const each of [env.PARTNER_SANDBOX_KEY, secret]) if (each) addSecret(each);
  const { url, key } = findSandbox(env);
  progress.start('Waiting for the receiver');
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
  const body = JSON.stringify({ source_id, session_id, text, url: to, secret });
  const response = await fetch(`${url.href}/deliveries`, { method: 'POST', headers, body, signal }).catch((error) => {
    signal.throwIfAborted();
    throw new ServiceError(`The sandbox at ${url.origin} did not respond.`, {
      why: errorMessage(error),
      hint: 'Check that it is running, and that PARTNER_SANDBOX_URL is its address.',
      cause: error,
    });
  });
  const { ok, status } = response;
  const answer: unknown = await response.json().catch(() => undefined);
  if (ok) return v.parse(deliverySchema, answer);
  const Kind = status === 404 ? NotFoundError : status === 401 ? CredentialsError : UsageError;
  throw new Kind(`The sandbox did not send a webhook (${status}).`, {
    why: v.is(errorSchema, answer) ? answer.error.message : undefined,
    hint: 'Check PARTNER_SANDBOX_KEY, --source, --session, and --to. Without --to, it needs a webhook: partnerctl sandbox start --webhook <url>',
    status,
  });
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
