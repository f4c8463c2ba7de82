import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { parse as parseYaml } from 'yaml';
import { hasty, type Ran, run, tempDirectory } from '../helpers/run.ts';
import { manifest, type Service, service, write } from '../helpers/service.ts';
import { PROVISION, provisioning } from '../sandbox/harness.ts';

interface Result {
  source: string;
  external_space_id: string;
  space_id: string | null;
  status: string;
  agents: { agent_id: string | null; name: string; template_id: string; status: string; source_id: string | null }[];
  error?: { type: string; message: string; status: number | null };
}

interface Answer {
  results: Result[];
  summary: Record<string, number>;
}

const SUMMARY = { created: 0, reused: 0, unchanged: 0, planned: 0, failed: 0, skipped: 0 };

const ACME = `external_space_id: acme-001
space: { name: Acme, description: Support for Acme, is_org_wide: true }
agents:
  - template_id: tmpl_support
    name: Support
    auto_create_api_chat: true
    api_chat_routing_mode: session_workflow
  - { template_id: tmpl_sales, name: Sales }
`;

function provision(words: readonly string[], { env }: Service, more: Parameters<typeof run>[1] = {}): Promise<Ran> {
  return run(['provision', ...words, '-o', 'json'], { random: hasty, ...more, env: { ...env, ...more.env } });
}

