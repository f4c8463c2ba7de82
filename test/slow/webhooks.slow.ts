import { readFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { type Running, start, until } from '../support/program.ts';
import { tempDirectory } from '../support/run.ts';
import { deliver, SECRET, startReceiver } from '../support/webhook-receiver.ts';

/** Starts a listener that verifies. @returns the process and its URL */
async function startListener(args: readonly string[], home: string): Promise<{ child: Running; url: string }> {
  const env = { HOME: home, PARTNER_WEBHOOK_SECRET: SECRET };
  const child = start(['webhook', 'listen', '--verify', 'standard-webhooks', '-o', 'ndjson', ...args], { env });
  const first = (await until(child.stdout, /\n/)).split('\n')[0] ?? '';
  return { child, url: JSON.parse(first).url };
}

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
  const { child, url } = await startListener(['--forward-to', target.url], tempDirectory());
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

/** The resident memory of a process in MiB. */
function memoryOf({ pid }: Running): number {
  const [, kib] = /^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
  return Number(kib) / 1024;
}

/** Requests that no sender of webhooks makes. @param path the path of the listener */
function garbage(index: number, path: string): string {
  const long = 'x'.repeat(index % 5_000);
  const evil = '\x1b]0;owned\x07\x1b[2J\u202e';
  const kinds = [
    `GET /${long} HTTP/1.1\r\nHost: x\r\n\r\n`,
    `DELETE ${path} HTTP/1.1\r\nHost: x\r\n\r\n`,
    `POST ${path} HTTP/1.1\r\nHost: x\r\nContent-Length: ${10 ** 12}\r\n\r\n${long}`,
    `POST ${path} HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzzz\r\n`,
    `POST ${path} HTTP/1.1\r\nHost: x\r\nwebhook-id: ${index}\r\nContent-Length: ${evil.length + 2}\r\n\r\n${evil}`,
    `${evil} / HTTP/9.9\r\n\r\n`,
    `POST ${path} HTTP/1.1\r\nHost: x\r\nX: ${'y'.repeat(40_000)}\r\n\r\n`,
    `PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n`,
    `CONNECT evil:443 HTTP/1.1\r\nHost: x\r\n\r\n`,
    `GET ${path} HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n`,
    '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03',
    `POST ${path} HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\n`,
    '',
  ];
  return kinds[index % kinds.length] ?? '';
}

test('10,000 garbage requests leave the listener up, its memory flat, and the terminal clean', async () => {
  const { child, url } = await startListener([], tempDirectory());
  const { port, pathname } = new URL(url);
  const open: Socket[] = [];
  onTestFinished(() => open.forEach((socket) => void socket.destroy()));
  /** Sends garbage, and waits for a response, the end, or a moment, after which the connection stays open. */
  const send = async (index: number): Promise<void> => {
    const socket = connect(Number(port), '127.0.0.1');
    const seen = new Promise((resolve) => {
      for (const event of ['data', 'close', 'error']) socket.on(event, resolve);
    });
    socket.write(garbage(index, pathname));
    await Promise.race([seen, pause(20)]);
    open.push(socket);
    // Keeps up to 50 connections open, half of them in the middle of a request.
    if (open.length > 50) open.shift()?.destroy();
  };
  await inLanes(2_000, 20, send);
  const before = memoryOf(child);
  await inLanes(8_000, 20, send);
  const after = memoryOf(child);
  expect(await deliver(url, 'good', '{"event":"ping"}')).toBe(200);
  child.kill('SIGINT');
  const { exitCode, stdout, stderr } = await child;
  expect(exitCode).toBe(0);
  process.stdout.write(
    `webhooks: 10,000 garbage requests, ${before.toFixed(0)} MiB after 2,000, ${after.toFixed(0)} MiB at the end, ${stderr.length} characters of messages\n`,
  );
  expect(after - before).toBeLessThan(30);
  expect(stderr.split('\n').length).toBeLessThan(20);
  expect(`${stdout}${stderr}`).not.toMatch(/[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]/);
  const labels = stdout
    .trimEnd()
    .split('\n')
    .slice(1)
    .map((line) => JSON.parse(line).verification);
  expect(new Set(labels)).toEqual(new Set(['unsigned', 'verified']));
  expect(labels.filter((label) => label === 'verified')).toHaveLength(1);
});
