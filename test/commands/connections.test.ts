import { createServer } from 'node:net';
import { describe, expect, it } from 'vitest';
import { systemClock } from '../../src/platform/clock.ts';
import { createGate, sendJson, startFakeService } from '../support/fake-service.ts';
import { manualSignals, partnerctl } from '../support/run.ts';
import { listen, rawJson, startRawService } from '../support/tcp-server.ts';

const LIST = ['spaces', 'list', '-o', 'json'];

describe('an unreachable service', () => {
  it('is not retried if it does not speak TLS on an https port', async () => {
    let connections = 0;
    const server = createServer((socket) => {
      connections += 1;
      socket.end('HTTP/1.1 400 Bad Request\r\n\r\n');
    });
    const { baseUrl } = await listen(server, 'https');
    const ran = await partnerctl(baseUrl, LIST);
    expect(ran.code).toBe(8);
    expect(ran.error()).toMatchObject({
      details: { left: false, attempts: 1, why: 'the service does not speak TLS on this port' },
    });
    expect(ran.error().hint).toContain('scheme and port');
    expect(connections).toBe(1);
  });
});

describe('a connection that closes too soon', () => {
  const spaces = [{ space_id: 's1' }];

  it.each([
    ['a body shorter than its Content-Length', rawJson(spaces).replace('content-length: ', 'content-length: 9')],
    ['a protocol other than HTTP', 'SSH-2.0-OpenSSH_9.9\r\n'],
  ])('is retried: %s', async (_, first) => {
    const server = await startRawService((count) => (count === 1 ? first : rawJson(spaces)));
    const ran = await partnerctl(server.baseUrl, LIST);
    expect({ code: ran.code, stderr: ran.stderr }).toEqual({ code: 0, stderr: '' });
    expect(ran.json()).toEqual(spaces);
    expect(server.requests.length).toBe(2);
  });

  it('between two calls does not fail the second one', async () => {
    const service = await startFakeService(({ query }, response, count) => {
      const next = count < 5 ? `?page=${count + 1}` : null;
      response.on('finish', () => setImmediate(() => response.socket?.resetAndDestroy()));
      sendJson(response, { results: [{ space_id: `s${query.get('page') ?? 1}` }], next });
    });
    const ran = await partnerctl(service.baseUrl, LIST);
    expect({ code: ran.code, stderr: ran.stderr }).toEqual({ code: 0, stderr: '' });
    expect(ran.json()).toEqual([1, 2, 3, 4, 5].map((number) => ({ space_id: `s${number}` })));
  });
});

it('an interrupt stops a read in the middle of its response, and SIGTERM exits with 143', async () => {
  const arrived = createGate();
  const server = await startFakeService((_, response) => {
    response.writeHead(200, { 'content-length': '100' });
    response.write('[', arrived.open);
  });
  const signals = manualSignals();
  const running = partnerctl(server.baseUrl, LIST, { signals, clock: systemClock });
  await arrived.pass();
  signals.end(143);
  expect((await running).code).toBe(143);
});

it('a response whose bytes are not UTF-8 is refused, but the raw call passes it on', async () => {
  const bytes = Buffer.from(JSON.stringify([{ space_id: 's1', name: 'Täglich' }]), 'latin1');
  const { baseUrl } = await startFakeService((_, response) => response.writeHead(200).end(bytes));
  const ran = await partnerctl(baseUrl, LIST);
  expect(ran.code).toBe(8);
  expect(ran.error()).toMatchObject({ type: 'unexpected_shape', details: { seen: 'text that is not UTF-8' } });
  expect((await partnerctl(baseUrl, ['api', 'GET', '/automation/spaces/'])).code).toBe(0);
});

it('a response that does not end is aborted when it is larger than any expected one, and is not retried', async () => {
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
  expect(ran.error()).toMatchObject({ details: { reason: 'UND_ERR_RES_EXCEEDED_MAX_SIZE', attempts: 1 } });
});

it('a response deeper than 200 levels is refused', async () => {
  const text = `[{"space_id":"s1","x":${'['.repeat(5_000)}${']'.repeat(5_000)}}]`;
  const { baseUrl } = await startFakeService((_, response) => response.end(text));
  const ran = await partnerctl(baseUrl, LIST);
  expect(ran).toMatchObject({ code: 8, stdout: '' });
  expect(ran.error().message).toContain('nested deeper than 200 levels');
});
