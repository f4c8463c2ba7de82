import { createServer } from 'node:net';
import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { systemClock } from '../../src/clock.ts';
import { createArgs } from '../support/cron.ts';
import { type Handler, json, startFakeService } from '../support/fake-service.ts';
import { partnerctl } from '../support/run.ts';
import { listen, rawJson, startRawService } from '../support/tcp-server.ts';

const LIST = ['spaces', 'list', '-o', 'json'];
const SPACES = [{ space_id: 's1', name: 'Acme' }];

describe('an unusual response', () => {
  it.each([
    ['HTTP/1.0, ended by the connection', `HTTP/1.0 200 OK\r\n\r\n${JSON.stringify(SPACES)}`],
    ['HTTP/1.1, ended by the connection', `HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n${JSON.stringify(SPACES)}`],
    ['103 Early Hints before it', `HTTP/1.1 103 Early Hints\r\nlink: </x>; rel=preload\r\n\r\n${rawJson(SPACES)}`],
    ['203', rawJson(SPACES, '203 Non-Authoritative Information')],
    [
      'chunks',
      `HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\n[{\r\n10\r\n"space_id":"s1"}\r\n1\r\n]\r\n0\r\n\r\n`,
    ],
    ['a byte order mark', `HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n\ufeff${JSON.stringify(SPACES)}`],
    ['no content type', rawJson(SPACES).replace('content-type: application/json\r\n', '')],
  ])('is accepted: %s', async (_, reply) => {
    const { baseUrl } = await startRawService(reply);
    const ran = await partnerctl(baseUrl, [...LIST, '--retries', '0']);
    expect({ code: ran.code, stderr: ran.stderr }).toEqual({ code: 0, stderr: '' });
    expect(ran.json()).toMatchObject([{ space_id: 's1' }]);
  });

  it.each([
    ['gzip', gzipSync],
    ['deflate', deflateSync],
    ['br', brotliCompressSync],
  ] as const)('is decompressed although the request did not ask for it: %s', async (encoding, pack) => {
    const server = await startFakeService((_, response) => {
      response.writeHead(200, { 'content-encoding': encoding });
      response.end(pack(JSON.stringify(SPACES)));
    });
    const ran = await partnerctl(server.baseUrl, LIST);
    expect(ran.json()).toEqual(SPACES);
    expect(server.requests.length).toBe(1);
  });

  it('is not confused with garbage that follows it on the connection', async () => {
    const stray = rawJson([{ space_id: 'stray' }]);
    const { baseUrl } = await startRawService(() => rawJson({ results: SPACES, next: '?page=2' }) + stray + stray);
    const ran = await partnerctl(baseUrl, LIST);
    expect(ran.stdout).not.toContain('stray');
  });
});

describe('a response with characters beyond ASCII', () => {
  const NAMED = [{ space_id: 's1', name: 'Täglich' }];
  const text = JSON.stringify(NAMED);
  const latin1 = Buffer.from(text, 'latin1');
  const reply =
    (type: string, body: Buffer, status = 200): Handler =>
    (_, response) =>
      response.writeHead(status, { 'content-type': type }).end(body);

  it.each([
    ['in ISO-8859-1, and says so', 'application/json; charset=ISO-8859-1', latin1],
    ['in windows-1252, and says so', 'application/json;charset="windows-1252"', latin1],
    ['in UTF-16, and says so', 'application/json; charset=utf-16le', Buffer.from(text, 'utf16le')],
    ['in UTF-8, and says ISO-8859-1', 'application/json; charset=ISO-8859-1', Buffer.from(text)],
    ['in UTF-8, and says something unknown', 'application/json; charset=none', Buffer.from(text)],
  ])('is read if it is %s', async (_, type, body) => {
    const server = await startFakeService(reply(type, body));
    expect((await partnerctl(server.baseUrl, LIST)).json()).toEqual(NAMED);
  });

  it.each([
    ['says nothing', 'application/json'],
    ['says UTF-8', 'application/json; charset=utf-8'],
  ])('is an unexpected shape if its bytes are not UTF-8 and it %s', async (_, type) => {
    const server = await startFakeService(reply(type, latin1));
    const ran = await partnerctl(server.baseUrl, LIST);
    expect(ran.code).toBe(8);
    expect(ran.error()).toMatchObject({ type: 'unexpected_shape', hint: expect.stringContaining('charset=<name>') });
    const printed = await partnerctl(server.baseUrl, ['api', 'GET', '/automation/spaces/']);
    expect(printed.code).toBe(0);
  });

  it('is shown in a history even if its bytes are not UTF-8', async () => {
    const messages = [{ message_id: 'm1', session_id: 's', role: 'user', text: 'Täglich?' }];
    const server = await startFakeService(reply('application/json', Buffer.from(JSON.stringify(messages), 'latin1')));
    const tail = ['chat', 'tail', '--source', 'src', '--session', 's', '--no-follow', '--from-start', '-o', 'json'];
    expect((await partnerctl(server.baseUrl, tail)).json()).toMatchObject({ message_id: 'm1', text: 'T\ufffdglich?' });
  });

  it('still yields the id of what it says was created, and the message of an error', async () => {
    const created = Buffer.from(JSON.stringify({ cron_job_id: 'c1', name: 'Täglich' }), 'latin1');
    const service = await startFakeService({ 'GET *': json([]), 'POST *': reply('application/json', created, 201) });
    const ran = await partnerctl(service.baseUrl, createArgs('a1', 'Täglich'));
    expect(ran.json()).toMatchObject({ status: 'created', cron_job_id: 'c1' });
    const refusal = Buffer.from(JSON.stringify({ message: 'Ungültig, sorry.' }), 'latin1');
    service.respond(reply('application/json', refusal, 400));
    expect((await partnerctl(service.baseUrl, LIST)).stderr).toContain('sorry.');
  });
});

