import { randomBytes } from 'node:crypto';
import * as v from 'valibot';
import { hasErrorCode } from './files.ts';
import { quote } from './input.ts';
import type { AttemptOutcome, Delivery, Message } from './resources.ts';
import { createId, type Service, timestamp } from './service.ts';
import type { Webhook } from './store.ts';

/*
 * Completed assistant messages are delivered to one URL (spec §6), each at least once: a delivery is stored together with its
 * message, and attempted until the receiver responds with a 2xx or the last attempt has failed.
 *
 * The service's clock says when an attempt is due. The signed timestamp is the machine's, because receivers compare it with
 * their own clock.
 */

/** How long to wait after each failed attempt except the last, in milliseconds. */
const PAUSES_MS = [1_000, 5_000];

const SECRET_PREFIX = 'whsec_';

/** Whether a text is a secret of Standard Webhooks: `whsec_`, then 24 to 64 bytes in Base64. */
export function isWebhookSecret(text: string): boolean {
  const encoded = text.slice(SECRET_PREFIX.length);
  const key = Buffer.from(encoded, 'base64');
  return text.startsWith(SECRET_PREFIX) && key.toString('base64') === encoded && key.length >= 24 && key.length <= 64;
}

/**
 * Describes what is wrong with the URL of a webhook; undefined if the sandbox may send to it. Only loopback addresses are
 * allowed: whoever reaches the admin API must not be able to send requests into other networks through the sandbox.
 */
export function webhookUrlProblem(text: string): string | undefined {
  if (!URL.canParse(text)) return 'must be a URL such as http://127.0.0.1:4000/webhooks';
  const { protocol, username, password, hostname } = new URL(text);
  if (protocol !== 'http:' && protocol !== 'https:') return 'must begin with http:// or https://';
  if (username !== '' || password !== '') return 'must have no user name and no password';
  const isLoopback = hostname === 'localhost' || hostname === '[::1]' || /^127\.\d+\.\d+\.\d+$/.test(hostname);
  if (isLoopback) return undefined;
  return 'must be on this machine (127.0.0.1, [::1], or localhost): the sandbox sends no requests into other networks';
}

/** The URL that gets every completed message, and the secret that signs them: by default the one before, or a new one. */
export const webhookSchema = v.strictObject({
  url: v.pipe(
    v.string(),
    v.check(
      (url) => webhookUrlProblem(url) === undefined,
      ({ input }) => webhookUrlProblem(input) ?? '',
    ),
  ),
  secret: v.optional(v.pipe(v.string(), v.check(isWebhookSecret, 'must be whsec_ and 24 to 64 bytes in Base64'))),
});

/**
 * Delivers a message, and stores the delivery in the same line as the message.
 * @param receiver by default the webhook; without one, nothing is delivered
 */
export function deliverMessage(
  service: Service,
  message: Message,
  receiver: { readonly url: string; readonly secret: string | null } | undefined = service.store.webhook.get(),
): Delivery | undefined {
  if (!receiver) return undefined;
  const delivery: Delivery = {
    delivery_id: createId('dlv'),
    ...receiver,
    message,
    status: 'pending',
    attempts: [],
    next_attempt_at: service.clock.now(),
  };
  service.store.deliveries.put(delivery);
  startAttempt(service, delivery);
  return delivery;
}

/** Continues with the deliveries that were pending when the sandbox last stopped. */
export function resumeDeliveries(service: Service): void {
  for (const delivery of service.store.deliveries.all()) scheduleAttempt(service, delivery);
}

/** A delivery as the admin API shows it. */
export function toPublicDelivery({ delivery_id, url, message, status, attempts, next_attempt_at }: Delivery) {
  const { source_id, session_id, message_id } = message;
  const next = next_attempt_at === null ? null : new Date(next_attempt_at).toISOString();
  const event = { type: 'message.completed', source_id, session_id, message_id };
  return { delivery_id, url, ...event, status, attempts, next_attempt_at: next };
}

function scheduleAttempt(service: Service, { delivery_id, next_attempt_at }: Delivery): void {
  if (next_attempt_at === null) return;
  service.clock.schedule(`delivery ${delivery_id}`, next_attempt_at, () => {
    const delivery = service.store.deliveries.get(delivery_id);
    if (delivery) startAttempt(service, delivery);
  });
}

function startAttempt(service: Service, delivery: Delivery): void {
  // After a failed write every response is an error, so this failure does not go unnoticed.
  const attempt = service.sending(() => attemptDelivery(service, delivery)).catch(() => undefined);
  service.clock.waitFor(attempt);
}

async function attemptDelivery(service: Service, delivery: Delivery): Promise<void> {
  const { store, clock, closing } = service;
  // A receiver must not get a message that a crash could lose.
  await store.durable();
  if (closing.aborted) return;
  const at = timestamp(service);
  const began = performance.now();
  const outcome = await send(service, delivery);
  // A reset may have deleted it.
  if (closing.aborted || !store.deliveries.get(delivery.delivery_id)) return;
  const attempts = [...delivery.attempts, { at, ...outcome, duration_ms: Math.round(performance.now() - began) }];
  const pause = PAUSES_MS[delivery.attempts.length];
  const status = outcome.error === null ? 'delivered' : pause === undefined ? 'failed' : 'pending';
  const next_attempt_at = status === 'pending' ? clock.now() + (pause ?? 0) : null;
  const attempted: Delivery = { ...delivery, attempts, status, next_attempt_at };
  store.deliveries.put(attempted);
  scheduleAttempt(service, attempted);
  await store.durable();
}

/** The headers of Standard Webhooks. */
async function headersOf({ delivery_id, secret }: Delivery, body: string): Promise<Record<string, string>> {
  const { Webhook } = await import('standardwebhooks');
  const now = new Date();
  return {
    'Content-Type': 'application/json',
    'User-Agent': 'partnerctl-sandbox',
    'webhook-id': delivery_id,
    'webhook-timestamp': String(Math.floor(now.getTime() / 1_000)),
    ...(secret !== null && { 'webhook-signature': new Webhook(secret).sign(delivery_id, now, body) }),
  };
}

/** Sends one POST. Never rejects. */
async function send({ webhookTimeoutMs, closing }: Service, delivery: Delivery): Promise<AttemptOutcome> {
  const { url, message } = delivery;
  const body = JSON.stringify({ type: 'message.completed', timestamp: message.created_at, data: message });
  const timeout = AbortSignal.timeout(webhookTimeoutMs);
  const signal = AbortSignal.any([closing, timeout]);
  try {
    const headers = { ...(await headersOf(delivery, body)), Connection: 'close' };
    const response = await fetch(url, { method: 'POST', redirect: 'manual', headers, body, signal });
    const text = quote((await response.text()).trim());
    const { ok, status } = response;
    return { status, error: ok ? null : `The receiver responded with ${status}${text === '""' ? '.' : `: ${text}`}` };
  } catch (error) {
    const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
    const reason = hasErrorCode(cause, 'ECONNREFUSED')
      ? `Nothing listens at ${new URL(url).host} (ECONNREFUSED).`
      : String(cause);
    return {
      status: null,
      error: timeout.aborted ? `The receiver did not respond within ${webhookTimeoutMs / 1_000} s.` : reason,
    };
  }
}

/** Sets the webhook of the sandbox. */
export function setWebhook({ store }: Service, { url, secret }: v.InferOutput<typeof webhookSchema>): Webhook {
  const kept = secret ?? store.webhook.get()?.secret;
  const webhook = { url, secret: kept ?? `${SECRET_PREFIX}${randomBytes(32).toString('base64')}` };
  store.webhook.put(webhook);
  return webhook;
}
