import { expect, test } from 'vitest';
import { startSandbox } from '../../src/sandbox/sandbox.ts';
import { type Chat, createChat } from '../support/sandbox-chat.ts';
import { connectTo, connectToChild, startTestSandbox, type TestSandbox } from '../support/sandbox-client.ts';
import { prepareChildSandboxes, temporaryDirectory } from '../support/sandbox-process.ts';
import { type Receiver, startReceiver } from '../support/webhook-receiver.ts';

const startChild = prepareChildSandboxes();

const SESSIONS = ['one', 'two'];
const TEXTS = ['a', 'b', 'c', 'd'];

/** What a client was told before the sandbox was killed. */
interface Told {
  hasWebhook: boolean;
  readonly texts: string[];
}

async function sendEverything(on: TestSandbox, receiver: Receiver, told: Told): Promise<void> {
  const chat = await createChat(on);
  expect((await on.admin('POST', '/webhooks', { url: receiver.url })).status).toBe(201);
  told.hasWebhook = true;
  for (const [index, text] of TEXTS.entries()) {
    const session_id = SESSIONS[index % SESSIONS.length];
    const { status } = await chat.send(text, { session_id, external_message_id: text });
    expect(status).toBe(201);
    told.texts.push(text);
  }
  // The first attempt of every other delivery fails, so that retries are among the writes.
  for (let isDone = false; !isDone; ) {
    await on.admin('PATCH', '/clock', { advance: '1m' });
    const { counts } = (await on.admin('GET', '/deliveries')).json;
    isDone = counts.delivered === TEXTS.length;
  }
}

/** @returns whether the sandbox was killed before everything was delivered */
async function sendUntilKilled(dataDir: string, killPoint: string, receiver: Receiver, told: Told): Promise<boolean> {
  const child = await startChild(dataDir, { killPoint }).catch(() => undefined);
  if (!child) return true;
  try {
    await sendEverything(connectToChild(child), receiver, told);
    return false;
  } catch (error) {
    // Not a failed connection, but an unexpected response.
    if (!(error instanceof TypeError)) throw error;
    return true;
  } finally {
    await child.kill();
  }
}

async function repliesOf(chat: Chat): Promise<Map<string, string>> {
  const histories = await Promise.all(SESSIONS.map((session_id) => chat.history({ session_id })));
  const replies = histories.flat().filter(({ role }) => role === 'assistant');
  return new Map(replies.map(({ message_id, text }) => [message_id, text]));
}

/** Restarts the sandbox, and compares what the receiver received with the history. */
async function examineDeliveries(dataDir: string, receiver: Receiver, told: Told): Promise<void> {
  const sandbox = await startSandbox({ dataDir });
  try {
    const on = connectTo(sandbox, await sandbox.createToken());
    await on.admin('PATCH', '/clock', { frozen: true, advance: '1m' });
    await on.admin('PATCH', '/clock', { advance: '1d' });
    const { counts } = (await on.admin('GET', '/deliveries')).json;
    expect(counts).toMatchObject({ pending: 0, failed: 0, canceled: 0 });
    const replies = await repliesOf(await createChat(on));
    const received = new Map(receiver.received.map(({ json }) => [json.data.message_id, json.data.text]));
    if (told.hasWebhook) for (const [id, text] of replies) expect(received.get(id)).toBe(text);
    // Nobody is notified of a message that a crash removed.
    for (const [id, text] of received) expect(replies.get(id)).toBe(text);
    const answered = [...replies.values()].map((text) => text.replace('You said: ', ''));
    expect(answered.toSorted()).toEqual(expect.arrayContaining(told.texts));
  } finally {
    await sandbox.close();
  }
}

