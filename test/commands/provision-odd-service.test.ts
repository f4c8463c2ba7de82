import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { propertyRuns } from '../support/properties.ts';
import { partnerctl, type Ran, tempDirectory } from '../support/run.ts';
import { type Habits, type OddService, oddService, type Trouble } from './odd-service.ts';
import type { Answer } from './provisioning.ts';

const AGENTS = ['Sales', 'Support', 'Triage'];

function manifest(externalId: string, agents: readonly string[] = AGENTS): string {
  const lines = agents.map((name) => `  - { template_id: tmpl_${name.normalize('NFC').toLowerCase()}, name: ${name} }`);
  return `external_space_id: ${externalId}\nspace: { name: ${externalId} }\nagents:\n${lines.join('\n')}\n`;
}

/** A separate machine: a home with its state file, and the manifest. */
function machine(text: string): (service: OddService, ...flags: string[]) => Promise<Ran> {
  const home = tempDirectory();
  const file = join(home, 'manifest.yaml');
  writeFileSync(file, text);
  return ({ baseUrl }, ...flags) =>
    partnerctl(baseUrl, ['provision', file, '-o', 'json', ...flags], { env: { HOME: home } });
}

function expectDone(service: OddService, ran: Ran, externalIds: readonly string[]): void {
  expect(ran.code, ran.stderr).toBe(0);
  for (const id of externalIds) expect({ id, agents: service.agentNames(id) }).toEqual({ id, agents: AGENTS });
}

const SHAPES: Record<string, Habits> = {
  'bare arrays': {},
  'numeric ids': { item: (_, id, fields) => ({ id, ...fields }), answer: (space, agents) => ({ space, agents }) },
  'no templates in the listing': { hideTemplates: true },
  'an answer that names only the space_id': { answer: (space) => ({ space_id: Object(space).space_id }) },
  'an answer of unknown shape': { answer: () => ({ status: 'accepted' }) },
};

describe('A response that is lost after the write', () => {
  it.each<Trouble>(['reset', 503])(
    '(%s) is repeated where the lists may not be read, until everything is there',
    async (trouble) => {
      const service = await oddService({
        trouble: ({ method }, count) => (method === 'GET' ? 403 : count <= 2 ? trouble : undefined),
      });
      const ran = await machine(manifest('acme-1'))(service);
      expect(ran.code).toBe(0);
      expect(service.agentNames('acme-1')).toEqual(AGENTS);
      expect(ran.json<Answer>().results[0]).toMatchObject({ status: 'created' });
    },
  );

  it('in the form of a redirect is final', async () => {
    const service = await oddService({ trouble: ({ method }) => (method === 'POST' ? 307 : undefined) });
    const ran = await machine(manifest('acme-1'))(service);
    expect(ran).toMatchObject({ code: 8, stderr: expect.stringContaining('redirects to') });
    expect(service.posts().length).toBe(1);
  });

  it('from a service that stays down ends with exit 8, and the next run finishes', async () => {
    let isDown = false;
    const service = await oddService({
      trouble: ({ method }) => {
        if (isDown) return 503;
        if (method !== 'POST') return undefined;
        isDown = true;
        return 'reset after';
      },
    });
    const provision = machine(manifest('acme-1'));
    const failed = await provision(service);
    expect(failed.code).toBe(8);
    expect(failed.stderr).toContain('the space may or may not have been provisioned');
    expect(failed.stderr).not.toContain('Nothing was sent');
    isDown = false;
    expectDone(service, await provision(service), ['acme-1']);
    expect(service.posts().length).toBe(1);
  });

  it('property: whatever fails, no agent is installed twice, and repeated runs install all of them', async () => {
    const troubles = fc.array(
      fc.constantFrom<Trouble>(503, 429, 'reset', 'reset after', 'cut after', '502 after', '303 after', undefined),
      { minLength: 1, maxLength: 25 },
    );
    await fc.assert(
      fc.asyncProperty(troubles, fc.constantFrom(...Object.values(SHAPES)), async (plan, habits) => {
        const next = plan.values();
        const service = await oddService({ ...habits, trouble: () => next.next().value });
        const ids = ['acme-1', 'acme-2', 'acme-3'];
        const provision = machine(ids.map((id) => manifest(id)).join('---\n'));
        for (let round = 1; ; round += 1) {
          const ran = await provision(service);
          for (const id of ids) {
            const names = service.agentNames(id);
            expect(names).toEqual([...new Set(names)]);
          }
          if (ran.code === 0) return expectDone(service, ran, ids);
          expect([7, 8, 10]).toContain(ran.code);
          expect(round).toBeLessThan(10);
        }
      }),
      { numRuns: propertyRuns(12) },
    );
  });
});

