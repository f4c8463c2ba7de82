import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { describe, expect, test } from 'vitest';
import { startSandbox } from '../../src/sandbox/sandbox.ts';
import { RETRY_PAUSES_MS } from '../../src/sandbox/webhooks/dispatcher.ts';
import { type Chat, createChat, manualClock } from '../support/sandbox-chat.ts';
import { type ApiResponse, call, connectTo, startTestSandbox, type TestSandbox } from '../support/sandbox-client.ts';
import { temporaryDirectory } from '../support/sandbox-process.ts';
import { startRawService } from '../support/tcp-server.ts';
import { type Receiver, startReceiver, verify } from '../support/webhook-receiver.ts';

/** The shapes whose messages differ most; a document in OpenAPI 3.0 has no webhooks. */
const SHAPE_NAMES = ['camel', 'json-api'];

const HOUR = 3_600_000;
const SECRET = `whsec_${Buffer.alloc(32, 7).toString('base64')}`;

interface Listed {
  readonly delivery_id: string;
  readonly status: string;
  readonly url: string;
  readonly next_attempt_at: string | null;
  readonly attempts: readonly { at: string; status: number | null; error: string | null; duration_ms: number }[];
}

/** The requests of the webhook tests. */
function webhookClient({ admin }: Pick<TestSandbox, 'admin'>) {
  const deliveries = async (): Promise<Listed[]> => (await admin('GET', '/deliveries')).json.deliveries;
  return {
    admin,
    deliveries,
    add: (url: string, more: Record<string, unknown> = {}) => admin('POST', '/webhooks', { url, ...more }),
    statuses: async (): Promise<string[]> => (await deliveries()).map(({ status }) => status),
    /** Moves the clock, and returns once everything that was due has happened. */
    advance: async (advance: string): Promise<ApiResponse> => admin('PATCH', '/clock', { frozen: true, advance }),
    inject: (source_id: string, text: string, more: Record<string, unknown> = {}) =>
      admin('POST', '/messages', { source_id, session_id: 's1', role: 'assistant', text, ...more }),
  };
}

/** A sandbox whose clock stands still, with a chat. Retries have no random delay. */
async function startFrozen(options: Parameters<typeof startTestSandbox>[0] = {}) {
  const on = await startTestSandbox({ random: () => 0, ...options });
  await on.admin('PATCH', '/clock', { frozen: true });
  return { on, chat: await createChat(on), ...webhookClient(on) };
}

const untilReceived = (receiver: Receiver, count: number): Promise<void> =>
  expect.poll(() => receiver.received.length).toBeGreaterThanOrEqual(count);

/** Waits until every delivery has these statuses. */
async function untilStatuses({ statuses }: { statuses(): Promise<string[]> }, wanted: readonly string[]) {
  await expect.poll(statuses).toEqual(wanted);
}