test.each(['before', 'half', 'after'])(
  'a sandbox with --data that is killed %s any of its writes still makes each delivery',
  async (moment) => {
    let points = 0;
    let repeated = 0;
    for (let isKilled = true; isKilled; ) {
      const dataDir = await temporaryDirectory();
      const failed = new Set<string>();
      const receiver = await startReceiver([
        (request, response, number) => {
          const id = String(request.headers['webhook-id']);
          const fails = number % 2 === 1 && !failed.has(id);
          if (fails) failed.add(id);
          response.writeHead(fails ? 503 : 204).end();
        },
      ]);
      const told: Told = { hasWebhook: false, texts: [] };
      isKilled = await sendUntilKilled(dataDir, `${points + 1} ${moment}`, receiver, told);
      if (isKilled) points += 1;
      await examineDeliveries(dataDir, receiver, told);
      repeated += receiver.received.length - failed.size - new Set(receiver.received.map(({ id }) => id)).size;
      await receiver.close();
    }
    process.stdout.write(`webhooks --data: killed ${moment} ${points} writes: none lost, ${repeated} repeated\n`);
    expect(points).toBeGreaterThan(20);
  },
);

test('1,000 deliveries to a receiver that fails, stalls, and restarts are each accepted', async () => {
  const { admin, ...on } = await startTestSandbox({ webhookTimeoutMs: 200 });
  const chat = await createChat({ admin, ...on });
  const accepted = new Map<string, number>();
  let seed = 7;
  const chance = (): number => {
    seed = (seed * 48_271) % 2_147_483_647;
    return seed / 2_147_483_647;
  };
  const start = (port?: number): Promise<Receiver> =>
    startReceiver(
      [
        (request, response) => {
          const drawn = chance();
          if (drawn < 0.02) return;
          if (drawn < 0.05) return void request.socket.destroy();
          if (drawn < 0.3) return void response.writeHead(503).end('busy');
          const id = String(request.headers['webhook-id']);
          accepted.set(id, (accepted.get(id) ?? 0) + 1);
          response.writeHead(204).end();
        },
      ],
      port,
    );
  let receiver = await start();
  await admin('POST', '/webhooks', { url: receiver.url });
  const { source_id } = chat;
  for (let restarts = 0; ; restarts += 1) {
    const atLeast = accepted.size + 50;
    await admin('POST', '/messages', { source_id, session_id: 's', role: 'assistant', text: '{n}', count: 250 });
    if (restarts === 3) break;
    await expect.poll(() => accepted.size, { timeout: 30_000 }).toBeGreaterThan(atLeast);
    await receiver.close();
    await admin('PATCH', '/clock', { advance: '5s' });
    receiver = await start(receiver.port);
  }
  for (let pending = 1_000; pending > 0; ) {
    await admin('PATCH', '/clock', { advance: '30m' });
    const { counts, deliveries } = (await admin('GET', '/deliveries')).json;
    expect(deliveries).toHaveLength(1_000);
    pending = counts.pending;
  }
  const { counts } = (await admin('GET', '/deliveries')).json;
  expect(counts.delivered + counts.failed).toBe(1_000);
  expect(accepted.size).toBeGreaterThanOrEqual(counts.delivered);
  // Eight attempts at 30 % failures: about one in 15,000 is abandoned; the restarts add some.
  expect(counts.failed).toBeLessThan(5);
  const twice = [...accepted.values()].filter((count) => count > 1).length;
  process.stdout.write(`webhooks: 1,000 deliveries, ${counts.failed} given up, ${twice} accepted twice\n`);
});

test('a receiver that does not respond delays a move of the clock by two seconds at most', async () => {
  const { admin, ...on } = await startTestSandbox({ webhookTimeoutMs: 60_000 });
  const { source_id } = await createChat({ admin, ...on });
  const stalled = await startReceiver([() => undefined]);
  await admin('POST', '/webhooks', { url: stalled.url });
  await admin('POST', '/messages', { source_id, session_id: 's', role: 'assistant', text: '{n}', count: 50 });
  await expect.poll(() => stalled.received.length).toBe(8);
  const began = performance.now();
  expect((await admin('PATCH', '/clock', { advance: '1h' })).status).toBe(200);
  expect(performance.now() - began).toBeLessThan(4_000);
});
