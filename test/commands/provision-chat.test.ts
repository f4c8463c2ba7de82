import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { sendJson, startFakeService } from '../support/fake-service.ts';
import { fastClock, run, tempDirectory, tinyRandom } from '../support/run.ts';
import { manifest, type Service, service, write } from '../support/service.ts';
import { type Answer, provision, SUMMARY } from './provisioning.ts';

const SETUP = 'POST /automation/spaces/:space_id/agents/:agent_id/api-chat/';

/** A document with one agent per line, each with additional fields. */
function asking(id: string, agents: Readonly<Record<string, string>>): string {
  const lines = Object.entries(agents).map(
    ([name, more]) => `  - { template_id: tmpl_support, name: ${name}, ${more} }`,
  );
  return `external_space_id: ${id}\nspace: { name: Acme }\nagents:\n${lines.join('\n')}\n`;
}

const paths = async (it: Service): Promise<string[]> => (await it.posts()).map(({ path }) => path.replace(/^\/v1/, ''));

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
    const { results, summary } = ran.json<Answer>();
    expect(summary).toEqual({ ...SUMMARY, created: 1 });
    const { space_id, agents } = results[0] ?? { space_id: null, agents: [] };
    const source = expect.stringMatching(/^src_/);
    expect(agents).toMatchObject([{ source_id: source }, { source_id: source }, { source_id: null }]);
    const [install, ...setUps] = await it.posts();
    expect(install?.body).toMatchObject({
      agents: [
        { template_id: 'tmpl_support', name: 'Support' },
        { template_id: 'tmpl_support', name: 'Sales' },
        { template_id: 'tmpl_support', name: 'Quiet', auto_create_api_chat: false },
      ],
    });
    expect(JSON.stringify(install?.body)).not.toContain('"chat"');
    const path = (index: number) => `/v1/automation/spaces/${space_id}/agents/${agents[index]?.agent_id}/api-chat/`;
    expect(setUps).toMatchObject([
      { path: path(0), body: { name: 'Web', reply_capable: false, routing_mode: 'session_workflow' } },
      { path: path(1), body: { name: 'API chat', reply_capable: true, routing_mode: 'agent_inbox' } },
    ]);
    const listed: readonly unknown[] = await it.agents(space_id ?? '');
    expect(listed).toMatchObject([
      { integrations: { api_chat: { source_id: agents[0]?.source_id, name: 'Web', reply_capable: false } } },
      { integrations: { api_chat: { source_id: agents[1]?.source_id } } },
      { integrations: { api_chat: null } },
    ]);
  });

  test('added later is set up without installing any agent again', async () => {
    const it = await service();
    await it.set({ agents_on_repeat: 'install' });
    const directory = tempDirectory();
    await provision([write('a.yaml', manifest('acme', ['Support', 'Sales']), directory)], it);
    await it.forget();
    const text = asking('acme', { Support: 'chat: {}', Sales: 'auto_create_api_chat: false' });
    const { results, summary } = (await provision([write('a.yaml', text, directory)], it)).json<Answer>();
    expect(summary).toEqual({ ...SUMMARY, reused: 1 });
    expect(results[0]?.agents).toMatchObject([
      { status: 'unchanged', source_id: expect.stringMatching(/^src_/) },
      { status: 'unchanged', source_id: null },
    ]);
    expect(await paths(it)).toEqual([expect.stringMatching(/api-chat\/$/)]);
  });

  test.each([
    ['chat: { replies: true }', 'unknown key "replies"'],
    [
      'api_chat_routing_mode: agent_inbox, chat: { routing_mode: session_workflow }',
      '"agents[0].chat.routing_mode" must be the same as "api_chat_routing_mode"',
    ],
  ])('%s exits with 2, and nothing is sent for any document', async (chat, message) => {
    const it = await service();
    const path = write('two.yaml', `${manifest('good')}---\n${asking('bad', { Support: chat })}`);
    const ran = await provision([path], it);
    expect(ran).toMatchObject({ code: 2, stdout: '' });
    expect(ran.error().details).toMatchObject({ problems: [{ line: 9, message: expect.stringContaining(message) }] });
    expect(await it.received()).toEqual([]);
  });
});

