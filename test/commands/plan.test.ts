import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { CRON_JOBS } from '../support/cron.ts';
import { type Handler, json, startFakeService } from '../support/fake-service.ts';
import { type Ran, type RunOptions, run, tempDirectory, tinyRandom } from '../support/run.ts';
import { manifest, PROVISION, provisionBody, type Service, service, write } from '../support/service.ts';

interface PlannedSpace {
  readonly source: string;
  readonly external_space_id: string;
  readonly space_id: string | null;
  readonly action: string;
  readonly actions: readonly { readonly op: string; readonly name: string }[];
  readonly differences: readonly object[];
  readonly unmanaged: readonly object[];
}

interface PlanAnswer {
  readonly spaces: readonly PlannedSpace[];
  readonly summary: Readonly<Record<string, number>>;
}

type Env = Readonly<Record<string, string>>;

function planWith(env: Env, path: string, more: readonly string[] = [], options: RunOptions = {}): Promise<Ran> {
  return run(['plan', path, '-o', 'json', '--detailed-exitcode', ...more], { random: tinyRandom, ...options, env });
}

/** What a terminal without colors shows. */
const show = ({ env }: Service, path: string, columns: number, command = 'plan') =>
  run([command, path, '--color', 'never'], { env, columns });

const plan = ({ env }: Service, path: string, more: readonly string[] = []) => planWith(env, path, more);

async function apply({ env }: Service, path: string): Promise<Ran> {
  const ran = await run(['provision', path, '-o', 'json'], { env, random: tinyRandom });
  expect(ran.stderr).toBe('');
  return ran;
}

const NOTHING = { spaces: 0, agents: 0, chats: 0, jobs: 0 };
const SUMMARY = { create: 0, change: 0, none: 0, differences: 0, unmanaged: 0, blocked: 0, to_create: NOTHING };

const ACME = `external_space_id: acme
space: { name: Acme, description: Support for Acme, is_org_wide: false }
agents:
  - template_id: tmpl_support
    name: Support
    auto_create_api_chat: true
    api_chat_routing_mode: session_workflow
    cron:
      - { name: daily, instructions: Sum up the day., schedule: '0 18 * * 1-5', timezone: Europe/Berlin }
  - { template_id: tmpl_sales, name: Sales, chat: { name: Web, routing_mode: agent_inbox } }
`;

/** A provisioned space, and a function that returns its manifest with one part replaced. */
async function applied(from: string | RegExp = /$^/, to = '') {
  const it = await service();
  const directory = tempDirectory();
  expect((await apply(it, write('acme.yaml', ACME, directory))).code).toBe(0);
  await it.forget();
  return { it, path: write('acme.yaml', ACME.replace(from, to), directory) };
}

