import { describe, expect, it } from 'vitest';
import { oddService } from './odd-service.ts';
import { AGENTS, machine, manifest, type Provisioned } from './provisioning.ts';

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
