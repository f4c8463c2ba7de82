import { describe, expect, test } from 'vitest';
import { manifest, type Service, service, write } from '../support/service.ts';
import { type Answer, provision, SUMMARY } from './provisioning.ts';

/** A document with one agent per line, each with additional fields. */
function asking(id: string, agents: Readonly<Record<string, string>>): string {
  const lines = Object.entries(agents).map(
    ([name, more]) => `  - { template_id: tmpl_support, name: ${name}, ${more} }`,
  );
  return `external_space_id: ${id}\nspace: { name: Acme }\nagents:\n${lines.join('\n')}\n`;
}

const paths = async (it: Service): Promise<string[]> => (await it.posts()).map(({ path }) => path);
const API_CHAT = expect.stringMatching(/\/api-chat\/$/);

describe('agents[].chat', () => {
  test('is set up after the installation, with defaults, and its source is reported', async () => {
    const it = await service();
    const chats = {
      Support: 'chat: { name: Web, reply_capable: false, routing_mode: session_workflow }',
      Sales: 'chat: {}',
      Quiet: 'auto_create_api_chat: false',
    };
    const ran = await provision([write('acme.yaml', asking('acme', chats))], it);
    expect(ran).toMatchObject({ code: 0, stderr: '' });
    const { space_id, agents } = ran.json<Answer>().results[0] ?? { space_id: null, agents: [] };
    const source_id = expect.stringMatching(/^src_/);
    expect(agents).toMatchObject([{ source_id }, { source_id }, { source_id: null }]);
    const [install, ...setUps] = await it.posts();
    expect(install?.body).toMatchObject({
      agents: [{ name: 'Support' }, { name: 'Sales' }, { name: 'Quiet', auto_create_api_chat: false }],
    });
    expect(JSON.stringify(install?.body)).not.toContain('"chat"');
    const path = (index: number) => `/v1/automation/spaces/${space_id}/agents/${agents[index]?.agent_id}/api-chat/`;
    expect(setUps).toMatchObject([
      { path: path(0), body: { name: 'Web', reply_capable: false, routing_mode: 'session_workflow' } },
      { path: path(1), body: { name: 'API chat', reply_capable: true, routing_mode: 'agent_inbox' } },
    ]);
  });

  test('added later is set up without installing any agent again, also if the token cannot list agents', async () => {
    const it = await service();
    await it.set({ agents_on_repeat: 'install' });
    const blind = await it.envFor(['spaces.provision', 'api_chat.setup']);
    for (const [id, env] of [
      ['seen', it.env],
      ['unseen', blind],
    ] as const) {
      await provision([write('a.yaml', manifest(id))], it, { env });
      await it.forget();
      const path = write('a.yaml', asking(id, { Support: 'chat: {}' }));
      const first = (await provision([path], it, { env })).json<Answer>();
      const agents = [{ status: 'unchanged', source_id: expect.stringMatching(/^src_/) }];
      expect(first).toMatchObject({ summary: { ...SUMMARY, reused: 1 }, results: [{ agents }] });
      const again = (await provision([path], it, { env })).json<Answer>();
      expect(again.summary).toEqual({ ...SUMMARY, unchanged: 1 });
      expect(again.results[0]?.agents).toEqual(first.results[0]?.agents);
      expect(await paths(it)).toEqual([API_CHAT]);
    }
  });

  test('that cannot be set up fails its document, whose result has what was created before', async () => {
    const it = await service();
    const on = 'POST /automation/spaces/:space_id/agents/:agent_id/api-chat/';
    await it.faults({ kind: 'status', status: 422, on, skip: 1, times: 1 });
    const path = write('acme.yaml', asking('acme', { One: 'chat: {}', Two: 'chat: {}', Three: 'chat: {}' }));
    const ran = await provision([path], it);
    expect(ran.code).toBe(1);
    const created = { agent_id: expect.stringMatching(/^agt_/), status: 'created' };
    expect(ran.json<Answer>().results[0]).toMatchObject({
      space_id: expect.stringMatching(/^spc_/),
      status: 'failed',
      agents: [
        { ...created, source_id: expect.stringMatching(/^src_/) },
        { ...created, source_id: null },
        { ...created, source_id: null },
      ],
      error: { type: 'refused', status: 422, message: expect.stringContaining('The API chat of the agent "Two"') },
    });
    await it.forget();
    const again = await provision([path], it);
    expect(again.json<Answer>().summary).toEqual({ ...SUMMARY, reused: 1 });
    expect(await paths(it)).toEqual([API_CHAT, API_CHAT]);
  });
});
