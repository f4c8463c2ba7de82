import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { parse as parseYaml } from 'yaml';
import { json, startFakeService } from '../support/fake-service.ts';
import { partnerctl, run, tempDirectory } from '../support/run.ts';
import { manifest, service, write } from '../support/service.ts';
import { type Answer, provision, SUMMARY } from './provisioning.ts';

const ACME = `external_space_id: acme-001
space: { name: Acme, description: Support for Acme, is_org_wide: true }
agents:
  - template_id: tmpl_support
    name: Support
    auto_create_api_chat: true
    api_chat_routing_mode: session_workflow
  - { template_id: tmpl_sales, name: Sales }
`;

describe('provision', () => {
  test('creates a space and its agents with every field of the document, and records ids and no text', async () => {
    const it = await service();
    const path = write('acme.yaml', ACME);
    const ran = await provision([path], it);
    expect(ran).toMatchObject({ code: 0, stderr: '' });
    const [space] = await it.spaces();
    const [support, sales] = await it.agents(space?.space_id ?? '');
    expect(space).toMatchObject({ name: 'Acme', description: 'Support for Acme', is_org_wide: true });
    const source_id = expect.stringMatching(/^src_/);
    const created = { template_id: 'tmpl_support', status: 'created' };
    expect(ran.json()).toEqual({
      results: [
        {
          source: `${path}:1`,
          external_space_id: 'acme-001',
          space_id: space?.space_id,
          status: 'created',
          agents: [
            { ...created, agent_id: support?.agent_id, name: 'Support', source_id },
            { ...created, agent_id: sales?.agent_id, name: 'Sales', template_id: 'tmpl_sales', source_id: null },
          ],
          cron: [],
          differences: [],
        },
      ],
      summary: { ...SUMMARY, created: 1 },
    });
    expect((await it.posts()).map(({ body }) => body)).toEqual([parseYaml(ACME)]);
    const state = readFileSync(join(it.env.HOME ?? '', '.local/state/partnerctl/state.jsonl'), 'utf8');
    expect(state.match(/"type":"space".*"external_space_id":"acme-001"/g)).toHaveLength(1);
    expect(state).not.toContain('Support for Acme');
  });

  test('sends no write when repeated, even without the state file, and only the agents that are missing', async () => {
    const it = await service();
    await it.set({ agents_on_repeat: 'install' });
    const path = write('acme.yaml', ACME);
    const [first] = (await provision([path], it)).json<Answer>().results;
    await it.forget();
    for (const state of [[], ['--state', join(tempDirectory(), 'other.jsonl')]]) {
      const again = await provision([path, ...state], it);
      expect(again.code).toBe(0);
      const agents = first?.agents.map((agent) => ({ ...agent, status: 'unchanged' }));
      expect(again.json()).toEqual({
        results: [{ ...first, status: 'unchanged', agents }],
        summary: { ...SUMMARY, unchanged: 1 },
      });
    }
    expect(await it.posts()).toEqual([]);
    writeFileSync(path, ACME.replace(/(?= {2}- .*Sales)/, '  - { template_id: tmpl_onboarding, name: Triage }\n'));
    const more = (await provision([path], it)).json<Answer>();
    expect(more).toMatchObject({ summary: { ...SUMMARY, reused: 1 } });
    expect(more.results[0]?.agents.map(({ status }) => status)).toEqual(['unchanged', 'created', 'unchanged']);
    expect((await it.posts()).map(({ body }) => body)).toMatchObject([{ agents: [{ name: 'Triage' }] }]);
  });

  test('reads files, directories, and standard input, and lists results in this order, whichever finishes first', async () => {
    const it = await service();
    await it.faults({ kind: 'delay', ms: 100, on: 'POST', times: 1 });
    const directory = tempDirectory();
    const customers = join(directory, 'customers');
    mkdirSync(join(customers, 'below'), { recursive: true });
    write('b.yml', manifest('b'), customers);
    write('a.yaml', `# first\n${manifest('a1')}---\n\n${manifest('a2')}...\n`, customers);
    write('notes.txt', 'not yaml: [', customers);
    write('c.yaml', manifest('below'), join(customers, 'below'));
    const single = write('single.yaml', manifest('single'), directory);
    const ran = await provision([single, '-', customers], it, { stdin: manifest('stdin') });
    expect(ran.code).toBe(0);
    const { results } = ran.json<Answer>();
    expect(results.map(({ source, external_space_id }) => [source, external_space_id])).toEqual([
      [`${single}:1`, 'single'],
      ['<stdin>:1', 'stdin'],
      [`${customers}/a.yaml:2`, 'a1'],
      [`${customers}/a.yaml:8`, 'a2'],
      [`${customers}/b.yml:1`, 'b'],
    ]);
    expect(await it.spaces()).toHaveLength(5);
  });

  test('sends nothing if the state cannot be read, and needs none that can be written if nothing is missing', async () => {
    const it = await service();
    const path = write('acme.yaml', ACME);
    const unreadable = join(write('file', ''), 'state.jsonl');
    const ran = await provision([path, '--state', unreadable], it);
    expect(ran.code).toBe(1);
    expect(ran.error()).toMatchObject({ type: 'local', message: expect.stringContaining(unreadable) });
    expect(await it.posts()).toEqual([]);
    await provision([path], it);
    const unwritable = join(tempDirectory(), 'state.jsonl');
    symlinkSync(join(tempDirectory(), 'missing', 'state.jsonl'), unwritable);
    expect(await provision([path, '--state', unwritable], it)).toMatchObject({ code: 0, stderr: '' });
  });

  test('needs no service and no token for --check and --schema', async () => {
    const ran = await run(['provision', write('acme.yaml', manifest('acme-001')), '--check', '-o', 'json']);
    expect(ran).toMatchObject({ code: 0, stderr: '' });
    expect(ran.json()).toMatchObject({
      results: [{ external_space_id: 'acme-001', space_id: null, status: 'planned' }],
      summary: { ...SUMMARY, planned: 1 },
    });
    const schema = await run(['provision', '--schema', '-o', 'table']);
    expect((await run(['plan', '--schema'])).stdout).toBe(schema.stdout);
    expect(schema.json()).toMatchObject({ required: ['external_space_id', 'space', 'agents'] });
  });
});

