import { describe, expect, it } from 'vitest';
import { fastClock, partnerctl } from '../support/run.ts';
import { type Habits, type OddService, oddService } from './odd-service.ts';
import { AGENTS, expectDone, machine, manifest, type Provisioned } from './provisioning.ts';

/* What the list of agents shows beside the agents that provisioning installed. */

describe('a second agent of the same name and template', () => {
  it('is not taken for the agent that an earlier run installed, although it is listed first', async () => {
    const service = await oddService({ envelope: (items) => items.toReversed() });
    const provision = machine(manifest('acme-1'));
    const first = await provision(service);
    expect(first.code).toBe(0);
    const { agents = [] } = service.spaces.get('acme-1') ?? {};
    for (const [index, { name, template_id }] of [...agents].entries())
      agents.push({ id: 900 + index, name, template_id });
    const again = await provision(service);
    expect(again.code).toBe(0);
    const ids = (ran: typeof first) => ran.json<Provisioned>().results[0]?.agents.map(({ agent_id }) => agent_id);
    expect(ids(again)).toEqual(ids(first));
    expect(again.json<Provisioned>().results[0]?.status).toBe('unchanged');
    const plan = await provision(service, '--dry-run');
    const unmanaged = AGENTS.map((name, index) => ({ resource: 'agent', id: `agent-${900 + index}`, name }));
    expect(plan.json<{ spaces: unknown }>().spaces).toMatchObject([
      { action: 'none', unmanaged: unmanaged.toReversed() },
    ]);
  });
});

const [NAME = ''] = AGENTS;

describe('agents that the response to provisioning lacks', () => {
  it('are looked up in the space, not in the operation that the response names', async () => {
    const service = await oddService({ answer: () => ({ id: 'op1', kind: 'operation', done: false }) });
    const provision = machine(manifest('acme-1'), { clock: fastClock() });
    const ran = await provision(service);
    expectDone(service, ran, ['acme-1']);
    expect(ran.json<Provisioned>().results[0]?.status).toBe('created');
    expect(service.posts()).toHaveLength(1);
  });
});

describe('a list of agents that ignores the space in its path', () => {
  /** Lists the agents of all spaces, as `shown`. */
  const listingAll = async (shown: (space: object) => object) => {
    const service: OddService = await oddService({
      trouble: ({ path }) => (path.endsWith('/api-chat/') ? 404 : undefined),
      envelope: (items, resource) => {
        if (resource !== 'agents') return items;
        return [...service.spaces.values()].flatMap(({ id, agents }) =>
          agents.map((agent) => ({ ...agent, id: `agent-${agent.id}`, ...shown({ id: `space-${id}` }) })),
        );
      },
    });
    service.spaces.set('other', {
      id: 7,
      external_space_id: 'other',
      name: 'other',
      agents: AGENTS.map((name, index) => ({ id: index, name, template_id: `tmpl_${name.toLowerCase()}` })),
    });
    return service;
  };
  const topLevel = (space: object) => ({ space_id: Object(space).id });
  const ids = ({ stdout }: { stdout: string }): unknown => JSON.parse(stdout).results[0].agents;

  it.each([
    ['space_id', topLevel],
    ['space', (space: object) => ({ space })],
  ])('does not make agents of another space those of this one, as their %s shows', async (_, shown) => {
    const service = await listingAll(shown);
    const provision = machine(manifest('acme-1'));
    const first = await provision(service);
    expect(first.code).toBe(0);
    const own = service.spaces.get('acme-1')?.agents.map(({ id }) => ({ agent_id: `agent-${id}` }));
    expect(ids(first)).toMatchObject(own ?? []);
    for (const again of [await provision(service), await machine(manifest('acme-1'))(service)]) {
      expect(again.json<Provisioned>().summary).toMatchObject({ unchanged: 1 });
      expect(ids(again)).toMatchObject(own ?? []);
    }
    expect(service.posts()).toHaveLength(1);
    const argv = ['chat', 'setup', 'ext:acme-1', `name:${NAME}`];
    await partnerctl(service.baseUrl, argv);
    expect(service.posts().at(-1)?.path).toContain(`/agents/${own?.[0]?.agent_id}/`);
    const listed = await partnerctl(service.baseUrl, ['agents', 'list', 'ext:acme-1', '-o', 'json']);
    expect(listed.json<unknown[]>()).toHaveLength(2 * AGENTS.length);
  });

  it('prevents every write if it shows none of this space, and the error names the other one', async () => {
    const service = await listingAll(topLevel);
    service.spaces.set('acme-1', { id: 8, external_space_id: 'acme-1', name: 'x', agents: [] });
    const ran = await machine(manifest('acme-1'))(service);
    expect(ran.code).toBe(8);
    expect(ran.stderr).toContain('space-7');
    expect(ran.error().hint).toContain('partnerctl contract set agents.list none');
    const named = await partnerctl(service.baseUrl, ['chat', 'setup', 'space-8', `name:${NAME}`, '-o', 'json']);
    expect(named.code).toBe(8);
    expect(service.posts()).toEqual([]);
  });

  it('is not suspected if agents show their space by an id of another kind', async () => {
    const service = await listingAll(() => ({ space_id: '0b0f2d3e-8f1c-4c59-9a43-6b8f5f4f1a10' }));
    service.spaces.delete('other');
    const provision = machine(manifest('acme-1'));
    expect((await provision(service)).code).toBe(0);
    expect((await provision(service)).json<Provisioned>().summary).toMatchObject({ unchanged: 1 });
    expect(service.posts()).toHaveLength(1);
  });
});

describe('a space or an agent that is listed as deleted', () => {
  it.each<[string, 'space' | 'agent', object, object]>([
    ['a time', 'space', { deleted_at: '2026-01-02' }, { field: 'deleted_at', service: '2026-01-02', manifest: null }],
    ['a flag', 'agent', { archived: true }, { field: 'archived', service: true }],
    ['a status', 'agent', { status: 'deleted' }, { field: 'status', service: 'deleted' }],
  ])('by %s is shown as a difference (of the %s)', async (_, retired, shown, difference) => {
    const item: Habits['item'] = (resource, id, fields) => ({
      [`${resource}_id`]: `${resource}-${id}`,
      ...fields,
      ...(resource === retired
        ? shown
        : { deleted_at: '0001-01-01T00:00:00Z', archived_at: 0, archived: false, status: 'active' }),
    });
    const service = await oddService({ item });
    const provision = machine(manifest('acme-1', [NAME]));
    expect((await provision(service)).code).toBe(0);
    const differences = [{ resource: retired, ...difference }];
    const plan = await provision(service, '--dry-run');
    expect(plan.json<{ spaces: unknown }>().spaces).toMatchObject([{ action: 'none', differences }]);
    const again = await provision(service);
    expect(again.json<Provisioned>().results).toMatchObject([{ status: 'unchanged', differences }]);
  });
});
