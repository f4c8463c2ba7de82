import { randomBytes } from 'node:crypto';
import * as v from 'valibot';
import { checkOption } from './input.ts';
import type { Delivery, DeliveryAttempt, Message } from './resources.ts';
import { createId, type Service, timestamp } from './service.ts';
import type { Webhook } from './store.ts';

/*
 * Completed assistant messages are delivered to one URL (spec §6), each at least once: a delivery is stored together
 * with its message, and attempted until the receiver responds with a 2xx or the last attempt has failed.
 *
 * The service's clock says when an attempt is due. The signed timestamp is the machine's, because receivers compare it
 * with their own clock.
 */

/** How long to wait after each failed attempt except the last, in milliseconds. */
const PAUSES_MS = [1_000, 5_000];

/** How long a receiver may take to respond. */
const TIMEOUT_MS = 10_000;

const SECRET_PREFIX = 'whsec_';

/** Whether a text is a secret of Standard Webhooks: `whsec_`, then 24 to 64 bytes in Base64. */
function isWebhookSecret(text: string): boolean {
  const encoded = text.slice(SECRET_PREFIX.length);
  const key = Buffer.from(encoded, 'base64');
  return text.startsWith(SECRET_PREFIX) && key.toString('base64') === encoded && key.length >= 24 && key.length <= 64;
}

/**
 * Whether the sandbox may send to a URL: only to this machine. Whoever reaches the admin API must not be able to send
 * requests into other networks through the sandbox.
 */
function isLoopbackUrl(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const { protocol, username, password, hostname } = new URL(text);
  const isLoopback = hostname === 'localhost' || hostname === '[::1]' || /^127\.\d+\.\d+\.\d+$/.test(hostname);
  return /^https?:$/.test(protocol) && username === '' && password === '' && isLoopback;
}

/** The URL that gets every completed message, and the secret that signs them: by default the last one, or new. */
export const webhookSchema = v.strictObject({
  url: v.pipe(
    v.string(),
    v.check(isLoopbackUrl, 'must be on this machine, without a password: http://127.0.0.1:4000/hooks'),
  ),
  secret: v.optional(v.pipe(v.string(), v.check(isWebhookSecret, 'must be whsec_ and 24 to 64 bytes in Base64'))),
});

/** @throws Error that names every wrong field */
export function parseWebhook(value: unknown): v.InferOutput<typeof webhookSchema> {
  return checkOption('webhook', webhookSchema, value);
}

/** Delivers a message to one receiver. @param secret null for a delivery that is not signed */
export function deliverTo(
  service: Service,
  { url, secret }: Pick<Delivery, 'url' | 'secret'>,
  message: Message,
): Delivery {
  const delivery_id = createId('dlv');
  const next_attempt_at = timestamp(service);
  const delivery: Delivery = { delivery_id, url, secret, message, status: 'pending', attempts: [], next_attempt_at };
  service.store.deliveries.put(delivery);
  scheduleAttempt(service, delivery);
  return delivery;
}

/** Delivers a message of an assistant to the webhook, if there is one. Stored in the same line as the message. */
export function deliverMessage(service: Service, message: Message): void {
  const webhook = service.store.webhook.get();
  if (webhook && message.role === 'assistant') deliverTo(service, webhook, message);
}

/** A delivery as the admin API shows it. */
export function toPublicDelivery({ secret: _, message, ...delivery }: Delivery) {
  return { ...delivery, message_id: message.message_id };
}

/** Makes the next attempt when it is due, unless the delivery has ended. */
export function scheduleAttempt(service: Service, delivery: Delivery): void {
  const { clock, sending } = service;
  if (delivery.next_attempt_at === null) return;
  clock.schedule(Date.parse(delivery.next_attempt_at), () => {
    // After a failed write every response is an error, so this failure does not go unnoticed.
    clock.waitFor(sending(() => attemptDelivery(service, delivery)).catch(() => undefined));
  });
}

async function attemptDelivery(service: Service, delivery: Delivery): Promise<void> {
  const { store, clock, closing } = service;
  // A receiver must not get a message that a crash could lose.
  await store.durable();
  if (closing.aborted) return;
  const at = timestamp(service);
  const outcome = await send(service, delivery);
  if (closing.aborted) return;
  const pause = PAUSES_MS[delivery.attempts.length];
  const status = outcome.error === null ? 'delivered' : pause === undefined ? 'failed' : 'pending';
  const attempted: Delivery = {
    ...delivery,
    attempts: [...delivery.attempts, { at, ...outcome }],
    status,
    next_attempt_at: status === 'pending' ? new Date(clock.now() + (pause ?? 0)).toISOString() : null,
  };
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
    Connection: 'close',
    'webhook-id': delivery_id,
    'webhook-timestamp': String(Math.floor(now.getTime() / 1_000)),
    ...(secret !== null && { 'webhook-signature': new Webhook(secret).sign(delivery_id, now, body) }),
  };
}

/** Sends one POST. Never rejects. */
async function send({ closing }: Service, delivery: Delivery): Promise<Omit<DeliveryAttempt, 'at'>> {
  const { url, message } = delivery;
  const body = JSON.stringify({ type: 'message.completed', timestamp: message.created_at, data: message });
  const signal = AbortSignal.any([closing, AbortSignal.timeout(TIMEOUT_MS)]);
  try {
    const headers = await headersOf(delivery, body);
    const response = await fetch(url, { method: 'POST', redirect: 'manual', headers, body, signal });
    await response.body?.cancel();
    const { ok, status } = response;
    return { status, error: ok ? null : `The receiver responded with ${status}.` };
  } catch (error) {
    return { status: null, error: String(error instanceof Error ? (error.cause ?? error) : error) };
  }
}

/** Sets the webhook of the sandbox. */
export function setWebhook({ store }: Service, { url, secret }: v.InferOutput<typeof webhookSchema>): Webhook {
  const kept = secret ?? store.webhook.get()?.secret;
  const webhook = { url, secret: kept ?? `${SECRET_PREFIX}${randomBytes(32).toString('base64')}` };
  store.webhook.put(webhook);
  return webhook;
}
