import fc from 'fast-check';
import { expect, it } from 'vitest';
import { json, sendJson, startFakeService } from '../support/fake-service.ts';
import { propertyRuns } from '../support/properties.ts';
import { fastClock, partnerctl, type Ran, tempDirectory } from '../support/run.ts';
import { manifest, service as startService, write } from '../support/service.ts';
import { type Answer, provision } from './provisioning.ts';

/* A service that shows a space or an agent otherwise than it was provisioned, or that fails again and again. */

it('property: whatever fails, no agent is installed twice, and repeated runs install all of them', async () => {
  const fault = fc.constantFrom(
    { kind: 'status', status: 503 },
    { kind: 'status', status: 429 },
    { kind: 'html', stage: 'after' },
    { kind: 'reset', stage: 'before' },
    { kind: 'reset', stage: 'after' },
    { kind: 'cut' },
  );
  const rules = fc.array(fc.record({ fault, skip: fc.nat(2) }), { minLength: 1, maxLength: 12 });
  await fc.assert(
    fc.asyncProperty(rules, async (plan) => {
      const service = await startService();
      await service.set({ agents_on_repeat: 'install' });
      await service.faults(...plan.map(({ fault, skip }) => ({ ...fault, skip, times: 1 })));
      const ids = ['acme-1', 'acme-2', 'acme-3'];
      const path = write('many.yaml', ids.map((id) => manifest(id, ['Sales', 'Support'])).join('---\n'));
      let code = -1;
      for (let round = 0; code !== 0 && round < 10; round += 1) {
        ({ code } = await provision([path], service, { clock: fastClock() }));
        expect([0, 7, 8, 10]).toContain(code);
      }
      await service.faults();
      const installed = (await service.spaces()).map(({ space_id }) => service.agents(space_id));
      expect((await Promise.all(installed)).map((agents) => agents.map(({ name }) => name))).toEqual(
        ids.map(() => ['Sales', 'Support']),
      );
    }),
    { numRuns: propertyRuns(12) },
  );
});

const AGENT = { name: 'Support', template_id: 'tmpl_support' };

/** Provisions spaces with one agent each, `s-1` and `a-1` and so on, and then again where the lists show these. */
async function provisionAgain(
  documents: string,
  spaces: readonly object[],
  agents: readonly object[],
): Promise<Ran & { readonly posts: number }> {
  const service = await startFakeService({
    'GET *': json([]),
    'POST *': (_, response, count) => {
      sendJson(response, { space_id: `s-${count}`, agents: [{ agent_id: `a-${count}`, ...AGENT }] }, 201);
    },
  });
  const env = { HOME: tempDirectory() };
  const run = () =>
    partnerctl(service.baseUrl, ['provision', '-', '-o', 'json', '--concurrency', '1'], { env, stdin: documents });
  expect((await run()).code).toBe(0);
  service.respond({
    'GET /automation/spaces/': json(spaces),
    'GET *': json(agents),
    'POST *': json({ space_id: 's-9', agents: [{ agent_id: 'a-9', ...AGENT }] }, 201),
  });
  const before = service.posts().length;
  const ran = await run();
  return { ...ran, posts: service.posts().length - before };
}

const ACME = { space_id: 's-1', external_space_id: 'acme', name: 'Space acme' };

it('A second agent of the same name and template is not taken for the recorded one, although it is listed first', async () => {
  const agents = ['a-7', 'a-1'].map((agent_id) => ({ agent_id, ...AGENT }));
  const again = await provisionAgain(manifest('acme'), [ACME], agents);
  expect(again.json()).toMatchObject({ results: [{ status: 'unchanged', agents: [{ agent_id: 'a-1' }] }] });
});

it('A space that is listed with another spelling of its external_space_id is known by its recorded space_id', async () => {
  const listed = [{ ...ACME, external_space_id: 'ACME' }];
  const again = await provisionAgain(manifest('acme'), listed, [{ agent_id: 'a-1', ...AGENT }]);
  const difference = { field: 'external_space_id', service: 'ACME', manifest: 'acme' };
  expect(again.json<Answer>().results).toMatchObject([
    { status: 'unchanged', space_id: 's-1', differences: [difference] },
  ]);
  expect(again.posts).toBe(0);
});
