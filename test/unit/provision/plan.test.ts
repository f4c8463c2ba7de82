import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { ListedAgent } from '../../../src/contract/resources.ts';
import { DuplicateError } from '../../../src/errors.ts';
import type { Manifest } from '../../../src/provision/manifest.ts';
import type { Observation } from '../../../src/provision/observe.ts';
import { agentsOf, planSpace } from '../../../src/provision/plan.ts';

const NAMES = ['Support', 'Sales', 'Triage'];
const TEMPLATES = ['tmpl_a', 'tmpl_b'];

function wanting(agents: Manifest['agents']): Manifest {
  return { external_space_id: 'acme', space: { name: 'Acme' }, agents: [...agents] };
}

function agent(agent_id: string, name: string | undefined, template_id?: string): ListedAgent {
  return { agent_id, name, template_id, source_id: undefined, item: {} };
}

function planOf(manifest: Manifest, observation: Partial<Observation>, createBeside = false) {
  const known: Observation = { space: { space_id: 's1' }, agents: [], fact: undefined, ...observation };
  return planSpace({ source: 'acme.yaml:1', index: 0, manifest, places: {} }, known, createBeside);
}

const installs = ({ steps }: ReturnType<typeof planOf>) =>
  steps.flatMap(({ op, status, name }) => (op === 'install_agent' && status === 'planned' ? [name] : []));

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
    agents: [{ agent_id: 'a1', name: 'Old', template_id, source_id: null }],
  });

  const refusals = ({ failures }: ReturnType<typeof planOf>) =>
    failures.map(({ error }) => (error instanceof DuplicateError ? error.info.details : error));
  const support = wanting([{ name: 'Support', template_id: 'tmpl_a' }]);

  it('is blocked by an agent that was probably edited, unless its manifest names or ignores that one', () => {
    for (const there of [
      agent('a1', 'SUP PORT'),
      agent('a1', 'Helpdesk', 'tmpl_a'),
      agent('a1', 'support', 'tmpl_b'),
    ]) {
      const agents = [there];
      const { name = '', template_id = 'tmpl_c' } = there;
      expect(refusals(planOf(support, { agents }))).toMatchObject([{ agent_id: 'a1', agent: 'Support' }]);
      for (const by of ['a1', name])
        expect(installs(planOf({ ...support, ignore: [{ resource: 'agent', name: by }] }, { agents }))).toHaveLength(1);
      // To ignore all agents says nothing about this one.
      expect(refusals(planOf({ ...support, ignore: [{ resource: 'agent' }] }, { agents }))).toHaveLength(1);
      expect(installs(planOf(wanting([...support.agents, { name, template_id }]), { agents }))).toEqual(['Support']);
    }
  });

  it('knows a template that the list does not show by the state', () => {
    const manifest = wanting([{ name: 'Helpdesk', template_id: 'tmpl_a' }]);
    const unshown = { agents: [agent('a1', 'Support')] };
    expect(refusals(planOf(manifest, { ...unshown, fact: fact('tmpl_a') }))).toHaveLength(1);
    expect(refusals(planOf(manifest, { ...unshown, fact: fact('tmpl_b') }))).toEqual([]);
    expect(refusals(planOf(support, { ...unshown, fact: fact('tmpl_b') }))).toMatchObject([{ field: 'template_id' }]);
    const recorded = { agents: undefined, fact: fact('tmpl_a') };
    expect(refusals(planOf(support, recorded))).toMatchObject([{ agent_id: 'a1', field: 'name' }]);
  });

  it('never pairs agents of one name by the order of their ids: it is blocked, whatever was agreed to', () => {
    const two = [agent('a1', 'Support'), agent('a2', 'Support')];
    for (const agents of [two, two.toReversed(), two.map((each) => ({ ...each, template_id: 'tmpl_a' }))]) {
      const plan = planOf(support, { agents }, true);
      expect(refusals(plan)).toMatchObject([{ agent: 'Support', candidates: expect.arrayContaining(['a1', 'a2']) }]);
      expect(agentsOf(plan)).toMatchObject([{ agent_id: null }]);
      const told = planOf({ ...support, ignore: [{ resource: 'agent', name: 'a1' }] }, { agents });
      expect([agentsOf(told), told.failures]).toMatchObject([[{ agent_id: 'a2' }], []]);
    }
    const both = wanting([...support.agents, { name: 'Support', template_id: 'tmpl_b' }]);
    expect(refusals(planOf(both, { agents: two }))).toHaveLength(2);
    expect(refusals(planOf(both, { agents: two.slice(1) }))).toHaveLength(2);
    const record = (agent_id: string, template_id: string) => {
      return { agent_id, name: 'Support', template_id, source_id: null };
    };
    const known = { ...fact('tmpl_a'), agents: [record('a2', 'tmpl_a'), record('a1', 'tmpl_b')] };
    const pairs = agentsOf(planOf(both, { agents: two, fact: known }));
    expect(pairs).toMatchObject([{ agent_id: 'a2' }, { agent_id: 'a1' }]);
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

  it('property: pairs each existing agent at most once, and is blocked, or empty after it was carried out', () => {
    fc.assert(
      fc.property(manifests, present, (manifest, agents) => {
        const plan = planOf(manifest, { agents }, true);
        const used = agentsOf(plan).flatMap(({ agent_id }) => agent_id ?? []);
        expect(new Set(used).size).toBe(used.length);
        if (plan.failures.length > 0) {
          expect(planned(plan)).toEqual([]);
          return;
        }
        const added = manifest.agents
          .filter((_, index) => agentsOf(plan)[index]?.agent_id === null)
          .map(({ name, template_id }, index) => agent(`new${index}`, name, template_id));
        expect(planned(planOf(manifest, { agents: [...agents, ...added] }, true))).toEqual([]);
      }),
    );
  });
});