describe('provision', () => {
  test('creates a space and its agents as the document says, field by field', async () => {
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

  test('a repeat sends no write, also without the state file, and also where agents are installed on every repeat', async () => {
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

  test('posts the missing agents only', async () => {
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

  test('many documents, many files, directories and standard input, in the order given', async () => {
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

  test('results stand in the order of the documents, whichever is through first', async () => {
    const it = await service();
    await it.faults({ kind: 'delay', ms: 100, on: 'POST /automation/agent-templates', times: 1 });
    const path = write('many.yaml', ['a', 'b', 'c', 'd', 'e'].map((id) => manifest(id)).join('---\n'));
    const ids = ['a', 'b', 'c', 'd', 'e'];
    expect((await provision([path], it)).json<Answer>().results.map((each) => each.external_space_id)).toEqual(ids);
    const table = await run(['provision', path, '-o', 'table'], { env: it.env });
    expect(table.stdout.match(/(?<=:\d+ +)[a-e](?= )/g)).toEqual(ids);
    expect(table.stderr).toBe('5 unchanged.\n');
  });

  test('variables come from --var first, then from the environment, and never change the structure', async () => {
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

  test('an unset variable is an error with its place', async () => {
    const it = await service();
    const path = write('v.yaml', manifest('acme').replace('tmpl_support', '"${TEMPLATE}"'));
    const ran = await provision([path], it);
    expect(ran.code).toBe(2);
    expect(ran.error().details).toMatchObject({ problems: [{ source: path, line: 4, column: 21 }] });
    expect(await it.received()).toEqual([]);
  });

  test('what was provisioned is in the state file before the command says so, in the names of hashes', async () => {
    const it = await service();
    const state = join(tempDirectory(), 'deep', 'state.jsonl');
    const ran = await provision([write('acme.yaml', ACME)], it, { env: { PARTNER_STATE: state } });
    const [result] = ran.json<Answer>().results;
    const text = readFileSync(state, 'utf8');
    expect(text).toContain(`"external_space_id":"acme-001","space_id":"${result?.space_id}"`);
    for (const agent of result?.agents ?? []) expect(text).toContain(String(agent.agent_id));
    expect(text).not.toContain('Support for Acme');
    expect(text).not.toContain(it.token);
  });

  test('a state file that cannot be written is a warning, not an end', async () => {
    const it = await service();
    const blocked = join(write('file', ''), 'state.jsonl');
    const ran = await provision([write('acme.yaml', ACME), '--state', blocked], it);
    expect(ran).toMatchObject({ code: 0, stderr: expect.stringContaining('warning:') });
    expect(await it.spaces()).toHaveLength(1);
  });

  test('a file without a document is a mistake', async () => {
    const it = await service();
    const ran = await provision([write('empty.yaml', '# nothing yet\n')], it);
    expect(ran).toMatchObject({ code: 2, stdout: '' });
    expect(ran.error().type).toBe('invalid_input');
    expect(await it.received()).toEqual([]);
  });

  test('ndjson gives one object a line, yaml the same document, tsv a row each', async () => {
    const it = await service();
    const path = write('acme.yaml', `${ACME}---\n${manifest('other')}`);
    const { results } = (await provision([path], it)).json<Answer>();
    const again = (await provision([path], it)).json<Answer>();
    const form = async (format: string): Promise<string> =>
      (await run(['provision', path, '-o', format], { env: it.env })).stdout;
    const lines = (await form('ndjson')).trimEnd().split('\n').map((line): Result => JSON.parse(line));
    expect(lines.toSorted((a, b) => a.source.localeCompare(b.source))).toEqual(again.results);
    expect(parseYaml(await form('yaml'))).toEqual(again);
    expect((await form('tsv')).trimEnd().split('\n').map((line) => line.trimEnd()).toSorted()).toEqual([
      `${path}:10\tother\t${results[1]?.space_id}\tunchanged\t1 unchanged`,
      `${path}:1\tacme-001\t${results[0]?.space_id}\tunchanged\t2 unchanged`,
    ].toSorted());
  });

  test('--schema is a JSON Schema, whatever the output', async () => {
    const ran = await run(['provision', '--schema', '-o', 'table']);
    expect(ran).toMatchObject({ code: 0, stderr: '' });
    expect(ran.json()).toMatchObject({ $schema: expect.any(String), required: ['external_space_id', 'space', 'agents'] });
  });
});

describe('looking without doing', () => {
  test('--check needs no service and no token', async () => {
    const path = write('acme.yaml', ACME);
    const ran = await run(['provision', path, '--check', '-o', 'json']);
    expect(ran).toMatchObject({ code: 0, stderr: '' });
    const { results, summary } = ran.json<Answer>();
    expect(summary).toEqual({ ...SUMMARY, planned: 1 });
    expect(results[0]).toMatchObject({ external_space_id: 'acme-001', space_id: null, status: 'planned' });
  });

  test('--check sends nothing even where a service is configured', async () => {
    const it = await service();
    expect((await provision([write('acme.yaml', ACME), '--check'], it)).code).toBe(0);
    expect(await it.received()).toEqual([]);
  });

  test('--dry-run shows what would be created, reused, left alone, and what differs, and sends no write', async () => {
    const it = await service();
    await it.partner('POST', PROVISION, { body: provisioning('same') });
    await it.partner('POST', PROVISION, { body: provisioning('lacks') });
    await it.forget();
    const same = 'external_space_id: same\nspace: { name: Renamed, is_org_wide: true }\n';
    const support = 'agents: [{ template_id: tmpl_support, name: Support }]\n';
    const path = write('all.yaml', `${same}${support}---\n${manifest('lacks', ['Support', 'More'])}---\n${manifest('new')}`);
    const ran = await provision([path, '--dry-run'], it);
    expect(ran.code).toBe(0);
    const { results, summary } = ran.json<Answer>();
    expect(summary).toEqual({ ...SUMMARY, unchanged: 1, planned: 2 });
    expect(results).toMatchObject([
      {
        external_space_id: 'same',
        space_id: expect.stringMatching(/^spc_/),
        status: 'unchanged',
        differences: [
          { field: 'space.name', service: 'Acme', manifest: 'Renamed' },
          { field: 'space.is_org_wide', service: false, manifest: true },
        ],
      },
      {
        external_space_id: 'lacks',
        status: 'planned',
        action: 'install',
        agents: [{ status: 'unchanged' }, { status: 'planned', agent_id: null }],
      },
      { external_space_id: 'new', status: 'planned', action: 'create', space_id: null },
    ]);
    expect(await it.posts()).toEqual([]);
    const table = await run(['provision', path, '--dry-run', '-o', 'table'], { env: it.env });
    expect(table.stdout).toContain('space.name is "Acme", not "Renamed"');
    expect(table.stderr).toBe('1 unchanged, 2 planned.\n');
  });

  test('--dry-run fails where the token may not look', async () => {
    const it = await service();
    const env = await it.envFor(['spaces.provision', 'agents.read']);
    const ran = await provision([write('acme.yaml', ACME), '--dry-run'], it, { env });
    expect(ran).toMatchObject({ code: 3, stdout: '' });
    expect(ran.error()).toMatchObject({ type: 'credentials', status: 403, code: 'missing_scope' });
    expect(await it.posts()).toEqual([]);
  });
});

describe('without the right to look', () => {
  test.each([[['spaces.provision']], [['spaces.provision', 'spaces.read']], [['spaces.provision', 'agents.read']]])(
    'with %j it posts, says so once, and the state file keeps a repeat from posting',
    async (scopes) => {
      const it = await service();
      await it.set({ agents_on_repeat: 'install' });
      const env = await it.envFor(scopes);
      const path = write('two.yaml', `${manifest('a')}---\n${manifest('b')}`);
      const first = await provision([path], it, { env });
      expect(first.code).toBe(0);
      expect(first.json<Answer>().summary).toEqual({ ...SUMMARY, created: 2 });
      const again = await provision([path], it, { env });
      expect(again.stderr.match(/^note: /gm) ?? []).toHaveLength(1);
      expect(again.stderr).toContain('403');
      expect(again.json<Answer>().summary).toEqual({ ...SUMMARY, unchanged: 2 });
      expect(await it.posts()).toHaveLength(2);
      const quiet = await provision([path, '-q'], it, { env });
      expect(quiet).toMatchObject({ code: 0, stderr: '' });
      for (const { space_id } of await it.spaces()) expect(await it.agents(space_id)).toHaveLength(1);
    },
  );

  test('a new agent in the document posts that agent alone', async () => {
    const it = await service();
    await it.set({ agents_on_repeat: 'install' });
    const env = await it.envFor(['spaces.provision']);
    const directory = tempDirectory();
    await provision([write('a.yaml', manifest('a', ['One']), directory)], it, { env });
    const ran = await provision([write('a.yaml', manifest('a', ['One', 'Two']), directory)], it, { env });
    const { results, summary } = ran.json<Answer>();
    expect(summary).toEqual({ ...SUMMARY, reused: 1 });
    expect(results[0]?.agents.map(({ status }) => status)).toEqual(['unchanged', 'created']);
    expect((await it.agents(results[0]?.space_id ?? '')).map(({ name }) => name)).toEqual(['One', 'Two']);
  });
});

describe('failures', () => {
  const many = (count: number): string =>
    write('many.yaml', Array.from({ length: count }, (_, index) => manifest(`s${index}`)).join('---\n'));
  const POST = 'POST /automation/agent-templates/provision-space/$';

  test('some failed: the rest is done, each error is in its result, exit 10', async () => {
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
    expect(JSON.stringify(results[1]?.error)).toContain('tmpl_nowhere');
    expect(ran.error()).toMatchObject({ type: 'partial_failure', message: '1 of 3 documents failed.' });
    expect(await it.spaces()).toHaveLength(2);
  });

  test('all failed: the run ends as the first of them did', async () => {
    const it = await service();
    await it.faults({ kind: 'status', status: 401, on: POST });
    const ran = await provision([many(3)], it);
    expect(ran.code).toBe(3);
    expect(ran.json<Answer>().summary).toEqual({ ...SUMMARY, failed: 3 });
    expect(ran.error()).toMatchObject({ type: 'credentials', status: 401 });
  });

  test('one document that failed is its own error', async () => {
    const it = await service();
    await it.faults({ kind: 'status', status: 409, on: POST });
    const ran = await provision([many(1)], it);
    expect(ran.code).toBe(1);
    expect(ran.error()).toMatchObject({ type: 'refused', status: 409 });
  });

  test('--fail-fast starts nothing more', async () => {
    const it = await service();
    await it.faults({ kind: 'status', status: 422, on: POST, times: 1 });
    const ran = await provision([many(5), '--fail-fast', '--concurrency', '1'], it);
    expect(ran.code).toBe(1);
    expect(ran.json<Answer>().summary).toEqual({ ...SUMMARY, failed: 1, skipped: 4 });
    expect(await it.posts()).toHaveLength(1);
  });

  test('402 stops the run and is never repeated', async () => {
    const it = await service();
    await it.faults({ kind: 'status', status: 402, on: POST, skip: 2 });
    const ran = await provision([many(6), '--concurrency', '1'], it);
    expect(ran.code).toBe(6);
    expect(ran.json<Answer>().summary).toEqual({ ...SUMMARY, created: 2, failed: 1, skipped: 3 });
    expect(ran.error()).toMatchObject({ type: 'balance_too_low', status: 402, code: 'organization_balance_too_low' });
    expect(await it.posts()).toHaveLength(3);
  });

  test('402 at the first look sends no write', async () => {
    const it = await service();
    await it.set({ balance_usd: 0.99 });
    const ran = await provision([many(2)], it);
    expect(ran).toMatchObject({ code: 6, stdout: '' });
    expect(await it.received()).toHaveLength(1);
  });

  test.each([
    ['a reset before it was processed', { kind: 'reset' }],
    ['a reset after it was processed', { kind: 'reset', stage: 'after' }],
    ['a 503 before it was processed', { kind: 'status', status: 503 }],
    ['a 503 after it was processed', { kind: 'status', status: 503, stage: 'after' }],
    ['an answer cut short', { kind: 'cut' }],
    ['a gateway page after it was processed', { kind: 'html', stage: 'after' }],
    ['an answer that is no JSON', { kind: 'garbage', stage: 'after' }],
    ['a 429', { kind: 'status', status: 429, retry_after: 0.01 }],
  ])('%s: it looks before it repeats, and nothing is installed twice', async (_, fault) => {
    const it = await service();
    await it.set({ agents_on_repeat: 'install' });
    await it.faults({ ...fault, on: POST, times: 2 });
    const ran = await provision([many(3)], it);
    expect(ran.code).toBe(0);
    const { summary, results } = ran.json<Answer>();
    expect(summary).toEqual({ ...SUMMARY, created: 3 });
    const spaces = await it.spaces();
    expect(spaces).toHaveLength(3);
    for (const { space_id } of spaces) expect(await it.agents(space_id)).toHaveLength(1);
    expect(results.flatMap(({ agents }) => agents).every(({ agent_id }) => agent_id !== null)).toBe(true);
  });

  test('a 429 holds back the other spaces as well', async () => {
    const it = await service();
    await it.faults({ kind: 'status', status: 429, retry_after: 0.3, on: POST, times: 1 });
    const started = performance.now();
    const ran = await provision([many(4), '--concurrency', '1'], it);
    expect(ran.code).toBe(0);
    expect(performance.now() - started).toBeGreaterThanOrEqual(290);
    expect((await it.posts()).map(({ status }) => status)).toEqual([429, 201, 201, 201, 201]);
  });

  test('a service that is never there: exit 8, and it is said that the outcome is open', async () => {
    const it = await service();
    await it.faults({ kind: 'reset', on: POST });
    const ran = await provision([many(1), '--retries', '1'], it);
    expect(ran.code).toBe(8);
    expect(ran.error()).toMatchObject({ type: 'service', hint: expect.stringContaining('Run it again') });
  });

  test('people see which failed and why', async () => {
    const it = await service();
    const bad = manifest('bad').replace('tmpl_support', 'tmpl_nowhere');
    const path = write('two.yaml', `${manifest('one')}---\n${bad}`);
    const ran = await run(['provision', path, '-o', 'table', '--color', 'never'], { env: it.env });
    expect(ran.code).toBe(10);
    expect(ran.stdout).toMatch(/ failed +1 failed +The service refused the call \(422, provisionSpace\)\./);
    expect(ran.stderr).toContain('1 created, 1 failed.');
    expect(ran.stderr).toContain(`${path}:6 (bad): The service refused the call`);
    expect(ran.stderr).toContain('tmpl_nowhere');
  });
});
