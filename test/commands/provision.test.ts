import { mkdirSync, readFileSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { parse as parseYaml } from 'yaml';
import { run, tempDirectory } from '../support/run.ts';
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

  test('sends no write when repeated, even without the state file', async () => {
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
  });

  test('posts only the missing agents', async () => {
    const it = await service();
    await it.set({ agents_on_repeat: 'install' });
    const directory = tempDirectory();
    await provision([write('a.yaml', manifest('acme', ['One', 'Two']), directory)], it);
    await it.forget();
    const ran = await provision([write('a.yaml', manifest('acme', ['One', 'Three', 'Two', 'Four']), directory)], it);
    const { results, summary } = ran.json<Answer>();
    expect(summary).toEqual({ ...SUMMARY, reused: 1 });
    expect(results[0]?.agents.map(({ status }) => status)).toEqual(['unchanged', 'created', 'unchanged', 'created']);
    const posts = await it.posts();
    expect(posts.map(({ body }) => body)).toMatchObject([{ agents: [{ name: 'Three' }, { name: 'Four' }] }]);
    expect(await it.agents(results[0]?.space_id ?? '')).toHaveLength(4);
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

  test('prefers variables from --var to the environment', async () => {
    const it = await service();
    const text = 'external_space_id: "${ID}"\nspace: { name: "${NAME}", description: "${NOTE:-none}" }\n';
    const path = write('v.yaml', `${text}agents:\n  - { template_id: tmpl_support, name: "\${AGENT}" }\n`);
    const flags = ['--var', 'ID=from-flag', '--var', 'NAME=Acme', '--var=AGENT=a=b'];
    const ran = await provision([path, ...flags], it, { env: { ID: 'from-env' } });
    expect(ran).toMatchObject({ code: 0, stderr: '' });
    expect(await it.spaces()).toMatchObject([{ external_space_id: 'from-flag', name: 'Acme', description: 'none' }]);
    expect(ran.json<Answer>().results[0]?.agents[0]?.name).toBe('a=b');
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
