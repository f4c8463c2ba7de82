import { expect, test } from 'vitest';
import { createChat } from '../support/sandbox-chat.ts';
import { PROVISION, provisionBody, SPACES, startTestSandbox } from '../support/sandbox-client.ts';

function setupPath(space: string, agent: string): string {
  return `${SPACES}${space}/agents/${agent}/api-chat/`;
}

/** A sandbox with one agent that has no source yet. */
async function withAgent() {
  const on = await startTestSandbox();
  const agents = [{ template_id: 'tmpl_sales', name: 'Sales' }];
  const { json } = await on.partner('POST', PROVISION, { body: provisionBody('acme', { agents }) });
  const space_id: string = json.space.space_id;
  const agent_id: string = json.agents[0].agent_id;
  return { ...on, space_id, agent_id, path: setupPath(space_id, agent_id) };
}

test('a source is created with the given fields; a second setup leaves it unchanged', async () => {
  const { partner, path, space_id, agent_id } = await withAgent();
  const body = { name: 'Web chat', reply_capable: false, routing_mode: 'session_workflow' };
  const first = await partner('POST', path, { body });
  expect(first.status).toBe(201);
  expect(first.json).toEqual({
    source_id: expect.stringMatching(/^src_/),
    ...body,
    agent_id,
    space_id,
    created_at: expect.stringMatching(/^\d{4}-.*Z$/),
    created: true,
  });
  const again = await partner('POST', path, { body: { name: 'Other', reply_capable: true } });
  expect([again.status, again.json]).toEqual([200, { ...first.json, created: false }]);
  const { results } = (await partner('GET', `${SPACES}${space_id}/agents/`)).json;
  expect(results[0].integrations.api_chat).toMatchObject({ source_id: first.json.source_id, name: 'Web chat' });
});

test('a source takes its defaults from the agent', async () => {
  const { partner, path } = await withAgent();
  const { json } = await partner('POST', path, { body: {} });
  expect(json).toMatchObject({ name: 'Sales', reply_capable: true, routing_mode: 'agent_inbox' });
});

test('the source that provisioning created is reused', async () => {
  const on = await startTestSandbox();
  const chat = await createChat(on, 'session_workflow');
  const { status, json } = await on.partner('POST', setupPath(chat.space_id, chat.agent_id), {
    body: { name: 'Web chat', routing_mode: 'agent_inbox' },
  });
  expect(status).toBe(200);
  expect(json).toMatchObject({ source_id: chat.source_id, name: 'Support', routing_mode: 'session_workflow' });
});

test('thirty concurrent setups create one source', async () => {
  const { partner, path } = await withAgent();
  const responses = await Promise.all(Array.from({ length: 30 }, () => partner('POST', path, { body: {} })));
  expect(new Set(responses.map(({ json }) => json.source_id)).size).toBe(1);
  expect(responses.filter(({ status }) => status === 201)).toHaveLength(1);
});

test('an unknown space, an unknown agent, and an agent of another space are 404', async () => {
  const { partner, space_id, agent_id } = await withAgent();
  const other = (await partner('POST', PROVISION, { body: provisionBody('other') })).json.space.space_id;
  const setUp = async (space: string, agent: string) => {
    const { status, json } = await partner('POST', setupPath(space, agent), { body: {} });
    return [status, json.error.code];
  };
  expect(await setUp('spc_none', agent_id)).toEqual([404, 'space_not_found']);
  expect(await setUp(space_id, 'agt_none')).toEqual([404, 'agent_not_found']);
  expect(await setUp(other, agent_id)).toEqual([404, 'agent_not_found']);
});
