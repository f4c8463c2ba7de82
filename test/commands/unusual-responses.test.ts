import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { createArgs } from '../support/cron.ts';
import { type Handler, startFakeService } from '../support/fake-service.ts';
import { partnerctl, tempDirectory } from '../support/run.ts';
import { rawJson, startRawService } from '../support/tcp-server.ts';

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

  it('is unpacked if a proxy packed it with gzip, although the request did not ask for it', async () => {
    const server = await startFakeService((_, response) => {
      response.writeHead(200, { 'content-encoding': 'gzip' });
      response.end(gzipSync(JSON.stringify(SPACES)));
    });
    const ran = await partnerctl(server.baseUrl, LIST);
    expect(ran.json()).toEqual(SPACES);
    expect(server.requests.length).toBe(1);
  });
});

describe('a response whose bytes are not UTF-8', () => {
  const latin1 = (body: unknown, status = 200): Handler => {
    const bytes = Buffer.from(JSON.stringify(body), 'latin1');
    return (_, response) => response.writeHead(status, { 'content-type': 'application/json' }).end(bytes);
  };

  it('is refused, because its names would be wrong, but the raw call passes it on', async () => {
    const { baseUrl } = await startFakeService(latin1([{ space_id: 's1', name: 'Täglich' }]));
    const ran = await partnerctl(baseUrl, LIST);
    expect(ran.code).toBe(8);
    expect(ran.error()).toMatchObject({ type: 'unexpected_shape', details: { seen: 'text that is not UTF-8' } });
    expect((await partnerctl(baseUrl, ['api', 'GET', '/automation/spaces/'])).code).toBe(0);
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

describe('a response beyond the limits of what is read', () => {
  const nested = (levels: number): string =>
    `[{"space_id":"s1","x":${'['.repeat(levels - 2)}${']'.repeat(levels - 2)}}]`;
  const raw =
    (text: string): Handler =>
    (_, response) =>
      response.writeHead(200, { 'content-type': 'application/json' }).end(text);

  it('is read if it is 200 levels deep, and refused if it is deeper, or has a number of millions of digits', async () => {
    const reading = await startFakeService(raw(nested(200)));
    expect((await partnerctl(reading.baseUrl, LIST)).code).toBe(0);
    for (const [text, says] of [
      [nested(1_000_000), 'nested deeper than 200 levels'],
      [`[{"space_id":${'7'.repeat(3_000_000)}}]`, 'a number of more than 1,000 digits'],
    ] as const) {
      reading.respond(raw(text));
      const ran = await partnerctl(reading.baseUrl, LIST);
      expect(ran).toMatchObject({ code: 8, stdout: '' });
      expect(ran.error().message).toContain(says);
    }
  });

  it('leaves the outcome of the creation of a job unknown', async () => {
    for (const text of [nested(5_000), `{"cron_job_id":${'7'.repeat(2_000)}}`]) {
      const { baseUrl } = await startFakeService({ 'GET *': raw('[]'), 'POST *': raw(text) });
      const lost = await partnerctl(baseUrl, createArgs('a1', 'daily', '--state', join(tempDirectory(), 's.jsonl')));
      expect(lost.code).toBe(9);
    }
  });
});