describe('a completed message', () => {
  test("is delivered to the source's webhook as the history shows it, and verifies by the reference package", async () => {
    const on = await startTestSandbox();
    const { add, deliveries } = webhookClient(on);
    const chat = await createChat(on);
    const receiver = await startReceiver();
    const { json: webhook } = await add(receiver.url, { source_id: chat.source_id });
    await chat.send('Hello');
    await untilReceived(receiver, 1);
    const [, reply] = await chat.history();
    const [first] = receiver.received;
    expect(first && verify(first, webhook.secret)).toEqual({
      type: 'message.completed',
      timestamp: reply?.created_at,
      data: reply,
    });
    expect(first?.headers['content-type']).toBe('application/json');
    await untilStatuses(webhookClient(on), ['delivered']);
    const [listed] = await deliveries();
    expect(listed).toMatchObject({
      delivery_id: first?.id,
      webhook_id: webhook.webhook_id,
      message_id: reply?.message_id,
      url: receiver.url,
      next_attempt_at: null,
      attempts: [{ status: 204, error: null }],
    });
    expect(receiver.received).toHaveLength(1);
  });

  test('has the shape in use', async () => {
    const on = await startTestSandbox({ shape: 'camel' });
    const receiver = await startReceiver();
    const { admin } = on;
    await admin('POST', '/webhooks', { url: receiver.url });
    const chat = await createChat(on);
    await chat.send('Hello');
    await untilReceived(receiver, 1);
    expect(receiver.received[0]?.json.data).toMatchObject({ sourceId: chat.source_id, text: 'You said: Hello' });
  });

  test.each(['plain', ...SHAPE_NAMES])('matches the document of the shape %s', async (shape) => {
    const on = await startTestSandbox({ shape });
    const { json: document } = await call('GET', `${on.sandbox.baseUrl}/openapi.json`);
    const receiver = await startReceiver();
    await on.admin('POST', '/webhooks', { url: receiver.url });
    await on.admin('POST', '/deliveries', {});
    await untilReceived(receiver, 1);
    const ajv = addFormats.default(new Ajv2020({ strict: false, validateSchema: false }));
    ajv.addSchema(document, 'document');
    const pointer = '/webhooks/message.completed/post/requestBody/content/application~1json/schema';
    const validate = ajv.getSchema(`document#${pointer}`);
    validate?.(receiver.received[0]?.json);
    expect([validate === undefined, validate?.errors]).toEqual([false, null]);
  });

  test('is not delivered for a source without a webhook, or if the caller sent it', async () => {
    const { chat, add, inject, deliveries, on } = await startFrozen();
    const other = await createChat(on, 'agent_inbox', { name: 'Other' });
    const receiver = await startReceiver();
    await add(receiver.url, { source_id: other.source_id });
    await inject(chat.source_id, 'not for it');
    await inject(other.source_id, 'of a caller', { role: 'user' });
    await inject(other.source_id, 'for it');
    await untilReceived(receiver, 1);
    expect(receiver.received.map(({ json }) => json.data.text)).toEqual(['for it']);
    expect(await deliveries()).toHaveLength(1);
  });

  test('goes to every webhook for it, with a different id for each', async () => {
    const { chat, add, inject } = await startFrozen();
    const receivers = [await startReceiver(), await startReceiver()];
    for (const { url } of receivers) await add(url);
    await inject(chat.source_id, 'twice');
    for (const receiver of receivers) await untilReceived(receiver, 1);
    const ids = receivers.flatMap(({ received }) => received.map(({ id }) => id));
    expect(new Set(ids).size).toBe(2);
  });
});

