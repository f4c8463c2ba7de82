import { createInterface } from 'node:readline';
import { expect, test } from 'vitest';
import { start } from '../support/program.ts';

/** More than a pipe holds. */
const COUNT = 300;
const BODY = 'x'.repeat(4096);

/** Starts `webhook listen`, reads the address, and sends deliveries to it while nothing else is read. */
async function deliverUnread() {
  const child = start(['webhook', 'listen', '-o', 'ndjson', '--quiet']);
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const first = await lines.next();
  child.stdout.pause();
  const { url } = JSON.parse(String(first.value));
  /** Resolve with the id, or with undefined for one that was not accepted. */
  const answers = Array.from({ length: COUNT }, (_, index) =>
    fetch(url, { method: 'POST', body: BODY, headers: { 'webhook-id': `dlv_${index}` } }).then(
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
  return { child, answers, readOn };
}

test('A reader of webhook listen that stops reading holds the answers, and has every delivery once it reads on', async () => {
  const { child, answers, readOn } = await deliverUnread();
  await Promise.any(answers);
  const shown = await readOn(COUNT);
  expect((await Promise.all(answers)).toSorted()).toEqual(shown.toSorted());
  expect(new Set(shown).size).toBe(COUNT);
  child.kill('SIGINT');
  expect((await child).exitCode).toBe(0);
});

test('At Ctrl-C, webhook listen accepts no delivery that its reader does not get', async () => {
  const { child, answers, readOn } = await deliverUnread();
  await Promise.any(answers);
  child.kill('SIGINT');
  const accepted = (await Promise.all(answers)).filter((id) => id !== undefined);
  const shown = await readOn();
  await child;
  expect(accepted.length).toBeLessThan(COUNT);
  expect(shown).toEqual(expect.arrayContaining(accepted));
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
