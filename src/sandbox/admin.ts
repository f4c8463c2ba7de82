import ms, { type StringValue } from 'ms';
import * as v from 'valibot';
import { issueToken, newTokenSchema } from './access.ts';
import { addMessages, requireSource } from './agents.ts';
import { removeJob, sessionIdOf, toPublicJob } from './cron.ts';
import { createInjector, describeUnmatched, faultPlanSchema, type Route } from './faults.ts';
import { invalidInput, messageTextSchema, nonBlank, Problem, quote, readBody, sessionIdSchema } from './input.ts';
import { type Message, roleSchema, type Token } from './resources.ts';
import { scriptSchema } from './script.ts';
import { createId, type Operation, type Service, type ServiceApp, timestamp } from './service.ts';
import { settingsPatchSchema, settingsSchema } from './settings.ts';
import { ensureSpace, templatesOf } from './spaces.ts';
import { settingsOf } from './store.ts';
import { toPublicUpload } from './uploads.ts';
import { deliverMessage, isWebhookSecret, setWebhook, toPublicDelivery, webhookUrlProblem } from './webhooks.ts';

/** A larger step of the clock is probably a mistake, and would execute every scheduled run on the way. */
const MAX_STEP_MS = 10 * 366 * 86_400_000;

/** Messages that are added together are written as one line, which must fit into a string. */
const MAX_ADDED_TEXT = 64 * 1024 * 1024;

const MAX_LISTED_DELIVERIES = 1_000;

function isDuration(text: string): text is StringValue {
  return /^\d{1,15}(\.\d{1,3})?(ms|s|m|h|d|w)$/.test(text);
}

const TIMESTAMP_PROBLEM = 'must be a timestamp such as 2030-01-31T09:00:00Z';

const templateSchema = v.strictObject({ template_id: nonBlank(), name: nonBlank() });

const spacesSchema = v.strictObject({
  count: v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(100_000)),
  prefix: v.optional(nonBlank(200), 'space'),
});

const messagesSchema = v.pipe(
  v.strictObject({
    source_id: v.string(),
    session_id: sessionIdSchema,
    role: roleSchema,
    /** With a `count`, `{n}` stands for the message's number. */
    text: messageTextSchema,
    count: v.optional(v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(200_000))),
  }),
  v.check(({ text, count = 1 }) => text.length * count <= MAX_ADDED_TEXT, 'must have at most 64 Mi characters in all'),
);

