import { describe, expect, test } from 'vitest';
import { parse as parseYaml } from 'yaml';
import { sendJson, startFakeService } from '../support/fake-service.ts';
import { partnerctl, run, tinyRandom } from '../support/run.ts';
import { PROVISION, provisionBody, service } from '../support/service.ts';

describe('spaces list', () => {
  test('prints one document of all pages, the same data in every format', async () => {
    const { env, admin, spaces, received, forget } = await service();
    const list = (...args: string[]) => run(['spaces', 'list', ...args], { env });
    expect(await list('-o', 'json')).toMatchObject({ code: 0, stdout: '[]\n', stderr: '' });
    await admin('POST', '/spaces', { count: 150, prefix: 'acme' });
    const expected = await spaces();
    await forget();
    const json = await list('-o', 'json');
    expect(json).toMatchObject({ code: 0, stderr: '' });
    expect(json.json()).toEqual(expected);
    expect(await received()).toHaveLength(2);
    const ids = expected.map(({ external_space_id }) => external_space_id);
    expect(ids).toEqual(Array.from({ length: 150 }, (_, index) => `acme-${index + 1}`));
    const lines = (await list('-o', 'ndjson')).stdout.trimEnd().split('\n');
    expect(lines.map((line) => JSON.parse(line))).toEqual(expected);
    expect(parseYaml((await list('--output', 'yaml')).stdout)).toEqual(expected);
    const tsv = (await list('-otsv')).stdout;
    expect(tsv).toBe(
      expected.map(({ space_id, external_space_id: id, name }) => `${name}\t${id}\t${space_id}\t\tno\n`).join(''),
    );
    expect((await list()).stdout).toBe(tsv);
    const rows = (await list('-o', 'table')).stdout.trimEnd().split('\n');
    expect(rows).toHaveLength(151);
    expect(rows[0]).toMatch(/^NAME +EXTERNAL ID +SPACE +ORG-WIDE$/);
  });
});

describe('agents list', () => {
  test("finds the space by id, external id, and name, and shows the service's error for an unknown id", async () => {
    const { env, partner } = await service();
    const made = await partner('POST', PROVISION, { body: provisionBody('acme-001') });
    await partner('POST', PROVISION, { body: provisionBody('other', { space: { name: 'Other' } }) });
    const { space, agents } = made.json;
    for (const reference of [space.space_id, 'ext:acme-001', 'name:Acme']) {
      const ran = await run(['agents', 'list', reference, '-o', 'json'], { env });
      expect(ran.json<unknown[]>()).toMatchObject([{ agent_id: agents[0].agent_id, template_id: 'tmpl_support' }]);
    }
    const rows = await run(['agents', 'list', 'name:Acme'], { env });
    expect(rows.stdout).toBe(`Support\t${agents[0].agent_id}\ttmpl_support\n`);
    const unknown = (await run(['agents', 'list', 'spc_nowhere', '-o', 'json'], { env })).error();
    expect(unknown).toMatchObject({ type: 'not_found', status: 404, code: 'space_not_found' });
    expect(unknown.request_id).toMatch(/^req-/);
  });
});

test.each([
  [{ kind: 'status', status: 401 }, 3, 'credentials'],
  [{ kind: 'status', status: 402 }, 6, 'balance_too_low'],
  [{ kind: 'status', status: 429, retry_after: 3600 }, 7, 'rate_limited'],
  [{ kind: 'status', status: 503 }, 8, 'service'],
  [{ kind: 'status', status: 422 }, 1, 'refused'],
  [{ kind: 'garbage' }, 8, 'unexpected_shape'],
])('a list that fails with %j exits with %i, and one line of JSON', async (fault, code, type) => {
  const { env, faults } = await service();
  await faults(fault);
  const ran = await run(['spaces', 'list', '-o', 'json', '--retries', '1'], { env, random: tinyRandom });
  expect(ran).toMatchObject({ code, stdout: '' });
  expect(ran.stderr.trimEnd().split('\n')).toHaveLength(1);
  expect(Object.keys(ran.error()).join()).toBe('type,message,status,code,request_id,hint,retry_at,details');
  expect(ran.error().type).toBe(type);
});

test('a page that comes again in place of the next one is no end, whatever the token is named', async () => {
  const items = Array.from({ length: 41 }, (_, index) => ({ space_id: `s${index}`, name: `Space ${index}` }));
  const service = await startFakeService({
    'GET *': (request, response) => {
      const from = Number(request.query.get('page_token') ?? 0);
      // The page from 20 on, which leads on, stands in for the one from 40 on.
      const start = Math.min(from, 20);
      sendJson(response, { results: items.slice(start, start + 20), page_token: String(start + 20) });
    },
  });
  const ran = await partnerctl(service.baseUrl, ['spaces', 'list', '-o', 'json']);
  expect(ran).toMatchObject({ code: 8, stdout: '' });
});
