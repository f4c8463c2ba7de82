import { connect, type Socket } from 'node:net';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { LoggedRequest } from '../../src/sandbox/request-log.ts';
import { startSandbox } from '../../src/sandbox/sandbox.ts';
import { call, PROVISION, provisionBody, SPACES, startTestSandbox, type TestSandbox } from './client.ts';

describe('who may call', () => {
  test.each([
    ['no header', {}],
    ['another scheme', { authorization: 'Basic dXNlcjpwYXNz' }],
    ['an empty bearer', { authorization: 'Bearer ' }],
    ['an unknown token', { authorization: 'Bearer pat_unknown' }],
  ])('%s is 401 and says how to authenticate', async (_, headers) => {
    const { sandbox } = await startTestSandbox();
    const answer = await call('GET', `${sandbox.baseUrl}${SPACES}`, { headers });
    expect(answer.status).toBe(401);
    expect(answer.headers.get('www-authenticate')).toMatch(/^Bearer realm=/);
    expect(answer.json.error.code).toMatch(/^(not_authenticated|invalid_token)$/);
  });

  test('the scheme is known in any case', async () => {
    const { partner, token } = await startTestSandbox();
    expect((await partner('GET', SPACES, { headers: { authorization: `bearer ${token}` } })).status).toBe(200);
  });

  test('a deleted token is 401', async () => {
    const { partner, admin } = await startTestSandbox();
    const { json } = await admin('POST', '/tokens', {});
    expect((await partner('GET', SPACES, { token: json.token })).status).toBe(200);
    expect((await admin('DELETE', `/tokens/${json.token_id}`)).status).toBe(204);
    expect((await partner('GET', SPACES, { token: json.token })).status).toBe(401);
  });

  test.each([
    ['GET', SPACES, 'spaces.read'],
    ['POST', PROVISION, 'spaces.provision'],
    ['GET', `${SPACES}spc_1/agents/`, 'agents.read'],
  ])('%s %s needs the scope %s', async (method, path, scope) => {
    const { sandbox, partner } = await startTestSandbox();
    const others = ['spaces.read', 'spaces.provision', 'agents.read'].filter((each) => each !== scope);
    const without = await partner(method, path, { token: await sandbox.createToken({ scopes: others }) });
    expect(without.status).toBe(403);
    expect(without.json.error).toMatchObject({ code: 'missing_scope', message: expect.stringContaining(scope) });
    const withIt = await partner(method, path, { token: await sandbox.createToken({ scopes: [scope] }) });
    expect(withIt.status).not.toBe(403);
  });

  test('a scope that there is not makes no token', async () => {
    const { sandbox } = await startTestSandbox();
    await expect(sandbox.createToken({ scopes: ['spaces.write'] })).rejects.toThrow(/scopes\[0\] must be one of/);
  });
});

describe('from where', () => {
  test.each([
    ['127.0.0.1', 200],
    ['127.0.0.0/8', 200],
    ['::ffff:127.0.0.1', 200],
    ['10.0.0.0/8', 403],
    ['::1', 403],
  ])('a token for %s answers a caller at 127.0.0.1 with %i', async (range, status) => {
    const { sandbox, partner } = await startTestSandbox();
    const token = await sandbox.createToken({ allowed_ip_cidrs: [range] });
    const answer = await partner('GET', SPACES, { token });
    expect(answer.status).toBe(status);
    if (status === 403) expect(answer.json.error.code).toBe('ip_not_allowed');
  });

  test('a caller over IPv6 is held to the IPv6 ranges', async () => {
    const { sandbox, partner } = await startTestSandbox({ host: '::1' });
    expect(sandbox.baseUrl).toMatch(/^http:\/\/\[::1\]:\d+\/v1$/);
    const inside = await sandbox.createToken({ allowed_ip_cidrs: ['10.0.0.0/8', '::/64'] });
    const outside = await sandbox.createToken({ allowed_ip_cidrs: ['127.0.0.1', '2001:db8::/32'] });
    expect((await partner('GET', SPACES, { token: inside })).status).toBe(200);
    expect((await partner('GET', SPACES, { token: outside })).status).toBe(403);
  });

  test("a forwarding header does not change the caller's address", async () => {
    const { sandbox, partner } = await startTestSandbox();
    const token = await sandbox.createToken({ allowed_ip_cidrs: ['10.0.0.0/8'] });
    const headers = { 'x-forwarded-for': '10.0.0.1', forwarded: 'for=10.0.0.1' };
    expect((await partner('GET', SPACES, { token, headers })).status).toBe(403);
  });
});

