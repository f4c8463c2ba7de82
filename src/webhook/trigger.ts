import * as v from 'valibot';
import { isLoopback } from '../config/base-url.ts';
import { readWebhookSecrets } from '../config/webhook-secret.ts';
import { CredentialsError, NotFoundError, ServiceError, UsageError } from '../errors.ts';
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

export interface TriggerContext {
  readonly env: Environment;
  readonly abortSignal: AbortSignal;
  readonly progress: { start(text: string): void };
  readonly redactor: { add(secret: string): void };
  notice(text: string): Promise<void>;
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

function outcomeOf(delivery: v.InferOutput<typeof deliverySchema>) {
  const latest = delivery.attempts.at(-1);
  const outcome = latest ? (latest.error ?? `responded with ${latest.status}`) : 'not attempted yet';
  if (delivery.status === 'delivered') return { delivery, outcome };
  const failure = new ServiceError('The receiver did not accept the delivery.', {
    why: `${delivery.delivery_id} to ${delivery.url}: ${outcome}`,
    hint: `Check the receiver. The next attempt of the sandbox is at: ${delivery.next_attempt_at ?? 'never'}`,
  });
  return { delivery, outcome, failure };
}

/**
 * Makes the sandbox deliver a message, and waits for the first attempt, ten seconds at most. A delivery to `to` is signed
 * with the first secret of PARTNER_WEBHOOK_SECRET; without one, a notice says that it is not.
 * @returns the delivery, the outcome of its latest attempt, and the error unless its receiver accepted it
 * @throws UsageError if the environment names no sandbox, CredentialsError for 401, NotFoundError for 404, UsageError for
 *   any other status; ServiceError if it does not respond; the signal's reason
 */
export async function trigger(context: TriggerContext, options: TriggerOptions) {
  const { env, abortSignal: signal, progress, redactor, notice } = context;
  const { source: source_id, session: session_id, text, to } = options;
  const secrets = to === undefined ? undefined : await readWebhookSecrets(undefined, env, signal);
  for (const each of [env.PARTNER_SANDBOX_KEY, ...(secrets ?? [])]) if (each) redactor.add(each);
  const { url, key } = findSandbox(env);
  if (to !== undefined && !secrets) await notice('The delivery is unsigned: PARTNER_WEBHOOK_SECRET is not set.');
  progress.start('Waiting for the receiver');
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
  const body = JSON.stringify({ source_id, session_id, text, url: to, secret: secrets?.[0] });
  const response = await fetch(`${url.href}/deliveries`, { method: 'POST', headers, body, signal }).catch((error) => {
    signal.throwIfAborted();
    throw new ServiceError(`The sandbox at ${url.origin} did not respond.`, {
      why: errorMessage(error),
      hint: 'Check that it is running, and that PARTNER_SANDBOX_URL is its address.',
      cause: error,
    });
  });
  const answer: unknown = await response.json().catch(() => undefined);
  const { ok, status } = response;
  if (ok) return outcomeOf(v.parse(deliverySchema, answer));
  const Kind = status === 404 ? NotFoundError : status === 401 ? CredentialsError : UsageError;
  throw new Kind(`The sandbox did not send a webhook (${status}).`, {
    why: v.is(errorSchema, answer) ? answer.error.message : undefined,
    hint: 'Check PARTNER_SANDBOX_KEY, --source, --session, and --to. Without --to, it needs a webhook: partnerctl sandbox start --webhook <url>',
    status,
  });
}