describe('a failed attempt', () => {
  test('is retried after increasing delays on the clock of the sandbox, until the last one', async () => {
    const client = await startFrozen();
    const { chat, add, inject, deliveries, advance, statuses } = client;
    const receiver = await startReceiver([500]);
    await add(receiver.url);
    await inject(chat.source_id, 'never accepted');
    await untilReceived(receiver, 1);
    await expect.poll(async () => (await deliveries())[0]?.attempts.length).toBe(1);
    await advance('999ms');
    expect(receiver.received).toHaveLength(1);
    await advance('1ms');
    expect(receiver.received).toHaveLength(2);
    await advance('24h');
    const [delivery] = await deliveries();
    const times = delivery?.attempts.map(({ at }) => Date.parse(at)) ?? [];
    expect(times.slice(1).map((at, index) => at - (times[index] ?? 0))).toEqual(RETRY_PAUSES_MS);
    expect([delivery?.status, delivery?.next_attempt_at]).toEqual(['failed', null]);
    expect(new Set(receiver.received.map(({ id, body }) => id + body)).size).toBe(1);
    await advance('48h');
    expect(receiver.received).toHaveLength(RETRY_PAUSES_MS.length + 1);
    expect(await statuses()).toEqual(['failed']);
  });

  test('is not retried after the first 2xx, and the log says why the others failed', async () => {
    const client = await startFrozen({ webhookTimeoutMs: 600 });
    const { chat, add, inject, deliveries, advance } = client;
    const receiver = await startReceiver([
      (_, response) => response.writeHead(400).end('no such order'),
      (_, response) => response.writeHead(302, { location: '/elsewhere' }).end(),
      (request) => request.socket.destroy(),
      () => undefined,
      (_, response) => response.writeHead(500).end('x'.repeat(500_000)),
      202,
    ]);
    await add(receiver.url);
    await inject(chat.source_id, 'at last');
    await untilReceived(receiver, 1);
    await expect.poll(async () => (await deliveries())[0]?.attempts.length).toBe(1);
    await advance('24h');
    const [delivery] = await deliveries();
    expect(delivery?.status).toBe('delivered');
    expect(delivery?.attempts.map(({ status, error }) => [status, error])).toEqual([
      [400, 'The receiver responded with 400: no such order'],
      [302, 'The receiver responded with 302. Redirects are not followed.'],
      [null, 'The receiver closed the connection without a response (ECONNRESET).'],
      [null, 'The receiver did not respond within 0.6 s.'],
      [500, `The receiver responded with 500: ${'x'.repeat(200)}…`],
      [202, null],
    ]);
    expect(receiver.received.every(({ headers }) => headers.host === new URL(receiver.url).host)).toBe(true);
  });

  test('is retried on the timers of the machine, too, with up to a fifth of the delay added at random', async () => {
    const clock = manualClock(Date.now());
    const on = await startTestSandbox({ ...clock, random: () => 0.5 });
    const { add, inject, deliveries } = webhookClient(on);
    const receiver = await startReceiver([503, 204]);
    await add(receiver.url);
    await inject((await createChat(on)).source_id, 'again');
    await expect.poll(async () => (await deliveries())[0]?.attempts.length).toBe(1);
    clock.advance(1_099);
    expect((await deliveries())[0]?.status).toBe('pending');
    clock.advance(1);
    await untilStatuses(webhookClient(on), ['delivered']);
  });

  test('of an unreachable receiver is one like any other', async () => {
    const { chat, add, inject, deliveries, advance } = await startFrozen();
    const receiver = await startReceiver();
    await receiver.close();
    await add(receiver.url);
    await inject(chat.source_id, 'nobody there');
    await expect.poll(async () => (await deliveries())[0]?.attempts.length).toBe(1);
    expect((await deliveries())[0]?.attempts[0]?.error).toMatch(
      /^Nothing listens at 127\.0\.0\.1:\d+ \(ECONNREFUSED\)/,
    );
    const again = await startReceiver([204], receiver.port);
    await advance('1h');
    expect((await deliveries())[0]?.status).toBe('delivered');
    expect(again.received).toHaveLength(1);
  });

  test('of a receiver that switches protocols is a failed attempt, too', async () => {
    const { add, admin, deliveries } = await startFrozen();
    const upgrade = 'HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n';
    const { port } = await startRawService(upgrade, () => undefined);
    await add(`http://127.0.0.1:${port}/`);
    await admin('POST', '/deliveries', {});
    await expect.poll(async () => (await deliveries())[0]?.attempts[0]?.error).toMatch(/^The receiver closed/);
    expect((await deliveries())[0]?.next_attempt_at).not.toBeNull();
  });
});

describe('a receiver that does not respond', () => {
  test('delays neither other receivers nor the API, and gets eight requests at a time', async () => {
    const client = await startFrozen({ webhookTimeoutMs: 60_000 });
    const { on, chat, add, inject, deliveries } = client;
    const other = await createChat(on, 'agent_inbox', { name: 'Other' });
    const [stalled, healthy] = [await startReceiver([() => undefined]), await startReceiver()];
    await add(stalled.url, { source_id: chat.source_id });
    await add(healthy.url, { source_id: other.source_id });
    await inject(chat.source_id, 'stalled {n}', { count: 50 });
    await untilReceived(stalled, 8);
    await inject(other.source_id, 'healthy {n}', { count: 50 });
    await untilReceived(healthy, 50);
    expect(stalled.received).toHaveLength(8);
    const began = performance.now();
    expect(await deliveries()).toHaveLength(100);
    expect(performance.now() - began).toBeLessThan(30_000);
  });

  test('receives what was waiting when it responds again', async () => {
    const client = await startFrozen({ webhookTimeoutMs: 100 });
    const { chat, add, inject, advance, deliveries, statuses } = client;
    let isBack = false;
    const receiver = await startReceiver([(_, response) => void (isBack && response.writeHead(204).end())]);
    await add(receiver.url);
    await inject(chat.source_id, 'm{n}', { count: 20 });
    const attempted = async () => (await deliveries()).filter(({ attempts }) => attempts.length > 0);
    await expect.poll(attempted).toHaveLength(20);
    isBack = true;
    // On a busy machine, an attempt may take longer than the time limit, and is repeated later.
    const later = async () => (await advance('1h')).status === 200 && (await statuses());
    await expect.poll(later).toEqual(Array(20).fill('delivered'));
  });
});

