import { describe, expect, test } from 'vitest';
import { startSandbox } from '../../src/sandbox/sandbox.ts';
import {
  call,
  openConnection,
  PROVISION,
  provisionBody,
  SPACES,
  startTestSandbox,
  type TestSandbox,
} from '../support/sandbox-client.ts';
import { waitForLoggedRequest } from '../support/sandbox-uploads.ts';

describe('paths and methods', () => {
  test.each([
    '/automation/spaces',
    '/automation/spaces/spc_1/agents',
    '/automation/agent-templates/provision-space',
    '/automation/',
    '/',
    '',
    '/automation/spaces//agents/',
  ])('%j is 404, without a redirect', async (path) => {
    const { partner } = await startTestSandbox();
    const { status, json, headers } = await partner('GET', path);
    expect([status, json.error.code]).toEqual([404, 'not_found']);
    expect(headers.has('location')).toBe(false);
  });

  test.each([
    ['DELETE', SPACES, 'GET, HEAD'],
    ['GET', PROVISION, 'POST'],
    ['POST', `${SPACES}spc_1/agents/`, 'GET, HEAD'],
    ['GET', `${SPACES}spc_1/agents/agt_1/api-chat/`, 'POST'],
    ['DELETE', '/automation/partner-cron-jobs/', 'POST, GET, HEAD'],
    ['OPTIONS', SPACES, 'GET, HEAD'],
  ])('%s %s is 405 with Allow: %s', async (method, path, allow) => {
    const { partner } = await startTestSandbox();
    const { status, json, headers } = await partner(method, path);
    expect([status, json.error.code, headers.get('allow')]).toEqual([405, 'method_not_allowed', allow]);
  });

  test('the admin API has the same 404, 405, 400, and 415', async () => {
    const { admin, sandbox } = await startTestSandbox();
    expect((await admin('GET', '/nothing')).json.error.code).toBe('not_found');
    expect((await admin('PUT', '/settings')).headers.get('allow')).toBe('GET, HEAD, PATCH');
    const url = `${sandbox.adminUrl}/settings`;
    expect((await call('PATCH', url, { token: sandbox.adminKey, raw: '{' })).status).toBe(400);
    const headers = { 'content-type': 'text/plain' };
    expect((await call('PATCH', url, { token: sandbox.adminKey, raw: '{}', headers })).status).toBe(415);
  });

  test('a path outside the API and the admin API is 404', async () => {
    const { sandbox } = await startTestSandbox();
    const { status, json } = await call('GET', sandbox.baseUrl.replace('/v1', '/v2/automation/spaces/'));
    expect([status, json.error.code]).toEqual([404, 'not_found']);
  });

  test('a request with an invalid Host header gets 400 with the standard error shape', async () => {
    const { first } = openConnection(await startTestSandbox(), 'GET /v1/ HTTP/1.1\r\nHost: a b\r\n\r\n');
    const text = await first();
    expect(text).toMatch(/^HTTP\/1\.1 400 /);
    expect(text).toContain('{"error":{"code":"bad_request"');
  });
});