describe('a plan', () => {
  test('of a new space shows every request with its fields, and the next runs of jobs', async () => {
    const it = await service();
    const path = write('acme.yaml', ACME);
    const ran = await plan(it, path);
    expect(ran).toMatchObject({ code: 12, stderr: '' });
    const { spaces, summary } = ran.json<PlanAnswer>();
    expect(summary).toEqual({ ...SUMMARY, create: 1, to_create: { spaces: 1, agents: 2, chats: 1, jobs: 1 } });
    expect(spaces).toEqual([
      {
        source: `${path}:1`,
        external_space_id: 'acme',
        space_id: null,
        action: 'create',
        actions: [
          { op: 'create_space', name: 'Acme', description: 'Support for Acme', is_org_wide: false },
          {
            op: 'install_agent',
            name: 'Support',
            template_id: 'tmpl_support',
            auto_create_api_chat: true,
            api_chat_routing_mode: 'session_workflow',
          },
          { op: 'install_agent', name: 'Sales', template_id: 'tmpl_sales' },
          {
            op: 'setup_chat',
            name: 'Sales',
            source_name: 'Web',
            reply_capable: true,
            routing_mode: 'agent_inbox',
          },
          {
            op: 'create_job',
            name: 'daily',
            agent: 'Support',
            schedule: {
              type: 'cron',
              data: { minute: '0', hour: '18', day_of_week: '1-5' },
              timezone: 'Europe/Berlin',
            },
            in_words: 'At 18:00, Monday through Friday (Europe/Berlin)',
            next_runs: [expect.any(String), expect.any(String), expect.any(String)],
          },
        ],
        differences: [],
        unmanaged: [],
      },
    ]);
    expect(await it.posts()).toEqual([]);
  });

  test('is the same as provision --dry-run, in every format', async () => {
    const { it, path } = await applied('name: Acme', 'name: Acme Corp');
    for (const format of ['json', 'ndjson', 'yaml', 'tsv', 'table']) {
      const planned = await run(['plan', path, '-o', format, '--detailed-exitcode'], { env: it.env });
      const dry = await run(['provision', path, '--dry-run', '-o', format, '--detailed-exitcode'], { env: it.env });
      expect(planned.code).toBe(13);
      expect({ ...dry, json: null, error: null }).toEqual({ ...planned, json: null, error: null });
    }
  });

  test('is empty, and takes one line, if everything is provisioned already', async () => {
    const { it, path } = await applied();
    const ran = await plan(it, path);
    expect(ran).toMatchObject({ code: 0, stderr: '' });
    expect(ran.json()).toMatchObject({
      spaces: [{ action: 'none', actions: [] }],
      summary: { ...SUMMARY, none: 1 },
    });
    const shown = await show(it, path, 80);
    expect(shown.stdout).toBe('= 1 space unchanged: acme\nPlan: 1 space with nothing to do.\n');
  });

  test('has rows of source, op, resource, name, detail, and external id with -o tsv', async () => {
    const { it, path } = await applied(/Acme,/, 'Acme Corp,');
    writeFileSync(path, `${readFileSync(path, 'utf8')}---\n${manifest('new')}`);
    const { stdout, code } = await run(['plan', path, '-o', 'tsv'], { env: it.env });
    expect(code).toBe(0);
    const space = expect.stringMatching(/^spc_/);
    expect(
      stdout
        .trimEnd()
        .split('\n')
        .map((line) => line.split('\t')),
    ).toEqual([
      [`${path}:1`, 'none', 'space', 'acme', space, 'acme'],
      [`${path}:1`, 'difference', 'space', 'Acme Corp', 'name: "Acme" → "Acme Corp"', 'acme'],
      [`${path}:12`, 'create_space', 'space', 'Space new', '', 'new'],
      [`${path}:12`, 'install_agent', 'agent', 'Support', 'from tmpl_support', 'new'],
    ]);
  });

  test.each(['plan', 'provision'])('reads the same through a pipe as in a terminal: %s', async (name) => {
    const path = write('acme.yaml', ACME);
    const shown = async (columns?: number) => {
      const it = await service();
      const ran = await run([name, path, '--color', 'never'], { env: it.env, ...(columns && { columns }) });
      return ran.stdout.replaceAll(/\b(spc|agt|src|cron)_\w+/g, '$1');
    };
    expect(await shown()).toBe(await shown(1_000));
  });
});

describe('a difference that no call can change', () => {
  test.each<[string, string | RegExp, string, object]>([
    [
      'the name of the space',
      'name: Acme,',
      'name: Acme Corp,',
      { resource: 'space', name: 'Acme Corp', field: 'name', service: 'Acme', manifest: 'Acme Corp' },
    ],
    [
      'the routing mode of an automatic chat',
      'session_workflow',
      'agent_inbox',
      {
        resource: 'chat',
        name: 'Support',
        field: 'routing_mode',
        service: 'session_workflow',
        manifest: 'agent_inbox',
      },
    ],
    [
      'the replies of a chat',
      'name: Web',
      'name: Web, reply_capable: false',
      { resource: 'chat', name: 'Sales', field: 'reply_capable', service: true, manifest: false },
    ],
  ])('in %s is shown with the old and the new value: exit 13', async (_, from, to, difference) => {
    const { it, path } = await applied(from, to);
    const ran = await plan(it, path);
    expect(ran.json<PlanAnswer>()).toMatchObject({
      spaces: [{ action: 'none', actions: [], differences: [difference] }],
      summary: { none: 1, differences: 1 },
    });
    expect(ran.code).toBe(13);
    const { service: old, manifest: wanted, field } = Object(difference);
    const shown = await show(it, path, 300);
    expect(shown.code).toBe(0);
    expect(shown.stdout).toMatch(/^ {4}! /m);
    expect(shown.stdout).toContain(`${field}: ${JSON.stringify(old)} → ${JSON.stringify(wanted)}`);
    expect(await it.posts()).toEqual([]);
  });

  test('in an automatic chat that the agent lacks is shown: exit 13', async () => {
    const it = await service();
    const directory = tempDirectory();
    await apply(it, write('acme.yaml', manifest('acme'), directory));
    const text = manifest('acme').replace('name: "Support"', 'name: "Support", auto_create_api_chat: true');
    const ran = await plan(it, write('acme.yaml', text, directory));
    expect(ran.code).toBe(13);
    expect(ran.json<PlanAnswer>().spaces[0]?.differences).toEqual([
      { resource: 'chat', name: 'Support', field: 'auto_create_api_chat', service: false, manifest: true },
    ]);
  });

  test('does not hide pending changes: exit 12 before they are applied, 13 after', async () => {
    const { it, path } = await applied(
      /name: Acme,([\s\S]*)$/,
      'name: Acme Corp,$1  - { template_id: tmpl_sales, name: More }\n',
    );
    expect((await plan(it, path)).code).toBe(12);
    await apply(it, path);
    expect((await plan(it, path)).code).toBe(13);
  });
});

