import { expect, test } from 'vitest';
import { createChat } from '../support/chat.ts';
import { PROVISION, provisionBody, SPACES, service } from '../support/service.ts';

test('The log has each partner request with its body, but never the token; it can be cleared', async () => {
  const { admin, partner, token } = await service();
  const body = provisionBody('acme');
  await partner('POST', PROVISION, { body });
  await partner('GET', `${SPACES}?page_size=2`);
  const logged = await admin('GET', '/requests');
  expect(logged.json.requests).toMatchObject([
    { method: 'POST', path: `/v1${PROVISION}`, status: 201, body, fault: null },
    { method: 'GET', path: `/v1${SPACES}`, query: 'page_size=2', status: 200, body: null },
  ]);
  expect(logged.text).not.toContain(token);
  expect((await admin('DELETE', '/requests')).status).toBe(204);
  expect((await admin('GET', '/requests')).json).toEqual({ requests: [] });
});

test('Added messages get no reply, and need a source', async () => {
  const on = await service();
  const chat = await createChat(on);
  const valid = { source_id: chat.source_id, session_id: 's1', role: 'user', text: 'n is {n}', count: 2 };
  const add = (more: object) => on.admin('POST', '/messages', { ...valid, ...more });
  expect((await add({})).status).toBe(201);
  await on.admin('PATCH', '/clock', { advance: '1h' });
  expect((await chat.history()).map(({ text }) => text)).toEqual(['n is 1', 'n is 2']);
  expect((await add({ source_id: 'src_none' })).status).toBe(404);
  expect((await add({ role: 'system', text: '', count: 0 })).json.error.fields).toHaveLength(3);
});
