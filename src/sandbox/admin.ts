import ms, { type StringValue } from 'ms';
import * as v from 'valibot';
import { issueToken, newTokenSchema } from './access.ts';
import { addMessages } from './chat.ts';
import { removeJob, sessionIdOf, toPublicJob } from './cron.ts';
import { createInjector, describeUnmatched, faultPlanSchema, type Route } from './faults.ts';
import { invalidInput, messageTextSchema, nonBlank, Problem, quote, readBody, sessionIdSchema } from './input.ts';
import { type Message, roleSchema, settingsSchema } from './resources.ts';
import { scriptSchema } from './script.ts';
import { createId, type Service, type ServiceApp, timestamp } from './service.ts';
import { ensureSpace, requireSource, TEMPLATES } from './spaces.ts';
import { settingsOf } from './store.ts';
import { toPublicUpload } from './uploads.ts';
import { deliverMessage, setWebhook, toPublicDelivery, webhookSchema } from './webhooks.ts';

/** A larger step of the clock is probably a mistake, and would execute every scheduled run on the way. */
const MAX_STEP_MS = 10 * 366 * 86_400_000;

const MAX_LISTED_DELIVERIES = 1_000;

function isDuration(text: string): text is StringValue {
  return /^\d{1,15}(\.\d{1,3})?(ms|s|m|h|d|w)$/.test(text);
}

const spacesSchema = v.strictObject({
  count: v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(100_000)),
  prefix: v.optional(nonBlank(200), 'space'),
});

const messagesSchema = v.strictObject({
  source_id: v.string(),
  session_id: sessionIdSchema,
  role: roleSchema,
  /** With a `count`, `{n}` stands for the message's number. */
  text: messageTextSchema,
  count: v.optional(v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(200_000))),
});

const clockSchema = v.pipe(
  v.strictObject({
    frozen: v.optional(v.boolean()),
    set: v.optional(
      v.pipe(
        v.string(),
        v.transform((text) => Date.parse(text)),
        v.number('must be a timestamp such as 2030-01-31T09:00:00Z'),
      ),
    ),
    advance: v.optional(
      v.pipe(
        v.string(),
        v.guard(isDuration, 'must be a duration such as 7d, 12h, 30m, 10s, or 500ms'),
        v.transform((text) => Math.round(ms(text))),
      ),
    ),
  }),
  v.check(({ set, advance }) => set === undefined || advance === undefined, 'must have set or advance, not both'),
);

const deliverySchema = v.strictObject({
  source_id: v.optional(v.string()),
  session_id: v.optional(sessionIdSchema, 'webhook-test'),
  text: v.optional(messageTextSchema, 'This is a test of the webhook.'),
  url: v.optional(webhookSchema.entries.url),
  secret: webhookSchema.entries.secret,
});

function found<Row>(row: Row | undefined, kind: string, id: string): Row {
  if (row !== undefined) return row;
  throw new Problem(404, `${kind.replaceAll(' ', '_')}_not_found`, `There is no ${kind} ${quote(id)}.`);
}