const clockSchema = v.pipe(
  v.strictObject({
    frozen: v.optional(v.boolean()),
    set: v.optional(
      v.pipe(
        v.string(),
        v.isoTimestamp(TIMESTAMP_PROBLEM),
        v.transform((text) => Date.parse(text)),
        v.check((at) => Number.isFinite(at), TIMESTAMP_PROBLEM),
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

const urlSchema = v.pipe(
  v.string(),
  v.rawCheck(({ dataset, addIssue }) => {
    const message = dataset.typed ? webhookUrlProblem(dataset.value) : undefined;
    if (message !== undefined) addIssue({ message });
  }),
);

const secretSchema = v.pipe(v.string(), v.check(isWebhookSecret, 'must be whsec_ and 24 to 64 bytes in Base64'));

const deliverySchema = v.strictObject({
  source_id: v.optional(v.string()),
  session_id: v.optional(sessionIdSchema, 'webhook-test'),
  text: v.optional(messageTextSchema, 'This is a test of the webhook.'),
  url: v.optional(urlSchema),
  secret: v.optional(secretSchema),
});

function toPublicToken({ secret_sha256: _, ...token }: Token) {
  return token;
}

function found<Row>(row: Row | undefined, kind: string, id: string): Row {
  if (row !== undefined) return row;
  throw new Problem(404, `${kind.replaceAll(' ', '_')}_not_found`, `There is no ${kind} ${quote(id)}.`);
}

/** Tokens and settings. The response that issues a token is the only one that shows its secret. */
function addAccessRoutes(app: ServiceApp, service: Service): void {
  const { store, rates } = service;
  app.get('/tokens', (c) => c.json({ tokens: store.tokens.all().map(toPublicToken) }));
  app.post('/tokens', async (c) => {
    const { token, secret } = issueToken(service, await readBody(c, newTokenSchema));
    return c.json({ ...toPublicToken(token), token: secret }, 201);
  });
  app.delete('/tokens/:id', (c) => {
    const id = c.req.param('id');
    store.tokens.remove(found(store.tokens.get(id), 'token', id).token_id);
    return c.body(null, 204);
  });
  app.get('/settings', (c) => c.json(settingsOf(store)));
  app.patch('/settings', async (c) => {
    const patch = await readBody(c, settingsPatchSchema);
    const settings = v.parse(settingsSchema, { ...settingsOf(store), ...patch });
    store.settings.put(settings);
    // Requests made under the old limit do not count toward the new one.
    if ('rate_limit' in patch) rates.clear();
    return c.json(settings);
  });
}

/** The fault plan and the log of requests, which are kept only in memory. */
function addFaultRoutes(app: ServiceApp, service: Service, routes: readonly Route[]): void {
  app.get('/faults', (c) => c.json(service.faults.plan));
  app.put('/faults', async (c) => {
    service.faults = createInjector(await readBody(c, faultPlanSchema));
    const warnings = describeUnmatched(service.faults.plan.rules, routes);
    return c.json({ ...service.faults.plan, ...(warnings.length > 0 && { warnings }) });
  });
  app.get('/requests', (c) => c.json({ counts: countRequests(service), requests: service.requests }));
  app.delete('/requests', (c) => {
    service.requests.length = 0;
    return c.body(null, 204);
  });
}

function countRequests({ requests }: Service): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { method, route } of requests) counts[`${method} ${route}`] = (counts[`${method} ${route}`] ?? 0) + 1;
  return counts;
}

/** What the partner API cannot add, show, or delete. */
function addDataRoutes(app: ServiceApp, service: Service): void {
  const { store } = service;
  app.get('/templates', (c) => c.json({ templates: templatesOf(service) }));
  app.post('/templates', async (c) => {
    const template = await readBody(c, templateSchema);
    if (templatesOf(service).some(({ template_id }) => template_id === template.template_id)) {
      throw new Problem(409, 'template_exists', `The template ${template.template_id} already exists.`);
    }
    store.templates.put(template);
    return c.json(template, 201);
  });
  app.post('/spaces', async (c) => {
    const { count, prefix } = await readBody(c, spacesSchema);
    const spaces = Array.from({ length: count }, (_, index) => {
      const fields = { name: `${prefix} ${index + 1}`, description: '', is_org_wide: false };
      return ensureSpace(service, `${prefix}-${index + 1}`, fields);
    });
    return c.json({ created: spaces.filter(({ created }) => created).length }, 201);
  });
  app.get('/script', (c) => c.json({ rules: store.script.get()?.rules ?? [] }));
  app.put('/script', async (c) => {
    const script = await readBody(c, v.strictObject({ rules: scriptSchema }));
    store.script.put(script);
    return c.json(script);
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
    // Not the uploaded content type: a browser must not execute uploads.
    const headers = { 'Content-Type': 'application/octet-stream', 'Content-Length': String(bytes) };
    if (c.req.method === 'HEAD') return c.body(null, 200, headers);
    const file = await store.files.open(id);
    return c.body(ReadableStream.from(file.createReadStream()), 200, headers);
  });
}

/** Adds messages to a session, and makes deliveries. */
function addMessageRoutes(app: ServiceApp, service: Service): void {
  const { store } = service;
  app.post('/messages', async (c) => {
    const { count, text, ...place } = await readBody(c, messagesSchema, { maxBytes: 2 * 1024 * 1024 });
    requireSource(service, place.source_id);
    const textOf = (number: number): string => (count ? text.replaceAll('{n}', String(number)) : text);
    const messages = addMessages(service, place, count ?? 1, textOf);
    for (const message of messages) if (message.role === 'assistant') deliverMessage(service, message);
    const ids = { first_message_id: messages.at(0)?.message_id, last_message_id: messages.at(-1)?.message_id };
    return c.json({ created: messages.length, ...ids }, 201);
  });
  app.post('/webhooks', async (c) => {
    const { url, secret } = await readBody(c, v.strictObject({ url: urlSchema, secret: v.optional(secretSchema) }));
    return c.json(setWebhook(service, { url, ...(secret !== undefined && { secret }) }), 201);
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
  const { store, clock, rates, requests } = service;
  const show = () => ({ now: timestamp(service), frozen: clock.isFrozen });
  app.get('/clock', (c) => c.json(show()));
  app.patch('/clock', async (c) => {
    const { frozen, set, advance } = await readBody(c, clockSchema);
    const path = set === undefined ? 'advance' : 'set';
    const target = (now: number): number => {
      const at = set ?? now + (advance ?? 0);
      if (at < now) throw invalidInput([{ path, message: `must not be before ${new Date(now).toISOString()}` }]);
      if (at - now > MAX_STEP_MS) throw invalidInput([{ path, message: 'must be within ten years' }]);
      return at;
    };
    const isMove = set !== undefined || advance !== undefined;
    await clock.change({ frozen, target: isMove ? target : undefined });
    return c.json(show());
  });
  app.post('/reset', async (c) => {
    const { keep_tokens } = await readBody(c, v.strictObject({ keep_tokens: v.optional(v.boolean(), true) }));
    const uploadIds = store.uploads.all().map(({ upload_id }) => upload_id);
    const { tokens, webhook, secrets: _, files, durable, close, ...tables } = store;
    for (const table of Object.values(tables)) table.clear();
    if (!keep_tokens) for (const table of [tokens, webhook]) table.clear();
    clock.reset();
    // The clock may have gone back, which would extend the windows of the rate limit.
    rates.clear();
    requests.length = 0;
    service.faults = createInjector({ rules: [] });
    // A crash may leave a file without a record, but never a record without its file.
    await store.durable();
    await store.files.remove(uploadIds);
    return c.body(null, 204);
  });
}

/** The admin API, and its list of routes at `/_sandbox`. */
export function addAdminRoutes(app: ServiceApp, service: Service, operations: readonly Operation[]): void {
  addAccessRoutes(app, service);
  addFaultRoutes(
    app,
    service,
    operations.map(({ method, path }) => ({ method, path: `/v1${path}` })),
  );
  addDataRoutes(app, service);
  addMessageRoutes(app, service);
  addClockRoutes(app, service);
  const routes = app.routes.filter(({ method, path }) => method !== 'ALL' && path.startsWith('/_sandbox/'));
  const list = routes.map(({ method, path }) => ({ method, path: path.replace('/_sandbox', '') }));
  app.get('/', (c) => c.json({ routes: list }));
}
