import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { manualSignals, run, tempDirectory } from '../support/run.ts';
import { deliver, startListening, startReceiver } from '../support/webhooks.ts';

/** Saves one delivery per body, with the ids a, b, …. @returns the directory */
async function save(...bodies: readonly string[]): Promise<string> {
  const directory = tempDirectory();
  const listening = await startListening(['--save', directory]);
  for (const [index, body] of bodies.entries()) await deliver(listening.url, 'abc'.charAt(index), body);
  await listening.stop();
  return directory;
}

function filesIn(directory: string): string[] {
  const names = readdirSync(directory).filter((name) => name.endsWith('.json'));
  return names.sort().map((name) => join(directory, name));
}

test('webhook replay sends everything in a directory in order of arrival, with its bytes and headers', async () => {
  const directory = await save('one', 'two', 'three');
  const target = await startReceiver([200]);
  const replayed = await run(['webhook', 'replay', directory, '--forward-to', target.url, '-o', 'json']);
  expect(replayed).toMatchObject({ code: 0, stderr: '' });
  const files = filesIn(directory);
  const sent = { status: 'sent', http_status: 200, error: null };
  expect(replayed.json()).toEqual(files.map((file, index) => ({ file, delivery_id: 'abc'.charAt(index), ...sent })));
  expect(target.received.map(({ body }) => body)).toEqual(['one', 'two', 'three']);
  expect(target.received[0]?.headers['webhook-signature']).toMatch(/^v1,/);
  // A file by either of its two names, once.
  const second = files[1] ?? '';
  const args = [second, second.replace('.json', '.body'), '--forward-to', target.url];
  expect(await run(['webhook', 'replay', ...args])).toMatchObject({ code: 0, stdout: `b\tsent\t200\t${second}\n` });
  expect(target.received.slice(3).map(({ body }) => body)).toEqual(['two']);
});

test('webhook replay reports a delivery that the target rejects, and sends the others: exit code 10', async () => {
  const directory = await save('one', 'two');
  const target = await startReceiver(({ body }) => (body === 'one' ? 401 : 200));
  const replayed = await run(['webhook', 'replay', directory, '--forward-to', target.url, '-o', 'json']);
  expect(replayed.code).toBe(10);
  expect(replayed.json()).toMatchObject([
    { status: 'failed', http_status: 401, error: { type: 'service' } },
    { status: 'sent', error: null },
  ]);
  expect(replayed.error()).toMatchObject({ type: 'partial_failure', message: '1 of 2 deliveries failed.' });
});

test('webhook replay leaves the rest unsent at Ctrl-C and says so', async () => {
  const directory = await save('one', 'two', 'three');
  const signals = manualSignals();
  const target = await startReceiver((_, count) => {
    if (count === 2) signals.ctrlC();
    return count === 2 ? 'stall' : 200;
  });
  const { code, stderr } = await run(['webhook', 'replay', directory, '--forward-to', target.url], { signals });
  expect({ code, stderr }).toEqual({
    code: 130,
    stderr: expect.stringContaining('Interrupted. 1 sent, 1 failed, 1 skipped.'),
  });
  expect(target.received).toHaveLength(2);
});

test('webhook replay fails before anything is sent for a file that is no delivery, and for what it lacks', async () => {
  const directory = await save('one', 'two');
  const target = await startReceiver([200]);
  const to = ['--forward-to', target.url];
  writeFileSync(filesIn(directory)[1] ?? '', '{}');
  for (const [args, message] of [
    [[directory, ...to], 'is not a saved delivery'],
    [[tempDirectory(), ...to], 'There are no saved deliveries in'],
    [[directory], '--forward-to is missing'],
    [[directory, '--forward-to', 'http://example.com/'], 'must be an https URL, or an http URL of this machine'],
  ] as const) {
    const ran = await run(['webhook', 'replay', ...args]);
    expect(ran).toMatchObject({ code: 2, stderr: expect.stringContaining(message) });
  }
  expect(target.received).toEqual([]);
});
