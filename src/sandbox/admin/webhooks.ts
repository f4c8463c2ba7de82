import * as v from 'valibot';
import { invalidInput, Problem } from '../problem.ts';
import { readBody } from '../request-body.ts';
import { requireSource } from '../routes/lookup.ts';
import { createId, type Service, type ServiceApp, timestamp } from '../service.ts';
import { eventTypeSchema, type Webhook } from '../store/changes.ts';
import type { DeliveryState, DeliveryStatus } from '../store/deliveries.ts';
import { closedObject, durationMs, messageText, quote, sessionId } from '../validation.ts';
import type { Target } from '../webhooks/dispatcher.ts';
import { createWebhookSecret, isWebhookSecret, rotateSecrets } from '../webhooks/secret.ts';
import { putWebhook, webhookUrlProblem } from '../webhooks/webhook.ts';

const MAX_LISTED = 1_000;

const urlSchema = v.pipe(
  v.string(),
  v.rawCheck(({ dataset, addIssue }) => {
    const message = dataset.typed ? webhookUrlProblem(dataset.value) : undefined;
    if (message !== undefined) addIssue({ message });
  }),
);

const secretSchema = v.pipe(v.string(), v.check(isWebhookSecret, 'must be whsec_ and 24 to 64 bytes in Base64'));

const newWebhookSchema = closedObject({
  url: urlSchema,
  source_id: v.optional(v.nullable(v.string()), null),
  events: v.optional(v.pipe(v.array(eventTypeSchema), v.minLength(1, 'must not be empty')), ['message.completed']),
  secret: v.optional(secretSchema),
});

const rotationSchema = closedObject({
  secret: v.optional(secretSchema),
  /** How long the old secret also signs. */
  grace: v.optional(durationMs(), '24h'),
});

const triggerSchema = closedObject({
  source_id: v.optional(v.string()),
  session_id: v.optional(sessionId(), 'webhook-test'),
  text: v.optional(messageText(), 'This is a test of the webhook.'),
  url: v.optional(urlSchema),
  secret: v.optional(secretSchema),
});

function toIsoOrNull(ms: number | null): string | null {
  return ms === null ? null : new Date(ms).toISOString();
}

/** A webhook as the admin API shows it: of its secrets only when they expire. */
function toPublicWebhook({ secrets, ...webhook }: Webhook) {
  return { ...webhook, secrets: secrets.map(({ expires_at }) => ({ expires_at: toIsoOrNull(expires_at) })) };
}

function toPublicDelivery({ store }: Service, { delivery, status, attempts, nextAttemptAt }: DeliveryState) {
  const { secret: _, message: __, due_at, url, ...shown } = delivery;
  const current = delivery.webhook_id === null ? undefined : store.world.webhooks.get(delivery.webhook_id)?.url;
  return { ...shown, url: current ?? url, status, attempts, next_attempt_at: toIsoOrNull(nextAttemptAt) };
}

/** The webhooks. A secret is shown only by the response that creates or rotates it. */
export function addWebhookAdmin(app: ServiceApp, service: Service): void {
  const { store, scheduler } = service;
  const { webhooks } = store.world;
  const requireWebhook = (id: string): Webhook => {
    const webhook = webhooks.get(id);
    if (webhook) return webhook;
    throw new Problem(404, 'webhook_not_found', `There is no webhook ${quote(id)}.`);
  };
  app.get('/webhooks', (c) => c.json({ webhooks: [...webhooks.values()].map(toPublicWebhook) }));
  app.post('/webhooks', async (c) => {
    const { secret = createWebhookSecret(), ...input } = await readBody(c, newWebhookSchema);
    if (input.source_id !== null) requireSource(service, input.source_id);
    const webhook = putWebhook(service, { ...input, secrets: [{ secret, expires_at: null }] });
    return c.json({ ...toPublicWebhook(webhook), secret }, 201);
  });
  app.post('/webhooks/:webhook_id/rotate', async (c) => {
    const { secret = createWebhookSecret(), grace } = await readBody(c, rotationSchema);
    const webhook = requireWebhook(c.req.param('webhook_id'));
    const now = scheduler.now();
    const rotated = { ...webhook, secrets: rotateSecrets(webhook.secrets, secret, { now, graceEndsAt: now + grace }) };
    store.commit({ kind: 'webhook', webhook: rotated });
    return c.json({ ...toPublicWebhook(rotated), secret });
  });
  app.delete('/webhooks/:webhook_id', (c) => {
    const { webhook_id } = requireWebhook(c.req.param('webhook_id'));
    store.commit({ kind: 'webhook_deleted', webhook_id });
    return c.body(null, 204);
  });
}

