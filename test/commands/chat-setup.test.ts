import { describe, expect, test } from 'vitest';
import { run, tinyRandom } from '../support/run.ts';
import { PROVISION, provisionBody, type Service, service } from '../support/service.ts';

/** A space `acme` with the agents of these names, none of which has a source. */
async function withAgents(...names: readonly string[]) {
  const it = await service();
  const agents = names.map((name) => ({ template_id: 'tmpl_support', name }));
  const { json: made } = await it.partner('POST', PROVISION, { body: provisionBody('acme', { agents }) });
  const ids: string[] = made.agents.map(({ agent_id }: { agent_id: string }) => agent_id);
  await it.forget();
  return { ...it, spaceId: String(made.space.space_id), ids };
}

const setUp = (it: Service, args: readonly string[], format = 'json') =>
  run(['chat', 'setup', ...args, '-o', format, '--color', 'never'], { env: it.env, random: tinyRandom });

describe('chat setup', () => {
  test('creates the source with all three fields, and finds it by every kind of space and agent reference', async () => {
    const it = await withAgents('Support', 'Sales');
    const [agentId = ''] = it.ids;
    const body = { name: 'API chat', reply_capable: true, routing_mode: 'agent_inbox' };
    const made = await setUp(it, ['ext:acme', 'name:Support']);
    expect(made).toMatchObject({ code: 0, stderr: '' });
    const source = made.json<{ source_id: string }>();
    expect(source).toMatchObject({ ...body, source_id: expect.stringMatching(/^src_/), created: true });
    expect(source).toMatchObject({ agent_id: agentId, space_id: it.spaceId });
    for (const args of [
      [it.spaceId, agentId],
      ['name:Acme', 'name:Support'],
    ]) {
      const found = await setUp(it, args);
      expect(found).toMatchObject({ code: 0, stderr: '' });
      expect(found.json()).toEqual({ ...source, created: false });
    }
    const path = `/v1/automation/spaces/${it.spaceId}/agents/${agentId}/api-chat/`;
    expect(await it.posts()).toMatchObject(Array(3).fill({ path, body }));
  });

  test('sends the values of the flags, and shows an existing source as it is', async () => {
    const it = await withAgents('Support');
    const flags = ['--name', 'Web chat', '--no-reply-capable', '--routing-mode', 'session_workflow'];
    const fields = { name: 'Web chat', reply_capable: false, routing_mode: 'session_workflow' };
    const made = await setUp(it, ['ext:acme', 'name:Support', ...flags]);
    expect(made).toMatchObject({ code: 0, stderr: '' });
    expect(await it.posts()).toMatchObject([{ body: fields }]);
    const other = ['ext:acme', 'name:Support', '--name', 'API chat', '--routing-mode', 'agent_inbox'];
    const ran = await setUp(it, other);
    expect(ran.json()).toMatchObject({ ...fields, created: false });
  });

  test('rejects an unknown agent, another kind of reference, and invalid flags; nothing is sent', async () => {
    const it = await withAgents('Support EU');
    for (const [args, code, message] of [
      [['ext:acme', 'name:Support'], 4, `${it.ids[0]} · Support EU`],
      [['ext:acme', 'ext:Support'], 2, 'agent_id, or name:'],
      [['ext:acme', 'name:Support', '--routing-mode', 'fast'], 2, '--help'],
      [['ext:acme', 'name:Support', '--name', ' '], 2, '--name'],
    ] as const)
      expect(await setUp(it, args)).toMatchObject({ code, stderr: expect.stringContaining(message) });
    expect(await it.posts()).toEqual([]);
  });
});
