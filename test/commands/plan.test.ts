import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { CRON_JOBS } from '../support/cron.ts';
import { fastClock, run, tempDirectory, tinyRandom } from '../support/run.ts';
import { manifest, type Service, service, write } from '../support/service.ts';
import { plan, provision, provisioned } from './provisioning.ts';

/* plan-screens.test.ts has what people see of a plan. */

interface PlanAnswer {
  readonly spaces: readonly { readonly differences: readonly object[]; readonly unmanaged: readonly object[] }[];
  readonly summary: Readonly<Record<string, number>>;
}

const apply = (it: Service, path: string, more: readonly string[] = []) => provision([path, ...more], it);

const SUMMARY = { create: 0, change: 0, none: 0, blocked: 0, differences: 0, unmanaged: 0 };

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

/** ACME, provisioned, and its manifest as an operator changed it. */
const applied = (change?: (text: string) => string) => provisioned(ACME, change);

describe('a plan', () => {
  test('of a new space shows every request with its fields, and the next runs of jobs', async () => {
    const it = await service();
    const path = write('acme.yaml', ACME);
    const argv = ['plan', path, '-o', 'json', '--detailed-exitcode'];
    const ran = await run(argv, { env: it.env, clock: fastClock(Date.UTC(2026, 10, 23, 9)) });
    expect(ran).toMatchObject({
      code: 12,
      stderr: expect.stringMatching(/^note: There is no state yet: .*\nexit 12: changes are pending in 1 space\n$/),
    });
    const shown = JSON.stringify(ran.json(), null, 2).replace(path, 'acme.yaml');
    await expect(`${shown}\n`).toMatchFileSnapshot('screens/plan-json.txt');
    expect(await it.posts()).toEqual([]);
  });

  test('is empty, and takes one line, if everything is provisioned already; else stderr says in one line why it exits with 13', async () => {
    const { it, path } = await applied();
    const ran = await plan(it, path);
    expect(ran).toMatchObject({ code: 0, stderr: '' });
    expect(ran.json()).toMatchObject({ spaces: [{ action: 'none', actions: [] }], summary: { ...SUMMARY, none: 1 } });
    const { stdout } = await run(['plan', path], { env: it.env, columns: 80 });
    expect(stdout).toMatch(/^.*Plan: 1 space unchanged\..*\n$/);
    writeFileSync(path, ACME.replace('name: Acme,', 'name: Acme Corp,'));
    const planned = await plan(it, path);
    expect(planned).toMatchObject({ code: 13, stderr: 'exit 13: 1 difference cannot be changed through the API\n' });
    const shown = async (columns?: number) =>
      (await run(['plan', path, '--color', 'never'], { env: it.env, columns })).stdout;
    // A pipe gets the same as a terminal.
    expect(await shown()).toBe(await shown(1_000));
  });

  test('has the differences that no call can change: exit 13, and 12 while changes are pending', async () => {
    const { it, path } = await applied((text) =>
      text
        .replace('name: Acme,', 'name: Acme Corp,')
        .replace('session_workflow', 'agent_inbox')
        .replace('name: Web', 'name: Web, reply_capable: false')
        .concat('  - { template_id: tmpl_sales, name: More }\n'),
    );
    expect((await plan(it, path)).code).toBe(12);
    expect((await apply(it, path)).code).toBe(0);
    const ran = await plan(it, path);
    expect(ran.code).toBe(13);
    const space = { resource: 'space', name: 'Acme Corp' };
    const chat = (name: string) => ({ resource: 'chat', name });
    expect(ran.json<PlanAnswer>()).toMatchObject({
      spaces: [
        {
          action: 'none',
          actions: [],
          differences: [
            { ...space, field: 'name', service: 'Acme', manifest: 'Acme Corp' },
            { ...chat('Support'), field: 'routing_mode', service: 'session_workflow', manifest: 'agent_inbox' },
            { ...chat('Sales'), field: 'reply_capable', service: true, manifest: false },
          ],
        },
      ],
      summary: { none: 1, differences: 3 },
    });
  });

  test('says in words which schedule a job has and should have, and once what a person can do about differences', async () => {
    const { it, path } = await applied((text) =>
      text.replace('0 18 * * 1-5', '30 9 * * 1-4').replace('name: Acme,', 'name: Corp,'),
    );
    for (const command of ['plan', 'provision']) {
      const { stdout } = await run([command, path], { env: it.env });
      expect(stdout).toContain(`
    ! job "daily" of "Support" schedule differs: At 18:00, Monday through Friday (Europe/Berlin) at the service, At 09:30, Monday through Thursday (Europe/Berlin) in the manifest
`);
      expect(stdout).toContain('; 2 differences cannot be changed through the API.\n');
      expect(stdout.match(/partnerctl export --out <dir> --update/g)).toHaveLength(1);
    }
    const { summary, spaces } = (await plan(it, path)).json<PlanAnswer>();
    expect([summary.differences, spaces[0]?.differences]).toMatchObject([
      4,
      [{}, { field: 'minute', service: '0', manifest: '30' }, {}, {}],
    ]);
  });

  test('has agents and jobs that the manifest does not have, which are no pending change: exit 0', async () => {
    const { it, path } = await applied((text) => text.replace(/ {4}cron:[\s\S]*$/, ''));
    const ran = await plan(it, path);
    expect(ran.code).toBe(0);
    const { spaces, summary } = ran.json<PlanAnswer>();
    expect(spaces[0]?.unmanaged).toEqual([
      { resource: 'agent', id: expect.stringMatching(/^agt_/), name: 'Sales' },
      { resource: 'job', id: expect.stringMatching(/^cron_/), name: 'daily' },
    ]);
    expect(summary).toEqual({ ...SUMMARY, none: 1, unmanaged: 2 });
    const listed = await plan(it, path, '--unmanaged');
    expect(listed).toMatchObject({ code: 13, stderr: 'exit 13: 2 things not in the manifest\n' });
  });

  test('counts the spaces that no manifest of a directory describes, and lists them with --unmanaged: exit 13', async () => {
    const { it, path } = await applied();
    expect((await apply(it, write('other.yaml', manifest('other')))).code).toBe(0);
    const counted = await run(['plan', dirname(path), '--detailed-exitcode'], { env: it.env });
    expect(counted).toMatchObject({ code: 0, stderr: '' });
    expect(counted.stdout).toContain('1 space of the service is in no manifest: --unmanaged lists them.\n');
    expect((await run(['plan', path], { env: it.env })).stdout).not.toContain('in no manifest');
    const ran = await plan(it, dirname(path), '--unmanaged');
    expect(ran).toMatchObject({ code: 13, stderr: 'exit 13: 1 space in no manifest\n' });
    const space_id = expect.stringMatching(/^spc_/);
    expect(ran.json()).toMatchObject({
      unmanaged_spaces: [{ space_id, external_space_id: 'other', name: 'Space other' }],
      summary: { none: 1, unmanaged: 0, unmanaged_spaces: 1 },
    });
  });

  test('needs one list of spaces, the agents of each existing space, and the list of jobs, and writes nothing', async () => {
    const { it, path } = await applied();
    writeFileSync(path, `${ACME}---\n${manifest('a')}---\n${manifest('b')}`);
    const home = tempDirectory();
    expect((await plan({ env: { ...it.env, HOME: home } }, path)).code).toBe(12);
    const received = (await it.received()).map(({ method, path }) => `${method} ${path.replace(/\?.*/, '')}`);
    expect(received.toSorted()).toEqual([
      `GET /v1${CRON_JOBS}`,
      'GET /v1/automation/spaces/',
      expect.stringMatching(/^GET \/v1\/automation\/spaces\/spc_\w+\/agents\/$/),
    ]);
    expect(existsSync(join(home, '.local'))).toBe(false);
  });
});

