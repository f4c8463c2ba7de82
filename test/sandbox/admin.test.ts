import { describe, expect, test } from 'vitest';
import { call, PROVISION, provisionBody, SPACES, startTestSandbox } from './client.ts';

describe('the door', () => {
  test('the admin surface opens to its own key alone, the API to partner tokens alone', async () => {
    const { sandbox, token } = await startTestSandbox({ adminKey: 'key-1' });
    expect(sandbox.adminKey).toBe('key-1');
    for (const path of ['/settings', '/tokens', '/requests', '/nothing']) {
      expect((await call('GET', `${sandbox.adminUrl}${path}`)).status).toBe(401);
      expect((await call('GET', `${sandbox.adminUrl}${path}`, { token })).status).toBe(401);
    }
    expect((await call('GET', `${sandbox.adminUrl}/settings`, { token: 'key-1' })).status).toBe(200);
    expect((await call('GET', `${sandbox.baseUrl}${SPACES}`, { token: 'key-1' })).status).toBe(401);
  });

  test('is open while the organization has no money left', async () => {
    const { admin } = await startTestSandbox();
    await admin('PATCH', '/settings', { balance_usd: 0 });
    expect((await admin('PATCH', '/settings', { balance_usd: 100 })).status).toBe(200);
  });

  test('knows 404, 405, 400 and 415 as the API does', async () => {
    const { admin, sandbox } = await startTestSandbox();
    expect((await admin('GET', '/nothing')).json.error.code).toBe('not_found');
    expect((await admin('PUT', '/settings')).headers.get('allow')).toBe('GET, HEAD, PATCH');
    const url = `${sandbox.adminUrl}/settings`;
    expect((await call('PATCH', url, { token: sandbox.adminKey, raw: '{' })).status).toBe(400);
    const headers = { 'content-type': 'text/plain' };
    expect((await call('PATCH', url, { token: sandbox.adminKey, raw: '{}', headers })).status).toBe(415);
  });
});

describe('tokens', () => {
  test('show their secret once and are listed without it', async () => {
    const { admin } = await startTestSandbox();
    const made = await admin('POST', '/tokens', { scopes: ['spaces.read'], allowed_ip_cidrs: ['10.0.0.0/8', '::1'] });
    expect(made.status).toBe(201);
    expect(made.json).toEqual({
      token_id: expect.stringMatching(/^tok_/),
      token: expect.stringMatching(/^pat_[\w-]{43}$/),
      source_id: null,
      scopes: ['spaces.read'],
      allowed_ip_cidrs: ['10.0.0.0/8', '::1'],
      created_at: expect.any(String),
    });
    const { token, ...shown } = made.json;
    const listed = await admin('GET', '/tokens');
    expect(listed.json.tokens).toContainEqual(shown);
    expect(listed.text).not.toContain(token);
    expect(listed.text).not.toContain('sha256');
  });

  test('name every scope and every address range that is none', async () => {
    const { admin } = await startTestSandbox();
    const { status, json } = await admin('POST', '/tokens', {
      scopes: ['spaces.read', 'root'],
      allowed_ip_cidrs: ['10.0.0.0/33', '127.0.0.1', 'localhost'],
      name: 'ci',
    });
    expect(status).toBe(422);
    expect(json.error.fields.map(({ path }: { path: string }) => path)).toEqual([
      'scopes[1]',
      'allowed_ip_cidrs[0]',
      'allowed_ip_cidrs[2]',
      'name',
    ]);
  });

  test('an unknown one cannot be deleted', async () => {
    const { admin } = await startTestSandbox();
    expect((await admin('DELETE', '/tokens/tok_none')).status).toBe(404);
  });
});

