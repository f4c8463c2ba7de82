import { createInterface } from 'node:readline';
import { expect, test } from 'vitest';
import { start } from '../support/program.ts';
import { propertyRuns } from '../support/properties.ts';

/** More than a pipe holds. */
const COUNT = propertyRuns(300, 100);
const BODY = 'x'.repeat(4096);

/** Starts `webhook listen`, and reads nothing but its address. */
async function listenUnread() {
  const child = start(['webhook', 'listen', '-o', 'ndjson', '--quiet']);
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const first = await lines.next();
  child.stdout.pause();
  const { url } = JSON.parse(String(first.value));
  /** Sends deliveries. @returns their ids as they are answered; undefined for one that was not accepted */
  const deliver = (indices: readonly number[], body = BODY) =>
    indices.map((index) =>
      fetch(url, { method: 'POST', body, headers: { 'webhook-id': `dlv_${index}` } }).then(
        ({ ok }) => (ok ? `dlv_${index}` : undefined),
        () => undefined,
      ),
    );
  /** Reads on to the end, or to the last of so many deliveries. @returns the ids, without a line that was cut off */
  async function readOn(count = Number.POSITIVE_INFINITY): Promise<readonly string[]> {
    child.stdout.resume();
    const ids: string[] = [];
    while (ids.length < count) {
      const { done, value } = await lines.next();
      if (done) break;
      if (value.endsWith('}')) ids.push(JSON.parse(value).delivery_id);
    }
    return ids;
  }
  return { child, deliver, readOn };
}

test('A reader of webhook listen that stops reading holds the answers, and has every delivery once it reads on', async () => {
  const { child, deliver, readOn } = await listenUnread();
  const answers = deliver(Array.from({ length: COUNT }, (_, index) => index));
  await Promise.any(answers);
  const shown = await readOn(COUNT);
  expect((await Promise.all(answers)).toSorted()).toEqual(shown.toSorted());
  expect(new Set(shown).size).toBe(COUNT);
  child.kill('SIGINT');
  expect((await child).exitCode).toBe(0);
});

test('At Ctrl-C, webhook listen accepts no delivery that its reader does not get', async () => {
  const { child, deliver, readOn } = await listenUnread();
  const before = await Promise.all(deliver([0, 1, 2]));
  // A line that no pipe holds, part of which has come.
  const answers = [...deliver([3], BODY.repeat(200)), ...deliver([4, 5])];
  const { readableHighWaterMark } = child.stdout;
  await expect.poll(() => child.stdout.readableLength).toBeGreaterThanOrEqual(readableHighWaterMark);
  child.kill('SIGINT');
  const after = (await Promise.all(answers)).filter((id) => id !== undefined);
  const shown = await readOn();
  expect((await child).exitCode).toBe(130);
  expect(before).toEqual(['dlv_0', 'dlv_1', 'dlv_2']);
  expect(shown).toEqual(expect.arrayContaining([...before, ...after]));
});

test('A reader of webhook listen that is gone ends it with an error before the next answer', async () => {
  const child = start(['webhook', 'listen', '-o', 'ndjson', '--quiet']);
  const { value } = await createInterface({ input: child.stdout })[Symbol.asyncIterator]().next();
  child.stdout.destroy();
  const { status } = await fetch(JSON.parse(String(value)).url, { method: 'POST', body: BODY });
  expect(status).toBe(503);
  expect(await child).toMatchObject({
    exitCode: 1,
    stderr: expect.stringContaining('that reads the output has ended'),
  });
});
