import { describe, expect, test } from 'vitest';
import {
  openConnection,
  PROVISION,
  provisionBody,
  type RawConnection,
  SPACES,
  startTestSandbox,
  type TestSandbox,
} from '../support/sandbox-client.ts';
import { CRON_JOBS, jobBody } from '../support/sandbox-cron.ts';
import { ATTACHMENTS, partHead, rawPost } from '../support/sandbox-uploads.ts';

/** A short time for the machine, but long enough for a client on it. */
const CLIENT_TIMEOUT_MS = 300;

function head(on: TestSandbox, request: string, ...headers: string[]): string {
  return [`${request} HTTP/1.1`, 'Host: localhost', `Authorization: Bearer ${on.token}`, ...headers, '', ''].join(
    '\r\n',
  );
}

/** A POST of JSON with complete headers. */
function startPost(on: TestSandbox, length: string, path = PROVISION): RawConnection {
  return openConnection(on, head(on, `POST /v1${path}`, 'Content-Type: application/json', length));
}

async function expectServing({ partner }: TestSandbox): Promise<void> {
  expect((await partner('GET', SPACES)).status).toBe(200);
}

describe('a client that stops sending', () => {
  test.each([
    ['before its first byte', ''],
    ['within the request line', 'GET /v1/automation/spaces/ HT'],
    ['within the headers', 'GET /v1/automation/spaces/ HTTP/1.1\r\nHost: localhost\r\nAuthoriz'],
  ])('is disconnected %s', async (_, sent) => {
    const on = await startTestSandbox({ clientTimeoutMs: CLIENT_TIMEOUT_MS });
    const { text } = await openConnection(on, sent).whole;
    expect(text).toMatch(/^(HTTP\/1\.1 408 |$)/);
    await expectServing(on);
  });

  test.each([
    ['a body of known length', 'Content-Length: 100', '{"external_space_id":'],
    ['a chunked body', 'Transfer-Encoding: chunked', '5\r\n{"ext\r\n'],
  ])('within %s gets 408 and is disconnected', async (_, length, body) => {
    const on = await startTestSandbox({ clientTimeoutMs: CLIENT_TIMEOUT_MS });
    const { socket, whole } = startPost(on, length);
    socket.write(body);
    const { text } = await whole;
    expect(text).toMatch(/^HTTP\/1\.1 408 /);
    expect(text).toContain('"code":"request_timeout"');
    await expectServing(on);
  });

  test('within a file gets 408, and the file is removed', async () => {
    const on = await startTestSandbox({ clientTimeoutMs: CLIENT_TIMEOUT_MS });
    const part = partHead('; name="file"; filename="a"');
    const { text } = await rawPost(on, ATTACHMENTS, 'Content-Length: 100000', `${part}xxx`).whole;
    expect(text).toMatch(/^HTTP\/1\.1 408 /);
    expect((await on.admin('GET', '/uploads')).json.uploads).toEqual([]);
  });

  test('is waited for if it pauses for less than the limit, however long the body takes', async () => {
    const clientTimeoutMs = 2 * CLIENT_TIMEOUT_MS;
    const on = await startTestSandbox({ clientTimeoutMs });
    const body = JSON.stringify(provisionBody('acme'));
    const { socket, first } = startPost(on, `Content-Length: ${body.length}`);
    const started = performance.now();
    for (let sent = 0; sent < body.length; sent += 20) {
      socket.write(body.slice(sent, sent + 20));
      await new Promise((resolve) => setTimeout(resolve, 60));
    }
    expect(performance.now() - started).toBeGreaterThan(clientTimeoutMs);
    expect(await first()).toMatch(/^HTTP\/1\.1 201 /);
  });

  test('is distinguished from one that waits for a slow response', async () => {
    const faults = { rules: [{ kind: 'delay' as const, ms: 3 * CLIENT_TIMEOUT_MS, on: 'POST' }] };
    const on = await startTestSandbox({ clientTimeoutMs: CLIENT_TIMEOUT_MS, faults });
    expect((await on.partner('POST', PROVISION, { body: provisionBody('acme') })).status).toBe(201);
  });

  test('does not block other clients, even if 500 do so', async () => {
    const on = await startTestSandbox({ clientTimeoutMs: CLIENT_TIMEOUT_MS });
    const idle = Array.from({ length: 500 }, () => openConnection(on, 'GET /v1/ HTTP/1.1\r\n'));
    await expectServing(on);
    await Promise.all(idle.map(({ whole }) => whole));
  });
});

describe('the Host header', () => {
  test.each([
    'evil.example',
    'evil.example:80',
    '127.0.0.1.evil.example',
    'localhost.evil.example',
    '10.0.0.1',
    '0.0.0.0',
  ])('is rejected with 421 before anything happens: %s', async (host) => {
    const on = await startTestSandbox();
    const key = on.sandbox.adminKey;
    for (const request of [
      `GET /v1${SPACES} HTTP/1.1\r\nHost: ${host}\r\nAuthorization: Bearer ${on.token}\r\n\r\n`,
      `POST /_sandbox/spaces HTTP/1.1\r\nHost: ${host}\r\nAuthorization: Bearer ${key}\r\nContent-Type: application/json\r\nContent-Length: 11\r\n\r\n{"count":1}`,
      `GET /nothing HTTP/1.1\r\nHost: ${host}\r\n\r\n`,
      `GET http://${host}/v1${SPACES} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${on.token}\r\n\r\n`,
    ]) {
      const text = await openConnection(on, request).first();
      expect(text).toMatch(/^HTTP\/1\.1 421 /);
      expect(text).toContain('"code":"misdirected_request"');
    }
    expect((await on.admin('GET', '/requests')).json.requests).toEqual([]);
    expect((await on.partner('GET', SPACES)).json.count).toBe(0);
  });

  test.each(['127.0.0.1', 'localhost', 'LOCALHOST', 'localhost:1', '[::1]', '[::1]:8080'])(
    'is accepted: %s',
    async (host) => {
      const on = await startTestSandbox();
      const request = `GET /v1${SPACES} HTTP/1.1\r\nHost: ${host}\r\nAuthorization: Bearer ${on.token}\r\n\r\n`;
      expect(await openConnection(on, request).first()).toMatch(/^HTTP\/1\.1 200 /);
    },
  );
});

