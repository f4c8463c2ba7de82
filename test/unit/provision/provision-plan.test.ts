import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Manifest } from '../../../src/provision/manifest.ts';
import { type PresentAgent, type PresentSpace, planProvision } from '../../../src/provision/provision-plan.ts';

const NAMES = ['Support', 'Sales', 'Triage'];
const TEMPLATES = ['tmpl_a', 'tmpl_b'];

function wanting(agents: Manifest['agents'], space: Manifest['space'] = { name: 'Acme' }): Manifest {
  return { external_space_id: 'acme-1', space, agents: [...agents] };
}

function agent(agent_id: string, name: string, template_id?: string): PresentAgent {
  return { agent_id, name, template_id, source_id: undefined };
}

/** Manifests never hold two agents of one name and template. */
const manifests = fc
  .uniqueArray(fc.record({ name: fc.constantFrom(...NAMES), template_id: fc.constantFrom(...TEMPLATES) }), {
    minLength: 1,
    maxLength: 5,
    selector: ({ name, template_id }) => `${name} ${template_id}`,
  })
  .map((agents) => wanting(agents));

const presents = fc
  .array(
    fc.record({ name: fc.constantFrom(...NAMES, undefined), template_id: fc.constantFrom(...TEMPLATES, undefined) }),
    {
      maxLength: 8,
    },
  )
  .map(
    (agents): PresentSpace => ({
      space_id: 's1',
      agents: agents.map((found, index) => ({ agent_id: `a${index}`, source_id: undefined, ...found })),
    }),
  );

/** The space after the missing agents were installed, by a service that installs exactly what is requested. */
function applied(manifest: Manifest, present: PresentSpace | undefined, showTemplates: boolean): PresentSpace {
  const { agents } = planProvision(manifest, present);
  const installed = agents
    .filter((planned) => !planned.present)
    .map(({ wanted }, index) => agent(`new${index}`, wanted.name, showTemplates ? wanted.template_id : undefined));
  return { space_id: 's1', agents: [...(present?.agents ?? []), ...installed] };
}

describe('the plan of a space', () => {
  it('pairs exact matches before agents that match by name alone', () => {
    const manifest = wanting([
      { name: 'Support', template_id: 'tmpl_a' },
      { name: 'Support', template_id: 'tmpl_b' },
    ]);
    const plan = planProvision(manifest, {
      space_id: 's1',
      agents: [agent('unknown', 'Support'), agent('exact', 'Support', 'tmpl_a')],
    });
    expect(plan.agents.map(({ present }) => present?.agent_id)).toEqual(['exact', 'unknown']);
  });

  it('lists the differences that it does not change', () => {
    const manifest = wanting([{ name: 'Support', template_id: 'tmpl_a' }], {
      name: 'Acme',
      description: 'new',
      is_org_wide: true,
    });
    const plan = planProvision(manifest, {
      space_id: 's1',
      name: 'Other',
      description: 'old',
      is_org_wide: false,
      agents: [agent('a1', 'Support', 'tmpl_b')],
    });
    expect(plan.differences.map(({ resource, name, field }) => `${resource} ${name} ${field}`)).toEqual([
      'space Acme name',
      'space Acme description',
      'space Acme is_org_wide',
      'agent Support template_id',
    ]);
  });

  it('ignores fields that the manifest or the service omits', () => {
    const manifest = wanting([{ name: 'Support', template_id: 'tmpl_a' }], { name: 'Acme' });
    const plan = planProvision(manifest, { space_id: 's1', description: 'old', agents: [agent('a1', 'Support')] });
    expect(plan.differences).toEqual([]);
  });

  it.each(['Two lines\nof text.', 'Two lines\r\nof text.\r\n', '  Two lines\nof text.'])(
    'does not take line ends and surrounding white space, which services trim, for a difference: %j',
    (description) => {
      const manifest = wanting([{ name: 'Support', template_id: 'tmpl_a' }], {
        name: 'Acme',
        description: '  Two lines\nof text.\n',
      });
      const plan = planProvision(manifest, { space_id: 's1', description, agents: [agent('a1', 'Support')] });
      expect(plan.differences).toEqual([]);
    },
  );

  it.each(['SESSION_WORKFLOW', 'sessionWorkflow', 'session-workflow'])(
    'does not take another spelling of a routing mode for a difference: %s',
    (routing_mode) => {
      const manifest = wanting([
        { name: 'Support', template_id: 'tmpl_a', chat: { routing_mode: 'session_workflow' } },
        { name: 'Sales', template_id: 'tmpl_a', chat: { routing_mode: 'agent_inbox' } },
      ]);
      const source = { name: undefined, reply_capable: undefined, routing_mode };
      const plan = planProvision(manifest, {
        space_id: 's1',
        agents: ['Support', 'Sales'].map((name) => ({ ...agent(name, name, 'tmpl_a'), source_id: 'src_1', source })),
      });
      expect(plan.differences.map(({ name, field }) => `${name} ${field}`)).toEqual(['Sales routing_mode']);
    },
  );

  it('property: never includes an existing agent again, and pairs it only once', () => {
    fc.assert(
      fc.property(manifests, presents, (manifest, present) => {
        const plan = planProvision(manifest, present);
        expect(plan.agents.map(({ wanted }) => wanted)).toEqual(manifest.agents);
        const used = plan.agents.flatMap((planned) => planned.present?.agent_id ?? []);
        expect(new Set(used).size).toBe(used.length);
        for (const { wanted, present: found } of plan.agents) {
          const fits = present.agents.filter(
            ({ name, template_id }) => name === wanted.name && template_id === wanted.template_id,
          );
          if (fits.length > 0) expect(found?.template_id).toBe(wanted.template_id);
          if (found) expect(found.name).toBe(wanted.name);
        }
      }),
    );
  });

  it('property: is empty after it was carried out', () => {
    fc.assert(
      fc.property(
        manifests,
        fc.option(presents, { nil: undefined }),
        fc.boolean(),
        (manifest, present, showTemplates) => {
          const after = applied(manifest, present, showTemplates);
          expect(planProvision(manifest, after).action).toBe('none');
        },
      ),
    );
  });

  it('property: installs each agent once if it is carried out in part and planned again', () => {
    fc.assert(
      fc.property(manifests, fc.nat({ max: 4 }), (manifest, count) => {
        const part = wanting(manifest.agents.slice(0, Math.max(1, count)));
        const whole = applied(manifest, applied(part, undefined, true), true);
        const installed = whole.agents.map(({ name, template_id }) => `${name} ${template_id}`).sort();
        expect(installed).toEqual(manifest.agents.map(({ name, template_id }) => `${name} ${template_id}`).sort());
      }),
    );
  });
});
