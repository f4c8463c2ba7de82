import { describe, expect, test } from 'vitest';
import { run, tinyRandom } from '../support/run.ts';
import { PROVISION, provisionBody, type Service, service } from '../support/service.ts';

/** A space `acme` with two agents, none of which has a source. */
async function withAgents() {
  const it = await service();
  const agents = ['Support', 'Sales EU'].map((name) => ({ template_id: 'tmpl_support', name }));
  const { json: made } = await it.partner('POST', PROVISION, { body: provisionBody('acme', { agents }) });
  await it.forget();
  return { ...it, spaceId: String(made.space.space_id), agentId: String(made.agents[0].agent_id) };
}

const setUp = (it: Service, args: readonly string[], format = 'json') =>
  run(['chat', 'setup', ...args, '-o', format, '--color', 'never'], { env: it.env, random: tinyRandom });

describe('chat setup', () => {
  test('creates the source with all three fields, and finds it by every kind of space and agent reference', async () => {
    const it = await withAgents();
    const body = { name: 'API chat', reply_capable: true, routing_mode: 'agent_inbox' };
    const made = await setUp(it, ['ext:acme', 'name:Support']);
    expect(made).toMatchObject({ code: 0, stderr: '' });
    const source = made.json<{ source_id: string }>();
    expect(source).toMatchObject({ ...body, agent_id: it.agentId, space_id: it.spaceId, created: true });
    for (const args of [
      [it.spaceId, it.agentId],
      ['name:Acme', 'name:Support'],
    ]) {
      const found = await setUp(it, args);
      expect(found).toMatchObject({ code: 0, stderr: '' });
      expect(found.json()).toEqual({ ...source, created: false });
    }
    const path = `/v1/automation/spaces/${it.spaceId}/agents/${it.agentId}/api-chat/`;
    expect(await it.posts()).toMatchObject(Array(3).fill({ path, body }));
  });

  test('sends the values of the flags, and shows an existing source as it is', async () => {
    const it = await withAgents();
    const flags = ['--name', 'Web chat', '--no-reply-capable', '--routing-mode', 'session_workflow'];
    const fields = { name: 'Web chat', reply_capable: false, routing_mode: 'session_workflow' };
    expect(await setUp(it, ['ext:acme', 'name:Support', ...flags])).toMatchObject({ code: 0, stderr: '' });
    expect(await it.posts()).toMatchObject([{ body: fields }]);
    const other = ['ext:acme', 'name:Support', '--name', 'API chat', '--routing-mode', 'agent_inbox'];
    const ran = await setUp(it, other);
    expect(ran.json()).toMatchObject({ ...fields, created: false });
  });

  test('rejects an unknown agent, another kind of reference, and invalid flags; nothing is sent', async () => {
    const it = await withAgents();
    for (const [args, code, message] of [
      [['ext:acme', 'name:Sales'], 4, `${it.agentId} · Support`],
      [['ext:acme', 'ext:Support'], 2, 'agent_id, or name:'],
      [['ext:acme', 'name:Support', '--routing-mode', 'fast'], 2, '--help'],
      [['ext:acme', 'name:Support', '--name', ' '], 2, '--name'],
    ] as const)
      expect(await setUp(it, args)).toMatchObject({ code, stderr: expect.stringContaining(message) });
    expect(await it.posts()).toEqual([]);
  });
});