describe('request headers that two servers could read in two ways', () => {
  test.each([
    ['both a length and chunks', ['Content-Length: 5', 'Transfer-Encoding: chunked']],
    ['two lengths', ['Content-Length: 5', 'Content-Length: 6']],
    ['a length that is no number', ['Content-Length: 0x5']],
    ['a negative length', ['Content-Length: -5']],
    ['an encoding that is not chunked', ['Transfer-Encoding: identity, xchunked']],
    ['a folded header', ['X-One: a', ' Content-Length: 5']],
    ['a space before the colon', ['Content-Length : 5']],
    ['two Host headers', ['Host: localhost']],
  ])('get 400 with %s, and what follows is not read as a request', async (_, headers) => {
    const on = await startTestSandbox();
    const smuggled = head(on, `POST /v1${PROVISION}`, 'Content-Type: application/json', 'Content-Length: 2');
    const { socket, whole } = openConnection(
      on,
      head(on, `POST /v1${PROVISION}`, 'Content-Type: application/json', ...headers),
    );
    socket.write(`0\r\n\r\n${smuggled}{}`);
    const { text } = await whole;
    expect(text).toMatch(/^HTTP\/1\.1 400 /);
    expect(text.match(/HTTP\/1\.1/g)).toHaveLength(1);
    expect((await on.admin('GET', '/requests')).json.requests.length).toBeLessThanOrEqual(1);
  });

  test('get 431 above 16 KiB', async () => {
    const on = await startTestSandbox();
    const { first } = openConnection(on, head(on, `GET /v1${SPACES}`, `X-Large: ${'x'.repeat(20_000)}`));
    expect(await first()).toMatch(/^HTTP\/1\.1 431 /);
    await expectServing(on);
  });
});

describe('an endless body', () => {
  test.each([
    ['of spaces', `4000\r\n${' '.repeat(0x4000)}\r\n`],
    ['of chunk extensions', `1;${'x'.repeat(20_000)}\r\n{\r\n`],
  ])('in chunks %s gets 413', async (_, chunk) => {
    const on = await startTestSandbox();
    const { socket, first } = startPost(on, 'Transfer-Encoding: chunked');
    for (let sent = 0; sent < 70; sent += 1) socket.write(chunk);
    expect(await first()).toMatch(/^HTTP\/1\.1 413 /);
    await expectServing(on);
  });
});

test('a rejection names at most 100 invalid fields', async () => {
  const { admin } = await startTestSandbox();
  const { status, json } = await admin('POST', '/tokens', { allowed_ip_cidrs: Array(1_000).fill('x') });
  expect([status, json.error.fields.length]).toEqual([422, 100]);
  expect(json.error.message).toContain('and 99 more');
});

describe('a body of 1 MiB that is expensive to parse', () => {
  const SIZE = 1_000_000;
  const nested = (open: string, close: string): string => open.repeat(SIZE / 2 / open.length) + close.repeat(SIZE / 2);

  test.each([
    ['arrays in arrays', PROVISION, `{"agents":${nested('[', ']').slice(0, SIZE)}}`],
    ['objects in objects', PROVISION, `{"a":${'{"a":'.repeat(100_000)}1${'}'.repeat(100_000)}}`],
    ['a number of many digits', PROVISION, `{"external_space_id":${'9'.repeat(SIZE)}}`],
    ['a number beyond all numbers', PROVISION, '{"external_space_id":1e999999}'],
    ['many unknown fields', PROVISION, `{${Array.from({ length: 80_000 }, (_, index) => `"f${index}":1`).join(',')}}`],
    ['many wrong agents', PROVISION, `{"agents":[${'1,'.repeat(400_000)}1]}`],
    [
      'a long cron field',
      CRON_JOBS,
      JSON.stringify(
        jobBody('a', {
          schedule: {
            type: 'cron',
            data: { minute: '*/1,'.repeat(200_000), hour: '*', day_of_week: '*' },
            timezone: 'UTC',
          },
        }),
      ),
    ],
    [
      'a long time zone',
      CRON_JOBS,
      JSON.stringify(
        jobBody('a', {
          schedule: {
            type: 'cron',
            data: { minute: '*', hour: '*', day_of_week: '*' },
            timezone: 'a/'.repeat(400_000),
          },
        }),
      ),
    ],
  ])('with %s quickly gets 422 and a short message', async (_, path, raw) => {
    const on = await startTestSandbox();
    const started = process.cpuUsage();
    const { status, text, json } = await on.partner('POST', path, { raw });
    const { user, system } = process.cpuUsage(started);
    expect(status).toBe(422);
    expect(json.error.message.length).toBeLessThan(500);
    expect(text.length).toBeLessThan(50_000);
    expect((user + system) / 1e6).toBeLessThan(3);
    expect((await on.admin('GET', '/requests')).text.length).toBeLessThan(100_000);
  });
});
