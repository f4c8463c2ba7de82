import { readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { describe, expect, it } from 'vitest';
import { type Clock, systemClock } from '../../src/platform/clock.ts';
import { createGate, type Handler, json, reset, sendJson } from '../support/fake-service.ts';
import { write } from '../support/service.ts';
import { listen, rawJson } from '../support/tcp-server.ts';
import {
  accept,
  completed,
  createUploader,
  LARGE,
  largeFile,
  MB,
  onceReceived,
  refuseEarly,
  smallFile,
  startUploads,
  statusesOf,
  UPLOAD_TOKEN,
} from '../support/uploads.ts';

/** Waits so long before a retry that a deadline passes during the wait. */
const slowToRetry: Clock = {
  ...systemClock,
  sleep: (ms, signal) => systemClock.sleep(Math.max(ms, 120), signal),
};

it('an upload has a known length, and the token in only one header', async () => {
  const { service, upload } = await startUploads(accept);
  expect((await upload([smallFile()])).code).toBe(0);
  const [request] = service.requests;
  const { authorization, 'content-length': length, ...others } = request?.headers ?? {};
  expect(authorization).toBe(`Bearer ${UPLOAD_TOKEN}`);
  expect(others['transfer-encoding']).toBeUndefined();
  expect(Number(length)).toBe(request?.bytes);
  expect(JSON.stringify(others) + request?.path + request?.body).not.toContain(UPLOAD_TOKEN);
  expect(request?.path).toBe('/v1/automation/file-attachments/');
  expect(others['content-type']).toMatch(/^multipart\/form-data; boundary=/);
});

it('copies of one file do not block other files', async () => {
  const other = createGate();
  const { upload } = await startUploads(async (request, response, count) => {
    // The copies wait for the file that comes after all of them.
    if (request.body.includes('other.txt')) other.open();
    else await other.pass();
    sendJson(response, { id: `att_${count}` }, 201);
  });
  const copies = Array.from({ length: 3 }, () => write('same.txt', 'same'));
  const ran = await upload([...copies, write('other.txt', 'other'), '--concurrency', '2']);
  const [last, ...same] = statusesOf(ran).reverse();
  expect(last).toBe('uploaded');
  // Any of the copies may have been read first.
  expect(same.sort()).toEqual(['skipped', 'skipped', 'uploaded']);
});

it('a service that returns the token as an id leaves the file unknown, and the token in no file', async () => {
  const { upload, state } = await startUploads(json({ id: UPLOAD_TOKEN }, 201));
  const ran = await upload([smallFile()]);
  expect(ran.code).toBe(9);
  expect(ran.json()).toMatchObject([{ id: null, status: 'unknown' }]);
  expect(ran.stderr + readFileSync(state, 'utf8')).not.toContain(UPLOAD_TOKEN);
});

it('a file whose name contains the token is not sent, because the state file would have to contain it', async () => {
  const { service, upload, state } = await startUploads(accept);
  const ran = await upload([write(`${UPLOAD_TOKEN}.txt`, 'hello')]);
  expect({ code: ran.code, message: ran.error().message }).toEqual({
    code: 2,
    message: 'A secret would be written to the state.',
  });
  expect(service.requests).toEqual([]);
  expect(readFileSync(state, 'utf8')).not.toContain(UPLOAD_TOKEN);
});

it.each([
  ['401 Unauthorized', 3],
  ['402 Payment Required', 6],
  ['413 Content Too Large', 1],
])('a rejected upload whose connection is reset has failed, and is never unknown: %s', async (line, exit) => {
  const reply = rawJson({ message: 'Not this.' }, line, 'connection: close\r\n');
  const server = createServer((socket) => {
    socket.once('data', () => {
      socket.pause();
      socket.write(reply, () => socket.destroy());
    });
  });
  const { upload, records } = createUploader((await listen(server)).baseUrl);
  const ran = await upload([largeFile(), '--retries', '0']);
  // Whether the response or the reset arrives first depends on the system.
  expect(ran.code).toBeOneOf([exit, 8]);
  expect(await records()).toEqual([]);
});

describe('an early rejection of a large file', () => {
  it.each([
    [401, 3, 'credentials'],
    [402, 6, 'balance_too_low'],
    [403, 3, 'credentials'],
    [413, 1, 'refused'],
  ])('with %i stops the transfer and is reported as itself', async (status, exit, type) => {
    const { service, upload, records } = await startUploads(refuseEarly(status, 100_000));
    const ran = await upload([largeFile()]);
    expect(ran.code).toBe(exit);
    const details = { why: expect.stringMatching('Not this') };
    expect(ran.error()).toMatchObject({ type, status, code: 'the_code', details });
    expect(ran.json()).toMatchObject([{ id: null, status: 'failed', error: { type, status } }]);
    const [request] = service.requests;
    await request?.closed();
    expect(completed(service)).toEqual([false]);
    expect(request?.bytes).toBeLessThan(LARGE / 2);
    expect(await records()).toEqual([]);
  });

  it('with 307 is not followed, and leaves no connection or file open', async () => {
    const { service, upload, records } = await startUploads(refuseEarly(307, 100_000, { location: '/elsewhere' }));
    const ran = await upload([largeFile()]);
    expect({ code: ran.code, type: ran.error().type }).toEqual({ code: 8, type: 'service' });
    expect(ran.stderr).toContain('/elsewhere');
    expect(service.requests).toHaveLength(1);
    expect(await records()).toEqual([]);
  });
});

it('a rate limit beyond the deadline ends the run immediately, and says when to retry', async () => {
  const { service, upload, records } = await startUploads(refuseEarly(429, 0, { 'retry-after': '3600' }));
  const ran = await upload([largeFile(), largeFile()]);
  expect({ code: ran.code, type: ran.error().type }).toEqual({ code: 7, type: 'rate_limited' });
  expect(ran.error().hint).toMatch(/^Run the command again after \d{4}-/);
  expect(service.requests.length).toBeLessThanOrEqual(2);
  expect(await records()).toEqual([]);
});

it('a file that no longer exists when its turn comes fails, and others of its name are uploaded', async () => {
  const [first = '', gone = '', last = ''] = ['one', 'two', 'six'].map((content) => write('index.html', content));
  const { upload } = await startUploads((request, response, count) => {
    rmSync(gone, { force: true });
    return accept(request, response, count);
  });
  const ran = await upload([first, gone, last, '--concurrency', '1']);
  expect(ran.code).toBe(10);
  expect(ran.json()).toMatchObject([
    { status: 'uploaded' },
    { status: 'failed', error: { message: `${gone} cannot be read.` } },
    { status: 'uploaded' },
  ]);
});

describe('a service that reads slowly', () => {
  it('fails at the deadline of the command despite its progress', async () => {
    // Reading at this pace takes longer than any test may.
    const path = largeFile(120 * MB);
    const readSlowly: Handler = async (request) => {
      const closed = request.closed().then(() => true);
      void request.readBody();
      for (let isOver = false; !isOver; ) {
        request.incoming.pause();
        isOver = await Promise.race([closed, systemClock.sleep(100).then(() => false)]);
        request.incoming.resume();
        await request.readBytes(request.bytes + MB);
      }
    };
    const { service, upload, records } = await startUploads({ onHeaders: readSlowly });
    const ran = await upload([path, '--timeout', '6s'], { clock: slowToRetry });
    expect(service.requests[0]?.bytes).toBeGreaterThan(2 * MB);
    expect({ code: ran.code, type: ran.error().type }).toEqual({ code: 8, type: 'service' });
    expect(completed(service)).toEqual([false]);
    expect(await records()).toEqual([]);
  });

  it('and then stops is abandoned within --timeout, with nothing left open', async () => {
    const stop = onceReceived(1, ({ incoming }) => incoming.pause());
    const { service, upload, records } = await startUploads(stop);
    const ran = await upload([largeFile(), '--timeout', '2s', '-v'], { clock: slowToRetry });
    expect(service.requests).toHaveLength(1);
    expect(ran.code).toBe(8);
    const [error = ''] = ran.stderr.split('\n').filter((line) => line.startsWith('{'));
    expect(JSON.parse(error).error).toMatchObject({
      type: 'service',
      message: expect.stringMatching(/^Could not send the whole request to http:\S+ within 2s \(--timeout\)\.$/),
    });
    expect(ran.stderr).toMatch(
      /^\* POST \S+ → failed before all of it was sent: the rest of the request could not be sent in time /m,
    );
    expect(ran.json()).toMatchObject([{ id: null, status: 'failed' }]);
    expect(await records()).toEqual([]);
  });

  it('and closes every connection is not reported as unreachable', async () => {
    const { service, upload, records } = await startUploads(onceReceived(1, reset));
    const ran = await upload([largeFile(), '--retries', '1']);
    expect(ran.error().message).toBe(`Could not send the whole request to ${service.baseUrl} after 2 attempts.`);
    expect(await records()).toEqual([]);
  });
});
