import { describe, expect, test } from 'vitest';
import { call, PROVISION, provisionBody, SPACES, service } from '../support/service.ts';
import { openConnection } from '../support/uploads.ts';

describe('a token', () => {
  test('is required, and does not open the admin API, nor its key the partner API', async () => {
    const { sandbox, token } = await service();
    for (const headers of [{}, { authorization: `Bearer ${sandbox.adminKey}` }]) {
      const response = await call('GET', `${sandbox.baseUrl}${SPACES}`, { headers });
      expect([response.status, response.json.error.code]).toEqual([401, 'invalid_token']);
    }
    expect((await call('GET', `${sandbox.adminUrl}/settings`, { token })).status).toBe(401);
  });

  test('needs the scope of each operation', async () => {
    const { createToken, partner, admin } = await service();
    const { scopes } = (await admin('POST', '/tokens', {})).json;
    for (const [method, path, scope] of [
      ['GET', SPACES, 'spaces.read'],
      ['POST', PROVISION, 'spaces.provision'],
      ['GET', `${SPACES}spc_1/agents/`, 'agents.read'],
      ['POST', `${SPACES}spc_1/agents/agt_1/api-chat/`, 'api_chat.setup'],
      ['POST', '/integrations/api-chat/message/', 'api_chat.runtime'],
      ['GET', '/integrations/api-chat/history/', 'api_chat.runtime'],
      ['GET', '/automation/partner-cron-jobs/', 'cron_jobs.read'],
      ['POST', '/automation/partner-cron-jobs/', 'cron_jobs.write'],
      ['POST', '/automation/documents/', 'documents.write'],
      ['POST', '/automation/file-attachments/', 'file_attachments.write'],
    ] as const) {
      const others = scopes.filter((each: string) => each !== scope);
      const without = await partner(method, path, { token: await createToken({ scopes: others }) });
      expect([path, without.status, without.json.error.code]).toEqual([path, 403, 'missing_scope']);
      const withScope = await partner(method, path, { token: await createToken({ scopes: [scope] }) });
      expect(withScope.status).not.toBe(403);
    }
  });

  test('may be limited to addresses, whatever the forwarding headers say', async () => {
    const { createToken, partner } = await service();
    const headers = { 'x-forwarded-for': '10.0.0.1', forwarded: 'for=10.0.0.1' };
    for (const [range, status] of [
      ['127.0.0.1', 200],
      ['127.0.0.0/8', 200],
      ['10.0.0.0/8', 403],
      ['::1', 403],
    ] as const) {
      const token = await createToken({ allowed_ip_cidrs: [range] });
      expect([range, (await partner('GET', SPACES, { token, headers })).status]).toEqual([range, status]);
    }
  });
});

test('the order of the checks puts the token and its address before the balance, and the balance before everything else', async () => {
  const { createToken, partner, admin } = await service();
  const elsewhere = await createToken({ allowed_ip_cidrs: ['10.0.0.1'] });
  const withoutScopes = await createToken({ scopes: [] });
  await admin('PATCH', '/settings', { balance_usd: 0.99, rate_limit: { requests: 1, per_seconds: 60 } });
  expect((await partner('GET', SPACES, { token: 'pat_unknown' })).status).toBe(401);
  expect((await partner('GET', SPACES, { token: elsewhere })).status).toBe(403);
  for (const raw of ['{not json', JSON.stringify(provisionBody('acme'))]) {
    const { status, json } = await partner('POST', PROVISION, { token: withoutScopes, raw });
    expect([status, json.error.code]).toEqual([402, 'organization_balance_too_low']);
  }
  expect((await partner('GET', '/nothing/here/')).status).toBe(402);
  await admin('PATCH', '/settings', { balance_usd: 1, rate_limit: null });
  expect((await partner('GET', SPACES)).json.count).toBe(0);
});

test('The rate limit counts each token separately, and starts again when the window is over', async () => {
  let now = Date.UTC(2026, 0, 1, 12, 0, 0, 250);
  const { createToken, partner, admin } = await service({ now: () => now });
  await admin('PATCH', '/settings', { rate_limit: { requests: 2, per_seconds: 10 } });
  for (const status of [200, 200]) expect((await partner('GET', SPACES)).status).toBe(status);
  now += 3_500;
  const limited = await partner('GET', SPACES);
  expect([limited.status, limited.json.error.code]).toEqual([429, 'rate_limited']);
  expect(limited.headers['retry-after']).toBe('7');
  expect((await partner('GET', SPACES, { token: await createToken({}) })).status).toBe(200);
  now += 6_500;
  expect((await partner('GET', SPACES)).status).toBe(200);
});

test('a request must have an exact path, a loopback Host, and a body that can be read', async () => {
  const on = await service();
  for (const path of ['/automation/spaces', '/automation/spaces//agents/', '']) {
    expect((await on.partner('GET', path)).json.error.code).toBe('not_found');
  }
  for (const [host, status] of [
    ['127.0.0.1.evil.example', 421],
    ['localhost:8080', 401],
  ] as const) {
    const { whole } = openConnection(on, `GET /v1${SPACES} HTTP/1.0\r\nHost: ${host}\r\n\r\n`);
    expect(await whole()).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `));
  }
  for (const [more, code] of [
    [{ raw: '{"external_space_id":' }, 'malformed_json'],
    [{ raw: '{}', headers: { 'content-type': 'text/plain' } }, 'unsupported_media_type'],
    [{ raw: '[]' }, 'invalid_input'],
  ] as const) {
    expect((await on.partner('POST', PROVISION, more)).json.error.code).toBe(code);
  }
});

test('The log has each partner request with its body, but never the token', async () => {
  const { admin, partner, token } = await service();
  const body = provisionBody('acme');
  await partner('POST', PROVISION, { body });
  await partner('GET', `${SPACES}?page_size=2`);
  const { text, json } = await admin('GET', '/requests');
  expect(json.requests).toMatchObject([
    { method: 'POST', path: `/v1${PROVISION}`, status: 201, body, fault: null },
    { method: 'GET', path: `/v1${SPACES}`, query: 'page_size=2', status: 200, body: null },
  ]);
  expect(text).not.toContain(token);
});
