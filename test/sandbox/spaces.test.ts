import { describe, expect, test } from 'vitest';
import { createChat } from '../support/chat.ts';
import { CRON_JOBS, jobBody } from '../support/cron.ts';
import { PROVISION, provisionBody, SPACES, service } from '../support/service.ts';

interface Listed {
  readonly name: string;
  readonly integrations: { readonly api_chat: { readonly routing_mode: string } | null };
}

const SALES = { template_id: 'tmpl_sales', name: 'Sales' };

describe('provisioning a space', () => {
  test('again reuses the space unchanged, and installs only the missing agents', async () => {
    const { partner } = await service();
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

  test('with invalid fields names each of them, and creates nothing', async () => {
    const { partner } = await service();
    const agents = [
      { name: '', api_chat_routing_mode: 'email' },
      { ...SALES, template_id: 'tmpl_nope', extra: 1 },
    ];
    const body = { external_space_id: ' ', space: { description: 5 }, agents };
    const { status, json } = await partner('POST', PROVISION, { body });
    expect(status).toBe(422);
    expect(json.error.fields.map(({ path }: Record<string, string>) => path)).toEqual([
      ...['external_space_id', 'space.name', 'space.description'],
      ...['agents[0].template_id', 'agents[0].name', 'agents[0].api_chat_routing_mode'],
      ...['agents[1].template_id', 'agents[1].extra'],
    ]);
    expect((await partner('GET', SPACES)).json.count).toBe(0);
  });
});

test('A space and its agents are as they were given, and chat is there only where it was asked for', async () => {
  const { partner } = await service();
  const space = { name: 'Acme', description: 'All of Acme', is_org_wide: true };
  const agents = [
    { ...SALES, auto_create_api_chat: true, api_chat_routing_mode: 'session_workflow' },
    { ...SALES, name: 'Inbox', auto_create_api_chat: true },
    { ...SALES, name: 'Quiet' },
  ];
  await partner('POST', PROVISION, { body: provisionBody('beta') });
  const provisioned = (await partner('POST', PROVISION, { body: provisionBody('acme', { space, agents }) })).json;
  expect(provisioned.space).toMatchObject({ ...space, external_space_id: 'acme' });
  expect((await partner('GET', SPACES)).json.results).toContainEqual(provisioned.space);
  const { results } = (await partner('GET', `${SPACES}${provisioned.space.space_id}/agents/`)).json;
  expect(results.map(({ name, integrations }: Listed) => [name, integrations.api_chat?.routing_mode])).toEqual([
    ['Sales', 'session_workflow'],
    ['Inbox', 'agent_inbox'],
    ['Quiet', undefined],
  ]);
});

test('A provisioning without agents creates the space alone', async () => {
  const { partner } = await service();
  const { status, json } = await partner('POST', PROVISION, { body: provisionBody('acme', { agents: [] }) });
  expect([status, json.agents]).toEqual([201, []]);
});

test('A token that is limited to some spaces sees only what is in them, and in those that it creates', async () => {
  const on = await service();
  const [mine, other] = [
    await createChat(on, 'agent_inbox', { name: 'A' }),
    await createChat(on, 'agent_inbox', { name: 'B' }),
  ];
  for (const { agent_id } of [mine, other]) await on.partner('POST', CRON_JOBS, { body: jobBody(agent_id) });
  const token = await on.createToken({ space_ids: [mine.space_id] });
  const get = (path: string) => on.partner('GET', path, { token });
  const spaces = async () => (await get(SPACES)).json.results.map(({ space_id }: { space_id: string }) => space_id);
  expect(await spaces()).toEqual([mine.space_id]);
  expect((await get(CRON_JOBS)).json.results).toMatchObject([{ agent_id: mine.agent_id }]);
  expect([(await mine.page({}, token)).status, (await other.page({}, token)).status]).toEqual([200, 404]);
  expect((await get(`${SPACES}${other.space_id}/agents/`)).status).toBe(404);
  const job = { token, body: jobBody(other.agent_id) };
  expect((await on.partner('POST', CRON_JOBS, job)).status).toBe(404);
  const provision = (id: string) => on.partner('POST', PROVISION, { token, body: provisionBody(id, { agents: [] }) });
  expect((await provision('space-agent_inbox-B')).json.error.code).toBe('space_not_available');
  expect(await spaces()).toEqual([mine.space_id]);
  const created = (await provision('new')).json.space.space_id;
  expect(await spaces()).toEqual([mine.space_id, created]);
});

test('An agent has one API chat source: setting it up again reuses it, whatever the request says', async () => {
  const { partner } = await service();
  const agents = [{ ...SALES, auto_create_api_chat: false }];
  const { json } = await partner('POST', PROVISION, { body: provisionBody('acme', { agents }) });
  expect(json.agents[0].integrations.api_chat).toBeNull();
  const path = `${SPACES}${json.space.space_id}/agents/${json.agents[0].agent_id}/api-chat/`;
  const first = await partner('POST', path, { body: { name: 'Chat', routing_mode: 'session_workflow' } });
  const again = await partner('POST', path, { body: { name: 'Other', reply_capable: false } });
  expect([first.status, again.status]).toEqual([201, 200]);
  expect(first.json).toMatchObject({ name: 'Chat', reply_capable: true, routing_mode: 'session_workflow' });
  expect(again.json).toEqual({ ...first.json, created: false });
});
