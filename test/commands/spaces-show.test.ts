import { expect, test } from 'vitest';
import { json, startFakeService } from '../support/fake-service.ts';
import { run, tempDirectory } from '../support/run.ts';
import { service, write } from '../support/service.ts';

const MANIFEST = `external_space_id: acme-001
space: { name: Acme }
agents:
  - template_id: tmpl_support
    name: Support
    chat: {}
    cron:
      - { name: daily, instructions: Sum up the day., schedule: '0 18 * * 1-5' }
  - { template_id: tmpl_sales, name: Sales }
`;

test('spaces show lists the agents, chats, and jobs of one customer, the same in a pipe as in a terminal', async () => {
  const { env, spaces } = await service();
  expect((await run(['provision', write('acme.yaml', MANIFEST)], { env })).code).toBe(0);
  const [space] = await spaces();
  expect((await run(['spaces', 'show', 'ext:acme-001', '-o', 'json'], { env })).json()).toMatchObject({
    space: { external_space_id: 'acme-001', name: 'Acme' },
    agents: [{ name: 'Support' }, { name: 'Sales' }],
    chat: [{ name: 'Support', source_id: expect.stringMatching(/^src_/) }],
    cron: [{ name: 'daily', recorded: true }],
  });
  const { stdout } = await run(['spaces', 'show', space?.space_id ?? ''], { env });
  expect(stdout).toMatch(
    /^Acme {2}acme-001 {2}.*\n {2}Support {2}.*chat src_.*\n {4}daily {2}.*recorded\n {2}Sales {2}/,
  );
  const terminal = await run(['spaces', 'show', 'name:Acme', '--color', 'never'], { env, columns: 300 });
  expect(terminal.stdout).toBe(stdout);
});

test('spaces show says that jobs are not known where the token may not list them', async () => {
  const fake = await startFakeService({
    'GET /automation/spaces/': json([{ space_id: 's1', external_space_id: 'acme', name: 'Acme' }]),
    'GET /automation/spaces/s1/agents/': json([{ agent_id: 'a1', name: 'Support' }]),
    'GET /automation/partner-cron-jobs/': json({ detail: 'missing scope' }, 403),
  });
  const env = { PARTNER_BASE_URL: fake.baseUrl, PARTNER_TOKEN: 'a-token-of-a-test', HOME: tempDirectory() };
  const ran = await run(['spaces', 'show', 's1'], { env });
  expect(ran).toMatchObject({ code: 0, stderr: expect.stringContaining('The jobs cannot be listed') });
  expect(ran.stdout).toContain('jobs: not known');
  expect((await run(['spaces', 'show', 's1', '-o', 'json'], { env })).json()).toMatchObject({ cron: null });
});

test('A space that is not found is proposed by its external id and its name, and no other one is', async () => {
  const sandbox = await service();
  await sandbox.admin('POST', '/spaces', { count: 30, prefix: 'cust' });
  const spaces = await sandbox.spaces();
  const name = String(spaces.find(({ external_space_id }) => external_space_id === 'cust-25')?.name);
  for (const [typed, meant] of [
    ['cust-25', 'Did you mean ext:cust-25? '],
    ['name:CUST-25', 'Did you mean ext:cust-25? '],
    [`ext:${name}`, `Did you mean 'name:${name}'? `],
    ['ext:acme', ''],
  ]) {
    const ran = await run(['spaces', 'show', String(typed), '-o', 'json'], { env: sandbox.env });
    expect(ran).toMatchObject({ code: 4, stdout: '' });
    expect(ran.error().hint).toBe(`${meant}List all spaces with: partnerctl spaces list`);
  }
});