describe('JSON bodies', () => {
  test.each([
    ['a truncated object', '{"external_space_id":'],
    ['an empty body', ''],
    ['invalid UTF-8', Uint8Array.of(0x22, 0xff, 0x22)],
  ])('%s is 400', async (_, raw) => {
    const { partner } = await startTestSandbox();
    const { status, json } = await partner('POST', PROVISION, { raw });
    expect([status, json.error.code]).toEqual([400, 'malformed_json']);
  });

  test.each([
    ['text/plain', 415],
    ['application/x-www-form-urlencoded', 415],
    ['application/json; charset=latin1', 415],
    ['application/json; charset=UTF-8', 201],
  ])('the content type %s gets %i', async (type, status) => {
    const { partner } = await startTestSandbox();
    const headers = { 'content-type': type };
    expect((await partner('POST', PROVISION, { body: provisionBody('acme'), headers })).status).toBe(status);
  });

  test('a body over 1 MiB is 413, and the connection stays usable', async () => {
    const { partner } = await startTestSandbox();
    const raw = JSON.stringify({ external_space_id: 'x'.repeat(1024 * 1024) });
    const { status, json } = await partner('POST', PROVISION, { raw });
    expect([status, json.error.code]).toEqual([413, 'body_too_large']);
    expect((await partner('GET', SPACES)).status).toBe(200);
  });

  function startPost(on: TestSandbox, headers: string) {
    const common = `Host: localhost\r\nAuthorization: Bearer ${on.token}\r\nContent-Type: application/json\r\n`;
    return openConnection(on, `POST /v1${PROVISION} HTTP/1.1\r\n${common}${headers}\r\n\r\n`);
  }

  test('a declared length over 1 MiB is 413 before any of the body arrives', async () => {
    const { first } = startPost(await startTestSandbox(), `Content-Length: ${1024 * 1024 + 1}`);
    expect(await first()).toMatch(/^HTTP\/1\.1 413 /);
  });

  test('a streamed body is 413 as soon as it is over 1 MiB', async () => {
    const { socket, first } = startPost(await startTestSandbox(), 'Transfer-Encoding: chunked');
    // The body never ends: the response must not wait for it.
    for (let sent = 0; sent <= 16; sent += 1) socket.write(`10000\r\n${'x'.repeat(0x10000)}\r\n`);
    expect(await first()).toMatch(/^HTTP\/1\.1 413 /);
  });

  test('a body that the caller truncates is 400, not a crash', async () => {
    const on = await startTestSandbox();
    const { socket } = startPost(on, 'Content-Length: 100');
    socket.write('{"external_space_id":');
    await waitForLoggedRequest(on, () => true);
    socket.destroy();
    await waitForLoggedRequest(on, ({ status, crash }) => status === 400 && crash === null);
  });

  test('a body that is nested thousands deep is omitted from the request log', async () => {
    const { partner, admin } = await startTestSandbox();
    const raw = `{"a":${'['.repeat(30_000)}${']'.repeat(30_000)}}`;
    expect((await partner('POST', PROVISION, { raw })).status).toBe(422);
    expect((await admin('GET', '/requests')).json.requests[0]).toMatchObject({ status: 422, body: null });
  });

  test('a long invalid value is shortened in the error', async () => {
    const { partner } = await startTestSandbox();
    const long = 'x'.repeat(500_000);
    const agents = [{ template_id: long, name: 'S', auto_create_api_chat: long }];
    const { status, text } = await partner('POST', PROVISION, { body: provisionBody('acme', { agents }) });
    expect(status).toBe(422);
    expect(text.length).toBeLessThan(1_000);
  });
});

describe('request ids', () => {
  test("the caller's own id is in the header and in errors", async () => {
    const { partner } = await startTestSandbox();
    const response = await partner('GET', '/nope/', { headers: { 'x-request-id': 'run-7:step.2_A' } });
    expect(response.headers.get('x-request-id')).toBe('run-7:step.2_A');
    expect(response.json).toEqual({
      error: { code: 'not_found', message: expect.any(String), request_id: 'run-7:step.2_A' },
    });
  });

  test.each(['x'.repeat(129), 'a b', 'a/b', 'é'])('the invalid id %j is replaced', async (id) => {
    const { partner } = await startTestSandbox();
    const { headers } = await partner('GET', SPACES, { headers: { 'x-request-id': id } });
    expect(headers.get('x-request-id')).toMatch(/^req_[0-9a-f]{20}$/);
  });
});

test('a crash in the service is a 500 without details, is in the request log, and leaves the service running', async () => {
  let reads = Number.POSITIVE_INFINITY;
  const now = (): number => {
    reads -= 1;
    if (reads === 0) throw new Error('the clock is broken');
    return 0;
  };
  const { partner, admin } = await startTestSandbox({ now });
  await admin('PATCH', '/settings', { rate_limit: { requests: 10, per_seconds: 1 } });
  // The Date header and the request log read the clock first, then the rate limit.
  reads = 3;
  const response = await partner('GET', SPACES);
  expect([response.status, response.json.error.code]).toEqual([500, 'internal_error']);
  expect(response.text).not.toContain('clock');
  expect((await partner('GET', SPACES)).status).toBe(200);
  const { requests } = (await admin('GET', '/requests')).json;
  expect(requests[0]).toMatchObject({ status: 500, crash: expect.stringContaining('the clock is broken') });
  expect(requests[1]).toMatchObject({ status: 200, crash: null });
});

describe('starting and stopping', () => {
  test('a port in use is a clear error', async () => {
    const { sandbox } = await startTestSandbox();
    const port = Number(new URL(sandbox.baseUrl).port);
    await expect(startTestSandbox({ port })).rejects.toThrow(`Port ${port} on 127.0.0.1 is in use.`);
  });

  test.each(['0.0.0.0', 'localhost', '::'])('the host %s is rejected', async (host) => {
    const options: object = { host };
    await expect(startSandbox(options)).rejects.toThrow(`not on ${host}.`);
  });

  test('closing twice is the same as closing once', async () => {
    const { sandbox } = await startTestSandbox();
    await Promise.all([sandbox.close(), sandbox.close()]);
    await expect(fetch(sandbox.baseUrl)).rejects.toThrow();
  });

  test('the global Request and Response of the process are not replaced', async () => {
    await startTestSandbox();
    // The library's replacements inherit from them.
    for (const built of [Request, Response]) expect(Object.getPrototypeOf(built)).toBe(Function.prototype);
  });
});
