import { mkdirSync, writeFileSync } from 'node:fs';
import { afterAll, describe, expect, test } from 'vitest';
import { type FakeRequest, type Handler, json, sendJson, startFakeService } from '../support/fake-service.ts';
import { fastClock, run, tempDirectory, tinyRandom } from '../support/run.ts';

/*
 * The output of a plan of 30 files with every kind of change, and of its application, in a terminal of 80 columns. The
 * screens are in screens/.
 */

interface Customer {
  readonly id: string;
  /** Undefined for a space that does not exist. */
  readonly agents?: readonly object[];
  readonly space?: object;
  readonly manifest: string;
}

const SOURCE = {
  source_id: 'src_77f0c2b1a9d84e6f',
  name: 'Helpdesk',
  reply_capable: true,
  routing_mode: 'agent_inbox',
};

function support(number: number, more: object = {}): object {
  return {
    agent_id: `agt_${String(number).padStart(20, '0')}`,
    name: 'Support',
    template_id: 'tmpl_support',
    integrations: { api_chat: SOURCE },
    ...more,
  };
}

const SUPPORT = '{ template_id: tmpl_support, name: Support, chat: { name: Helpdesk, routing_mode: agent_inbox } }';
const DAILY =
  "{ name: daily report, instructions: Sum up the day., schedule: '0 18 * * 1-5', timezone: Europe/Berlin }";

function manifest(id: string, space: string, agents: readonly string[]): string {
  return `external_space_id: ${id}\nspace: { ${space} }\nagents:\n${agents.map((agent) => `  - ${agent}\n`).join('')}`;
}

const withJobs = (jobs: readonly string[]) => SUPPORT.replace(/ }$/, `, cron: [${jobs.join(', ')}] }`);

/** The customers that differ from the others, by number. */
const SPECIAL: Readonly<Record<number, (id: string, number: number) => Omit<Customer, 'id'>>> = {
  1: (id) => ({
    manifest: manifest(
      id,
      'name: Aardvark GmbH, description: "Support, sales, and returns for all of Aardvark\'s shops in Europe", is_org_wide: false',
      [
        withJobs([DAILY, "{ name: hourly, instructions: Look., schedule: '0 * * * *' }"]),
        '{ template_id: tmpl_sales, name: Sales, auto_create_api_chat: true, api_chat_routing_mode: session_workflow }',
      ],
    ),
  }),
  2: (id) => ({ manifest: manifest(id, 'name: Bluebird', [SUPPORT]) }),
  7: (id, number) => ({
    agents: [support(number)],
    manifest: manifest(id, 'name: Customer 07 Ltd, description: New words, is_org_wide: true', [SUPPORT]),
  }),
  8: (id, number) => ({
    agents: [support(number), { agent_id: 'agt_old', name: 'Triage', template_id: 'tmpl_triage' }],
    manifest: manifest(id, 'name: Customer 08', [SUPPORT, '{ template_id: tmpl_sales, name: Sales }']),
  }),
  12: (id, number) => ({
    agents: [support(number, { integrations: { api_chat: { ...SOURCE, routing_mode: 'session_workflow' } } })],
    manifest: manifest(id, 'name: Customer 12', [SUPPORT]),
  }),
  13: (id, number) => ({
    agents: [support(number, { name: 'Helpdesk' })],
    manifest: manifest(id, 'name: Customer 13', [SUPPORT]),
  }),
  14: (id, number) => ({
    agents: [support(number, { template_id: 'tmpl_support_v1' })],
    manifest: manifest(id, 'name: Customer 14', [SUPPORT]),
  }),
  18: (id, number) => ({
    agents: [support(number)],
    manifest: manifest(id, 'name: Customer 18', [withJobs([DAILY])]),
  }),
  19: (id, number) => ({
    agents: [support(number)],
    manifest: manifest(id, 'name: Customer 19', [withJobs([DAILY])]),
  }),
  20: (id, number) => ({
    agents: [support(number)],
    manifest: manifest(id, 'name: Customer 20', [withJobs([DAILY])]),
  }),
  25: (id, number) => ({ agents: [support(number)], manifest: manifest(id, 'name: Customer 25', [SUPPORT]) }),
  29: (id, number) => ({
    agents: [support(number, { integrations: { api_chat: null } })],
    manifest: manifest(id, 'name: Customer 29', [SUPPORT]),
  }),
};

const CUSTOMERS: readonly Customer[] = Array.from({ length: 30 }, (_, index) => {
  const number = index + 1;
  const two = String(number).padStart(2, '0');
  const id = `customer-${two}`;
  const usual = { agents: [support(number)], manifest: manifest(id, `name: Customer ${two}`, [SUPPORT]) };
  return { id, ...(SPECIAL[number]?.(id, number) ?? usual) };
});