describe('the secret of a webhook', () => {
  test('that a rotation replaced also signs until the grace period is over', async () => {
    const { chat, add, inject, advance, admin } = await startFrozen();
    const receiver = await startReceiver();
    const { json: webhook } = await add(receiver.url, { secret: SECRET });
    expect(webhook.secret).toBe(SECRET);
    const rotated = await admin('POST', `/webhooks/${webhook.webhook_id}/rotate`, { grace: '1h' });
    expect([rotated.status, rotated.json.secrets.length]).toEqual([200, 2]);
    await inject(chat.source_id, 'both');
    await untilReceived(receiver, 1);
    await advance('1h');
    await inject(chat.source_id, 'new only');
    await untilReceived(receiver, 2);
    const [both, newOnly] = receiver.received;
    if (!both || !newOnly) throw new Error('Nothing was received.');
    expect(both.headers['webhook-signature']?.split(' ')).toHaveLength(2);
    expect(newOnly.headers['webhook-signature']?.split(' ')).toHaveLength(1);
    for (const secret of [SECRET, rotated.json.secret]) expect(verify(both, secret)).toEqual(both.json);
    expect(verify(newOnly, rotated.json.secret)).toEqual(newOnly.json);
    expect(() => verify(newOnly, SECRET)).toThrow('No matching signature');
  });

  test('of an earlier rotation ends with a later one that has no grace period', async () => {
    const { add, admin } = await startFrozen();
    const { json: webhook } = await add('http://localhost:1/', { secret: SECRET });
    const rotate = (grace: string) => admin('POST', `/webhooks/${webhook.webhook_id}/rotate`, { grace });
    await rotate('1h');
    await rotate('0s');
    const { json } = await admin('GET', '/webhooks');
    const ends = json.webhooks[0].secrets.map(({ expires_at: at }: { expires_at: string | null }) => at);
    expect(ends.filter((at: string | null) => at !== null && Date.parse(at) > Date.parse(ends.at(-1)))).toEqual([]);
    expect((await rotate('1h')).json.secrets).toHaveLength(2);
  });

  test('is shown only when it is created', async () => {
    const { add, admin } = await startFrozen();
    const { json } = await add('http://localhost:1/');
    expect(json.secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
    const { text } = await admin('GET', '/webhooks');
    expect(text).not.toContain('whsec_');
    expect(JSON.parse(text).webhooks[0].secrets).toEqual([{ expires_at: null }]);
  });
});

describe('the admin API for webhooks', () => {
  test.each([
    'http://192.0.2.1/',
    'http://example.com/',
    'http://0.0.0.0:4000/',
    'http://[::ffff:192.0.2.1]/',
    'http://localhost.example.com/',
    'http://127.0.0.1.example.com/',
    'http://user@127.0.0.1/',
    'ftp://127.0.0.1/',
    '127.0.0.1:4000',
  ])('refuses to deliver to %s', async (url) => {
    const { admin } = await startTestSandbox();
    for (const path of ['/webhooks', '/deliveries']) {
      const { status, json } = await admin('POST', path, { url });
      expect([status, json.error.fields[0].path]).toEqual([422, 'url']);
    }
    expect((await admin('GET', '/webhooks')).json).toEqual({ webhooks: [] });
  });

  test.each([
    ['an unknown event', { events: ['message.created'] }, 'events[0]'],
    ['no events', { events: [] }, 'events'],
    ['a secret of another scheme', { secret: 'hush' }, 'secret'],
    ['a short secret', { secret: 'whsec_aGk=' }, 'secret'],
  ])('rejects a webhook with %s', async (_, more, path) => {
    const { add } = webhookClient(await startTestSandbox());
    const { status, json } = await add('http://127.0.0.1:1/', more);
    expect([status, json.error.fields[0].path]).toEqual([422, path]);
  });

  test('responds 404 for an unknown source, webhook, or delivery', async () => {
    const { admin, add } = webhookClient(await startTestSandbox());
    expect((await add('http://127.0.0.1:1/', { source_id: 'src_none' })).status).toBe(404);
    for (const [method, path] of [
      ['DELETE', '/webhooks/whk_none'],
      ['POST', '/webhooks/whk_none/rotate'],
      ['GET', '/deliveries/dlv_none'],
      ['POST', '/deliveries/dlv_none/replay'],
    ] as const) {
      expect((await admin(method, path, method === 'POST' ? {} : undefined)).status).toBe(404);
    }
  });

  test('deletes a webhook together with its pending deliveries', async () => {
    const client = await startFrozen();
    const { chat, add, inject, admin, advance, deliveries } = client;
    const receiver = await startReceiver([500]);
    const { json } = await add(receiver.url);
    await inject(chat.source_id, 'm');
    await expect.poll(async () => (await deliveries())[0]?.attempts.length).toBe(1);
    expect((await admin('DELETE', `/webhooks/${json.webhook_id}`)).status).toBe(204);
    await advance('24h');
    await untilStatuses(client, ['canceled']);
    expect(receiver.received).toHaveLength(1);
  });

  test('replays a delivery under the same id, with all attempts again', async () => {
    const client = await startFrozen();
    const { chat, add, inject, admin, advance, deliveries } = client;
    const receiver = await startReceiver([204, 500]);
    await add(receiver.url);
    await inject(chat.source_id, 'm');
    await untilStatuses(client, ['delivered']);
    const id = (await deliveries())[0]?.delivery_id;
    const replayed = await admin('POST', `/deliveries/${id}/replay`);
    expect([replayed.status, replayed.json.delivery_id]).toEqual([202, id]);
    await untilReceived(receiver, 2);
    await expect.poll(async () => (await deliveries())[0]?.attempts.length).toBe(2);
    await advance('24h');
    expect((await admin('GET', `/deliveries/${id}`)).json.status).toBe('failed');
    expect(receiver.received).toHaveLength(1 + RETRY_PAUSES_MS.length + 1);
    expect(new Set(receiver.received.map((each) => each.id))).toEqual(new Set([id]));
  });

  test('delivers a made-up message, or one of a session, on request', async () => {
    const client = await startFrozen();
    const { chat, add, admin } = client;
    expect((await admin('POST', '/deliveries', {})).json.error.code).toBe('no_webhook');
    const [general, own] = [await startReceiver(), await startReceiver()];
    const { json: webhook } = await add(general.url);
    const madeUp = await admin('POST', '/deliveries', { text: 'test' });
    expect([madeUp.status, madeUp.json.deliveries.length]).toEqual([201, 1]);
    const { source_id } = chat;
    await admin('POST', '/deliveries', { source_id, session_id: 's9', text: 'kept', url: own.url, secret: SECRET });
    await admin('POST', '/deliveries', { text: 'unsigned', url: own.url });
    await untilReceived(general, 1);
    await untilReceived(own, 2);
    const [test] = general.received;
    expect(test && verify(test, webhook.secret)).toMatchObject({ data: { text: 'test', role: 'assistant' } });
    const byText = new Map(own.received.map((each) => [each.json.data.text, each]));
    const kept = byText.get('kept');
    expect(kept && verify(kept, SECRET)).toEqual(kept?.json);
    expect(byText.get('unsigned')?.headers['webhook-signature']).toBeUndefined();
    expect(await chat.history({ session_id: 's9' })).toEqual([kept?.json.data]);
    expect(general.received).toHaveLength(1);
    expect((await admin('GET', '/deliveries')).text).not.toContain('whsec_');
  });
});

describe('a reset', () => {
  test('removes the deliveries and the webhooks of sources, and keeps those for every source', async () => {
    const client = await startFrozen();
    const { on, chat, add, inject, admin, advance, deliveries } = client;
    const receiver = await startReceiver([500]);
    await add(receiver.url);
    await add(receiver.url, { source_id: chat.source_id });
    await inject(chat.source_id, 'm');
    await untilReceived(receiver, 2);
    await admin('POST', '/reset', {});
    expect(await deliveries()).toEqual([]);
    const { webhooks } = (await admin('GET', '/webhooks')).json;
    expect(webhooks.map(({ source_id }: { source_id: string | null }) => source_id)).toEqual([null]);
    await advance('24h');
    expect(receiver.received).toHaveLength(2);
    await inject((await createChat(on)).source_id, 'after');
    await untilReceived(receiver, 3);
    await admin('POST', '/reset', { keep_tokens: false });
    expect((await admin('GET', '/webhooks')).json.webhooks).toEqual([]);
  });
});

describe('a restart', () => {
  async function open(dataDir: string, options: Parameters<typeof startSandbox>[0] = {}) {
    const sandbox = await startSandbox({ dataDir, random: () => 0, ...options });
    const on = connectTo(sandbox, await sandbox.createToken());
    return { sandbox, on, ...webhookClient(on) };
  }

  async function sendOne(chat: Chat, client: Awaited<ReturnType<typeof open>>): Promise<void> {
    await client.inject(chat.source_id, 'm');
    await expect.poll(async () => (await client.deliveries())[0]?.attempts.length).toBe(1);
  }

  test('continues with pending deliveries, and repeats none that was accepted', async () => {
    const dataDir = await temporaryDirectory();
    const receiver = await startReceiver([204, 500, 204]);
    const first = await open(dataDir);
    await first.admin('PATCH', '/clock', { frozen: true });
    const { json } = await first.add(receiver.url);
    const chat = await createChat(first.on);
    await sendOne(chat, first);
    await first.inject(chat.source_id, 'refused');
    await expect.poll(async () => (await first.deliveries())[1]?.attempts.length).toBe(1);
    await first.sandbox.close();

    const second = await open(dataDir);
    expect(await second.statuses()).toEqual(['delivered', 'pending']);
    expect(receiver.received).toHaveLength(2);
    await second.advance('1h');
    expect(await second.statuses()).toEqual(['delivered', 'delivered']);
    const last = receiver.received.at(-1);
    expect(receiver.received).toHaveLength(3);
    expect(last && verify(last, json.secret)).toEqual(last?.json);
    expect(last?.id).toBe(receiver.received[1]?.id);
    await second.sandbox.close();
  });

  test('is not required for deliveries whose attempts fail at the same time', async () => {
    const client = await open(await temporaryDirectory());
    const receiver = await startReceiver([...Array(40).fill(503), 204]);
    await client.admin('PATCH', '/clock', { frozen: true });
    await client.add(receiver.url);
    await client.inject((await createChat(client.on)).source_id, '{n}', { count: 40 });
    const attempted = async () => (await client.deliveries()).filter(({ attempts }) => attempts.length > 0);
    await expect.poll(attempted).toHaveLength(40);
    await client.advance('1h');
    expect(await client.statuses()).toEqual(Array(40).fill('delivered'));
    await client.sandbox.close();
  });

  test('with another URL sends pending deliveries there, and keeps the secret', async () => {
    const dataDir = await temporaryDirectory();
    const [former, current] = [await startReceiver([500]), await startReceiver()];
    const first = await open(dataDir, { webhook: { url: former.url } });
    const chat = await createChat(first.on);
    await sendOne(chat, first);
    await first.sandbox.close();
    const second = await open(dataDir, { webhook: { url: current.url } });
    expect(second.sandbox.webhookSecrets).toEqual(first.sandbox.webhookSecrets);
    expect(second.sandbox.webhookSecrets).toHaveLength(1);
    expect((await second.admin('GET', '/webhooks')).json.webhooks).toHaveLength(1);
    await second.advance('1h');
    expect(current.received.map(({ json }) => json.data.text)).toEqual(['m']);
    await second.sandbox.close();
  });
});

test('moving the clock by days delivers each message before the next one is due', async () => {
  const { chat, add, on, advance, deliveries } = await startFrozen();
  const receiver = await startReceiver([500, 204]);
  await add(receiver.url);
  await chat.send('Hello');
  await advance('1h');
  const [delivery] = await deliveries();
  const [, reply] = await chat.history();
  const sentAt = Date.parse(reply?.created_at ?? '');
  expect(delivery?.attempts.map(({ at }) => Date.parse(at) - sentAt)).toEqual([0, 1_000]);
  expect(Date.parse((await on.admin('GET', '/clock')).json.now) - sentAt).toBeGreaterThan(HOUR - 1_000);
});
