import * as v from 'valibot';
import { LOOPBACK_NAMES } from './input.ts';
import { createId, type Delivery, type DeliveryAttempt, type Message } from './rows.ts';
import type { Service, Webhook } from './service.ts';

/** How long to wait after each failed attempt except the last, in milliseconds. */
const PAUSES_MS = [1_000, 5_000];

const RESPONSE_TIMEOUT_MS = 10_000;

/**
 * Whether the sandbox may send to a URL: only to this machine. Whoever reaches the admin API must not be able to send
 * requests into other networks through the sandbox.
 */
function isLoopbackUrl(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const { protocol, hostname } = new URL(text);
  return /^https?:$/.test(protocol) && LOOPBACK_NAMES.includes(hostname);
}

/** The URL that gets completed messages, and the secret that signs them: by default the one of the sandbox. */
export const webhookSchema = v.strictObject({
  url: v.pipe(v.string(), v.check(isLoopbackUrl, 'must be on this machine: http://127.0.0.1:4000/hooks')),
  /** As Standard Webhooks defines them: 24 to 64 bytes in Base64. */
  secret: v.optional(
    v.pipe(v.string(), v.regex(/^whsec_[A-Za-z0-9+/]{32,86}={0,2}$/, 'must be whsec_ and 24 to 64 bytes in Base64')),
  ),
});

/** Delivers a message to one receiver. @returns the delivery after its first attempt */
export function deliverTo(service: Service, receiver: Pick<Delivery, 'url' | 'secret'>, message: Message) {
  const due = { status: 'pending', attempts: [], next_attempt_at: service.clock.timestamp() } as const;
  return attempt(service, { delivery_id: createId('dlv'), ...receiver, message, ...due });
}

/** The webhook that is configured for a source (spec §6), or else that for every source. */
export function webhookOf({ webhooks }: Service, source_id = ''): Webhook | undefined {
  return webhooks.get(source_id) ?? webhooks.get('');
}

/** Delivers a message of an assistant to the webhook, if there is one. */
export function deliverMessage(service: Service, message: Message): void {
  const webhook = webhookOf(service, message.source_id);
  if (webhook && message.role === 'assistant') void deliverTo(service, webhook, message);
}

/** A delivery as the admin API shows it. */
export function toPublicDelivery({ secret: _, message, ...delivery }: Delivery) {
  return { ...delivery, message_id: message.message_id };
}

function attempt(service: Service, delivery: Delivery): Promise<Delivery> {
  service.deliveries.set(delivery.delivery_id, delivery);
  const attempting = service.sending(() => attemptDelivery(service, delivery));
  // After a failed write every response is an error, so this failure does not go unnoticed.
  service.clock.waitFor(attempting.catch(() => undefined));
  return attempting;
}

async function attemptDelivery(service: Service, delivery: Delivery): Promise<Delivery> {
  const { store, clock, closing, deliveries } = service;
  // A receiver must not get a message that a crash could lose.
  await store.durable();
  const at = clock.timestamp();
  const outcome = await send(service, delivery);
  if (closing.aborted) return delivery;
  const pause = outcome.error === null ? undefined : PAUSES_MS[delivery.attempts.length];
  const dueAt = pause === undefined ? null : clock.now() + pause;
  const attempted: Delivery = {
    ...delivery,
    attempts: [...delivery.attempts, { at, ...outcome }],
    status: outcome.error === null ? 'delivered' : dueAt === null ? 'failed' : 'pending',
    next_attempt_at: dueAt === null ? null : new Date(dueAt).toISOString(),
  };
  deliveries.set(delivery.delivery_id, attempted);
  if (dueAt !== null) clock.schedule(dueAt, () => void attempt(service, attempted));
  return attempted;
}

/** Sends one POST as Standard Webhooks define it. Never rejects. */
async function send({ closing }: Service, delivery: Delivery): Promise<Omit<DeliveryAttempt, 'at'>> {
  const { delivery_id, url, secret, message } = delivery;
  const body = JSON.stringify({ type: 'message.completed', timestamp: message.created_at, data: message });
  // Not the service's clock: receivers compare the timestamp with their own.
  const now = new Date();
  // The garbage collector may take an `AbortSignal.timeout` that only `AbortSignal.any` knows.
  const limit = new AbortController();
  setTimeout(() => limit.abort(), RESPONSE_TIMEOUT_MS).unref();
  try {
    const { Webhook } = await import('standardwebhooks');
    const headers = {
      'Content-Type': 'application/json',
      Connection: 'close',
      'webhook-id': delivery_id,
      'webhook-timestamp': String(Math.floor(now.getTime() / 1_000)),
      ...(secret !== null && { 'webhook-signature': new Webhook(secret).sign(delivery_id, now, body) }),
    };
    const signal = AbortSignal.any([closing, limit.signal]);
    const response = await fetch(url, { method: 'POST', redirect: 'manual', headers, body, signal });
    await response.body?.cancel();
    const { ok, status } = response;
    return { status, error: ok ? null : `The receiver responded with ${status}.` };
  } catch (error) {
    const reason = error instanceof Error ? (error.cause ?? error) : error;
    return { status: null, error: limit.signal.aborted ? 'The receiver did not respond in time.' : String(reason) };
  }
}

/** Sets the webhook of a source, or of every other source. */
export function setWebhook(
  { webhooks, webhookSecret }: Service,
  { url, secret = webhookSecret }: v.InferOutput<typeof webhookSchema>,
  source_id = '',
): Webhook {
  const webhook = { url, secret };
  webhooks.set(source_id, webhook);
  return webhook;
}
