import { setTimeout as pause } from 'node:timers/promises';
import pLimit from 'p-limit';
import { expect, test } from 'vitest';
import { start, until } from '../support/program.ts';
import { tempDirectory } from '../support/run.ts';
import { deliver, SECRET, startReceiver } from '../support/webhooks.ts';

const COUNT = 1_000;

/** Sends a delivery until it is accepted, as a sender does. */
async function deliverSurely(url: string, id: string): Promise<void> {
  while (![200, 204].includes(await deliver(url, id, '{}').catch(() => 0))) await pause(50);
}

test('1,000 deliveries to a target that fails every third time are each forwarded until accepted, none twice', async () => {
  const taken: string[] = [];
  const target = await startReceiver(async ({ id }, count) => {
    if (count % 3 === 0) return count % 2 === 0 ? 503 : 'cut';
    taken.push(id);
    return 204;
  });
  const args = ['webhook', 'listen', '--verify', 'standard-webhooks', '--forward-to', target.url, '-o', 'ndjson'];
  const child = start(args, { env: { HOME: tempDirectory(), PARTNER_WEBHOOK_SECRET: SECRET } });
  const [first = ''] = (await until(child.stdout, /\n/)).split('\n');
  const { url } = JSON.parse(first);
  const limit = pLimit(10);
  const sendAll = Array.from({ length: COUNT }, (_, index) =>
    limit(async () => {
      await deliverSurely(url, `msg_${index}`);
      // Senders repeat what they believe was lost.
      if (index % 10 === 0) await deliverSurely(url, `msg_${index}`);
    }),
  );
  await Promise.all(sendAll);
  child.kill('SIGINT');
  expect((await child).exitCode).toBe(0);
  expect(taken).toHaveLength(COUNT);
  expect(new Set(taken).size).toBe(COUNT);
});
