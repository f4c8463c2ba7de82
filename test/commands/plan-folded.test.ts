import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { foldPlans } from '../../src/commands/provisioning/fold.ts';
import { entryLines } from '../../src/commands/provisioning/report.ts';
import { checkManifests } from '../../src/provision/plan-manifests.ts';
import { parseManifests } from '../../src/provision/read-manifests.ts';
import { json, sendJson, startFakeService } from '../support/fake-service.ts';
import { fastClock, run, tinyRandom } from '../support/run.ts';
import { write } from '../support/service.ts';

/* What a plan of hundreds of spaces shows of them. */

const CRON = "[{ name: daily report, instructions: Sum up., schedule: '0 18 * * 1-5', timezone: Europe/Berlin }]";
const AGENT = { agent_id: 'agt_0123456789abcdef', name: 'Support', template_id: 'tmpl_support' };

const manifestOf = (id: string, more = '') =>
  `external_space_id: ${id}\nspace: { name: "Customer ${id} of the North"${more} }\nagents: [{ template_id: tmpl_support, name: Support, chat: {}, cron: ${CRON} }]\n`;

/** A customer that exists, as somebody has changed it: the agents that are listed, and the name of the space. */
type Found = Readonly<Record<string, { readonly agents: readonly object[]; readonly name?: string }>>;

/** Plans 300 spaces, of which some are found. */
async function plan(found: Found, ...flags: string[]) {
  const service = await startFakeService({
    'GET /automation/spaces/': json(
      Object.entries(found).map(([id, { name = `Customer ${id} of the North` }]) => {
        return { space_id: `spc_0123456789${id}`, external_space_id: id, name };
      }),
    ),
    'GET /automation/spaces/{id}/agents/': ({ path }, response) =>
      sendJson(response, found[/c-\d{3}/.exec(path)?.[0] ?? '']?.agents ?? []),
    'GET *': json([]),
  });
  const ids = Array.from({ length: 300 }, (_, index) => `c-${String(index + 1).padStart(3, '0')}`);
  const path = write('fleet.yaml', ids.map((id) => manifestOf(id)).join('---\n'));
  const env = { PARTNER_BASE_URL: service.baseUrl, PARTNER_TOKEN: 'pat_x' };
  const clock = fastClock(Date.UTC(2026, 10, 23, 9));
  return run(['plan', path, '--color', 'never', ...flags], { env, columns: 80, clock, random: tinyRandom });
}

const SPECIAL = '007 030 031 077 100 101 150 151 200 251 299 300'.split(' ').map((number) => `c-${number}`);

const KINDS = {
  blocked: { agents: [{ ...AGENT, name: 'Helpdesk of the house' }] },
  // Nothing but the error is special about these.
  ambiguous: { agents: [AGENT, { ...AGENT, agent_id: 'agt_2' }] },
  differing: { agents: [AGENT], name: 'A customer that somebody at the service has renamed' },
  unmanaged: { agents: [AGENT, { ...AGENT, agent_id: 'agt_2', name: 'Triage', template_id: 'tmpl_triage' }] },
};

const specialOf = (kinds: readonly (keyof typeof KINDS)[]): Found =>
  Object.fromEntries(SPECIAL.map((id, index) => [id, KINDS[kinds[index % kinds.length] ?? 'blocked']]));

describe('a plan of 300 spaces', () => {
  test('that are alike is one entry, with their number, and the first and the last one', async () => {
    const summary = write('summary.md', '');
    const { stdout, code } = await plan({}, '--summary-file', summary);
    expect(code).toBe(0);
    expect(readFileSync(summary, 'utf8').match(/<summary>.*/g)).toEqual([
      '<summary><code>300 spaces: c-001 … c-300  create</code></summary>',
    ]);
    expect(stdout).toBe(`\
+ 300 spaces: c-001 … c-300
    + space "Customer c-001 of the North" … "Customer c-300 of the North"
    + agent "Support": template_id tmpl_support
    + chat of "Support": source_name API chat, reply_capable true, routing_mode
      agent_inbox
    + job "daily report" of "Support": At 18:00, Monday through Friday
      (Europe/Berlin); next run 2026-11-23T18:00:00+01:00
Plan: 300 spaces, 300 agents, 300 chats, 300 jobs to create.
`);
  });

  test('with 12 that are blocked fits on 40 lines of 80 columns, each of the 12 at the end', async () => {
    const { stdout } = await plan(specialOf(['blocked', 'ambiguous']));
    const lines = stdout.split('\n').slice(0, -1);
    expect(lines.length, stdout).toBeLessThanOrEqual(40);
    for (const line of lines) expect(line.length).toBeLessThanOrEqual(80);
    expect(lines.flatMap((line) => /^x (c-\d{3})\b/.exec(line)?.[1] ?? [])).toEqual(SPECIAL);
    expect(lines[0]).toBe('+ 288 spaces: c-001 … c-298');
  });

  test('with 12 of every kind shows each of the 12 at the end, and with --wide has an entry for each of all', async () => {
    const found = specialOf(['blocked', 'ambiguous', 'differing', 'unmanaged']);
    const { stdout } = await plan(found);
    expect(stdout.match(/^[x!?~] c-\d{3}\b/gm)?.map((line) => line.slice(2))).toEqual(SPECIAL);
    const wide = await plan(found, '--wide');
    expect(wide.stdout.match(/^[+x!?~] c-\d{3} /gm)).toHaveLength(300);
    expect(wide.stdout).not.toContain('--wide');
  });
});

test('Texts are compared as they are written, and shown so; other instructions or templates are another entry', async () => {
  const read = (values: Record<string, string>, edit = (text: string): string => text) => {
    const text = edit(
      manifestOf('${ID}').replace('Sum up.', '"Sum up for ${ID}."').replace('name: Support', 'name: "${ID} desk"'),
    );
    return parseManifests([{ name: 'a.yaml', text }], (name) => values[name]).documents;
  };
  const others = [
    ...read({ ID: 'd' }, (text) => text.replace('Sum up for', 'Do not sum up for')),
    ...read({ ID: 'e' }, (text) => text.replace('tmpl_support', 'tmpl_sales')),
  ];
  const documents = [...read({ ID: 'a' }), ...read({ ID: 'b' }), ...others, ...read({ ID: 'c' })];
  const plans = await checkManifests(documents, { only: [], exclude: [], createBeside: [] }, fastClock());
  const entries = foldPlans(plans, false);
  expect(entries.map(({ count, last }) => [count, last.document.manifest.external_space_id])).toEqual([
    [3, 'c'],
    [1, 'd'],
    [1, 'e'],
  ]);
  const shown = JSON.stringify(entries.slice(0, 1).map(entryLines));
  expect(shown).toContain('agent \\"${ID} desk\\"');
  expect(shown).toContain('space \\"Customer ${ID} of the North\\"');
});