describe('what is looked at first', () => {
  test('under 1 USD nothing is processed, whatever else is wrong with an authenticated request', async () => {
    const { sandbox, partner, admin } = await startTestSandbox();
    await admin('PATCH', '/settings', { balance_usd: 0.99, rate_limit: { requests: 1, per_seconds: 60 } });
    const poor = await sandbox.createToken({ scopes: [] });
    for (const token of [poor, await sandbox.createToken()]) {
      for (const raw of ['{not json', JSON.stringify(provisionBody('acme'))]) {
        const { status, json } = await partner('POST', PROVISION, { token, raw });
        expect([status, json.error.code]).toEqual([402, 'organization_balance_too_low']);
      }
    }
    expect((await partner('GET', '/nothing/here/')).status).toBe(402);
    expect((await partner('GET', SPACES, { token: 'pat_unknown' })).status).toBe(401);
    await admin('PATCH', '/settings', { balance_usd: 1, rate_limit: null });
    expect((await partner('GET', SPACES)).json.count).toBe(0);
  });

  test('the address comes before the balance, the rate before the scope', async () => {
    const { sandbox, partner, admin } = await startTestSandbox();
    const elsewhere = await sandbox.createToken({ allowed_ip_cidrs: ['10.0.0.1'] });
    const scopeless = await sandbox.createToken({ scopes: [] });
    await admin('PATCH', '/settings', { balance_usd: 0 });
    expect((await partner('GET', SPACES, { token: elsewhere })).status).toBe(403);
    await admin('PATCH', '/settings', { balance_usd: 5, rate_limit: { requests: 1, per_seconds: 60 } });
    expect((await partner('GET', SPACES, { token: scopeless })).status).toBe(403);
    expect((await partner('GET', SPACES, { token: scopeless })).status).toBe(429);
  });
});

describe('the rate limit', () => {
  test('counts each token for itself and begins anew when the window is over', async () => {
    let now = Date.UTC(2026, 0, 1, 12, 0, 0, 250);
    const { sandbox, partner, admin } = await startTestSandbox({ now: () => now });
    await admin('PATCH', '/settings', { rate_limit: { requests: 2, per_seconds: 10 } });
    expect((await partner('GET', SPACES)).status).toBe(200);
    expect((await partner('GET', SPACES)).status).toBe(200);
    now += 3_500;
    const limited = await partner('GET', SPACES);
    expect([limited.status, limited.json.error.code]).toEqual([429, 'rate_limited']);
    expect(limited.headers.get('retry-after')).toBe('7');
    expect((await partner('GET', SPACES, { token: await sandbox.createToken() })).status).toBe(200);
    now += 6_499;
    expect((await partner('GET', SPACES)).status).toBe(429);
    now += 1;
    expect((await partner('GET', SPACES)).status).toBe(200);
  });

  test('gives the moment as an HTTP date, never too early, on the clock of the Date header', async () => {
    const now = Date.UTC(2026, 0, 1, 12, 0, 0, 250);
    const { partner, admin } = await startTestSandbox({ now: () => now });
    await admin('PATCH', '/settings', { rate_limit: { requests: 1, per_seconds: 10, retry_after: 'date' } });
    await partner('GET', SPACES);
    const { headers } = await partner('GET', SPACES);
    expect(headers.get('retry-after')).toBe('Thu, 01 Jan 2026 12:00:11 GMT');
    expect(headers.get('date')).toBe('Thu, 01 Jan 2026 12:00:00 GMT');
  });

  test('says nothing where the settings say so', async () => {
    const { partner, admin } = await startTestSandbox({ now: () => 0 });
    await admin('PATCH', '/settings', { rate_limit: { requests: 1, per_seconds: 10, retry_after: 'none' } });
    await partner('GET', SPACES);
    const { status, headers } = await partner('GET', SPACES);
    expect(status).toBe(429);
    expect(headers.has('retry-after')).toBe(false);
  });
});