describe('settings', () => {
  test('have defaults, and a PATCH changes what it names', async () => {
    const { admin } = await startTestSandbox();
    const defaults = {
      balance_usd: 100,
      rate_limit: null,
      page_size: 100,
      agents_on_repeat: 'reuse',
      max_document_bytes: 10 * 1024 ** 3,
      max_file_attachment_bytes: 10 * 1024 ** 3,
      latency_ms: 0,
    };
    expect((await admin('GET', '/settings')).json).toEqual(defaults);
    const rate_limit = { requests: 5, per_seconds: 1 };
    const changed = { ...defaults, rate_limit: { ...rate_limit, retry_after: 'seconds' } };
    expect((await admin('PATCH', '/settings', { rate_limit })).json).toEqual(changed);
    expect((await admin('GET', '/settings')).json).toEqual(changed);
  });

  test.each([
    [{ page_size: 0 }, 'page_size'],
    [{ balance_usd: '5' }, 'balance_usd'],
    [{ rate_limit: { requests: 0, per_seconds: 1 } }, 'rate_limit.requests'],
    [{ rate_limit: { requests: 1 } }, 'rate_limit.per_seconds'],
    [{ agents_on_repeat: 'double' }, 'agents_on_repeat'],
    [{ colour: 'red' }, 'colour'],
  ])('%j is refused and changes nothing', async (patch, path) => {
    const { admin } = await startTestSandbox();
    const before = (await admin('GET', '/settings')).json;
    const { status, json } = await admin('PATCH', '/settings', { ...patch, latency_ms: 5 });
    expect(status).toBe(422);
    expect(json.error.fields).toEqual([{ path, message: expect.any(String) }]);
    expect((await admin('GET', '/settings')).json).toEqual(before);
  });

  test('numbers out of bounds are named with their bounds', async () => {
    const { admin } = await startTestSandbox();
    const { json } = await admin('PATCH', '/settings', { page_size: 1.5, latency_ms: -1 });
    expect(json.error.fields).toEqual([
      { path: 'page_size', message: 'is not a valid integer' },
      { path: 'latency_ms', message: 'must be >=0, not -1' },
    ]);
  });

  test('a new rate limit begins a new window', async () => {
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

  test('latency_ms holds partner requests back', async () => {
    const { admin, partner } = await startTestSandbox();
    await admin('PATCH', '/settings', { latency_ms: 80 });
    const started = performance.now();
    await partner('GET', SPACES);
    expect(performance.now() - started).toBeGreaterThanOrEqual(75);
  });
});

describe('the request log', () => {
  test('tells what was received and how it was answered, and never the token', async () => {
    const { admin, partner, token } = await startTestSandbox({ now: () => 0 });
    const body = provisionBody('acme');
    const made = await partner('POST', PROVISION, { body, headers: { 'x-request-id': 'r1' } });
    await partner('GET', `${SPACES}?page_size=2`);
    await partner('GET', `${SPACES}${made.json.space.space_id}/agents/`, { token: 'pat_wrong' });
    await partner('GET', '/nothing/');
    const { json, text } = await admin('GET', '/requests');
    expect(json.counts).toEqual({
      'POST /v1/automation/agent-templates/provision-space/': 1,
      'GET /v1/automation/spaces/': 1,
      'GET /v1/automation/spaces/:space_id/agents/': 1,
      'GET /v1/*': 1,
    });
    const { tokens } = (await admin('GET', '/tokens')).json;
    expect(json.requests[0]).toEqual({
      seq: 0,
      at: '1970-01-01T00:00:00.000Z',
      request_id: 'r1',
      method: 'POST',
      path: `/v1${PROVISION}`,
      query: '',
      route: `/v1${PROVISION}`,
      status: 201,
      token_id: tokens[0].token_id,
      fault: null,
      body,
      crash: null,
    });
    expect(json.requests[1]).toMatchObject({ query: 'page_size=2', status: 200, body: null });
    expect(json.requests[2]).toMatchObject({ status: 401, token_id: null });
    expect(json.requests[3]).toMatchObject({ status: 404 });
    expect(text).not.toContain(token);
    expect(text).not.toContain('pat_wrong');
  });

  test('is cleared by DELETE', async () => {
    const { admin, partner } = await startTestSandbox();
    await partner('GET', SPACES);
    expect((await admin('DELETE', '/requests')).status).toBe(204);
    expect((await admin('GET', '/requests')).json).toEqual({ counts: {}, requests: [] });
  });
});

describe('templates', () => {
  test('the approved ones are listed; one more can be added once', async () => {
    const { admin } = await startTestSandbox();
    const listed = (await admin('GET', '/templates')).json.templates;
    expect(listed.map(({ template_id }: { template_id: string }) => template_id)).toEqual([
      'tmpl_support',
      'tmpl_sales',
      'tmpl_onboarding',
      'tmpl_billing',
    ]);
    expect((await admin('POST', '/templates', { template_id: 't', name: 'T' })).status).toBe(201);
    expect((await admin('POST', '/templates', { template_id: 't', name: 'T' })).status).toBe(409);
    expect((await admin('GET', '/templates')).json.templates).toContainEqual({ template_id: 't', name: 'T' });
  });
});

describe('spaces in bulk', () => {
  test('what is there already is not made again', async () => {
    const { admin, partner } = await startTestSandbox();
    expect((await admin('POST', '/spaces', { count: 3, prefix: 'x' })).json).toEqual({ created: 3 });
    expect((await admin('POST', '/spaces', { count: 5, prefix: 'x' })).json).toEqual({ created: 2 });
    expect((await partner('GET', SPACES)).json.count).toBe(5);
  });
});

describe('reset', () => {
  test('takes the data away and keeps the tokens', async () => {
    const { admin, partner } = await startTestSandbox();
    await partner('POST', PROVISION, { body: provisionBody('acme') });
    await admin('PATCH', '/settings', { page_size: 5 });
    await admin('POST', '/templates', { template_id: 't', name: 'T' });
    await admin('PUT', '/faults', { rules: [{ kind: 'status', status: 500 }] });
    expect((await admin('POST', '/reset', {})).status).toBe(204);
    expect((await partner('GET', SPACES)).json.count).toBe(0);
    expect((await admin('GET', '/settings')).json.page_size).toBe(100);
    expect((await admin('GET', '/templates')).json.templates).toHaveLength(4);
    expect((await admin('GET', '/requests')).json.requests).toHaveLength(1);
    expect((await partner('POST', PROVISION, { body: provisionBody('acme') })).status).toBe(201);
  });

  test('takes the tokens too where it is told so', async () => {
    const { admin, partner } = await startTestSandbox();
    await admin('POST', '/reset', { keep_tokens: false });
    expect((await partner('GET', SPACES)).status).toBe(401);
    expect((await admin('GET', '/tokens')).json.tokens).toEqual([]);
  });
});