describe('a chat that cannot be set up', () => {
  const document = (id: string) => asking(id, { One: 'chat: {}', Two: 'chat: {}', Three: 'chat: {}' });

  test('fails its document, whose result has the space, the agents, and the sources created before', async () => {
    const it = await service();
    await it.faults({ kind: 'status', status: 422, on: SETUP, skip: 1, times: 1 });
    const path = write('acme.yaml', document('acme'));
    const ran = await provision([path], it);
    expect(ran.code).toBe(1);
    const [result] = ran.json<Answer>().results;
    const agent_id = expect.stringMatching(/^agt_/);
    expect(result).toMatchObject({
      space_id: expect.stringMatching(/^spc_/),
      status: 'failed',
      agents: [
        { agent_id, status: 'created', source_id: expect.stringMatching(/^src_/) },
        { agent_id, status: 'created', source_id: null },
        { agent_id, status: 'created', source_id: null },
      ],
      error: { type: 'refused', status: 422, message: expect.stringContaining('The API chat of the agent "Two"') },
    });
    expect(ran.error()).toMatchObject({ type: 'refused', status: 422 });
    await it.forget();
    const again = await provision([path], it);
    expect(again.json<Answer>()).toMatchObject({
      summary: { ...SUMMARY, reused: 1 },
      results: [{ agents: Array.from({ length: 3 }, () => ({ status: 'unchanged', source_id: expect.any(String) })) }],
    });
    expect(await paths(it)).toEqual([expect.stringMatching(/api-chat\/$/), expect.stringMatching(/api-chat\/$/)]);
  });
});

describe('a chat with a token that cannot list agents', () => {
  test('is set up once when added later, and the state file then has its source id', async () => {
    const it = await service();
    await it.set({ agents_on_repeat: 'install' });
    const env = await it.envFor(['spaces.provision', 'api_chat.setup']);
    const directory = tempDirectory();
    await provision([write('a.yaml', manifest('acme'), directory)], it, { env });
    await it.forget();
    const path = write('a.yaml', asking('acme', { Support: 'chat: {}' }), directory);
    const first = (await provision([path], it, { env })).json<Answer>();
    expect(first).toMatchObject({
      summary: { ...SUMMARY, reused: 1 },
      results: [{ agents: [{ status: 'unchanged' }] }],
    });
    const state = readFileSync(join(it.env.HOME ?? '', '.local/state/partnerctl/state.jsonl'), 'utf8');
    for (let repeat = 0; repeat < 2; repeat += 1) {
      const again = (await provision([path], it, { env })).json<Answer>();
      expect(again.summary).toEqual({ ...SUMMARY, unchanged: 1 });
      expect(again.results[0]?.agents[0]?.source_id).toBe(first.results[0]?.agents[0]?.source_id);
    }
    expect(await paths(it)).toEqual([expect.stringMatching(/\/api-chat\/$/)]);
    expect(readFileSync(join(it.env.HOME ?? '', '.local/state/partnerctl/state.jsonl'), 'utf8')).toBe(state);
  });
});

describe('a chat on a service that returns incomplete agents', () => {
  /** Serves one space with one agent. `source` is the response to setting up a source. */
  async function listing(agent: object, source: object) {
    const server = await startFakeService(({ method, path }, response) => {
      if (method === 'POST') sendJson(response, path.endsWith('/api-chat/') ? source : { space_id: 's1' });
      else if (path.endsWith('/agents/')) sendJson(response, [agent]);
      else sendJson(response, [{ space_id: 's1', external_space_id: 'acme', name: 'Acme' }]);
    });
    const path = write('acme.yaml', asking('acme', { Support: 'chat: { routing_mode: session_workflow }' }));
    const env = { PARTNER_BASE_URL: server.baseUrl, PARTNER_TOKEN: 'pat_x', HOME: tempDirectory() };
    const ran = (format: string) =>
      run(['provision', path, '-o', format, '--color', 'never'], { env, random: tinyRandom, clock: fastClock() });
    return { server, ran };
  }
  const AGENT = { agent_id: 'a1', name: 'Support', template_id: 'tmpl_support' };

  test('is set up once if the list shows no source, and differences are reported', async () => {
    const { server, ran } = await listing(AGENT, { source_id: 's-7', routing_mode: 'agent_inbox' });
    const shown = (await ran('table')).stdout;
    expect(shown).toContain('! chat of "Support" routing_mode: "agent_inbox" → "session_workflow"');
    expect((await ran('json')).json<Answer>()).toMatchObject({
      summary: { ...SUMMARY, unchanged: 1 },
      results: [
        {
          agents: [{ agent_id: 'a1', status: 'unchanged', source_id: 's-7' }],
        },
      ],
    });
    expect(server.posts()).toHaveLength(1);
  });

  test('fails its document if the response has no source_id, and shows the response', async () => {
    const { ran } = await listing(AGENT, { ok: true });
    const failed = await ran('json');
    expect(failed.code).toBe(8);
    expect(failed.json<Answer>().results[0]).toMatchObject({
      space_id: 's1',
      agents: [{ agent_id: 'a1' }],
      error: { type: 'unexpected_shape', details: { leaf: 'source.id' } },
    });
  });

  test('is not set up for an agent whose id the service never returns, and the error names it', async () => {
    const { server, ran } = await listing({ agent_id: 'a9', name: 'Elsewhere', template_id: 'tmpl_x' }, {});
    const failed = await ran('json');
    expect(failed.code).toBe(8);
    expect(failed.error()).toMatchObject({
      type: 'unexpected_shape',
      message: expect.stringContaining('the id of the agent "Support" cannot be read'),
    });
    expect(server.posts()).toHaveLength(1);
  });
});
