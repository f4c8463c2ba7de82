import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { CRON_JOBS } from '../support/cron.ts';
import { run, tempDirectory, tinyRandom } from '../support/run.ts';
import { manifest, type Service, service, write } from '../support/service.ts';

/* plan-screens.test.ts has what people see of a plan. */

interface PlanAnswer {
  readonly spaces: readonly { readonly differences: readonly object[]; readonly unmanaged: readonly object[] }[];
  readonly summary: Readonly<Record<string, number>>;
}

const plan = ({ env }: Pick<Service, 'env'>, path: string, more: readonly string[] = []) =>
  run(['plan', path, '-o', 'json', '--detailed-exitcode', ...more], { env });

const apply = ({ env }: Service, path: string, more: readonly string[] = []) =>
  run(['provision', path, '-o', 'json', ...more], { env, random: tinyRandom });

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

/** A provisioned space, and its manifest as an operator changed it. */
async function applied(change: (text: string) => string = (text) => text) {
  const it = await service();
  const path = write('acme.yaml', ACME);
  expect(await apply(it, path)).toMatchObject({ code: 0, stderr: '' });
  await it.forget();
  writeFileSync(path, change(ACME));
  return { it, path };
}

describe('a plan', () => {
  test('of a new space shows every request with its fields, and the next runs of jobs', async () => {
    const it = await service();
    const path = write('acme.yaml', ACME);
    const ran = await plan(it, path);
    expect(ran).toMatchObject({ code: 12, stderr: '' });
    const { spaces, summary } = ran.json<PlanAnswer>();
    expect(summary).toEqual({ ...SUMMARY, create: 1 });
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

  test('is the same as provision --dry-run, and the same in a pipe as in a terminal', async () => {
    const { it, path } = await applied((text) => text.replace('name: Acme,', 'name: Acme Corp,'));
    for (const format of ['json', 'table']) {
      const flags = [path, '--detailed-exitcode', '-o', format];
      const planned = await run(['plan', ...flags], { env: it.env });
      const dry = await run(['provision', '--dry-run', ...flags], { env: it.env });
      expect(planned.code).toBe(13);
      expect({ ...dry, json: null, error: null }).toEqual({ ...planned, json: null, error: null });
    }
    const shown = async (columns?: number) =>
      (await run(['plan', path, '--color', 'never'], { env: it.env, columns })).stdout;
    expect(await shown()).toBe(await shown(1_000));
  });

  test('is empty, and takes one line, if everything is provisioned already', async () => {
    const { it, path } = await applied();
    const ran = await plan(it, path);
    expect(ran).toMatchObject({ code: 0, stderr: '' });
    expect(ran.json()).toMatchObject({ spaces: [{ action: 'none', actions: [] }], summary: { ...SUMMARY, none: 1 } });
    const { stdout } = await run(['plan', path], { env: it.env, columns: 80 });
    expect(stdout).toMatch(/^.*Plan: 1 space unchanged\..*\n$/);
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

test('--detailed-exitcode of provision needs --dry-run', async () => {
  const ran = await run(['provision', 'a.yaml', '--detailed-exitcode']);
  expect(ran).toMatchObject({ code: 2, stderr: expect.stringContaining('--detailed-exitcode needs --dry-run.') });
});

test('An agent that was probably renamed in the manifest blocks its space, and nothing else, until --install-renamed', async () => {
  const rename = (text: string) => text.replace('name: Sales', 'name: Vertrieb');
  const { it, path } = await applied(rename);
  const ran = await plan(it, path);
  expect(ran.code).toBe(5);
  const message = expect.stringContaining('"Sales"');
  const error = { type: 'duplicate', message, hint: expect.stringContaining('--install-renamed') };
  const unmanaged = [{ resource: 'agent', name: 'Sales' }];
  expect(ran.json()).toMatchObject({
    spaces: [{ action: 'blocked', actions: [], unmanaged, error }],
    summary: { ...SUMMARY, blocked: 1, unmanaged: 1 },
  });
  const failed = await apply(it, path);
  expect(failed.code).toBe(5);
  expect(failed.json()).toMatchObject({ results: [{ status: 'failed', error: { type: 'duplicate' } }] });
  expect(await it.posts()).toEqual([]);
  writeFileSync(path, `${rename(ACME)}---\n${manifest('other')}`);
  expect((await plan(it, path)).code).toBe(10);
  expect((await apply(it, path)).code).toBe(10);
  const actions = ['install_agent', 'setup_chat'].map((op) => ({ op, name: 'Vertrieb' }));
  const allowed = await plan(it, path, ['--install-renamed']);
  expect(allowed.json()).toMatchObject({ spaces: [{ action: 'change', actions }, { action: 'none' }] });
  expect((await apply(it, path, ['--install-renamed'])).code).toBe(0);
  expect((await plan(it, path)).code).toBe(0);
});
