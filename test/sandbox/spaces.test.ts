import { describe, expect, test } from 'vitest';
import { call, PROVISION, provisionBody, SPACES, startTestSandbox } from '../support/sandbox-client.ts';

const SALES = { template_id: 'tmpl_sales', name: 'Sales' };

describe('provisioning a space', () => {
  test('creates the space and its agents, with API chat sources where requested', async () => {
    const { partner } = await startTestSandbox({ now: () => Date.UTC(2026, 0, 2, 3, 4, 5) });
    const support = {
      template_id: 'tmpl_support',
      name: 'Support',
      auto_create_api_chat: true,
      api_chat_routing_mode: 'session_workflow',
    };
    const inbox = { ...SALES, auto_create_api_chat: true };
    const agents = [support, inbox, { ...SALES, name: 'No chat' }];
    const { status, json } = await partner('POST', PROVISION, { body: provisionBody('acme-001', { agents }) });
    expect(status).toBe(201);
    expect(json).toEqual({
      created: true,
      space: {
        space_id: expect.stringMatching(/^spc_[0-9a-f]{20}$/),
        external_space_id: 'acme-001',
        name: 'Acme',
        description: 'Support for Acme',
        is_org_wide: false,
        created_at: '2026-01-02T03:04:05.000Z',
      },
      agents: [
        {
          agent_id: expect.stringMatching(/^agt_/),
          space_id: json.space.space_id,
          template_id: 'tmpl_support',
          name: 'Support',
          created: true,
          created_at: '2026-01-02T03:04:05.000Z',
          integrations: {
            api_chat: {
              source_id: expect.stringMatching(/^src_/),
              name: 'Support',
              reply_capable: true,
              routing_mode: 'session_workflow',
            },
          },
        },
        expect.objectContaining({
          integrations: { api_chat: expect.objectContaining({ routing_mode: 'agent_inbox' }) },
        }),
        expect.objectContaining({ name: 'No chat', integrations: { api_chat: null } }),
      ],
    });
  });

  test('requires neither a description nor flags', async () => {
    const { partner } = await startTestSandbox();
    const body = { external_space_id: 'a', space: { name: 'A' }, agents: [SALES] };
    const { status, json } = await partner('POST', PROVISION, { body });
    expect(status).toBe(201);
    expect(json.space).toMatchObject({ description: '', is_org_wide: false });
  });

  test('again reuses the space unchanged and installs only the missing agents', async () => {
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
    expect(again.status).toBe(200);
    expect(again.json.agents[0].created).toBe(true);
    expect(again.json.agents[0].agent_id).not.toBe(first.json.agents[0].agent_id);
    const { json } = await partner('GET', `${SPACES}${first.json.space.space_id}/agents/`);
    expect(json.count).toBe(2);
  });

  test('fifty times concurrently with one external id creates one space', async () => {
    const { partner } = await startTestSandbox();
    const post = () => partner('POST', PROVISION, { body: provisionBody('acme') });
    const responses = await Promise.all(Array.from({ length: 50 }, post));
    expect(responses.filter(({ status }) => status === 201)).toHaveLength(1);
    expect(new Set(responses.map(({ json }) => json.space.space_id)).size).toBe(1);
    expect(new Set(responses.map(({ json }) => json.agents[0].agent_id)).size).toBe(1);
  });
});

describe("the list of a space's agents", () => {
  test('is in the order of installation', async () => {
    const { partner } = await startTestSandbox();
    const agents = ['C', 'A', 'B'].map((name) => ({ ...SALES, name }));
    const provisioned = await partner('POST', PROVISION, { body: provisionBody('acme', { agents }) });
    const { status, json } = await partner('GET', `${SPACES}${provisioned.json.space.space_id}/agents/`);
    expect(status).toBe(200);
    expect(json).toMatchObject({ count: 3, next: null, previous: null });
    expect(json.results.map(({ name }: { name: string }) => name)).toEqual(['C', 'A', 'B']);
    const { created: _, ...agent } = provisioned.json.agents[0];
    expect(json.results[0]).toEqual(agent);
  });

  test('of an unknown space is 404', async () => {
    const { partner } = await startTestSandbox();
    const { status, json } = await partner('GET', `${SPACES}spc_none/agents/`);
    expect(status).toBe(404);
    expect(json.error).toMatchObject({ code: 'space_not_found', message: 'There is no space "spc_none".' });
  });
});

describe('the list of spaces', () => {
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
    [101, 2],
    [10_000, 100],
  ])('contains %i spaces on %i pages, each once and in order', async (count, pages) => {
    const { sandbox, token, admin } = await startTestSandbox();
    if (count > 0) expect((await admin('POST', '/spaces', { count, prefix: 'ext' })).json).toEqual({ created: count });
    const walked = await walk(`${sandbox.baseUrl}${SPACES}`, token);
    expect(walked.pages).toBe(pages);
    expect(walked.ids).toEqual(Array.from({ length: count }, (_, index) => `ext-${index + 1}`));
  });

  test('links each page to the one before it', async () => {
    const { sandbox, token, partner, admin } = await startTestSandbox();
    await admin('POST', '/spaces', { count: 5, prefix: 'ext' });
    const first = await partner('GET', `${SPACES}?page_size=2`);
    expect(first.json).toMatchObject({ count: 5, previous: null });
    expect(first.json.next).toMatch(new RegExp(`^${sandbox.baseUrl}${SPACES}\\?`));
    const second = await call('GET', first.json.next, { token });
    const back = await call('GET', second.json.previous, { token });
    expect(back.json.results).toEqual(first.json.results);
  });

  test('shows spaces that are created while it is read at its end', async () => {
    const { token, partner, admin } = await startTestSandbox();
    await admin('POST', '/spaces', { count: 3, prefix: 'a' });
    const first = await partner('GET', `${SPACES}?page_size=2`);
    await admin('POST', '/spaces', { count: 2, prefix: 'b' });
    const rest = await walk(first.json.next, token);
    expect(rest.ids).toEqual(['a-3', 'b-1', 'b-2']);
  });
});
