import { join } from 'node:path';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { type SandboxOptions, startSandbox } from '../../src/sandbox/index.ts';
import { createChat, MESSAGE } from '../support/chat.ts';
import { tempDirectory } from '../support/run.ts';
import { connectTo, service, type TestSandbox } from '../support/service.ts';
import { startReceiver } from '../support/webhooks.ts';

const SECRET = `whsec_${Buffer.alloc(32, 7).toString('base64')}`;

interface Shown {
  readonly delivery_id: string;
  readonly status: string;
  readonly attempts: readonly { readonly at: string; readonly status: number | null; readonly error: string | null }[];
  readonly next_attempt_at: string | null;
}

const deliveriesOf = async ({ admin }: TestSandbox): Promise<readonly Shown[]> =>
  (await admin('GET', '/deliveries')).json.deliveries;

/** A sandbox with a frozen clock that delivers to a receiver. */
async function delivering(answers: Parameters<typeof startReceiver>[0] = [204], options: SandboxOptions = {}) {
  const receiver = await startReceiver(answers);
  const on = await service({ webhook: { url: receiver.url, secret: SECRET }, ...options });
  await on.admin('PATCH', '/clock', { frozen: true });
  const chat = await createChat(on);
  const advance = (by: string) => on.admin('PATCH', '/clock', { advance: by });
  const statuses = async () => (await deliveriesOf(on)).map(({ status }) => status);
  return { on, receiver, chat, advance, statuses, deliveries: () => deliveriesOf(on) };
}

describe('a delivery', () => {
  test.each([
    [[500, 204], 'delivered', [0, 1_000]],
    [[500, 302, 500, 204], 'failed', [0, 1_000, 6_000]],
  ] as const)('of a receiver that answers %j is %s after attempts at %j', async (answers, status, times) => {
    const { on, receiver, advance, deliveries } = await delivering(answers);
    await on.admin('POST', '/deliveries', { text: 'Hi' });
    await receiver.arrived(1);
    await advance('1h');
    const [delivery] = await deliveries();
    expect(delivery?.status).toBe(status);
    const start = Date.parse(delivery?.attempts[0]?.at ?? '');
    expect(delivery?.attempts.map(({ at }) => Date.parse(at) - start)).toEqual(times);
    expect(new Set(receiver.received.map(({ id }) => id)).size).toBe(1);
  });

  test('of a receiver that does not respond ends after ten seconds, to be attempted again', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout'] });
    onTestFinished(() => void vi.useRealTimers());
    const { on, receiver, deliveries } = await delivering(['stall']);
    const attempted = on.admin('POST', '/deliveries', { text: 'Hi' });
    await receiver.arrived(1);
    vi.advanceTimersByTime(10_000);
    await attempted;
    const error = 'The receiver did not respond in time.';
    expect(await deliveries()).toMatchObject([{ status: 'pending', attempts: [{ status: null, error }] }]);
  });

  test('to another machine is refused', async () => {
    const { admin } = await service();
    for (const url of ['http://192.0.2.1/', 'http://localhost.example.com/', 'ftp://127.0.0.1/']) {
      for (const path of ['/webhooks', '/deliveries']) {
        const { status, json } = await admin('POST', path, { url });
        expect([status, json.error.fields[0].path]).toEqual([422, 'url']);
      }
    }
  });

  test('goes to the webhook of its source, and after a restart without one nowhere', async () => {
    const dataDir = join(tempDirectory(), 'data');
    const [every, own] = [await startReceiver([204]), await startReceiver([500])];
    const first = await startSandbox({ dataDir, webhook: { url: every.url } });
    const on = connectTo(first);
    await on.admin('PATCH', '/clock', { frozen: true });
    const [a, b] = [
      await createChat(on, 'agent_inbox', { name: 'A' }),
      await createChat(on, 'agent_inbox', { name: 'B' }),
    ];
    expect((await on.admin('POST', '/webhooks', { url: own.url, source_id: a.source_id })).status).toBe(201);
    expect((await on.admin('POST', '/webhooks', { url: own.url, source_id: 'src_none' })).status).toBe(404);
    for (const chat of [a, b]) await chat.send('Hi');
    await on.admin('PATCH', '/clock', { advance: '500ms' });
    expect((await deliveriesOf(on)).map(({ status }) => status)).toEqual(['pending', 'delivered']);
    await first.close();
    const second = await service({ dataDir });
    const again = { source_id: b.source_id, session_id: 's1', text: 'Again', external_message_id: 'again' };
    expect((await second.partner('POST', MESSAGE, { body: again })).status).toBe(201);
    await second.admin('PATCH', '/clock', { advance: '1h' });
    expect([own.received.length, every.received.length]).toEqual([1, 1]);
  });
});