describe('paths and methods', () => {
  test.each([
    '/automation/spaces',
    '/automation/spaces/spc_1/agents',
    '/automation/agent-templates/provision-space',
    '/automation/',
    '/',
    '',
    '/automation/spaces//agents/',
  ])('there is nothing at %j', async (path) => {
    const { partner } = await startTestSandbox();
    const { status, json, headers } = await partner('GET', path);
    expect([status, json.error.code]).toEqual([404, 'not_found']);
    expect(headers.has('location')).toBe(false);
  });

  test.each([
    ['DELETE', SPACES, 'GET, HEAD'],
    ['GET', PROVISION, 'POST'],
    ['POST', `${SPACES}spc_1/agents/`, 'GET, HEAD'],
    ['OPTIONS', SPACES, 'GET, HEAD'],
  ])('%s %s is 405 and allows %s', async (method, path, allow) => {
    const { partner } = await startTestSandbox();
    const { status, json, headers } = await partner(method, path);
    expect([status, json.error.code]).toEqual([405, 'method_not_allowed']);
    expect(headers.get('allow')).toBe(allow);
  });

  test('a request that no address can be made of is 400 in the one error shape', async () => {
    const { sandbox } = await startTestSandbox();
    const { hostname, port } = new URL(sandbox.baseUrl);
    const socket = connect(Number(port), hostname);
    onTestFinished(() => {
      socket.destroy();
    });
    socket.write('GET /v1/ HTTP/1.1\r\nHost: a b\r\n\r\n');
    const first = await new Promise<string>((resolve) => socket.once('data', (data) => resolve(data.toString())));
    expect(first).toMatch(/^HTTP\/1\.1 400 /);
    expect(first).toContain('{"error":{"code":"bad_request"');
  });

  test('outside the API and the admin surface there is nothing', async () => {
    const { sandbox } = await startTestSandbox();
    const { status, json } = await call('GET', sandbox.baseUrl.replace('/v1', '/v2/automation/spaces/'));
    expect([status, json.error.code]).toEqual([404, 'not_found']);
  });
});

describe('bodies', () => {
  test('what is not JSON is 400', async () => {
    const { partner } = await startTestSandbox();
    for (const raw of ['{"external_space_id":', '', Uint8Array.of(0x22, 0xff, 0x22)]) {
      const { status, json } = await partner('POST', PROVISION, { raw });
      expect([status, json.error.code]).toEqual([400, 'malformed_json']);
    }
  });

  test('another content type is 415', async () => {
    const { partner } = await startTestSandbox();
    const body = provisionBody('acme');
    for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'application/json; charset=latin1']) {
      const { status, json } = await partner('POST', PROVISION, { body, headers: { 'content-type': type } });
      expect([status, json.error.code]).toEqual([415, 'unsupported_media_type']);
    }
    const utf8 = { 'content-type': 'application/json; charset=UTF-8' };
    expect((await partner('POST', PROVISION, { body, headers: utf8 })).status).toBe(201);
  });

  test('over 1 MiB is 413 by the declared length, and the connection goes on to serve', async () => {
    const { partner } = await startTestSandbox();
    const raw = JSON.stringify({ external_space_id: 'x'.repeat(1024 * 1024) });
    const { status, json } = await partner('POST', PROVISION, { raw });
    expect([status, json.error.code]).toEqual([413, 'body_too_large']);
    expect((await partner('GET', SPACES)).status).toBe(200);
  });

  /** A connection on which a POST to provision has been begun with these headers. */
  async function begun(
    headers: string,
    { sandbox, token }: TestSandbox,
  ): Promise<{ socket: Socket; answer: () => Promise<string> }> {
    const { hostname, port } = new URL(sandbox.baseUrl);
    const socket = connect(Number(port), hostname);
    onTestFinished(() => {
      socket.destroy();
    });
    const common = `Host: x\r\nAuthorization: Bearer ${token}\r\nContent-Type: application/json\r\n`;
    socket.write(`POST /v1${PROVISION} HTTP/1.1\r\n${common}${headers}\r\n\r\n`);
    return { socket, answer: () => new Promise((resolve) => socket.once('data', (data) => resolve(data.toString()))) };
  }

  test('over 1 MiB is 413 by the declared length before a byte of it came', async () => {
    const { answer } = await begun(`Content-Length: ${1024 * 1024 + 1}`, await startTestSandbox());
    expect(await answer()).toMatch(/^HTTP\/1\.1 413 /);
  });

  test('over 1 MiB is 413 while it streams, long before its end', async () => {
    const { socket, answer } = await begun('Transfer-Encoding: chunked', await startTestSandbox());
    for (let sent = 0; sent <= 16; sent += 1) socket.write(`10000\r\n${'x'.repeat(0x10000)}\r\n`);
    // The body never ends: the answer must not wait for it.
    expect(await answer()).toMatch(/^HTTP\/1\.1 413 /);
  });

  test("one that the caller cuts short is the caller's mistake, not a crash", async () => {
    const on = await startTestSandbox();
    const { socket } = await begun('Content-Length: 100', on);
    socket.write('{"external_space_id":');
    const logged = async (): Promise<LoggedRequest | undefined> =>
      (await on.admin('GET', '/requests')).json.requests[0];
    while (!(await logged()));
    socket.destroy();
    while ((await logged())?.status === null);
    expect(await logged()).toMatchObject({ status: 400, crash: null });
  });
});