describe('an agent that was edited in the manifest', () => {
  const edits: readonly [string, (text: string) => string, object, string][] = [
    [
      'under another name',
      (text) => text.replace('name: Sales', 'name: Vertrieb'),
      { agent: 'Vertrieb', field: 'name', before: 'Sales', after: 'Vertrieb' },
      'name differs: the service has "Sales", the manifest has "Vertrieb".',
    ],
    [
      'with another template',
      (text) => text.replace('tmpl_sales', 'tmpl_onboarding'),
      { agent: 'Sales', field: 'template_id', before: 'tmpl_sales', after: 'tmpl_onboarding' },
      'template_id differs: the service has "tmpl_sales", the manifest has "tmpl_onboarding".',
    ],
  ];

  test.each(edits)('%s blocks its space, and nothing else, until --create-beside', async (_, edit, details, why) => {
    const { it, path } = await applied(edit);
    const place = `${path}:10`;
    const hint = expect.stringMatching(/To install a second agent, add --create-beside acme$/);
    const error = { type: 'duplicate', hint, details: { ...details, source: place } };
    for (const env of [it.env, { ...it.env, HOME: tempDirectory() }]) {
      const ran = await plan({ env }, path);
      expect(ran).toMatchObject({ code: 5 });
      expect(ran.json()).toMatchObject({
        spaces: [{ action: 'blocked', actions: [], error, unmanaged: [{ resource: 'agent', name: 'Sales' }] }],
        summary: { ...SUMMARY, blocked: 1, unmanaged: 1 },
      });
    }
    const shown = await run(['plan', path], { env: it.env });
    expect(shown.stdout).toContain(`    x ${place}: The agent `);
    expect(shown.stdout.toLowerCase()).toContain(why.toLowerCase());
    const github = { GITHUB_ACTIONS: 'true', GITHUB_WORKSPACE: dirname(path) };
    const inActions = await run(['provision', path], { env: { ...it.env, ...github }, random: tinyRandom });
    expect(inActions.code).toBe(5);
    expect(inActions.stderr).toMatch(/^::error file=acme\.yaml,line=10,title=partnerctl provision::acme: The agent /m);
    expect(inActions.stderr).toContain(`%0A${why}`);
    const failed = await apply(it, path);
    expect(failed.code).toBe(5);
    expect(failed.json()).toMatchObject({ results: [{ status: 'failed', error }] });
    expect(failed.stderr).not.toContain('Run it again');
    expect(await it.posts()).toEqual([]);
    writeFileSync(path, `${edit(ACME)}---\n${manifest('other')}`);
    expect((await plan(it, path)).code).toBe(10);
    expect((await apply(it, path)).code).toBe(10);
    // Consent is for one space.
    expect((await apply(it, path, ['--create-beside', 'other'])).code).toBe(10);
    const unknown = await apply(it, path, ['--create-beside', 'acmee']);
    expect(unknown).toMatchObject({ code: 2 });
    expect(unknown.error().message).toBe('--create-beside acmee: no manifest has this external_space_id.');
    expect((await it.posts()).map(({ body }) => Object(body).external_space_id)).toEqual(['other']);
    const consent = ['--create-beside', 'acme'];
    const actions = [{ op: 'install_agent' }, { op: 'setup_chat' }];
    expect((await plan(it, path, ...consent)).json()).toMatchObject({
      spaces: [{ action: 'change', actions }, { action: 'none' }],
    });
    expect((await apply(it, path, consent)).code).toBe(0);
    expect((await plan(it, path)).code).toBe(0);
  });
});

