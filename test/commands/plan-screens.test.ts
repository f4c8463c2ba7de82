import { mkdirSync, writeFileSync } from 'node:fs';
import { afterAll, describe, expect, test } from 'vitest';
import { json, sendJson, startFakeService } from '../support/fake-service.ts';
import { fastClock, run, tempDirectory, tinyRandom } from '../support/run.ts';

/*
 * The output of a plan of 14 files with every kind of change, and of its application, in a terminal of 80 columns. The
 * screens are in screens/.
 */

const SOURCE = {
  source_id: 'src_77f0c2b1a9d84e6f',
  name: 'Helpdesk',
  reply_capable: true,
  routing_mode: 'agent_inbox',
};
const LISTED = { name: 'Support', template_id: 'tmpl_support', integrations: { api_chat: SOURCE } };

const SUPPORT = '{ template_id: tmpl_support, name: Support, chat: { name: Helpdesk, routing_mode: agent_inbox } }';
const SALES = '{ template_id: tmpl_sales, name: Sales }';
const DAILY =
  "{ name: daily report, instructions: Sum up the day., schedule: '0 18 * * 1-5', timezone: Europe/Berlin }";
const HOURLY = "{ name: hourly, instructions: Look., schedule: '0 * * * *' }";

const withJobs = (...jobs: string[]) => SUPPORT.replace(/ }$/, `, cron: [${jobs.join(', ')}] }`);

/** The agents in a manifest, those that the service lists (none: the space is new), and the space in the manifest. */
type Customer = readonly [wanted: readonly string[], listed?: readonly object[] | undefined, space?: string];

const USUAL: Customer = [[SUPPORT], [LISTED]];

const CUSTOMERS: readonly Customer[] = [
  [
    [
      withJobs(DAILY, HOURLY),
      SALES.replace(' }', ', auto_create_api_chat: true, api_chat_routing_mode: session_workflow }'),
    ],
    undefined,
    'name: Aardvark GmbH, description: "Support, sales, and returns for all of Aardvark\'s shops in Europe", is_org_wide: false',
  ],
  [[SUPPORT], undefined, 'name: Bluebird'],
  USUAL,
  [[SUPPORT], [LISTED], 'name: Customer 04 Ltd, description: New words, is_org_wide: true'],
  [
    [SUPPORT, SALES],
    [LISTED, { agent_id: 'agt_old', name: 'Triage', template_id: 'tmpl_triage' }],
  ],
  [[SUPPORT], [{ ...LISTED, integrations: { api_chat: { ...SOURCE, routing_mode: 'session_workflow' } } }]],
  [[SUPPORT], [{ ...LISTED, name: 'Helpdesk' }]],
  [[SUPPORT], [{ ...LISTED, template_id: 'tmpl_support_v1' }]],
  [[withJobs(DAILY)], [LISTED]],
  [[withJobs(DAILY)], [LISTED]],
  [[withJobs(DAILY)], [LISTED]],
  USUAL,
  [[SUPPORT], [{ ...LISTED, integrations: { api_chat: null } }]],
  USUAL,
];

const longId = (prefix: string, number: number) => `${prefix}_${String(number).padStart(20, '0')}`;
const twoDigits = (number: number) => String(number).padStart(2, '0');

function job(number: number, more: object): object {
  return {
    cron_job_id: `cron_${number}`,
    agent_id: longId('agt', number),
    name: 'daily report',
    instructions: 'Sum up the day.',
    schedule: { type: 'cron', data: { minute: '0', hour: '18', day_of_week: '1-5' }, timezone: 'Europe/Berlin' },
    ...more,
  };
}

const JOBS = [
  job(10, { instructions: 'Sum up the week, and send it to the whole team before it goes home.' }),
  job(11, {}),
  job(12, { name: 'forgotten since 2024' }),
];

/** Runs a command with the manifests and with the service, whose ids are the same in every run. */
async function screen(argv: readonly string[]) {
  const spaces = CUSTOMERS.flatMap(([, listed], index) => (listed ? [index + 1] : [])).map((number) => ({
    space_id: longId('spc', number),
    external_space_id: `customer-${twoDigits(number)}`,
    name: `Customer ${twoDigits(number)}`,
    ...{ description: '', is_org_wide: false },
  }));
  const service = await startFakeService({
    'GET /automation/spaces/': json(spaces),
    'GET /automation/spaces/{id}/agents/': ({ path }, response) => {
      const number = Number(/spc_(\d+)/.exec(path)?.[1]);
      const listed = CUSTOMERS[number - 1]?.[1]?.map((agent) => ({ agent_id: longId('agt', number), ...agent }));
      sendJson(response, listed);
    },
    'GET /automation/partner-cron-jobs/': json(JOBS),
    'POST /automation/agent-templates/provision-space/': (request, response, count) => {
      const body = request.json<{ external_space_id: string; agents: readonly object[] }>();
      const detail = 'The template tmpl_support is not approved for this organization.';
      if (request.body.includes('Bluebird')) return sendJson(response, { detail }, 422);
      const agents = body.agents.map((agent, index) => ({ ...agent, agent_id: `agt_new_${count}_${index}` }));
      const space_id = longId('spc', Number(body.external_space_id.slice(-2)));
      return sendJson(response, { space_id, created: true, agents });
    },
    'POST /automation/spaces/{id}/agents/{agent}/api-chat/': (_, response, count) =>
      sendJson(response, { ...SOURCE, source_id: `src_new_${count}`, created: true }),
    'POST /automation/partner-cron-jobs/': (_, response, count) =>
      sendJson(response, { cron_job_id: `cron_new_${count}` }, 201),
  });
  // The screens name the manifests by short paths.
  process.chdir(tempDirectory());
  mkdirSync('customers');
  for (const [index, [wanted, , space]] of CUSTOMERS.entries()) {
    const number = twoDigits(index + 1);
    const agents = wanted.map((agent) => `  - ${agent}\n`).join('');
    const text = `external_space_id: customer-${number}\nspace: { ${space ?? `name: Customer ${number}`} }\nagents:\n${agents}`;
    writeFileSync(`customers/customer-${number}.yaml`, text);
  }
  const env = { PARTNER_BASE_URL: service.baseUrl, PARTNER_TOKEN: 'pat_x' };
  const clock = fastClock(Date.UTC(2026, 10, 23, 9));
  return run([...argv, '--color', 'never'], { env, columns: 80, clock, random: tinyRandom });
}

const HERE = process.cwd();
afterAll(() => process.chdir(HERE));

describe('in a terminal of 80 columns', () => {
  test.each([
    ['plan', 'a plan of 14 files shows every important part, and truncates none', '--detailed-exitcode'],
    ['provision', 'provision ends with the same report of its changes', '--concurrency=1'],
  ])('%s: %s', async (command, _, flag) => {
    const ran = await screen([command, 'customers/', flag]);
    // One document is blocked, beside others.
    expect(ran.code).toBe(10);
    expect(Math.max(...ran.stdout.split('\n').map((line) => line.length))).toBeLessThanOrEqual(80);
    expect(ran.stdout).not.toContain('…');
    // The key of a job depends on the port of the service.
    const shown = ran.stdout.replace(/\b[0-9a-f]{24}\b/, '76b84c59c2e9b860b57bf604');
    await expect(shown).toMatchFileSnapshot(`screens/${command}-80.txt`);
  });
});
