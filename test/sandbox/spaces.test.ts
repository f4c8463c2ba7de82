import { describe, expect, test } from 'vitest';
import { call, PROVISION, provisionBody, SPACES, startTestSandbox } from './client.ts';

describe('provisioning a space', () => {
  test('makes the space and its agents, with an API chat source where one is wanted', async () => {
    const { partner } = await startTestSandbox({ now: () => Date.UTC(2026, 0, 2, 3, 4, 5) });
    const agents = [
      {
        template_id: 'tmpl_support',
        name: 'Support',
        auto_create_api_chat: true,
        api_chat_routing_mode: 'session_workflow',
      },
      { template_id: 'tmpl_sales', name: 'Sales' },
    ];
    const answer = await partner('POST', PROVISION, { body: provisionBody('acme-001', { agents }) });
    expect(answer.status).toBe(201);
    expect(answer.json).toEqual({
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
          space_id: answer.json.space.space_id,
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
        expect.objectContaining({ template_id: 'tmpl_sales', name: 'Sales', integrations: { api_chat: null } }),
      ],
    });
  });

  test('a source without a routing mode is an agent inbox', async () => {
    const { partner } = await startTestSandbox();
    const agents = [{ template_id: 'tmpl_sales', name: 'Sales', auto_create_api_chat: true }];
    const { json } = await partner('POST', PROVISION, { body: provisionBody('acme', { agents }) });
    expect(json.agents[0].integrations.api_chat.routing_mode).toBe('agent_inbox');
  });

  test('what may be left out is left out', async () => {
    const { partner } = await startTestSandbox();
    const body = { external_space_id: 'a', space: { name: 'A' }, agents: [{ template_id: 'tmpl_sales', name: 'S' }] };
    const { status, json } = await partner('POST', PROVISION, { body });
    expect(status).toBe(201);
    expect(json.space).toMatchObject({ description: '', is_org_wide: false });
  });

  test('a repeat reuses the space as it stands and doubles no agent', async () => {
    const { partner } = await startTestSandbox();
    const first = await partner('POST', PROVISION, { body: provisionBody('acme') });
    const again = await partner('POST', PROVISION, { body: provisionBody('acme', { space: { name: 'Other' } }) });
    expect(again.status).toBe(200);
    expect(again.json.created).toBe(false);
    expect(again.json.space).toEqual(first.json.space);
    expect(again.json.agents).toEqual([{ ...first.json.agents[0], created: false }]);
    expect((await partner('GET', SPACES)).json.count).toBe(1);
  });

  test('a repeat installs what is not there yet: another name or another template', async () => {
    const { partner } = await startTestSandbox();
    const agent = { template_id: 'tmpl_support', name: 'Support' };
    await partner('POST', PROVISION, { body: provisionBody('acme', { agents: [agent] }) });
    const agents = [agent, { ...agent, name: 'Night shift' }, { ...agent, template_id: 'tmpl_sales' }];
    const { json } = await partner('POST', PROVISION, { body: provisionBody('acme', { agents }) });
    expect(json.agents.map(({ created }: { created: boolean }) => created)).toEqual([false, true, true]);
  });

  test('agents_on_repeat: install installs again every time', async () => {
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

  test('fifty at once with one external id make one space', async () => {
    const { partner } = await startTestSandbox();
    const answers = await Promise.all(
      Array.from({ length: 50 }, () => partner('POST', PROVISION, { body: provisionBody('acme') })),
    );
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(1);
    expect(new Set(answers.map(({ json }) => json.space.space_id)).size).toBe(1);
    expect(new Set(answers.map(({ json }) => json.agents[0].agent_id)).size).toBe(1);
  });

  test('names every wrong field of a body, unknown keys too', async () => {
    const { partner } = await startTestSandbox();
    const body = {
      external_space_id: ' ',
      space: { description: 5, extra: 1, more: 2 },
      agents: [
        { template_id: 'tmpl_nope', name: '', auto_create_api_chat: 'yes', api_chat_routing_mode: 'email' },
        { template_id: 'tmpl_sales' },
      ],
      dry_run: true,
    };
    const { status, json } = await partner('POST', PROVISION, { body });
    expect(status).toBe(422);
    expect(json.error.code).toBe('invalid_input');
    expect(json.error.fields).toEqual([
      { path: 'external_space_id', message: 'must not be empty' },
      { path: 'space.name', message: 'is required' },
      { path: 'space.description', message: 'must be string, not 5' },
      { path: 'space.extra', message: 'is not a known field' },
      { path: 'space.more', message: 'is not a known field' },
      { path: 'agents[0].template_id', message: 'names no approved template: "tmpl_nope"' },
      { path: 'agents[0].name', message: 'must not be empty' },
      { path: 'agents[0].auto_create_api_chat', message: 'must be boolean, not "yes"' },
      { path: 'agents[0].api_chat_routing_mode', message: 'must be one of agent_inbox, session_workflow' },
      { path: 'agents[1].name', message: 'is required' },
      { path: 'dry_run', message: 'is not a known field' },
    ]);
    expect((await partner('GET', SPACES)).json.count).toBe(0);
  });

  test.each([
    ['an array', []],
    ['a text', 'x'],
    ['null', null],
  ])('%s is no body', async (_, body) => {
    const { partner } = await startTestSandbox();
    const { status, json } = await partner('POST', PROVISION, { raw: JSON.stringify(body) });
    expect(status).toBe(422);
    expect(json.error.fields).toEqual([{ path: '', message: 'must be an object' }]);
  });

  test('no agents, and too many, are refused', async () => {
    const { partner } = await startTestSandbox();
    for (const agents of [[], Array.from({ length: 101 }, () => ({ template_id: 'tmpl_sales', name: 'S' }))]) {
      const { status, json } = await partner('POST', PROVISION, { body: provisionBody('acme', { agents }) });
      expect(status).toBe(422);
      expect(json.error.fields).toEqual([{ path: 'agents', message: expect.stringMatching(/must have at/) }]);
    }
  });

  test('a template that the admin surface added may be installed', async () => {
    const { partner, admin } = await startTestSandbox();
    await admin('POST', '/templates', { template_id: 'tmpl_new', name: 'New' });
    const agents = [{ template_id: 'tmpl_new', name: 'N' }];
    expect((await partner('POST', PROVISION, { body: provisionBody('acme', { agents }) })).status).toBe(201);
  });
});

describe("listing a space's agents", () => {
  test('shows them in the order of installation', async () => {
    const { partner } = await startTestSandbox();
    const agents = ['C', 'A', 'B'].map((name) => ({ template_id: 'tmpl_sales', name }));
    const made = await partner('POST', PROVISION, { body: provisionBody('acme', { agents }) });
    const { status, json } = await partner('GET', `${SPACES}${made.json.space.space_id}/agents/`);
    expect(status).toBe(200);
    expect(json).toMatchObject({ count: 3, next: null, previous: null });
    expect(json.results.map(({ name }: { name: string }) => name)).toEqual(['C', 'A', 'B']);
    const { created, ...shown } = made.json.agents[0];
    expect(created).toBe(true);
    expect(json.results[0]).toEqual(shown);
  });

  test('an unknown space is 404', async () => {
    const { partner } = await startTestSandbox();
    const { status, json } = await partner('GET', `${SPACES}spc_none/agents/`);
    expect(status).toBe(404);
    expect(json.error).toMatchObject({ code: 'space_not_found', message: 'There is no space spc_none.' });
  });
});

describe('listing spaces', () => {
  async function walk(first: string, token: string): Promise<{ ids: string[]; pages: number; last: string }> {
    const ids: string[] = [];
    let pages = 0;
    let last = first;
    for (let url: string | null = first; url !== null; pages += 1) {
      const { json } = await call('GET', url, { token });
      for (const space of json.results) ids.push(space.external_space_id);
      last = url;
      url = json.next;
    }
    return { ids, pages, last };
  }

  test.each([
    [0, 1],
    [1, 1],
    [100, 1],
    [101, 2],
    [10_000, 100],
  ])('%i spaces come on %i pages, each once and in order', async (count, pages) => {
    const { sandbox, token, admin } = await startTestSandbox();
    if (count > 0) expect((await admin('POST', '/spaces', { count, prefix: 'ext' })).json).toEqual({ created: count });
    const walked = await walk(`${sandbox.baseUrl}${SPACES}`, token);
    expect(walked.pages).toBe(pages);
    expect(walked.ids).toEqual(Array.from({ length: count }, (_, index) => `ext-${index + 1}`));
  });

  test('a page leads to the one before it', async () => {
    const { sandbox, token, partner, admin } = await startTestSandbox();
    await admin('POST', '/spaces', { count: 5, prefix: 'ext' });
    const first = await partner('GET', `${SPACES}?page_size=2`);
    expect(first.json).toMatchObject({ count: 5, previous: null });
    expect(first.json.next).toMatch(new RegExp(`^${sandbox.baseUrl}${SPACES}\\?`));
    const second = await call('GET', first.json.next, { token });
    const back = await call('GET', second.json.previous, { token });
    expect(back.json.results).toEqual(first.json.results);
  });

  test('the page size of the settings counts where the request names none', async () => {
    const { partner, admin } = await startTestSandbox();
    await admin('POST', '/spaces', { count: 5, prefix: 'ext' });
    await admin('PATCH', '/settings', { page_size: 3 });
    expect((await partner('GET', SPACES)).json.results).toHaveLength(3);
    expect((await partner('GET', `${SPACES}?page_size=4`)).json.results).toHaveLength(4);
  });

  test('spaces made during a walk join at its end', async () => {
    const { token, partner, admin } = await startTestSandbox();
    await admin('POST', '/spaces', { count: 3, prefix: 'a' });
    const first = await partner('GET', `${SPACES}?page_size=2`);
    await admin('POST', '/spaces', { count: 2, prefix: 'b' });
    const rest = await walk(first.json.next, token);
    expect(rest.ids).toEqual(['a-3', 'b-1', 'b-2']);
  });

  test.each([
    ['page_size=0', 'page_size'],
    ['page_size=1001', 'page_size'],
    ['page_size=ten', 'page_size'],
    ['cursor=zzz', 'cursor'],
    ['cursor=', 'cursor'],
  ])('%s is refused', async (query, path) => {
    const { partner } = await startTestSandbox();
    const { status, json } = await partner('GET', `${SPACES}?${query}`);
    expect(status).toBe(422);
    expect(json.error.fields).toEqual([{ path, message: expect.any(String) }]);
  });
});
