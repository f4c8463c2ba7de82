import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { ListedAgent } from '../../../src/contract/resources.ts';
import type { Manifest } from '../../../src/provision/manifest.ts';
import type { Observation } from '../../../src/provision/observe.ts';
import { plannedSteps, planSpace } from '../../../src/provision/plan.ts';
import { agentKey } from '../../../src/provision/space-record.ts';

const NAMES = ['Support', 'Sales', 'Triage'];
const TEMPLATES = ['tmpl_a', 'tmpl_b'];

function wanting(agents: Manifest['agents']): Manifest {
  return { external_space_id: 'acme', space: { name: 'Acme' }, agents: [...agents] };
}

function agent(agent_id: string, name: string | undefined, template_id?: string): ListedAgent {
  return { agent_id, name, template_id, source_id: undefined, item: {} };
}

function planOf(manifest: Manifest, observation: Partial<Observation>, installRenamed = false) {
  const known: Observation = { space: { space_id: 's1' }, agents: [], fact: undefined, ...observation };
  return planSpace({ source: 'acme.yaml:1', index: 0, manifest, holes: new Map() }, known, { installRenamed });
}

const installs = (plan: ReturnType<typeof planOf>) => plannedSteps(plan, 'install_agent').map(({ name }) => name);

const planned = ({ steps }: ReturnType<typeof planOf>) =>
  steps.flatMap(({ op, status }) => (status === 'planned' ? [op] : []));

const manifests = fc
  .uniqueArray(fc.record({ name: fc.constantFrom(...NAMES), template_id: fc.constantFrom(...TEMPLATES) }), {
    minLength: 1,
    maxLength: 5,
    selector: ({ name, template_id }) => `${name} ${template_id}`,
  })
  .map(wanting);

const present = fc
  .array(
    fc.record({ name: fc.constantFrom(...NAMES, undefined), template_id: fc.constantFrom(...TEMPLATES, undefined) }),
    { maxLength: 8 },
  )
  .map((agents) => agents.map(({ name, template_id }, index) => agent(`a${index}`, name, template_id)));

describe('The plan of a space', () => {
  const fact = (template_id: string) => ({
    origin: 'o',
    external_space_id: 'acme',
    space_id: 's1',
    agents: [{ key: agentKey({ name: 'Old', template_id }), agent_id: 'a1', template_id, source_id: null }],
  });

  it('is blocked by a likely rename, by the template that the list shows or the state recorded, until told otherwise', () => {
    const manifest = wanting([{ name: 'Helpdesk', template_id: 'tmpl_a' }]);
    const listed = { agents: [agent('a1', 'Support', 'tmpl_a')] };
    expect(planOf(manifest, listed)).toMatchObject({ error: { type: 'duplicate' } });
    expect(installs(planOf(manifest, listed))).toEqual([]);
    expect(installs(planOf(manifest, listed, true))).toEqual(['Helpdesk']);
    const unshown = { agents: [agent('a1', 'Support')] };
    expect(planOf(manifest, { ...unshown, fact: fact('tmpl_a') }).error).toBeDefined();
    expect(planOf(manifest, { ...unshown, fact: fact('tmpl_b') }).error).toBeUndefined();
    expect(planOf(manifest, unshown).error).toBeUndefined();
  });

  it('knows an agent that the service renamed by its recorded id, and shows the difference', () => {
    const manifest = wanting([{ name: 'Old', template_id: 'tmpl_a' }]);
    const plan = planOf(manifest, { agents: [agent('a1', 'New', 'tmpl_a')], fact: fact('tmpl_a') });
    expect(plan).toMatchObject({ differences: [{ field: 'name', service: 'New', manifest: 'Old' }], unmanaged: [] });
    expect(planned(plan)).toEqual([]);
  });

  it('knows a name in another Unicode form, and what the state recorded where agents cannot be listed', () => {
    const [composed, decomposed] = ['Café'.normalize('NFC'), 'Café'.normalize('NFD')];
    const cafe = wanting([{ name: decomposed, template_id: 'tmpl_a' }]);
    expect(planned(planOf(cafe, { agents: [agent('a1', composed, 'tmpl_a')] }))).toEqual([]);
    const manifest = wanting(['Old', 'More'].map((name) => ({ name, template_id: 'tmpl_a' })));
    expect(installs(planOf(manifest, { agents: undefined, fact: fact('tmpl_a') }))).toEqual(['More']);
  });

  it('property: pairs each existing agent at most once, and is empty after it was carried out', () => {
    fc.assert(
      fc.property(manifests, present, (manifest, agents) => {
        const plan = planOf(manifest, { agents }, true);
        const used = plan.agents.flatMap(({ agent_id }) => agent_id ?? []);
        expect(new Set(used).size).toBe(used.length);
        const added = manifest.agents
          .filter((_, index) => plan.agents[index]?.agent_id === null)
          .map(({ name, template_id }, index) => agent(`new${index}`, name, template_id));
        expect(planned(planOf(manifest, { agents: [...agents, ...added] }, true))).toEqual([]);
      }),
    );
  });
});