describe('agents and jobs that the manifest does not have', () => {
  test('are shown, but are no pending change: exit 0', async () => {
    const { it, path } = await applied(/ {4}cron:[\s\S]*$/, '');
    const ran = await plan(it, path);
    expect(ran.code).toBe(0);
    const agent_id = expect.stringMatching(/^agt_/);
    expect(ran.json<PlanAnswer>().spaces[0]?.unmanaged).toEqual([
      { resource: 'agent', id: agent_id, name: 'Sales', template_id: 'tmpl_sales' },
      { resource: 'job', id: expect.stringMatching(/^cron_/), name: 'daily', agent: 'Support' },
    ]);
    expect(ran.json<PlanAnswer>().summary).toEqual({ ...SUMMARY, none: 1, unmanaged: 2 });
    const { stdout } = await show(it, path, 300);
    expect(stdout).toMatch(/^ {4}\? agent "Sales" \(agt_\w+, tmpl_sales\): not in the manifest$/m);
    expect(stdout).toMatch(/^ {4}\? job "daily" \(of "Support", cron_\w+\): not in the manifest$/m);
  });
});

describe('an agent that was probably renamed in the manifest', () => {
  test('blocks its space in plan and provision, beside others with exit 10, and nothing is sent for it', async () => {
    const { it, path } = await applied('name: Sales', 'name: Vertrieb');
    const ran = await plan(it, path);
    expect(ran.code).toBe(5);
    expect(ran.json()).toMatchObject({
      spaces: [
        {
          action: 'blocked',
          actions: [],
          unmanaged: [{ resource: 'agent', name: 'Sales' }],
          error: {
            type: 'duplicate',
            message: expect.stringContaining('"Sales"'),
            hint: expect.stringContaining('--install-renamed'),
          },
        },
      ],
      summary: { ...SUMMARY, blocked: 1, unmanaged: 1 },
    });
    const { stdout } = await show(it, path, 300);
    expect(stdout).toMatch(/^x acme/m);
    expect(stdout).toContain('The API cannot rename an agent');
    expect(stdout).toContain('Plan: 1 space blocked; 1 not in the manifest.');
    const failed = await run(['provision', path, '-o', 'json'], { env: it.env, random: tinyRandom });
    expect(failed.code).toBe(5);
    expect(failed.json()).toMatchObject({ results: [{ status: 'failed', error: { type: 'duplicate' } }] });
    expect(await it.posts()).toEqual([]);
    writeFileSync(path, `${readFileSync(path, 'utf8')}---\n${manifest('other')}`);
    expect((await plan(it, path)).code).toBe(10);
    expect((await run(['provision', path], { env: it.env, random: tinyRandom })).code).toBe(10);
    expect(await it.spaces()).toHaveLength(2);
  });

  test('is installed beside the old one with --install-renamed', async () => {
    const { it, path } = await applied('name: Sales', 'name: Vertrieb');
    const ran = await plan(it, path, ['--install-renamed']);
    expect(ran.code).toBe(12);
    expect(ran.json()).toMatchObject({
      spaces: [
        {
          action: 'change',
          actions: [
            { op: 'install_agent', name: 'Vertrieb' },
            { op: 'setup_chat', name: 'Vertrieb' },
          ],
        },
      ],
    });
    expect((await run(['provision', path, '--install-renamed'], { env: it.env, random: tinyRandom })).code).toBe(0);
    expect((await plan(it, path)).code).toBe(0);
  });
});

