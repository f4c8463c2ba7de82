import { describe, expect, test } from 'vitest';
import { openConnection } from '../support/forms.ts';
import { call, PROVISION, provisionBody, SPACES, startTestSandbox } from '../support/service.ts';

describe('a token', () => {
  test.each([
    ['no header', {}],
    ['an unknown token', { authorization: 'Bearer pat_unknown' }],
  ])('is required: a request with %s gets 401', async (_, headers) => {
    const { sandbox } = await startTestSandbox();
    const response = await call('GET', `${sandbox.baseUrl}${SPACES}`, { headers });
    expect([response.status, response.json.error.code]).toEqual([401, 'invalid_token']);
  });

  test('does not open the admin API, nor its key the partner API', async () => {
    const { sandbox, token } = await startTestSandbox();
    for (const path of ['/settings', '/nothing']) {
      expect((await call('GET', `${sandbox.adminUrl}${path}`)).status).toBe(401);
      expect((await call('GET', `${sandbox.adminUrl}${path}`, { token })).status).toBe(401);
    }
    expect((await call('GET', `${sandbox.baseUrl}${SPACES}`, { token: sandbox.adminKey })).status).toBe(401);
  });

  test.each([
    ['GET', SPACES, 'spaces.read'],
    ['POST', PROVISION, 'spaces.provision'],
    ['GET', `${SPACES}spc_1/agents/`, 'agents.read'],
    ['POST', `${SPACES}spc_1/agents/agt_1/api-chat/`, 'api_chat.setup'],
    ['POST', '/integrations/api-chat/message/', 'api_chat.runtime'],
    ['GET', '/integrations/api-chat/history/', 'api_chat.runtime'],
    ['GET', '/automation/partner-cron-jobs/', 'cron_jobs.read'],
    ['POST', '/automation/partner-cron-jobs/', 'cron_jobs.write'],
    ['GET', '/automation/documents/', 'documents.read'],
    ['POST', '/automation/documents/', 'documents.write'],
    ['GET', '/automation/file-attachments/', 'file_attachments.read'],
    ['POST', '/automation/file-attachments/', 'file_attachments.write'],
  ])('needs for %s %s the scope %s', async (method, path, scope) => {
    const { createToken, partner, admin } = await startTestSandbox();
    const { scopes } = (await admin('POST', '/tokens', {})).json;
    const others = scopes.filter((each: string) => each !== scope);
    const without = await partner(method, path, { token: await createToken({ scopes: others }) });
    expect([without.status, without.json.error.code]).toEqual([403, 'missing_scope']);
    const withScope = await partner(method, path, { token: await createToken({ scopes: [scope] }) });
    expect(withScope.status).not.toBe(403);
  });

  test.each([
    ['127.0.0.1', 200],
    ['127.0.0.0/8', 200],
    ['10.0.0.0/8', 403],
    ['::1', 403],
  ])('that is limited to %s gets %i from 127.0.0.1, whatever the forwarding headers say', async (range, status) => {
    const { createToken, partner } = await startTestSandbox();
    const token = await createToken({ allowed_ip_cidrs: [range] });
    const headers = { 'x-forwarded-for': '10.0.0.1', forwarded: 'for=10.0.0.1' };
    expect((await partner('GET', SPACES, { token, headers })).status).toBe(status);
  });

  test('is issued only for known scopes and valid addresses', async () => {
    const { admin } = await startTestSandbox();
    const { json } = await admin('POST', '/tokens', { scopes: ['spaces.delete'], allowed_ip_cidrs: ['10.0.0.0/99'] });
    const paths = json.error.fields.map(({ path }: { path: string }) => path);
    expect(paths).toEqual(['scopes[0]', 'allowed_ip_cidrs[0]']);
  });
});

describe('the order of the checks', () => {
  test('puts the token and its address before the balance, and the balance before everything else', async () => {
    const { createToken, partner, admin } = await startTestSandbox();
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

  test('puts the rate before the path, the path before the scope, and the scope before the body', async () => {
    const { createToken, partner, admin } = await startTestSandbox();
    const token = await createToken({ scopes: [] });
    expect((await partner('GET', '/nothing/', { token })).status).toBe(404);
    expect((await partner('DELETE', SPACES, { token })).status).toBe(404);
    expect((await partner('POST', PROVISION, { token, raw: '{not json' })).status).toBe(403);
    await admin('PATCH', '/settings', { rate_limit: { requests: 1, per_seconds: 60 } });
    await partner('GET', SPACES, { token });
    expect((await partner('GET', '/nothing/', { token })).status).toBe(429);
  });
});

test('The rate limit counts each token separately, and starts again when the window is over', async () => {
  let now = Date.UTC(2026, 0, 1, 12, 0, 0, 250);
  const { createToken, partner, admin } = await startTestSandbox({ now: () => now });
  await admin('PATCH', '/settings', { rate_limit: { requests: 2, per_seconds: 10 } });
  for (const status of [200, 200]) expect((await partner('GET', SPACES)).status).toBe(status);
  now += 3_500;
  const limited = await partner('GET', SPACES);
  expect([limited.status, limited.json.error.code]).toEqual([429, 'rate_limited']);
  expect(limited.headers.get('retry-after')).toBe('7');
  expect((await partner('GET', SPACES, { token: await createToken({}) })).status).toBe(200);
  now += 6_500;
  expect((await partner('GET', SPACES)).status).toBe(200);
});

describe('a request', () => {
  test.each(['/automation/spaces', '/automation/spaces//agents/', '/', ''])('to %j gets 404', async (path) => {
    const { partner } = await startTestSandbox();
    const { status, json } = await partner('GET', path);
    expect([status, json.error.code]).toEqual([404, 'not_found']);
  });

  test.each([
    ['evil.example', 421],
    ['127.0.0.1.evil.example', 421],
    ['localhost:8080', 401],
    ['a b', 400],
  ])('with the Host %s gets %i', async (host, status) => {
    const on = await startTestSandbox();
    const { first } = openConnection(on, `GET /v1${SPACES} HTTP/1.1\r\nHost: ${host}\r\n\r\n`);
    expect(await first()).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `));
  });

  test.each([
    [{ raw: '{"external_space_id":' }, 400, 'malformed_json'],
    [{ raw: '{}', headers: { 'content-type': 'text/plain' } }, 415, 'unsupported_media_type'],
    [{ raw: '[]' }, 422, 'invalid_input'],
  ])('with a body that cannot be read is refused', async (more, status, code) => {
    const { partner } = await startTestSandbox();
    const { status: actual, json } = await partner('POST', PROVISION, more);
    expect([actual, json.error.code]).toEqual([status, code]);
    expect((await partner('GET', SPACES)).status).toBe(200);
  });
});
