import { expect, it } from 'vitest';
import { json, sendJson, startFakeService } from '../support/fake-service.ts';
import { partnerctl, type Ran, tempDirectory } from '../support/run.ts';
import { manifest } from '../support/service.ts';
import type { Answer } from './provisioning.ts';

/* A service that shows a space or an agent otherwise than it was provisioned. */

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