describe('with a token that cannot list spaces or agents, provision', () => {
  test.each([
    [['spaces.provision'], 'spaces'],
    [['spaces.provision', 'spaces.read'], 'agents'],
  ])('(with only %j) posts with one notice, and the state prevents another POST', async (scopes, unread) => {
    const it = await service();
    await it.set({ agents_on_repeat: 'install' });
    const env = await it.envFor(scopes);
    const path = write('two.yaml', `${manifest('a')}---\n${manifest('b')}`);
    const first = await provision([path], it, { env });
    expect(first.json<Answer>().summary).toEqual({ ...SUMMARY, created: 2 });
    const again = await provision([path], it, { env });
    expect(again.stderr.match(/^note: /gm) ?? []).toHaveLength(1);
    expect(again.stderr).toMatch(new RegExp(`cannot read the list of ${unread} \\(.*403`));
    expect(again.json<Answer>().summary).toEqual({ ...SUMMARY, unchanged: 2 });
    const planned = await run(['plan', path, '-o', 'json'], { env });
    expect(planned.json()).toMatchObject({ spaces: [{ action: 'none' }, { action: 'none' }] });
    expect(planned.stderr).not.toContain('prevents duplicates');
    expect(await it.posts()).toHaveLength(2);
    expect(await provision([path, '-q'], it, { env })).toMatchObject({ code: 0, stderr: '' });
  });
});

const POST = 'POST /automation/agent-templates/provision-space/';

describe('a failure', () => {
  const many = (count: number): string =>
    write('many.yaml', Array.from({ length: count }, (_, index) => manifest(`s${index}`)).join('---\n'));

  test('of some documents does not affect the others, and each result has its error: exit 10', async () => {
    const it = await service();
    const bad = manifest('bad').replace('tmpl_support', 'tmpl_nowhere');
    const path = write('three.yaml', `${manifest('one')}---\n${bad}---\n${manifest('two')}`);
    const ran = await provision([path], it);
    expect(ran.code).toBe(10);
    const { results, summary } = ran.json<Answer>();
    expect(summary).toEqual({ ...SUMMARY, created: 2, failed: 1 });
    expect(results.map(({ status }) => status)).toEqual(['created', 'failed', 'created']);
    expect(results[1]).toMatchObject({
      external_space_id: 'bad',
      space_id: null,
      agents: [{ agent_id: null, name: 'Support', template_id: 'tmpl_nowhere', status: 'failed', source_id: null }],
      error: { type: 'refused', status: 422, code: 'invalid_input' },
    });
    expect(JSON.stringify(results[1]?.error)).toMatch(/agents\[0\]\.template_id.*tmpl_nowhere/);
    expect(ran.error()).toMatchObject({ type: 'partial_failure', message: '1 of 3 documents failed.' });
  });

  test.each([
    ['of all documents ends with the error of the first one', { status: 422 }, 1, [], { failed: 5 }, 5],
    ['with 401 stops the run', { status: 401 }, 3, [], { failed: 1, skipped: 4 }, 1],
    ['starts no others with --fail-fast', { status: 422, times: 1 }, 1, ['--fail-fast'], { failed: 1, skipped: 4 }, 1],
    ['with 402 stops the run', { status: 402, skip: 2 }, 6, [], { created: 2, failed: 1, skipped: 2 }, 3],
  ])('%s, and is not retried', async (_, fault, code, flags, summary, posts) => {
    const it = await service();
    await it.faults({ kind: 'status', on: POST, ...fault });
    const ran = await provision([many(5), '--concurrency', '1', ...flags], it);
    expect(ran.code).toBe(code);
    expect(ran.error()).toMatchObject({ status: fault.status });
    expect(ran.json<Answer>().summary).toEqual({ ...SUMMARY, ...summary });
    expect(await it.posts()).toHaveLength(posts);
  });
});

test('A space that is listed with another spelling of its external_space_id is known by its recorded space_id', async () => {
  const agents = [{ agent_id: 'a-1', name: 'Support', template_id: 'tmpl_support' }];
  const service = await startFakeService({ 'GET *': json([]), 'POST *': json({ space_id: 's-1', agents }, 201) });
  const env = { HOME: tempDirectory() };
  const again = () => partnerctl(service.baseUrl, ['provision', '-', '-o', 'json'], { env, stdin: manifest('acme') });
  expect((await again()).code).toBe(0);
  const listed = { space_id: 's-1', external_space_id: 'ACME', name: 'Space acme' };
  service.respond({ 'GET /automation/spaces/': json([listed]), 'GET *': json(agents) });
  const differences = [{ field: 'external_space_id', service: 'ACME', manifest: 'acme' }];
  expect((await again()).json()).toMatchObject({ results: [{ status: 'unchanged', space_id: 's-1', differences }] });
});
