import { describe, expect, test } from 'vitest';
import { call, PROVISION, provisionBody, SPACES, startTestSandbox } from '../support/service.ts';

const SALES = { template_id: 'tmpl_sales', name: 'Sales' };

describe('provisioning a space', () => {
  test('creates the space and its agents, with API chat sources where requested', async () => {
    const { partner } = await startTestSandbox({ now: () => Date.UTC(2026, 0, 2, 3, 4, 5) });
    const chat = { auto_create_api_chat: true, api_chat_routing_mode: 'session_workflow' };
    const agents = [{ template_id: 'tmpl_support', name: 'Support', ...chat }, SALES];
    const { status, json } = await partner('POST', PROVISION, { body: provisionBody('acme-001', { agents }) });
    expect(status).toBe(201);
    const created_at = '2026-01-02T03:04:05.000Z';
    const { space_id } = json.space;
    const source = { source_id: expect.stringMatching(/^src_/), name: 'Support', reply_capable: true };
    expect(json).toEqual({
      created: true,
      space: {
        space_id: expect.stringMatching(/^spc_[0-9a-f]{20}$/),
        external_space_id: 'acme-001',
        name: 'Acme',
        description: 'Support for Acme',
        is_org_wide: false,
        created_at,
      },
      agents: [
        {
          agent_id: expect.stringMatching(/^agt_/),
          space_id,
          template_id: 'tmpl_support',
          name: 'Support',
          created: true,
          created_at,
          integrations: { api_chat: { ...source, routing_mode: 'session_workflow' } },
        },
        expect.objectContaining({ ...SALES, integrations: { api_chat: null } }),
      ],
    });
  });

  test('again reuses the space unchanged, and installs only the missing agents', async () => {
    const { partner } = await startTestSandbox();
    const first = await partner('POST', PROVISION, { body: provisionBody('acme', { agents: [SALES] }) });
    const agents = [SALES, { ...SALES, name: 'Night shift' }, { ...SALES, template_id: 'tmpl_support' }];
    const body = provisionBody('acme', { space: { name: 'Other' }, agents });
    const again = await partner('POST', PROVISION, { body });
    expect([again.status, again.json.created]).toEqual([200, false]);
    expect(again.json.space).toEqual(first.json.space);
    expect(again.json.agents[0]).toEqual({ ...first.json.agents[0], created: false });
    expect(again.json.agents.map(({ created }: { created: boolean }) => created)).toEqual([false, true, true]);
    expect((await partner('GET', SPACES)).json.count).toBe(1);
  });

  test('again with agents_on_repeat "install" installs every agent again', async () => {
    const { partner, admin } = await startTestSandbox();
    await admin('PATCH', '/settings', { agents_on_repeat: 'install' });
    const first = await partner('POST', PROVISION, { body: provisionBody('acme') });
    const again = await partner('POST', PROVISION, { body: provisionBody('acme') });
    expect(again.json.agents[0].agent_id).not.toBe(first.json.agents[0].agent_id);
    const { json } = await partner('GET', `${SPACES}${first.json.space.space_id}/agents/`);
    expect(json.count).toBe(2);
  });

  test('fifty times at once creates one space', async () => {
    const { partner } = await startTestSandbox();
    const post = () => partner('POST', PROVISION, { body: provisionBody('acme') });
    const responses = await Promise.all(Array.from({ length: 50 }, post));
    expect(responses.filter(({ status }) => status === 201)).toHaveLength(1);
    expect(new Set(responses.map(({ json }) => json.agents[0].agent_id)).size).toBe(1);
  });

  test('with invalid fields names each of them, and creates nothing', async () => {
    const { partner } = await startTestSandbox();
    const agents = [
      { name: '', auto_create_api_chat: 'yes', api_chat_routing_mode: 'email' },
      { ...SALES, extra: 1 },
    ];
    const body = { external_space_id: ' ', space: { description: 5 }, agents };
    const { status, json } = await partner('POST', PROVISION, { body });
    expect(status).toBe(422);
    expect(json.error.fields.map(({ path, message }: Record<string, string>) => `${path} ${message}`)).toEqual([
      'external_space_id must not be empty',
      'space.name is required',
      'space.description must be a string, not 5',
      'agents[0].template_id is required',
      'agents[0].name must not be empty',
      'agents[0].auto_create_api_chat must be true or false, not "yes"',
      'agents[0].api_chat_routing_mode must be one of agent_inbox, session_workflow',
      'agents[1].extra is not a known field',
    ]);
    const unknown = provisionBody('acme', { agents: [SALES, { ...SALES, template_id: 'tmpl_nope' }] });
    const refused = await partner('POST', PROVISION, { body: unknown });
    expect(refused.json.error.fields).toEqual([
      { path: 'agents[1].template_id', message: 'names no approved template: "tmpl_nope"' },
    ]);
    expect((await partner('GET', SPACES)).json.count).toBe(0);
  });
});

describe('a list', () => {
  async function walk(first: string, token: string): Promise<{ ids: string[]; pages: number }> {
    const ids: string[] = [];
    let pages = 0;
    for (let url: string | null = first; url !== null; pages += 1) {
      const { json } = await call('GET', url, { token });
      for (const space of json.results) ids.push(space.external_space_id);
      url = json.next;
    }
    return { ids, pages };
  }

  test.each([
    [0, 1],
    [100, 1],
    [1_001, 11],
  ])('of %i spaces has %i pages, with each once and in order', async (count, pages) => {
    const { sandbox, token, admin } = await startTestSandbox();
    if (count > 0) expect((await admin('POST', '/spaces', { count, prefix: 'ext' })).json).toEqual({ created: count });
    const walked = await walk(`${sandbox.baseUrl}${SPACES}`, token);
    expect(walked.pages).toBe(pages);
    expect(walked.ids).toEqual(Array.from({ length: count }, (_, index) => `ext-${index + 1}`));
  });

  test.each(['page_size=0', 'page_size=1001', 'page_size=ten', 'cursor=zzz', 'cursor='])(
    'with %s is 422',
    async (query) => {
      const { partner } = await startTestSandbox();
      const { status, json } = await partner('GET', `${SPACES}?${query}`);
      expect([status, json.error.fields[0].path]).toEqual([422, query.replace(/=.*/, '')]);
    },
  );

  test("of a space's agents is in the order of installation; that of an unknown space is 404", async () => {
    const { partner } = await startTestSandbox();
    const agents = ['C', 'A', 'B'].map((name) => ({ ...SALES, name }));
    const provisioned = await partner('POST', PROVISION, { body: provisionBody('acme', { agents }) });
    const { json } = await partner('GET', `${SPACES}${provisioned.json.space.space_id}/agents/`);
    const { created: _, ...first } = provisioned.json.agents[0];
    expect([json.count, json.results[0]]).toEqual([3, first]);
    expect(json.results.map(({ name }: { name: string }) => name)).toEqual(['C', 'A', 'B']);
    const missing = await partner('GET', `${SPACES}spc_none/agents/`);
    expect([missing.status, missing.json.error.code]).toEqual([404, 'space_not_found']);
  });
});