describe('a 2xx response without a list', () => {
  it.each([
    ['204', 'HTTP/1.1 204 No Content\r\n\r\n', 'an empty body'],
    ['an empty 200', 'HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n', 'an empty body'],
    [
      'an empty 200 that claims to be packed',
      'HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: 0\r\n\r\n',
      'an empty body',
    ],
    [
      'a page',
      'HTTP/1.1 200 OK\r\ncontent-type: text/html\r\nconnection: close\r\n\r\n<html><title>Sign in</title>',
      'an HTML page: Sign in',
    ],
    ['text', 'HTTP/1.1 200 OK\r\nconnection: close\r\n\r\nok', 'ok'],
    ['cut JSON', 'HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n[{"space_id":"s1"},', ''],
  ])('is never read as an empty list: %s', async (_, reply, seen) => {
    const server = await startRawService(reply);
    const ran = await partnerctl(server.baseUrl, LIST);
    expect(ran.code).toBe(8);
    expect(ran.stdout).toBe('');
    expect(ran.error()).toMatchObject({ type: 'unexpected_shape', details: { seen: expect.stringContaining(seen) } });
    expect(server.requests.length).toBe(1);
  });
});

describe('a response that does not end', () => {
  it('is aborted when it is larger than any expected response, and is not retried', async () => {
    const server = await startFakeService((_, response) => {
      response.writeHead(200);
      const chunk = Buffer.alloc(1024 * 1024, ' ');
      const more = (): void => {
        while (!response.destroyed && response.write(chunk));
      };
      response.on('drain', more);
      more();
    });
    const ran = await partnerctl(server.baseUrl, LIST);
    expect(ran.code).toBe(8);
    expect(ran.error()).toMatchObject({ details: { reason: 'BODY_TOO_LARGE', attempts: 1 } });
    expect(ran.error().hint).not.toContain('certificate');
  });

  it('is aborted when it decompresses to more than that, and is not retried', async () => {
    const bomb = gzipSync(Buffer.alloc(80 * 1024 * 1024, ' '));
    const server = await startFakeService((_, response) => {
      response.writeHead(200, { 'content-encoding': 'gzip' });
      response.end(bomb);
    });
    const ran = await partnerctl(server.baseUrl, LIST);
    expect(ran.code).toBe(8);
    expect(ran.error()).toMatchObject({ details: { reason: 'BODY_TOO_LARGE', attempts: 1 } });
    expect(server.requests.length).toBe(1);
  });

  it('is reported if it has an unknown encoding, and is not retried', async () => {
    const server = await startFakeService((_, response) => {
      response.writeHead(200, { 'content-encoding': 'zstd' });
      response.end('x');
    });
    const ran = await partnerctl(server.baseUrl, ['spaces', 'list']);
    expect(ran.code).toBe(8);
    expect(ran.stderr).toContain('has the encoding zstd');
    expect(ran.stderr).not.toContain('certificate');
    expect(server.requests.length).toBe(1);
  });

  it('ends at the deadline when its body stalls', async () => {
    const server = await startFakeService((_, response) => {
      response.writeHead(200, { 'content-length': '100' });
      response.write('[');
    });
    const ran = await partnerctl(server.baseUrl, [...LIST, '--timeout', '150ms'], { clock: systemClock });
    expect(ran.code).toBe(8);
    expect(ran.error().hint).toContain('--timeout');
  });

  it('ends at the deadline when it trickles in', async () => {
    let closed: Promise<unknown> = Promise.resolve();
    const server = await startFakeService((_, response) => {
      response.writeHead(200);
      const drip = setInterval(() => response.write(' '), 10);
      closed = new Promise((resolve) => response.on('close', resolve));
      response.on('close', () => clearInterval(drip));
    });
    const ran = await partnerctl(server.baseUrl, [...LIST, '--timeout', '150ms'], { clock: systemClock });
    expect(ran.code).toBe(8);
    await closed;
  });

  it('ends at the deadline when nobody completes the TLS handshake', async () => {
    const { baseUrl } = await listen(
      createServer(() => undefined),
      'https',
    );
    const ran = await partnerctl(baseUrl, [...LIST, '--timeout', '150ms'], { clock: systemClock });
    expect(ran.code).toBe(8);
    expect(ran.error()).toMatchObject({ details: { left: false } });
  });
});

it('control characters in headers and bodies of the service do not reach the terminal', async () => {
  const headers = 'x-request-id: \x1b[31mred\x1b]0;title\x07\r\ncontent-type: text/plain\r\nconnection: close';
  const server = await startRawService(`HTTP/1.1 400 Bad\r\n${headers}\r\n\r\n\x1b[2Jgone\x9b1m\u202e`);
  for (const flags of [[], ['-v'], ['--debug']]) {
    const ran = await partnerctl(server.baseUrl, ['spaces', 'list', ...flags]);
    expect(ran.code).toBeGreaterThan(0);
    expect(ran.stderr).not.toMatch(/[\x00-\x08\x0b-\x1f\x7f-\x9f\u202e]/);
  }
});
