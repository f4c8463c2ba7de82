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