test('A space that cannot be read stops no other: the plan shows it, has the others in its file, and exits as provision', async () => {
  const it = await service();
  const path = write('both.yaml', `${manifest('one')}---\n${manifest('two')}`);
  await run(['provision', path], { env: it.env });
  const added = write(
    'both.yaml',
    `${manifest('one', ['Support', 'Sales'])}---\n${manifest('two', ['Support', 'Sales'])}`,
  );
  const out = join(tempDirectory(), 'plan.json');
  const unread = { kind: 'status', status: 500, on: 'GET /automation/spaces/:space_id/agents/', times: 1 };
  for (const args of [
    ['plan', added, '--out', out],
    ['provision', added],
  ]) {
    await it.faults(unread);
    const ran = await run([...args, '--concurrency', '1', '--retries', '0', '-o', 'json'], { env: it.env });
    expect(ran.code, args[0]).toBe(10);
    const [one, two] = Object.values(ran.json<Record<string, readonly object[]>>())[0] ?? [];
    expect(one).toMatchObject({ external_space_id: 'one', error: { type: 'service', status: 500 } });
    expect(two).not.toHaveProperty('error');
  }
  expect(JSON.parse(readFileSync(out, 'utf8')).spaces).toMatchObject([{ manifest: { external_space_id: 'two' } }]);
});
