import { describe, expect, test } from 'vitest';
import { PROVISION, provisionBody, SPACES, service } from '../support/service.ts';

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
