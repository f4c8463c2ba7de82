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
  test('creates a space and its agents with every field of the document', async () => {
    const it = await service();
    const path = write('acme.yaml', ACME);
    const ran = await provision([path], it);
    expect(ran).toMatchObject({ code: 0, stderr: '' });
    const [space] = await it.spaces();
    const agents = await it.agents(space?.space_id ?? '');
    expect(space).toMatchObject({ name: 'Acme', description: 'Support for Acme', is_org_wide: true });
    expect(ran.json()).toEqual({
      results: [
        {
          source: `${path}:1`,
          external_space_id: 'acme-001',
          space_id: space?.space_id,
          status: 'created',
          agents: [
            {
              agent_id: agents[0]?.agent_id,
              name: 'Support',
              template_id: 'tmpl_support',
              status: 'created',
              source_id: expect.stringMatching(/^src_/),
            },
            {
              agent_id: agents[1]?.agent_id,
              name: 'Sales',
              template_id: 'tmpl_sales',
              status: 'created',
              source_id: null,
            },
          ],
          cron: [],
        },
      ],
      summary: { ...SUMMARY, created: 1 },
    });
    const posts = await it.posts();
    expect(posts.map(({ body }) => body)).toEqual([parseYaml(ACME)]);
  });

  test('sends no write when repeated, even without the state file', async () => {
    const it = await service();
    await it.set({ agents_on_repeat: 'install' });
    const path = write('acme.yaml', ACME);
    const first = (await provision([path], it)).json<Answer>();
    await it.forget();
    for (const state of [undefined, join(tempDirectory(), 'other.jsonl')]) {
      const again = await provision([path, ...(state === undefined ? [] : ['--state', state])], it);
      expect(again.code).toBe(0);
      const { results, summary } = again.json<Answer>();
      expect(summary).toEqual({ ...SUMMARY, unchanged: 1 });
      expect(results[0]).toEqual({
        ...first.results[0],
        status: 'unchanged',
        agents: first.results[0]?.agents.map((agent) => ({ ...agent, status: 'unchanged' })),
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
    expect(results[0]?.agents.map(({ name, status }) => [name, status])).toEqual([
      ['One', 'unchanged'],
      ['Three', 'created'],
      ['Two', 'unchanged'],
      ['Four', 'created'],
    ]);
    const posts = await it.posts();
    expect(posts.map(({ body }) => body)).toMatchObject([{ agents: [{ name: 'Three' }, { name: 'Four' }] }]);
    expect(await it.agents(results[0]?.space_id ?? '')).toHaveLength(4);
  });

  test('reads files, directories, and standard input in the order given', async () => {
    const it = await service();
    const directory = tempDirectory();
    mkdirSync(join(directory, 'customers', 'below'), { recursive: true });
    write('b.yml', manifest('b'), join(directory, 'customers'));
    write('a.yaml', `# first\n${manifest('a1')}---\n\n${manifest('a2')}...\n`, join(directory, 'customers'));
    write('notes.txt', 'not yaml: [', join(directory, 'customers'));
    write('c.yaml', manifest('below'), join(directory, 'customers', 'below'));
    const single = write('single.yaml', manifest('single'), directory);
    const ran = await provision([single, '-', join(directory, 'customers')], it, { stdin: manifest('stdin') });
    const { results } = ran.json<Answer>();
    expect(results.map(({ source, external_space_id }) => [source, external_space_id])).toEqual([
      [`${single}:1`, 'single'],
      ['<stdin>:1', 'stdin'],
      [`${join(directory, 'customers', 'a.yaml')}:2`, 'a1'],
      [`${join(directory, 'customers', 'a.yaml')}:8`, 'a2'],
      [`${join(directory, 'customers', 'b.yml')}:1`, 'b'],
    ]);
    expect(ran.code).toBe(0);
    expect(await it.spaces()).toHaveLength(5);
  });

  test('lists results in the order of the documents, whichever finishes first', async () => {
    const it = await service();
    await it.faults({ kind: 'delay', ms: 100, on: 'POST /automation/agent-templates/provision-space/', times: 1 });
    const path = write('many.yaml', ['a', 'b', 'c', 'd', 'e'].map((id) => manifest(id)).join('---\n'));
    const ids = ['a', 'b', 'c', 'd', 'e'];
    expect((await provision([path], it)).json<Answer>().results.map((each) => each.external_space_id)).toEqual(ids);
    const table = await run(['provision', path, '-o', 'table'], { env: it.env });
    expect(table.stdout.match(/(?<=^= )[a-e](?= )/gm)).toEqual(ids);
    expect(table.stdout).toMatch(/^Done: 5 spaces unchanged\.$/m);
    expect(table.stderr).toBe('');
  });

  test('prefers variables from --var to the environment, and never lets them change the structure', async () => {
    const it = await service();
    const text = 'external_space_id: "${ID}"\nspace: { name: "${NAME}", description: "${NOTE:-none}" }\n';
    const path = write('v.yaml', `${text}agents:\n  - { template_id: tmpl_support, name: "\${AGENT}" }\n`);
    const name = '}\n"evil: [yes';
    const ran = await provision([path, '--var', 'ID=from-flag', '--var', `NAME=${name}`, '--var=AGENT=a=b'], it, {
      env: { ID: 'from-env' },
    });
    expect(ran.code).toBe(0);
    expect(await it.spaces()).toMatchObject([{ external_space_id: 'from-flag', name, description: 'none' }]);
    expect(ran.json<Answer>().results[0]?.agents[0]?.name).toBe('a=b');
  });

  test('names a --var that no manifest uses', async () => {
    const it = await service();
    const ran = await provision([write('a.yaml', manifest('acme')), '--var', 'TYPO=eu', '--check'], it);
    expect(ran).toMatchObject({ code: 0, stderr: 'note: no manifest uses --var TYPO.\n' });
  });

  test('records ids and hashes in the state file, and no text', async () => {
    const it = await service();
    const state = join(tempDirectory(), 'deep', 'state.jsonl');
    const ran = await provision([write('acme.yaml', ACME)], it, { env: { PARTNER_STATE: state } });
    const [result] = ran.json<Answer>().results;
    const text = readFileSync(state, 'utf8');
    expect(text).toMatch(/"type":"space".*"external_space_id":"acme-001"/);
    expect(text).toContain(`"space_id":"${result?.space_id}"`);
    expect(text.match(/"type":/g)).toHaveLength(1);
    for (const agent of result?.agents ?? []) expect(text).toContain(String(agent.agent_id));
    expect(text).not.toContain('Support for Acme');
    expect(text).not.toContain(it.token);
  });

  test('sends nothing if the state file cannot be read: exit 1', async () => {
    const it = await service();
    const state = join(write('file', ''), 'state.jsonl');
    const ran = await provision([write('acme.yaml', ACME), '--state', state], it);
    expect(ran.code).toBe(1);
    expect(ran.error()).toMatchObject({ type: 'local', message: expect.stringContaining(state) });
    expect(await it.posts()).toEqual([]);
  });

  test('names the space that it could not record, and does not fail where nothing is missing', async () => {
    const it = await service();
    const path = write('acme.yaml', ACME);
    await provision([path], it);
    const directory = tempDirectory();
    const state = join(directory, 'state.jsonl');
    symlinkSync(join(directory, 'missing', 'state.jsonl'), state);
    const ran = await provision([path, '--state', state], it);
    expect(ran).toMatchObject({ code: 0, stderr: '' });
    const other = await provision([write('b.yaml', manifest('other')), '--state', state], it);
    expect(other.code).toBe(1);
    expect(other.error().message).toContain(`The space is provisioned as ${other.json<Answer>().results[0]?.space_id}`);
    expect(ran.json<Answer>().summary).toEqual({ ...SUMMARY, unchanged: 1 });
  });

  test('has rows of the space, its status, its agents, and its chats with -o tsv', async () => {
    const it = await service();
    const path = write('acme.yaml', ACME);
    const { results } = (await provision([path], it)).json<Answer>();
    const [source] = results[0]?.agents ?? [];
    const { stdout } = await run(['provision', path, '-o', 'tsv'], { env: it.env });
    expect(stdout.trimEnd().split('\t')).toEqual([
      ...[`${path}:1`, 'acme-001', results[0]?.space_id, 'unchanged', '2 unchanged', ''],
      `Support ${source?.source_id}`,
    ]);
  });

  test('prints the JSON Schema with --schema, whatever the output format', async () => {
    const ran = await run(['provision', '--schema', '-o', 'table']);
    expect(ran).toMatchObject({ code: 0, stderr: '' });
    expect(ran.json()).toMatchObject({
      $schema: expect.any(String),
      required: ['external_space_id', 'space', 'agents'],
    });
  });
});
