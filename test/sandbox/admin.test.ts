import { describe, expect, test } from 'vitest';
import { RequestLog } from '../../src/sandbox/request-log.ts';
import { PROVISION, provisionBody, SPACES, startTestSandbox } from '../support/sandbox-client.ts';

describe('tokens', () => {
  test('a token shows its secret once and is listed without it', async () => {
    const { admin } = await startTestSandbox();
    const issued = await admin('POST', '/tokens', { scopes: ['spaces.read'], allowed_ip_cidrs: ['10.0.0.0/8', '::1'] });
    expect(issued.status).toBe(201);
    expect(issued.json).toEqual({
      token_id: expect.stringMatching(/^tok_/),
      token: expect.stringMatching(/^pat_[\w-]{43}$/),
      source_id: null,
      scopes: ['spaces.read'],
      allowed_ip_cidrs: ['10.0.0.0/8', '::1'],
      created_at: expect.any(String),
    });
    const { token, ...listedToken } = issued.json;
    const listed = await admin('GET', '/tokens');
    expect(listed.json.tokens).toContainEqual(listedToken);
    expect(listed.text).not.toContain(token);
    expect(listed.text).not.toContain('sha256');
    expect((await admin('DELETE', '/tokens/tok_none')).status).toBe(404);
  });
});

describe('settings', () => {
  test('a PATCH changes the fields that it names and leaves the defaults of the others', async () => {
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

  test('latency_ms delays partner requests', async () => {
    const { admin, partner } = await startTestSandbox();
    await admin('PATCH', '/settings', { latency_ms: 80 });
    const started = performance.now();
    await partner('GET', SPACES);
    expect(performance.now() - started).toBeGreaterThanOrEqual(75);
  });
});

describe('the request log', () => {
  test('contains each request and its response, but never the token', async () => {
    const { admin, partner, token } = await startTestSandbox({ now: () => 0 });
    const body = provisionBody('acme');
    const created = await partner('POST', PROVISION, { body, headers: { 'x-request-id': 'r1' } });
    await partner('GET', `${SPACES}?page_size=2`);
    await partner('GET', `${SPACES}${created.json.space.space_id}/agents/`, { token: 'pat_wrong' });
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
    expect((await admin('DELETE', '/requests')).status).toBe(204);
    expect((await admin('GET', '/requests')).json).toEqual({ counts: {}, requests: [] });
  });

  test('keeps the last 10,000 requests, oldest first, and counts them all', () => {
    const log = new RequestLog();
    const request = { at: '', request_id: '', path: '/v1/', query: '', route: '/v1/*' };
    for (let number = 0; number < 10_005; number += 1) log.add({ ...request, method: number % 2 ? 'GET' : 'POST' });
    const seqs = log.entries().map(({ seq }) => seq);
    expect(seqs).toEqual(Array.from({ length: 10_000 }, (_, index) => index + 5));
    expect(log.counts()).toEqual({ 'POST /v1/*': 5_003, 'GET /v1/*': 5_002 });
    log.clear();
    expect(log.add({ ...request, method: 'GET' }).seq).toBe(0);
  });
});

test('the approved templates are listed, and another one can be added once', async () => {
  const { admin } = await startTestSandbox();
  const listed = (await admin('GET', '/templates')).json.templates;
  const ids = listed.map(({ template_id }: { template_id: string }) => template_id);
  expect(ids).toEqual(['tmpl_support', 'tmpl_sales', 'tmpl_onboarding', 'tmpl_billing']);
  expect((await admin('POST', '/templates', { template_id: 't', name: 'T' })).status).toBe(201);
  expect((await admin('POST', '/templates', { template_id: 't', name: 'T' })).status).toBe(409);
  expect((await admin('GET', '/templates')).json.templates).toContainEqual({ template_id: 't', name: 'T' });
});

test('creating spaces in bulk skips existing ones', async () => {
  const { admin, partner } = await startTestSandbox();
  expect((await admin('POST', '/spaces', { count: 3, prefix: 'x' })).json).toEqual({ created: 3 });
  expect((await admin('POST', '/spaces', { count: 5, prefix: 'x' })).json).toEqual({ created: 2 });
  expect((await partner('GET', SPACES)).json.count).toBe(5);
});

describe('a reset', () => {
  test('removes the data and keeps the tokens', async () => {
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

  test('removes the tokens as well with keep_tokens false', async () => {
    const { admin, partner } = await startTestSandbox();
    await admin('POST', '/reset', { keep_tokens: false });
    expect((await partner('GET', SPACES)).status).toBe(401);
    expect((await admin('GET', '/tokens')).json.tokens).toEqual([]);
  });
});
