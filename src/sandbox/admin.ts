import ms, { type StringValue } from 'ms';
import * as v from 'valibot';
import { issueToken, newTokenSchema } from './access.ts';
import { addMessage } from './chat.ts';
import { createInjector, faultPlanSchema } from './faults.ts';
import { found, integer, messageText, nonBlank, Problem } from './input.ts';
import { roleSchema, settingsSchema } from './rows.ts';
import { scriptSchema } from './script.ts';
import { readBody, type Service, type ServiceApp } from './service.ts';
import { ensureSpace } from './spaces.ts';
import { settingsOf } from './store.ts';
import { toPublicUpload } from './uploads.ts';
import { deliverMessage, deliverTo, setWebhook, toPublicDelivery, webhookOf, webhookSchema } from './webhooks.ts';

function isDuration(text: string): text is StringValue {
  return /^\d{1,15}(\.\d{1,3})?(ms|s|m|h|d|w)$/.test(text);
}

const spacesSchema = v.strictObject({
  count: integer(1, 100_000),
  prefix: v.optional(nonBlank, 'space'),
});

const messagesSchema = v.strictObject({
  source_id: v.string(),
  session_id: nonBlank,
  role: roleSchema,
  /** `{n}` stands for the message's number. */
  text: messageText,
  count: v.optional(integer(1, 200_000), 1),
});

const clockSchema = v.strictObject({
  frozen: v.optional(v.boolean()),
  advance: v.optional(
    v.pipe(
      v.string(),
      v.guard(isDuration, 'must be a duration such as 7d, 12h, 30m, 10s, or 500ms'),
      v.transform((text) => Math.round(ms(text))),
    ),
    '0ms',
  ),
});

const deliverySchema = v.strictObject({
  source_id: v.optional(v.string()),
  session_id: v.optional(nonBlank, 'webhook-test'),
  text: v.optional(messageText, 'This is a test of the webhook.'),
  url: v.optional(webhookSchema.entries.url),
  secret: webhookSchema.entries.secret,
});

/** Without a source, for every source that has none of its own. */
const sourceWebhookSchema = v.strictObject({ ...webhookSchema.entries, source_id: v.optional(v.string()) });

/** Adds what changes how the service behaves, its clock, which never goes back, and the log of requests. */
export function addControlRoutes(app: ServiceApp, service: Service): void {
  const { store, rates, clock } = service;
  const clockState = () => ({ now: clock.timestamp(), frozen: clock.isFrozen });
  app.post('/tokens', async (c) => c.json(issueToken(store, await readBody(c, newTokenSchema)), 201));
  app.get('/settings', (c) => c.json(settingsOf(store)));
  app.patch('/settings', async (c) => {
    const patch = await readBody(c, v.partial(settingsSchema));
    const settings = v.parse(settingsSchema, { ...settingsOf(store), ...patch });
    store.settings.put(settings);
    // Requests made under the old limit do not count toward the new one.
    if ('rate_limit' in patch) rates.clear();
    return c.json(settings);
  });
  app.put('/faults', async (c) => {
    service.faults = createInjector(await readBody(c, faultPlanSchema));
    return c.json(service.faults.plan);
  });
  app.get('/requests', (c) => c.json({ requests: service.requests }));
  app.delete('/requests', (c) => {
    service.requests.length = 0;
    return c.body(null, 204);
  });
  app.get('/script', (c) => c.json({ rules: store.script.get()?.rules ?? [] }));
  app.put('/script', async (c) => {
    const script = await readBody(c, v.strictObject({ rules: scriptSchema }));
    store.script.put(script);
    return c.json(script);
  });
  app.get('/clock', (c) => c.json(clockState()));
  app.patch('/clock', async (c) => {
    const { frozen, advance } = await readBody(c, clockSchema);
    await clock.change(frozen, advance);
    return c.json(clockState());
  });
}

/** Adds what the partner API cannot add, show, or delete. */
export function addDataRoutes(app: ServiceApp, service: Service): void {
  const { store, deliveries } = service;
  app.post('/spaces', async (c) => {
    const { count, prefix } = await readBody(c, spacesSchema);
    for (let number = 1; number <= count; number += 1) {
      const fields = { name: `${prefix} ${number}`, description: '', is_org_wide: false };
      ensureSpace(service, `${prefix}-${number}`, fields);
    }
    return c.json({ created: count }, 201);
  });
  app.post('/messages', async (c) => {
    const { count, text, ...place } = await readBody(c, messagesSchema);
    found(store.sources.get(place.source_id), 'source', place.source_id);
    for (let number = 1; number <= count; number += 1) {
      deliverMessage(service, addMessage(service, { ...place, text: text.replaceAll('{n}', String(number)) }));
    }
    return c.json({ created: count }, 201);
  });
  app.get('/cron-jobs', (c) => c.json({ cron_jobs: store.cronJobs.all() }));
  app.delete('/cron-jobs/:id', (c) => {
    const id = c.req.param('id');
    found(store.cronJobs.get(id), 'cron_job', id);
    store.cronJobs.remove(id);
    return c.body(null, 204);
  });
  app.get('/uploads', (c) => c.json({ uploads: store.uploads.all().map(toPublicUpload) }));
  app.post('/webhooks', async (c) => {
    const { source_id, ...webhook } = await readBody(c, sourceWebhookSchema);
    if (source_id !== undefined) found(store.sources.get(source_id), 'source', source_id);
    return c.json(setWebhook(service, webhook, source_id), 201);
  });
  app.get('/deliveries', (c) => c.json({ deliveries: [...deliveries.values()].map(toPublicDelivery) }));
  app.post('/deliveries', async (c) => {
    const { source_id, session_id, text, url, secret = null } = await readBody(c, deliverySchema);
    if (source_id !== undefined) found(store.sources.get(source_id), 'source', source_id);
    const receiver = url === undefined ? webhookOf(service, source_id) : { url, secret };
    if (!receiver) throw new Problem(422, 'no_webhook', 'No webhook is set.');
    const message = addMessage(service, { source_id: source_id ?? 'src_test', session_id, role: 'assistant', text });
    return c.json(toPublicDelivery(await deliverTo(service, receiver, message)), 201);
  });
}
