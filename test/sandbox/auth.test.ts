import { describe, expect, test } from 'vitest';
import { call, PROVISION, provisionBody, SPACES, startTestSandbox } from '../support/sandbox-client.ts';

describe('authentication', () => {
  test.each([
    ['no header', {}],
    ['another scheme', { authorization: 'Basic dXNlcjpwYXNz' }],
    ['an empty bearer', { authorization: 'Bearer ' }],
    ['an unknown token', { authorization: 'Bearer pat_unknown' }],
  ])('a request with %s gets 401 and WWW-Authenticate', async (_, headers) => {
    const { sandbox } = await startTestSandbox();
    const response = await call('GET', `${sandbox.baseUrl}${SPACES}`, { headers });
    expect(response.status).toBe(401);
    expect(response.headers.get('www-authenticate')).toMatch(/^Bearer realm=/);
    expect(response.json.error.code).toMatch(/^(not_authenticated|invalid_token)$/);
  });

  test('a deleted token gets 401', async () => {
    const { partner, admin } = await startTestSandbox();
    const { json } = await admin('POST', '/tokens', {});
    const headers = { authorization: `bearer ${json.token}` };
    expect((await partner('GET', SPACES, { headers })).status).toBe(200);
    expect((await admin('DELETE', `/tokens/${json.token_id}`)).status).toBe(204);
    expect((await partner('GET', SPACES, { token: json.token })).status).toBe(401);
  });

  test('the admin API accepts only its own key, and the API only partner tokens', async () => {
    const { sandbox, token } = await startTestSandbox({ adminKey: 'key-1' });
    expect(sandbox.adminKey).toBe('key-1');
    for (const path of ['/settings', '/tokens', '/requests', '/nothing']) {
      expect((await call('GET', `${sandbox.adminUrl}${path}`)).status).toBe(401);
      expect((await call('GET', `${sandbox.adminUrl}${path}`, { token })).status).toBe(401);
    }
    expect((await call('GET', `${sandbox.adminUrl}/settings`, { token: 'key-1' })).status).toBe(200);
    expect((await call('GET', `${sandbox.baseUrl}${SPACES}`, { token: 'key-1' })).status).toBe(401);
  });
});

describe('scopes', () => {
  const SOURCE = `${SPACES}spc_1/agents/agt_1/api-chat/`;

  test.each([
    ['GET', SPACES, 'spaces.read'],
    ['POST', PROVISION, 'spaces.provision'],
    ['GET', `${SPACES}spc_1/agents/`, 'agents.read'],
    ['POST', SOURCE, 'api_chat.setup'],
    ['POST', '/integrations/api-chat/message/', 'api_chat.runtime'],
    ['GET', '/integrations/api-chat/history/', 'api_chat.runtime'],
    ['GET', '/automation/partner-cron-jobs/', 'cron_jobs.read'],
    ['POST', '/automation/partner-cron-jobs/', 'cron_jobs.write'],
    ['GET', '/automation/documents/', 'documents.read'],
    ['POST', '/automation/documents/', 'documents.write'],
    ['GET', '/automation/file-attachments/', 'file_attachments.read'],
    ['POST', '/automation/file-attachments/', 'file_attachments.write'],
  ])('%s %s needs the scope %s', async (method, path, scope) => {
    const { sandbox, partner, admin } = await startTestSandbox();
    const { tokens } = (await admin('GET', '/tokens')).json;
    const others = tokens[0].scopes.filter((each: string) => each !== scope);
    const without = await partner(method, path, { token: await sandbox.createToken({ scopes: others }) });
    expect(without.status).toBe(403);
    expect(without.json.error).toMatchObject({ code: 'missing_scope', message: expect.stringContaining(scope) });
    const withScope = await partner(method, path, { token: await sandbox.createToken({ scopes: [scope] }) });
    expect(withScope.status).not.toBe(403);
  });

  test('no token is created with an unknown scope', async () => {
    const { sandbox } = await startTestSandbox();
    await expect(sandbox.createToken({ scopes: ['spaces.write'] })).rejects.toThrow(/scopes\[0\] must be one of/);
  });
});