/** What changes how the service behaves, and the log of requests. */
function addControlRoutes(app: ServiceApp, service: Service, routes: readonly Route[]): void {
  const { store, rates } = service;
  app.post('/tokens', async (c) => {
    const { token, secret } = issueToken(service, await readBody(c, newTokenSchema));
    const { secret_sha256: _, ...shown } = token;
    return c.json({ ...shown, token: secret }, 201);
  });
  app.get('/settings', (c) => c.json(settingsOf(store)));
  app.patch('/settings', async (c) => {
    const patch = await readBody(c, v.partial(settingsSchema));
    const settings = v.parse(settingsSchema, { ...settingsOf(store), ...patch });
    store.settings.put(settings);
    // Requests made under the old limit do not count toward the new one.
    if ('rate_limit' in patch) rates.clear();
    return c.json(settings);
  });
  app.get('/faults', (c) => c.json(service.faults.plan));
  app.put('/faults', async (c) => {
    service.faults = createInjector(await readBody(c, faultPlanSchema));
    const warnings = describeUnmatched(service.faults.plan.rules, routes);
    return c.json({ ...service.faults.plan, ...(warnings.length > 0 && { warnings }) });
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
}

/** What the partner API cannot add, show, or delete. */
function addDataRoutes(app: ServiceApp, service: Service): void {
  const { store } = service;
  app.get('/templates', (c) => c.json({ templates: TEMPLATES }));
  app.post('/spaces', async (c) => {
    const { count, prefix } = await readBody(c, spacesSchema);
    const spaces = Array.from({ length: count }, (_, index) => {
      const fields = { name: `${prefix} ${index + 1}`, description: '', is_org_wide: false };
      return ensureSpace(service, `${prefix}-${index + 1}`, fields);
    });
    return c.json({ created: spaces.filter(({ created }) => created).length }, 201);
  });
  app.post('/messages', async (c) => {
    const { count, text, ...place } = await readBody(c, messagesSchema);
    requireSource(service, place.source_id);
    const textOf = (number: number): string => (count ? text.replaceAll('{n}', String(number)) : text);
    const messages = addMessages(service, place, count ?? 1, textOf);
    for (const message of messages) if (message.role === 'assistant') deliverMessage(service, message);
    const ids = { first_message_id: messages.at(0)?.message_id, last_message_id: messages.at(-1)?.message_id };
    return c.json({ created: messages.length, ...ids }, 201);
  });
  app.get('/cron-jobs', (c) => {
    const jobs = store.cronJobs.all().map((job) => {
      // Before the first run the agent may have no source.
      const source_id = store.sources.in(job.agent_id)[0]?.source_id ?? null;
      return { ...toPublicJob(service, job), source_id, session_id: sessionIdOf(job) };
    });
    return c.json({ cron_jobs: jobs });
  });
  app.delete('/cron-jobs/:id', (c) => {
    const id = c.req.param('id');
    removeJob(service, found(store.cronJobs.get(id), 'cron job', id));
    return c.body(null, 204);
  });
  app.get('/uploads', (c) => c.json({ uploads: store.uploads.all().map(toPublicUpload) }));
  app.get('/uploads/:id/content', async (c) => {
    const id = c.req.param('id');
    const { bytes } = found(store.uploads.get(id), 'upload', id);
    const file = await store.files.open(id);
    // Not the uploaded content type: a browser must not execute uploads.
    const headers = { 'Content-Type': 'application/octet-stream', 'Content-Length': String(bytes) };
    return c.body(ReadableStream.from(file.createReadStream()), 200, headers);
  });
}

function addWebhookRoutes(app: ServiceApp, service: Service): void {
  const { store } = service;
  app.post('/webhooks', async (c) => {
    return c.json(setWebhook(service, await readBody(c, webhookSchema)), 201);
  });
  app.get('/deliveries', (c) => {
    const all = store.deliveries.all();
    const counts = { pending: 0, delivered: 0, failed: 0 };
    for (const { status } of all) counts[status] += 1;
    return c.json({ counts, deliveries: all.slice(-MAX_LISTED_DELIVERIES).map(toPublicDelivery) });
  });
  app.get('/deliveries/:id', (c) => {
    const id = c.req.param('id');
    return c.json(toPublicDelivery(found(store.deliveries.get(id), 'delivery', id)));
  });
  app.post('/deliveries', async (c) => c.json(trigger(service, await readBody(c, deliverySchema)), 201));
}

/** Delivers one message now: one that it adds to a session of the source, or a made-up one. */
function trigger(service: Service, { source_id, session_id, text, url, secret }: v.InferOutput<typeof deliverySchema>) {
  if (secret !== undefined && url === undefined) {
    throw invalidInput([{ path: 'secret', message: 'needs url: the webhook has its own secret' }]);
  }
  if (source_id !== undefined) requireSource(service, source_id);
  const receiver = url === undefined ? service.store.webhook.get() : { url, secret: secret ?? null };
  if (!receiver) throw new Problem(422, 'no_webhook', 'No webhook is set.');
  const madeUp: Message = {
    message_id: createId('msg'),
    source_id: 'src_test',
    session_id,
    role: 'assistant',
    text,
    external_message_id: null,
    in_reply_to: null,
    created_at: timestamp(service),
  };
  const [added] =
    source_id === undefined ? [] : addMessages(service, { source_id, session_id, role: 'assistant' }, 1, () => text);
  const delivery = deliverMessage(service, added ?? madeUp, receiver);
  return { deliveries: delivery ? [toPublicDelivery(delivery)] : [] };
}

/** The clock, which never goes back except in a reset. */
function addClockRoutes(app: ServiceApp, service: Service): void {
  const { clock } = service;
  const show = () => ({ now: timestamp(service), frozen: clock.isFrozen });
  app.get('/clock', (c) => c.json(show()));
  app.patch('/clock', async (c) => {
    const { frozen, set, advance } = await readBody(c, clockSchema);
    await clock.change(frozen, (now) => {
      const at = set ?? now + (advance ?? 0);
      const path = set === undefined ? 'advance' : 'set';
      if (at < now) throw invalidInput([{ path, message: `must not be before ${new Date(now).toISOString()}` }]);
      if (at - now > MAX_STEP_MS) throw invalidInput([{ path, message: 'must be within ten years' }]);
      return at;
    });
    return c.json(show());
  });
  app.post('/reset', async (c) => {
    const { keep_tokens } = await readBody(c, v.strictObject({ keep_tokens: v.optional(v.boolean(), true) }));
    await reset(service, keep_tokens);
    return c.body(null, 204);
  });
}

async function reset(service: Service, keepTokens: boolean): Promise<void> {
  const { store, clock, rates, requests } = service;
  const uploadIds = store.uploads.all().map(({ upload_id }) => upload_id);
  const { tokens, webhook, secrets: _, files, durable, close, ...tables } = store;
  for (const table of Object.values(tables)) table.clear();
  if (!keepTokens) for (const table of [tokens, webhook]) table.clear();
  clock.reset();
  // The clock may have gone back, which would extend the windows of the rate limit.
  rates.clear();
  requests.length = 0;
  service.faults = createInjector({ rules: [] });
  // A crash may leave a file without a record, but never a record without its file.
  await durable();
  await files.remove(uploadIds);
}

/** The admin API. @param routes of the partner API */
export function addAdminRoutes(app: ServiceApp, service: Service, routes: readonly Route[]): void {
  addControlRoutes(app, service, routes);
  addDataRoutes(app, service);
  addWebhookRoutes(app, service);
  addClockRoutes(app, service);
}