function job(id: string, number: number, more: object): object {
  return {
    cron_job_id: id,
    agent_id: `agt_${String(number).padStart(20, '0')}`,
    name: 'daily report',
    instructions: 'Sum up the day.',
    schedule: { type: 'cron', data: { minute: '0', hour: '18', day_of_week: '1-5' }, timezone: 'Europe/Berlin' },
    ...more,
  };
}

const JOBS = [
  job('cron_19', 19, { instructions: 'Sum up the week, and send it to the whole team before it goes home.' }),
  job('cron_20', 20, {}),
  job('cron_25', 25, { name: 'forgotten since 2024' }),
];

const spaceId = (id: string) => `spc_${id.slice(-2).padStart(20, '0')}`;

/** The service, with ids that are the same in every run. */
async function customers() {
  const existing = CUSTOMERS.filter(({ agents }) => agents);
  const spaces = existing.map(({ id }) => ({
    space_id: spaceId(id),
    external_space_id: id,
    name: `Customer ${id.slice(-2)}`,
    description: '',
    is_org_wide: false,
  }));
  const agentsOf: Handler = ({ path }, response) => {
    const found = existing.find(({ id }) => path.includes(spaceId(id)));
    sendJson(response, found?.agents ?? []);
  };
  const provision = (request: FakeRequest, count: number) => {
    const body: { external_space_id: string; agents: readonly { name: string }[] } = request.json();
    const agents = body.agents.map((agent, index) => ({ ...agent, agent_id: `agt_new_${count}_${index}` }));
    return { space_id: spaceId(body.external_space_id), created: true, agents };
  };
  const isRefused = ({ body }: FakeRequest) => body.includes('Bluebird');
  return await startFakeService({
    'GET /automation/spaces/': json(spaces),
    'GET /automation/spaces/{id}/agents/': agentsOf,
    'GET /automation/partner-cron-jobs/': json(JOBS),
    'POST /automation/agent-templates/provision-space/': (request, response, count) =>
      isRefused(request)
        ? sendJson(response, { detail: 'The template tmpl_support is not approved for this organization.' }, 422)
        : sendJson(response, provision(request, count)),
    'POST /automation/spaces/{id}/agents/{agent}/api-chat/': (_, response, count) =>
      sendJson(response, { ...SOURCE, source_id: `src_new_${count}`, created: true }),
    'POST /automation/partner-cron-jobs/': (_, response, count) =>
      sendJson(response, { cron_job_id: `cron_new_${count}` }, 201),
  });
}

const HERE = process.cwd();
afterAll(() => process.chdir(HERE));

/** Writes the manifests to where the screens name them by short paths. */
function writeManifests(): void {
  process.chdir(tempDirectory());
  mkdirSync('customers');
  for (const { id, manifest: text } of CUSTOMERS) writeFileSync(`customers/${id}.yaml`, text);
}

describe('in a terminal of 80 columns', () => {
  const columns = 80;
  async function screen(argv: readonly string[]) {
    const service = await customers();
    const env = { PARTNER_BASE_URL: service.baseUrl, PARTNER_TOKEN: 'pat_x' };
    writeManifests();
    const clock = fastClock(Date.UTC(2026, 10, 23, 9));
    return run([...argv, '--color', 'never'], { env, columns, clock, random: tinyRandom });
  }

  test('a plan of 30 files shows every important part, and truncates none', async () => {
    const ran = await screen(['plan', 'customers/', '--detailed-exitcode']);
    // One document is blocked, beside others.
    expect(ran.code).toBe(10);
    expect(Math.max(...ran.stdout.split('\n').map((line) => line.length))).toBeLessThanOrEqual(columns);
    expect(ran.stdout).not.toContain('…');
    // The key of a job depends on the port of the service.
    const shown = ran.stdout.replace(/\b[0-9a-f]{24}\b/, '76b84c59c2e9b860b57bf604');
    await expect(shown).toMatchFileSnapshot(`screens/plan-${columns}.txt`);
  });

  test('provision ends with the same report of its changes', async () => {
    const ran = await screen(['provision', 'customers/', '--concurrency', '1']);
    expect(ran.code).toBe(10);
    expect(Math.max(...ran.stdout.split('\n').map((line) => line.length))).toBeLessThanOrEqual(columns);
    await expect(ran.stdout).toMatchFileSnapshot(`screens/provision-${columns}.txt`);
  });
});
