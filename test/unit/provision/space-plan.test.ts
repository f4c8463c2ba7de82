import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createScheduleDescriber, initialCronResult } from '../../../src/cron/cron-result.ts';
import type { ManifestAgent } from '../../../src/provision/manifest.ts';
import type { PresentAgent } from '../../../src/provision/provision-plan.ts';
import {
  type DocumentKnowledge,
  type JobKnowledge,
  planSpace,
  type SpacePlan,
  summarizePlans,
} from '../../../src/provision/space-plan.ts';

const NAMES = ['Support', 'Sales', 'Triage'];
const TEMPLATES = ['tmpl_a', 'tmpl_b'];

const result = await initialCronResult(
  {
    index: 0,
    source: undefined,
    key: null,
    job: {
      agent_id: null,
      name: 'daily',
      instructions: 'x',
      schedule: { minute: '0', hour: '9', day_of_week: '*', timezone: 'UTC' },
    },
  },
  Date.UTC(2026, 0, 1),
  createScheduleDescriber(),
);

const wantedAgents: fc.Arbitrary<ManifestAgent[]> = fc.uniqueArray(
  fc.record(
    { name: fc.constantFrom(...NAMES), template_id: fc.constantFrom(...TEMPLATES), chat: fc.constant({}) },
    { requiredKeys: ['name', 'template_id'] },
  ),
  { minLength: 1, maxLength: 4, selector: ({ name, template_id }) => `${name} ${template_id}` },
);

const presentAgents: fc.Arbitrary<PresentAgent[]> = fc
  .array(
    fc.record({
      name: fc.constantFrom(...NAMES, undefined),
      template_id: fc.constantFrom(...TEMPLATES, undefined),
      source_id: fc.constantFrom('src_1', null, undefined),
    }),
    { maxLength: 5 },
  )
  .map((agents) => agents.map((agent, index) => ({ ...agent, agent_id: `a${index}` })));

/** What is known about a document without obstacles. */
function knowing(
  agents: ManifestAgent[],
  present: PresentAgent[] | undefined,
  jobs: readonly JobKnowledge[],
): DocumentKnowledge {
  const manifest = { external_space_id: 'acme', space: { name: 'Acme' }, agents };
  const space = present && { space_id: 's1', name: 'Acme', agents: present };
  return {
    document: { source: 'acme.yaml:1', index: 0, manifest },
    known: {
      manifest,
      canRead: true,
      listedSpaceId: space?.space_id,
      present: space,
      similar: undefined,
      recalled: undefined,
      unsettled: [],
      lines: [],
      label: 'state.jsonl',
      retryUnknown: false,
    },
    isBusy: false,
    jobs,
    listedJobs: [],
  };
}

const documents = fc
  .tuple(wantedAgents, fc.option(presentAgents, { nil: undefined }), fc.constantFrom('planned', 'exists', 'adopted'))
  .map(([agents, present, status]) =>
    knowing(agents, present, [{ agent: 0, result: { ...result, status: status as 'planned' }, listed: undefined }]),
  );

const countOf = ({ actions }: SpacePlan, op: string) => actions.filter((action) => action.op === op).length;

describe('the plan of a document', () => {
  it('property: has an action for everything that is missing, and none for what exists', () => {
    fc.assert(
      fc.property(documents, (knowledge) => {
        const plan = planSpace(knowledge);
        const { present, manifest } = knowledge.known;
        expect(countOf(plan, 'create_space')).toBe(present ? 0 : 1);
        expect(plan.action === 'none').toBe(plan.actions.length === 0);
        expect(plan.action === 'create').toBe(!present);
        expect(countOf(plan, 'create_job')).toBe(knowledge.jobs[0]?.result.status === 'planned' ? 1 : 0);
        const installed = countOf(plan, 'install_agent');
        expect(installed + (present ? present.agents.length - plan.unmanaged.length : 0)).toBe(manifest.agents.length);
        expect(plan.blocked).toEqual([]);
      }),
    );
  });

  it('property: lists no agent both as unchanged and as installed, and nothing of the manifest as unmanaged', () => {
    fc.assert(
      fc.property(documents, (knowledge) => {
        const plan = planSpace(knowledge);
        expect(plan.unchanged.agents + countOf(plan, 'install_agent')).toBeLessThanOrEqual(
          knowledge.known.manifest.agents.length,
        );
        const ids = plan.unmanaged.map(({ id }) => id);
        expect(new Set(ids).size).toBe(ids.length);
      }),
    );
  });

  it('property: counts each space once, by its action', () => {
    fc.assert(
      fc.property(fc.array(documents, { maxLength: 5 }), (all) => {
        const plans = all.map(planSpace);
        const { create, change, none, unmanaged } = summarizePlans(plans);
        expect(create + change + none).toBe(plans.length);
        expect(unmanaged).toBe(plans.flatMap((plan) => plan.unmanaged).length);
      }),
    );
  });
});