/**
 * Delivers one message now: one that it adds to a session of the source, or a made-up one.
 * @throws Problem 404 for an unknown source, 422 when no webhook gets the message
 */
function trigger(service: Service, input: v.InferOutput<typeof triggerSchema>): string {
  const { webhooks, agents } = service;
  const { source_id, session_id, text, url, secret } = input;
  const source = source_id === undefined ? undefined : requireSource(service, source_id);
  const given: Target[] = url === undefined ? [] : [{ webhook_id: null, url, ...(secret !== undefined && { secret }) }];
  const targets = url === undefined ? webhooks.targetsOf(source_id) : given;
  if (targets.length === 0) {
    const which = source_id === undefined ? 'all sources' : `the source ${quote(source_id)}`;
    throw new Problem(422, 'no_webhook', `No webhook is set for ${which}.`);
  }
  const role = 'assistant' as const;
  if (source) {
    return agents.inject(
      source,
      { session_id, role, count: 1 },
      () => text,
      (...changes) => webhooks.commitTo(targets, ...changes),
    ).last_message_id;
  }
  const message_id = createId('msg');
  const madeUp = {
    source_id: 'src_test',
    session_id,
    role,
    text,
    external_message_id: null,
    in_reply_to: null,
  } as const;
  webhooks.deliver(targets, { message_id, ...madeUp, created_at: timestamp(service) });
  return message_id;
}

function countByStatus(states: Iterable<DeliveryState>): Record<DeliveryStatus, number> {
  const counts = { pending: 0, delivered: 0, failed: 0, canceled: 0 };
  for (const { status } of states) counts[status] += 1;
  return counts;
}

/** The deliveries with their attempts; makes and repeats deliveries. */
export function addDeliveryAdmin(app: ServiceApp, service: Service): void {
  const { deliveries } = service.store.world;
  const requireDelivery = (id: string): DeliveryState => {
    const state = deliveries.get(id);
    if (state) return state;
    throw new Problem(404, 'delivery_not_found', `There is no delivery ${quote(id)}.`);
  };
  const show = (state: DeliveryState) => toPublicDelivery(service, state);
  app.get('/deliveries', (c) => {
    const newest = [...deliveries.all()].slice(-MAX_LISTED);
    return c.json({ counts: countByStatus(deliveries.all()), deliveries: newest.map(show) });
  });
  app.get('/deliveries/:delivery_id', (c) => c.json(show(requireDelivery(c.req.param('delivery_id')))));
  app.post('/deliveries', async (c) => {
    const input = await readBody(c, triggerSchema);
    if (input.secret !== undefined && input.url === undefined) {
      throw invalidInput([{ path: 'secret', message: 'needs url: configured webhooks have their own secrets' }]);
    }
    const id = trigger(service, input);
    const created = [...deliveries.all()].filter(({ delivery }) => delivery.message_id === id);
    return c.json({ deliveries: created.map(show) }, 201);
  });
  app.post('/deliveries/:delivery_id/replay', (c) => {
    const { delivery } = requireDelivery(c.req.param('delivery_id'));
    service.webhooks.replay(delivery.delivery_id);
    return c.json(show(requireDelivery(delivery.delivery_id)), 202);
  });
}
