import { setTimeout as pause } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { start, until } from '../support/program.ts';
import { tempDirectory } from '../support/run.ts';
import { deliver, SECRET, startReceiver } from '../support/webhooks.ts';

/** Sends a delivery until it is accepted, as a sender does. */
async function deliverSurely(url: string, id: string, body: string): Promise<void> {
  while (![200, 204].includes(await deliver(url, id, body).catch(() => 0))) await pause(50);
}

/** Runs `act` for each number up to `count`, that many at a time. */
async function inLanes(count: number, lanes: number, act: (index: number) => Promise<void>): Promise<void> {
  let next = 0;
  const lane = async (): Promise<void> => {
    while (next < count) await act(next++);
  };
  await Promise.all(Array.from({ length: lanes }, lane));
}

test('1,000 deliveries to a target that fails every third time and restarts are each forwarded until accepted, none twice', async () => {
  const COUNT = 1_000;
  const taken: string[] = [];
  let restarts = 0;
  const target = await startReceiver(async ({ id }, count) => {
    if (count % 3 === 0) return count % 2 === 0 ? 503 : 'cut';
    const before = restarts;
    await pause(5);
    // A program that is exiting handles no more of what it has received.
    if (restarts > before) return 'cut';
    taken.push(id);
    return 204;
  });
  const args = ['webhook', 'listen', '--verify', 'standard-webhooks', '--forward-to', target.url, '-o', 'ndjson'];
  const child = start(args, { env: { HOME: tempDirectory(), PARTNER_WEBHOOK_SECRET: SECRET } });
  const [first = ''] = (await until(child.stdout, /\n/)).split('\n');
  const { url } = JSON.parse(first);
  const restartTarget = async (): Promise<void> => {
    restarts += 1;
    await target.close();
    await target.restart();
  };
  await inLanes(COUNT, 10, async (index) => {
    if (index === 300 || index === 700) await restartTarget();
    const id = `msg_${index}`;
    await deliverSurely(url, id, '{}');
    // Senders repeat what they believe was lost.
    if (index % 10 === 0) await deliverSurely(url, id, '{}');
  });
  child.kill('SIGINT');
  expect((await child).exitCode).toBe(0);
  process.stdout.write(`webhooks: ${COUNT} deliveries, ${target.received.length} requests at the target\n`);
  expect(new Set(taken).size).toBe(COUNT);
  expect(taken).toHaveLength(COUNT);
});