describe('bodies made to harm', () => {
  test('one nested thousands deep leaves the request log readable', async () => {
    const { partner, admin } = await startTestSandbox();
    const raw = `{"a":${'['.repeat(30_000)}${']'.repeat(30_000)}}`;
    expect((await partner('POST', PROVISION, { raw })).status).toBe(422);
    expect((await admin('GET', '/requests')).json.requests[0]).toMatchObject({ status: 422, body: null });
  });

  test('a long wrong value is not sent back whole', async () => {
    const { partner } = await startTestSandbox();
    const long = 'x'.repeat(500_000);
    const agents = [{ template_id: long, name: 'S', auto_create_api_chat: long }];
    const { status, text } = await partner('POST', PROVISION, { body: provisionBody('acme', { agents }) });
    expect(status).toBe(422);
    expect(text.length).toBeLessThan(1_000);
  });
});

describe('request ids', () => {
  test("a sane id is the caller's, in the header and in errors", async () => {
    const { partner } = await startTestSandbox();
    const answer = await partner('GET', '/nope/', { headers: { 'x-request-id': 'run-7:step.2_A' } });
    expect(answer.headers.get('x-request-id')).toBe('run-7:step.2_A');
    expect(answer.json.error.request_id).toBe('run-7:step.2_A');
  });

  test.each(['x'.repeat(129), 'a b', 'a/b', 'é'])('%j gives way to one of the service', async (id) => {
    const { partner } = await startTestSandbox();
    const { headers } = await partner('GET', SPACES, { headers: { 'x-request-id': id } });
    expect(headers.get('x-request-id')).toMatch(/^req_[0-9a-f]{20}$/);
  });

  test('every refusal has the one error shape', async () => {
    const { partner } = await startTestSandbox();
    const { json } = await partner('GET', '/nope/');
    expect(json).toEqual({
      error: { code: 'not_found', message: expect.any(String), request_id: expect.stringMatching(/^req_/) },
    });
  });
});

describe('a crash in the service', () => {
  test('is 500 in the one error shape, told in the request log, and leaves the service running', async () => {
    let reads = Number.POSITIVE_INFINITY;
    const now = (): number => {
      reads -= 1;
      if (reads === 0) throw new Error('the clock is broken');
      return 0;
    };
    const { partner, admin } = await startTestSandbox({ now });
    // Read for the Date header, for the request log, and then for the rate limit.
    reads = 3;
    const answer = await partner('GET', SPACES);
    expect([answer.status, answer.json.error.code]).toEqual([500, 'internal_error']);
    expect(answer.text).not.toContain('clock');
    expect((await partner('GET', SPACES)).status).toBe(200);
    const { requests } = (await admin('GET', '/requests')).json;
    expect(requests[0]).toMatchObject({ status: 500, crash: expect.stringContaining('the clock is broken') });
    expect(requests[1]).toMatchObject({ status: 200, crash: null });
  });
});

describe('starting', () => {
  test('a port in use is a clear error', async () => {
    const { sandbox } = await startTestSandbox();
    const port = Number(new URL(sandbox.baseUrl).port);
    await expect(startTestSandbox({ port })).rejects.toThrow(`Port ${port} on 127.0.0.1 is in use.`);
  });

  test.each(['0.0.0.0', 'localhost', '::'])('on %s is refused', async (host) => {
    const options: object = { host };
    await expect(startSandbox(options)).rejects.toThrow(`not on ${host}.`);
  });

  test('and closing twice is closing once', async () => {
    const { sandbox } = await startTestSandbox();
    await Promise.all([sandbox.close(), sandbox.close()]);
    await expect(fetch(sandbox.baseUrl)).rejects.toThrow();
  });

  test('leaves the globals of the process alone', async () => {
    await startTestSandbox();
    // The library's own ones, which it would put in their place, inherit from them.
    for (const built of [Request, Response]) expect(Object.getPrototypeOf(built)).toBe(Function.prototype);
  });
});
