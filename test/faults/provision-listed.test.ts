import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { fastClock, tempDirectory } from '../helpers/run.ts';
import { type Habits, oddService } from './odd-service.ts';
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

/** Hides the agents for a number of reads of their list. The response to provisioning never has them. */
function hidingAgents(reads: number, habits: Habits = {}) {
  const hidden = { reads };
  const service = oddService({
    answer: (space) => space,
    envelope: (items, resource) => {
      if (resource !== 'agents') return items;
      hidden.reads -= 1;
      return hidden.reads >= 0 ? [] : items;
    },
    ...habits,
  });
  return { hidden, service };
}

const [NAME = ''] = AGENTS;

describe('agents that the response to provisioning lacks', () => {
  it('are awaited until the list shows them', async () => {
    const { service: started } = hidingAgents(3);
    const service = await started;
    const clock = fastClock();
    const ran = await machine(manifest('acme-1'), { clock })(service);
    expectDone(service, ran, ['acme-1']);
    expect(ran.json<Provisioned>().results[0]?.status).toBe('created');
    expect(clock.slept.length).toBeGreaterThan(0);
    expect(service.posts()).toHaveLength(1);
  });

  it('are awaited if the service does not know the new space at once (404)', async () => {
    let misses = 2;
    const service = await oddService({
      answer: (space) => space,
      trouble: ({ path }) => (path.endsWith('/agents/') && misses-- > 0 ? 404 : undefined),
    });
    const ran = await machine(manifest('acme-1'), { clock: fastClock() })(service);
    expectDone(service, ran, ['acme-1']);
    expect(service.posts()).toHaveLength(1);
  });

  it('block the space (exit 9) while the list lacks them, whatever else the manifest changes, and are found later', async () => {
    const { hidden, service: started } = hidingAgents(Number.POSITIVE_INFINITY);
    const service = await started;
    const state = join(tempDirectory(), 'state.jsonl');
    const provision = (text: string, ...flags: string[]) =>
      machine(text, { clock: fastClock() })(service, '--state', state, ...flags);
    const text = manifest('acme-1');
    const space_id = 'space-101';
    for (const each of [text, text, text.replace('description: x', 'description: y')]) {
      const ran = await provision(each);
      expect(ran.code).toBe(9);
      expect(ran.json<Provisioned>().results).toMatchObject([
        { status: 'failed', space_id, error: { type: 'outcome_unknown' } },
      ]);
      expect(ran.error().hint).toContain(`partnerctl agents list ${space_id}`);
      expect(ran.error().hint).toContain('--retry-unknown');
      expect(ran.stderr).not.toContain('contract set');
    }
    expect(readFileSync(state, 'utf8')).toContain(`"space_id":"${space_id}"`);
    const plan = await provision(text, '--dry-run');
    expect(plan.json<{ spaces: unknown }>().spaces).toMatchObject([
      { action: 'none', blocked: [{ resource: 'space' }] },
    ]);
    expect(service.posts()).toHaveLength(1);
    hidden.reads = 0;
    const found = await provision(text);
    expectDone(service, found, ['acme-1']);
    expect(found.json<Provisioned>().summary).toMatchObject({ unchanged: 1 });
    expect(service.posts()).toHaveLength(1);
  });

  it('are installed again by --retry-unknown', async () => {
    const { hidden, service: started } = hidingAgents(Number.POSITIVE_INFINITY);
    const service = await started;
    const provision = machine(manifest('acme-1'), { clock: fastClock() });
    expect((await provision(service)).code).toBe(9);
    service.spaces.get('acme-1')?.agents.splice(0);
    hidden.reads = 1;
    expectDone(service, await provision(service, '--retry-unknown'), ['acme-1']);
    expect(service.posts()).toHaveLength(2);
  });

  it('do not hide the ids of those that it has', async () => {
    const { service: started } = hidingAgents(Number.POSITIVE_INFINITY, {
      answer: (space, agents) => ({ ...space, agents: agents.slice(0, 1) }),
    });
    const service = await started;
    const state = join(tempDirectory(), 'state.jsonl');
    const ran = await machine(manifest('acme-1'), { clock: fastClock() })(service, '--state', state);
    expect(ran.code).toBe(9);
    const [agent] = service.spaces.get('acme-1')?.agents ?? [];
    expect(ran.json<Provisioned>().results[0]?.agents).toMatchObject([
      { agent_id: `agent-${agent?.id}`, status: 'created' },
      { agent_id: null, status: 'failed' },
      { agent_id: null, status: 'failed' },
    ]);
    expect(readFileSync(state, 'utf8')).toContain(`"agent_id":"agent-${agent?.id}"`);
  });

  it('are named if the list has them with other templates', async () => {
    const service = await oddService({
      answer: (space) => space,
      item: (resource, id, fields) => ({
        [`${resource}_id`]: `${resource}-${id}`,
        ...fields,
        ...(resource === 'agent' && { template_id: `${Object(fields).template_id}@v3` }),
      }),
    });
    const ran = await machine(manifest('acme-1', [NAME]), { clock: fastClock() })(service);
    expect(ran.code).toBe(9);
    expect(ran.error().details).toMatchObject({ why: expect.stringContaining('Sales (tmpl_sales@v3)') });
    expect(ran.error().hint).toContain('in the manifest');
    const written = manifest('acme-1', [NAME]).replace('tmpl_sales', 'tmpl_sales@v3');
    expect((await machine(written)(service)).json<Provisioned>().summary).toMatchObject({ unchanged: 1 });
    expect(service.posts()).toHaveLength(1);
  });

  it('are not installed again if the list could not be read then, and lacks them later', async () => {
    let isDown = true;
    const { hidden, service: started } = hidingAgents(Number.POSITIVE_INFINITY, {
      trouble: ({ path }) => (isDown && path.endsWith('/agents/') ? 503 : undefined),
    });
    const service = await started;
    const provision = machine(manifest('acme-1'), { clock: fastClock() });
    expect((await provision(service)).code).toBe(8);
    isDown = false;
    expect((await provision(service)).code).toBe(9);
    hidden.reads = 0;
    expectDone(service, await provision(service), ['acme-1']);
    expect(service.posts()).toHaveLength(1);
  });
});
