import { expect, test } from 'vitest';
import { createChat } from '../support/chat.ts';
import { createCronClient } from '../support/cron.ts';
import { ATTACHMENTS, fileForm, postForm } from '../support/forms.ts';
import { PROVISION, provisionBody, SPACES, startTestSandbox } from '../support/service.ts';

test('The settings have defaults, and a change keeps the others', async () => {
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
  expect((await admin('PATCH', '/settings', { page_size: 2 })).json).toEqual({ ...defaults, page_size: 2 });
});

test.each([
  [{ page_size: 0 }, 'page_size must be >=1, not 0'],
  [{ balance_usd: '5' }, 'balance_usd must be a number, not "5"'],
  [{ rate_limit: { requests: 1 } }, 'rate_limit.per_seconds is required'],
  [{ agents_on_repeat: 'double' }, 'agents_on_repeat must be ("reuse" | "install"), not "double"'],
  [{ color: 'red' }, 'color is not a known field'],
])('The settings %j are refused', async (body, message) => {
  const { admin } = await startTestSandbox();
  const { status, json } = await admin('PATCH', '/settings', body);
  expect([status, json.error.message]).toEqual([422, `Invalid input: ${message}.`]);
});

test('The log has each partner request with its body; it can be cleared', async () => {
  const { admin, partner, token } = await startTestSandbox();
  const body = provisionBody('acme');
  const { json } = await partner('POST', PROVISION, { body });
  await partner('GET', `${SPACES}${json.space.space_id}/agents/?page_size=2`);
  await partner('GET', '/nothing/');
  const logged = await admin('GET', '/requests');
  const agents = '/v1/automation/spaces/:space_id/agents/';
  expect(logged.json.requests).toMatchObject([
    { method: 'POST', path: `/v1${PROVISION}`, status: 201, body, fault: null, crash: null },
    { method: 'GET', route: agents, query: 'page_size=2', status: 200, body: null },
    { status: 404, route: '/v1/*' },
  ]);
  expect(logged.text).not.toContain(token);
  expect((await admin('DELETE', '/requests')).status).toBe(204);
  expect((await admin('GET', '/requests')).json).toEqual({ requests: [] });
});

test('The script can be replaced, and an invalid one is refused', async () => {
  const { admin } = await startTestSandbox();
  const rules = [{ pattern: 'hi', replies: [{ text: 'Hi!', delay_ms: 5 }] }];
  expect((await admin('PUT', '/script', { rules })).json).toEqual({ rules });
  expect((await admin('GET', '/script')).json).toEqual({ rules });
  for (const rule of [{ pattern: '(', replies: [{ text: 'x' }] }, { pattern: 'x' }, { pattern: 'x', fail: 'loudly' }]) {
    expect((await admin('PUT', '/script', { rules: [rule] })).status).toBe(422);
  }
});

test('Added messages get no reply, and need a source', async () => {
  const on = await startTestSandbox();
  const chat = await createChat(on);
  const add = (more: object) =>
    on.admin('POST', '/messages', {
      source_id: chat.source_id,
      session_id: 's1',
      role: 'user',
      text: 'n is {n}',
      ...more,
    });
  const one = await add({});
  expect([one.status, one.json.created, one.json.first_message_id]).toEqual([201, 1, one.json.last_message_id]);
  await on.admin('PATCH', '/clock', { advance: '1h' });
  expect(await chat.history()).toMatchObject([{ text: 'n is {n}', external_message_id: null }]);
  expect((await add({ source_id: 'src_none' })).status).toBe(404);
  expect((await add({ role: 'system', text: '', count: 0 })).json.error.fields).toHaveLength(3);
});

test('A reset deletes everything but the tokens, and restores the settings', async () => {
  const on = await startTestSandbox();
  const { post } = await createCronClient(on);
  await post();
  await postForm(on, ATTACHMENTS, fileForm('x'));
  await on.admin('PATCH', '/settings', { page_size: 2 });
  await on.admin('PUT', '/faults', { rules: [{ kind: 'reset', on: 'DELETE' }] });
  expect((await on.admin('POST', '/reset', {})).status).toBe(204);
  expect((await on.partner('GET', SPACES)).json.count).toBe(0);
  const shown = ['/cron-jobs', '/uploads'].map(async (path) => Object.values((await on.admin('GET', path)).json));
  expect(await Promise.all(shown)).toEqual([[[]], [[]]]);
  expect((await on.admin('GET', '/settings')).json.page_size).toBe(100);
  expect((await on.admin('GET', '/faults')).json.rules).toEqual([]);
  await on.admin('POST', '/reset', { keep_tokens: false });
  expect((await on.partner('GET', SPACES)).status).toBe(401);
});