/** The environment of a separate machine. */
function envOf({ baseUrl }: { readonly baseUrl: string }): Env {
  return { PARTNER_BASE_URL: baseUrl, PARTNER_TOKEN: 'pat_x', HOME: tempDirectory() };
}

const SPACES = [{ space_id: 's1', external_space_id: 'acme', name: 'Space acme' }];
const AGENTS = [{ agent_id: 'a1', name: 'Support', template_id: 'tmpl_support' }];

function fake(routes: Readonly<Record<string, Handler>> = {}) {
  return startFakeService({
    'GET /automation/spaces/': json(SPACES),
    'GET /automation/spaces/{id}/agents/': json(AGENTS),
    'GET /automation/partner-cron-jobs/': json([]),
    ...routes,
  });
}

describe('the reads of a plan', () => {
  test('are one list of spaces, the agents of each existing space, and the list of jobs; nothing is written', async () => {
    const it = await service();
    for (const id of ['a', 'b']) await it.partner('POST', PROVISION, { body: provisionBody(id) });
    await it.forget();
    const texts = ['a', 'b', 'c'].map(
      (id) => `${manifest(id)}    cron: [{ name: x, instructions: y, schedule: '0 9 * * *' }]\n`,
    );
    const text = texts.join('---\n').replaceAll(/\{ (template_id: \w+), (name: "\w+") \}/g, '$1\n    $2');
    const path = write('all.yaml', text);
    expect((await plan(it, path)).code).toBe(12);
    const received = (await it.received()).map(
      (each) => `${each.method} ${each.path.replace(/^\/v1|\?.*/g, '').replace(/spc_\w+/, 'spc')}`,
    );
    expect(received.sort()).toEqual(
      [
        `GET ${CRON_JOBS}`,
        'GET /automation/spaces/',
        'GET /automation/spaces/spc/agents/',
        'GET /automation/spaces/spc/agents/',
      ].sort(),
    );
    expect(existsSync(join(it.env.HOME ?? '', '.local'))).toBe(false);
  });

  test.each([403])('report spaces that fail with %i once, and the plan continues with the state', async (status) => {
    const it = await fake();
    const env = envOf(it);
    const path = write('two.yaml', `${manifest('acme')}---\n${manifest('other')}`);
    expect((await run(['provision', write('acme.yaml', manifest('acme'))], { env, random: tinyRandom })).code).toBe(0);
    it.respond({ 'GET *': json({ detail: 'no' }, status) });
    const ran = await planWith(env, path);
    expect(ran.stderr.match(/^note: /gm)).toHaveLength(1);
    expect(ran.json()).toMatchObject({
      spaces: [
        {
          external_space_id: 'acme',
          space_id: 's1',
          action: 'none',
        },
        {
          external_space_id: 'other',
          space_id: null,
          action: 'create',
        },
      ],
    });
    expect(ran.code).toBe(12);
  });

  test('end the plan if they fail, and the error names the space and its file', async () => {
    const it = await fake({ 'GET /automation/spaces/{id}/agents/': json({ detail: 'broken' }, 500) });
    const path = write('acme.yaml', manifest('acme'));
    const ran = await planWith(envOf(it), path);
    expect(ran).toMatchObject({ code: 8, stdout: '' });
    expect(ran.error().message).toContain(`Cannot plan "acme" (${path}:1)`);
  });
});

describe('invalid arguments of a plan', () => {
  test.each([
    [['plan'], 'Missing argument <file>.'],
    [['plan', 'nowhere.yaml'], 'nowhere.yaml'],
    [['provision', 'a.yaml', '--detailed-exitcode'], '--detailed-exitcode needs --dry-run.'],
    [['plan', 'a.yaml', '--detailed-exit-code'], 'Did you mean --detailed-exitcode?'],
    [['paln', 'a.yaml'], 'Did you mean plan?'],
  ])('exit with 2 for %j before anything is sent', async (argv, message) => {
    const ran = await run(argv);
    expect(ran).toMatchObject({ code: 2, stdout: '' });
    expect(ran.stderr).toContain(message);
  });
});