describe('the address of the caller', () => {
  test.each([
    ['127.0.0.1', 200],
    ['127.0.0.0/8', 200],
    ['::ffff:127.0.0.1', 200],
    ['10.0.0.0/8', 403],
    ['::1', 403],
  ])('is checked against %s: 127.0.0.1 gets %i', async (range, status) => {
    const { sandbox, partner } = await startTestSandbox();
    const token = await sandbox.createToken({ allowed_ip_cidrs: [range] });
    // Any caller can send a forwarding header.
    const headers = { 'x-forwarded-for': '10.0.0.1', forwarded: 'for=10.0.0.1' };
    const response = await partner('GET', SPACES, { token, headers });
    expect([response.status, response.json.error?.code]).toEqual([
      status,
      status === 403 ? 'ip_not_allowed' : undefined,
    ]);
  });

  test('is checked against IPv6 ranges for a caller over IPv6', async () => {
    const { sandbox, partner } = await startTestSandbox({ host: '::1' });
    expect(sandbox.baseUrl).toMatch(/^http:\/\/\[::1\]:\d+\/v1$/);
    const inside = await sandbox.createToken({ allowed_ip_cidrs: ['10.0.0.0/8', '::/64'] });
    const outside = await sandbox.createToken({ allowed_ip_cidrs: ['127.0.0.1', '2001:db8::/32'] });
    expect((await partner('GET', SPACES, { token: inside })).status).toBe(200);
    expect((await partner('GET', SPACES, { token: outside })).status).toBe(403);
  });
});

describe('the order of the checks', () => {
  test('rejects every authenticated request under 1 USD, whatever else is wrong with it', async () => {
    const { sandbox, partner, admin } = await startTestSandbox();
    await admin('PATCH', '/settings', { balance_usd: 0.99, rate_limit: { requests: 1, per_seconds: 60 } });
    const withoutScopes = await sandbox.createToken({ scopes: [] });
    for (const token of [withoutScopes, await sandbox.createToken()]) {
      for (const raw of ['{not json', JSON.stringify(provisionBody('acme'))]) {
        const { status, json } = await partner('POST', PROVISION, { token, raw });
        expect([status, json.error.code]).toEqual([402, 'organization_balance_too_low']);
      }
    }
    expect((await partner('GET', '/nothing/here/')).status).toBe(402);
    expect((await partner('GET', SPACES, { token: 'pat_unknown' })).status).toBe(401);
    // The admin API stays open.
    expect((await admin('PATCH', '/settings', { balance_usd: 1, rate_limit: null })).status).toBe(200);
    expect((await partner('GET', SPACES)).json.count).toBe(0);
  });

  test('checks the address before the balance, and the rate before the scope', async () => {
    const { sandbox, partner, admin } = await startTestSandbox();
    const elsewhere = await sandbox.createToken({ allowed_ip_cidrs: ['10.0.0.1'] });
    const withoutScopes = await sandbox.createToken({ scopes: [] });
    await admin('PATCH', '/settings', { balance_usd: 0 });
    expect((await partner('GET', SPACES, { token: elsewhere })).status).toBe(403);
    await admin('PATCH', '/settings', { balance_usd: 5, rate_limit: { requests: 1, per_seconds: 60 } });
    expect((await partner('GET', SPACES, { token: withoutScopes })).status).toBe(403);
    expect((await partner('GET', SPACES, { token: withoutScopes })).status).toBe(429);
  });
});

describe('the rate limit', () => {
  test('counts each token separately, and starts again when the window is over', async () => {
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

  test.each([
    ['date', 'Thu, 01 Jan 2026 12:00:11 GMT'],
    ['none', null],
  ])('with retry_after %s sends the Retry-After header %s', async (retry_after, header) => {
    const { partner, admin } = await startTestSandbox({ now: () => Date.UTC(2026, 0, 1, 12, 0, 0, 250) });
    await admin('PATCH', '/settings', { rate_limit: { requests: 1, per_seconds: 10, retry_after } });
    await partner('GET', SPACES);
    const { status, headers } = await partner('GET', SPACES);
    expect([status, headers.get('retry-after')]).toEqual([429, header]);
    expect(headers.get('date')).toBe('Thu, 01 Jan 2026 12:00:00 GMT');
  });

  test('starts a new window when the limit changes', async () => {
    const { admin, partner } = await startTestSandbox({ now: () => 0 });
    const limit = { requests: 1, per_seconds: 3600 };
    await admin('PATCH', '/settings', { rate_limit: limit });
    await partner('GET', SPACES);
    expect((await partner('GET', SPACES)).status).toBe(429);
    await admin('PATCH', '/settings', { balance_usd: 50 });
    expect((await partner('GET', SPACES)).status).toBe(429);
    await admin('PATCH', '/settings', { rate_limit: limit });
    expect((await partner('GET', SPACES)).status).toBe(200);
  });
});