it('A second agent of the same name and template is not taken for the recorded one, although it is listed first', async () => {
  const service = await oddService({ envelope: (items) => items.toReversed() });
  const provision = machine(manifest('acme-1'));
  const first = (await provision(service)).json<Answer>();
  const { agents = [] } = service.spaces.get('acme-1') ?? {};
  agents.push(...agents.map(({ name, template_id }, index) => ({ id: 900 + index, name, template_id })));
  const [again] = (await provision(service)).json<Answer>().results;
  const ids = first.results[0]?.agents.map(({ agent_id }) => agent_id);
  expect(again).toMatchObject({ status: 'unchanged', agents: ids?.map((agent_id) => ({ agent_id })) });
});

it('A name that the service composes is no other name, even without the state', async () => {
  const [composed, decomposed] = ['Café'.normalize('NFC'), 'Café'.normalize('NFD')];
  const item: Habits['item'] = (resource, id, fields) => ({
    [`${resource}_id`]: `${resource}-${id}`,
    ...fields,
    ...(resource === 'agent' && { name: String(Object(fields).name).normalize('NFC') }),
  });
  const service = await oddService({ item });
  for (const name of [decomposed, composed]) expect((await machine(manifest('acme', [name]))(service)).code).toBe(0);
  expect(service.posts()).toHaveLength(1);
});

it.each([
  ['without its external_space_id', null, []],
  [
    'with another spelling of its external_space_id',
    'ACME',
    [{ resource: 'space', name: 'acme', field: 'external_space_id', service: 'ACME', manifest: 'acme' }],
  ],
])('A space that is listed %s is known by its recorded space_id', async (_, external_space_id, differences) => {
  const item: Habits['item'] = (resource, id, fields) => ({
    [`${resource}_id`]: `${resource}-${id}`,
    ...fields,
    ...('external_space_id' in fields && { external_space_id }),
  });
  const service = await oddService({ item });
  const provision = machine(manifest('acme'));
  expectDone(service, await provision(service), ['acme']);
  const { results, summary } = (await provision(service)).json<Answer>();
  expect(summary).toMatchObject({ unchanged: 1 });
  expect(results[0]?.differences ?? []).toEqual(differences);
  expect(service.posts()).toHaveLength(1);
});

it('A recorded space that is listed with the external_space_id of another document belongs to that document', async () => {
  const service = await oddService();
  const provision = machine(['acme', 'globex'].map((id) => manifest(id)).join('---\n'));
  const [first] = (await provision(service)).json<Answer>().results;
  const space = { id: 0, name: '', agents: [], ...service.spaces.get('acme'), external_space_id: 'globex' };
  service.spaces.clear();
  service.spaces.set('globex', space);
  expect((await provision(service)).json<Answer>().results).toMatchObject([
    { external_space_id: 'acme', status: 'created', space_id: expect.not.stringMatching(`^${first?.space_id}$`) },
    { external_space_id: 'globex', status: 'unchanged', space_id: first?.space_id },
  ]);
});

it('A list of agents that has only those of another space prevents every write, and the error names that one', async () => {
  const service = await oddService({
    envelope: (items, resource) =>
      resource === 'agents' ? items.map((agent) => Object.assign({ space_id: 'space-7' }, agent)) : items,
  });
  const agents = [{ id: 1, name: 'Sales', template_id: 'tmpl_sales' }];
  service.spaces.set('acme', { id: 8, external_space_id: 'acme', name: 'x', agents });
  const ran = await machine(manifest('acme'))(service);
  expect(ran).toMatchObject({ code: 8, stderr: expect.stringContaining('space-7') });
  expect(ran.error().hint).toContain('partnerctl contract set agents.list none');
  expect(service.posts()).toEqual([]);
});
