import { describe, expect, test } from 'vitest';
import { createChat } from './chat.ts';
import { PROVISION, provisionBody, SPACES, startTestSandbox } from './client.ts';

const SETUP = `${SPACES}:space/agents/:agent/api-chat/`;

function setupPath(space: string, agent: string): string {
  return SETUP.replace(':space', space).replace(':agent', agent);
}

/** A bench with one agent that has no source yet. */
async function withAgent() {
  const on = await startTestSandbox();
  const agents = [{ template_id: 'tmpl_sales', name: 'Sales' }];
  const { json } = await on.partner('POST', PROVISION, { body: provisionBody('acme', { agents }) });
  const space_id: string = json.space.space_id;
  const agent_id: string = json.agents[0].agent_id;
  return { ...on, space_id, agent_id, path: setupPath(space_id, agent_id) };
}

describe("an agent's source", () => {
  test('is made with the fields given, once', async () => {
    const { partner, path, space_id, agent_id } = await withAgent();
    const body = { name: 'Web chat', reply_capable: false, routing_mode: 'session_workflow' };
    const made = await partner('POST', path, { body });
    expect(made.status).toBe(201);
    expect(made.json).toEqual({
      source_id: expect.stringMatching(/^src_/),
      ...body,
      agent_id,
      space_id,
      created_at: expect.stringMatching(/^\d{4}-.*Z$/),
      created: true,
    });
    const again = await partner('POST', path, { body: { name: 'Other', reply_capable: true } });
    expect(again.status).toBe(200);
    expect(again.json).toEqual({ ...made.json, created: false });
  });

  test('has defaults for what is left out', async () => {
    const { partner, path } = await withAgent();
    const { json } = await partner('POST', path, { body: {} });
    expect(json).toMatchObject({ name: 'Sales', reply_capable: true, routing_mode: 'agent_inbox' });
  });

  test('is the one that provisioning made', async () => {
    const on = await startTestSandbox();
    const chat = await createChat(on, 'session_workflow');
    const { status, json } = await on.partner('POST', setupPath(chat.space_id, chat.agent_id), {
      body: { name: 'Web chat', routing_mode: 'agent_inbox' },
    });
    expect(status).toBe(200);
    expect(json).toMatchObject({ source_id: chat.source_id, name: 'Support', routing_mode: 'session_workflow' });
  });

  test('shows in the list of agents', async () => {
    const { partner, path, space_id } = await withAgent();
    const { json } = await partner('POST', path, { body: { name: 'Web chat' } });
    const { results } = (await partner('GET', `${SPACES}${space_id}/agents/`)).json;
    expect(results[0].integrations.api_chat).toMatchObject({ source_id: json.source_id, name: 'Web chat' });
  });

  test('is one, however many ask for it at once', async () => {
    const { partner, path } = await withAgent();
    const answers = await Promise.all(Array.from({ length: 30 }, () => partner('POST', path, { body: {} })));
    expect(new Set(answers.map(({ json }) => json.source_id)).size).toBe(1);
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(1);
  });
});

describe('a set-up that is refused', () => {
  test('an unknown space, an unknown agent, and an agent of another space are 404', async () => {
    const { partner, space_id, agent_id } = await withAgent();
    const other = (await partner('POST', PROVISION, { body: provisionBody('other') })).json.space.space_id;
    const codes = async (space: string, agent: string) => {
      const { status, json } = await partner('POST', setupPath(space, agent), { body: {} });
      return [status, json.error.code];
    };
    expect(await codes('spc_none', agent_id)).toEqual([404, 'space_not_found']);
    expect(await codes(space_id, 'agt_none')).toEqual([404, 'agent_not_found']);
    expect(await codes(other, agent_id)).toEqual([404, 'agent_not_found']);
  });

  test('every wrong field is named', async () => {
    const { partner, path } = await withAgent();
    const body = { name: ' ', reply_capable: 'yes', routing_mode: 'fast', colour: 'red' };
    const { status, json } = await partner('POST', path, { body });
    expect(status).toBe(422);
    expect(json.error.fields.map((field: { path: string }) => field.path)).toEqual([
      'name',
      'reply_capable',
      'routing_mode',
      'colour',
    ]);
  });

  test('needs the scope api_chat.setup', async () => {
    const { sandbox, partner, path } = await withAgent();
    const token = await sandbox.createToken({ scopes: ['api_chat.runtime', 'agents.read'] });
    const { status, json } = await partner('POST', path, { token, body: {} });
    expect([status, json.error.code]).toEqual([403, 'missing_scope']);
  });

  test('another method is 405', async () => {
    const { partner, path } = await withAgent();
    const { status, headers } = await partner('GET', path);
    expect([status, headers.get('allow')]).toEqual([405, 'POST']);
  });
});
