import { EventEmitter, once } from 'node:events';
import { connect } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import {
  type ReceivedRequest,
  type Receiver,
  type ReceiverOptions,
  startReceiver,
} from '../../../src/webhook/receiver.ts';

/** The longest body that is accepted. */
const MAX_BODY_BYTES = 1024 * 1024;

async function start(options: Partial<ReceiverOptions> = {}): Promise<Receiver> {
  const receiver = await startReceiver({ port: 0, onDelivery: async () => 204, ...options });
  onTestFinished(() => receiver.close());
  return receiver;
}

test("a POST to the path is passed on with the exact bytes and header names, and gets the caller's status", async () => {
  const requests: ReceivedRequest[] = [];
  const { url } = await start({
    path: '/hooks',
    async onDelivery(request) {
      requests.push(request);
      return 202;
    },
  });
  const body = Buffer.from([0, 255, 10, 13]);
  const response = await fetch(`${url}?a=1`, { method: 'POST', body, headers: { 'X-Custom': 'kept' } });
  expect(response.status).toBe(202);
  expect(requests).toHaveLength(1);
  expect(requests[0]?.body).toEqual(body);
  expect(requests[0]?.headers.find(([name]) => name.toLowerCase() === 'x-custom')?.[1]).toBe('kept');
});

test('other paths, other methods, and long bodies are rejected, and never reach the caller', async () => {
  const refused: number[] = [];
  const { url } = await start({
    onDelivery: () => Promise.reject(new Error('called')),
    onRefused: (status) => refused.push(status),
  });
  const long = Buffer.alloc(MAX_BODY_BYTES + 1);
  const stream = new ReadableStream({
    start(controller) {
      controller.enqueue(long);
      controller.close();
    },
  });
  const statuses = [
    (await fetch(new URL('/', url), { method: 'POST', body: 'x' })).status,
    (await fetch(`${url}/more`, { method: 'POST', body: 'x' })).status,
    (await fetch(url)).status,
    (await fetch(url, { method: 'PUT', body: 'x' })).status,
    (await fetch(url, { method: 'POST', body: long })).status,
    (await fetch(url, { method: 'POST', body: stream, duplex: 'half' } as RequestInit)).status,
  ];
  expect(statuses).toEqual([404, 404, 405, 405, 413, 413]);
  expect(refused).toEqual(statuses);
});

test('close waits for the response to a delivery that has arrived, but not for silent connections', async () => {
  const arrivals = new EventEmitter();
  const arrived = once(arrivals, 'arrived');
  const answer = once(arrivals, 'answer').then(() => 200);
  const receiver = await start({
    onDelivery: () => {
      arrivals.emit('arrived');
      return answer;
    },
  });
  const silent = connect(Number(new URL(receiver.url).port), '127.0.0.1');
  await once(silent, 'connect');
  const sent = fetch(receiver.url, { method: 'POST', body: 'x' });
  await arrived;
  const closed = receiver.close();
  arrivals.emit('answer');
  expect((await sent).status).toBe(200);
  await closed;
  await expect(fetch(receiver.url, { method: 'POST', body: 'x' })).rejects.toThrow();
});
