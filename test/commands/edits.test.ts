import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { CRON_JOBS } from '../support/cron.ts';
import { type Fleet, type FleetSpace, fleets, fleetYaml, writeFleet } from '../support/fleet.ts';
import { propertyRuns } from '../support/properties.ts';
import { tempDirectory } from '../support/run.ts';
import { manifest, type Service, service, write } from '../support/service.ts';
import { command } from './provisioning.ts';

/* What somebody edits in a manifest is the same thing afterwards, and never a second one. */

type Agent = FleetSpace['agents'][number];
type Job = NonNullable<Agent['cron']>[number];

const ofFirstAgent = (space: FleetSpace, edit: (agent: Agent) => Agent): FleetSpace => ({
  ...space,
  agents: space.agents.map((agent, index) => (index === 0 ? edit(agent) : agent)),
});
const ofJobs = (space: FleetSpace, edit: (job: Job) => Job): FleetSpace =>
  ofFirstAgent(space, ({ cron = [], ...agent }) => ({ ...agent, cron: cron.map(edit) }));

interface Edit {
  readonly edit: (space: FleetSpace) => FleetSpace;
  /** What is hard to recognize after two such edits: then it is another thing. */
  readonly identityOf?: 'agent' | 'job';
  /** Whether the space is refused. */
  readonly isRefused: (space: FleetSpace) => boolean;
}

const refused = () => true;
const accepted = () => false;
const hasJobs = ({ agents: [first] }: FleetSpace) => (first?.cron ?? []).length > 0;

const EDITS: Readonly<Record<string, Edit>> = {
  'rename an agent': {
    edit: (space) => ofFirstAgent(space, (agent) => ({ ...agent, name: `New ${agent.name}` })),
    ...{ identityOf: 'agent', isRefused: refused },
  },
  'change the spaces of a name': {
    edit: (space) => ofFirstAgent(space, (agent) => ({ ...agent, name: agent.name.replace(/ /g, '  ') })),
    ...{ identityOf: 'agent', isRefused: refused },
  },
  'change a template': {
    edit: (space) => ofFirstAgent(space, (agent) => ({ ...agent, template_id: 'tmpl_other' })),
    ...{ identityOf: 'agent', isRefused: refused },
  },
  'rename jobs': {
    edit: (space) => ofJobs(space, (job) => ({ ...job, name: `New ${job.name}` })),
    ...{ identityOf: 'job', isRefused: hasJobs },
  },
  'change the case of job names': {
    edit: (space) => ofJobs(space, (job) => ({ ...job, name: job.name.toUpperCase().replace(/ /g, '  ') })),
    ...{ identityOf: 'job', isRefused: hasJobs },
  },
  'change schedules': {
    edit: (space) => ofJobs(space, (job) => ({ ...job, schedule: '7 7 * * 2' })),
    isRefused: accepted,
  },
  'change instructions': {
    edit: (space) => ofJobs(space, (job) => ({ ...job, instructions: 'Something else.' })),
    ...{ identityOf: 'job', isRefused: accepted },
  },
  reverse: {
    edit: (space) => ({
      ...space,
      agents: space.agents.toReversed().map(({ cron = [], ...agent }) => ({ ...agent, cron: cron.toReversed() })),
    }),
    isRefused: accepted,
  },
};

/** Everything at the service. */
async function everything(it: Service): Promise<unknown> {
  const spaces = await it.spaces();
  const agents = await Promise.all(spaces.map(({ space_id }) => it.agents(space_id)));
  return { spaces, agents, jobs: (await it.partner('GET', `${CRON_JOBS}?page_size=1000`)).json.results };
}

const cases = fc.record({
  fleet: fleets,
  edits: fc.array(fc.tuple(fc.constantFrom(...Object.keys(EDITS)), fc.nat(3)), { minLength: 1, maxLength: 3 }),
  isFresh: fc.boolean(),
});

test('Whatever is edited in a fleet, nothing is created at the service that is there already', async () => {
  const check = async ({ fleet, edits, isFresh }: typeof cases extends fc.Arbitrary<infer Case> ? Case : never) => {
    const it = await service();
    await it.set({ templates: ['tmpl_support', 'tmpl_sales', 'tmpl_billing', 'tmpl_other'] });
    expect((await command(it, 'provision', writeFleet(fleet))).code).toBe(0);
    const before = await everything(it);
    await it.forget();
    const blocked = new Set<number>();
    const identities = new Set<string>();
    let edited: Fleet = fleet;
    for (const [name, number] of edits) {
      const at = number % fleet.length;
      const { edit, identityOf, isRefused } = EDITS[name] ?? {};
      const [space, identity] = [edited[at], `${identityOf} ${at}`];
      if (!space || !edit || (identityOf && identities.has(identity))) continue;
      identities.add(identity);
      if (isRefused?.(space)) blocked.add(at);
      edited = edited.with(at, edit(space));
    }
    const path = join(tempDirectory(), 'fleet.yaml');
    writeFileSync(path, `# Edited.\n${fleetYaml(edited)}`);
    const env = isFresh ? { ...it.env, HOME: tempDirectory() } : it.env;
    const expected = blocked.size === 0 ? 0 : blocked.size === fleet.length ? 5 : 10;
    for (const words of [['plan'], ['provision']]) {
      const ran = await command({ env }, ...words, path);
      expect(ran.code, ran.stdout).toBe(expected);
    }
    expect(await it.posts()).toEqual([]);
    expect(await everything(it)).toEqual(before);
  };
  await fc.assert(fc.asyncProperty(cases, check), { numRuns: propertyRuns(300, 3) });
});

test('An edited external_space_id is a new customer, which a warning says before it is created, unless many have its name', async () => {
  const it = await service();
  const both = ['acme', 'globex'].map((id) => manifest(id)).join('---\n');
  expect((await command(it, 'provision', write('acme.yaml', both))).code).toBe(0);
  const acme = (await it.spaces()).find(({ external_space_id: id }) => id === 'acme');
  const edited = write('acme.yaml', manifest('acme').replace('acme', 'acme-1'));
  for (const words of [['plan'], ['provision', '--max-creates', '0'], ['provision']]) {
    const ran = await command(it, ...words, edited);
    expect(ran.stderr).toContain(
      `warning: acme-1 would be a second space named "Space acme": acme (${acme?.space_id}) exists. For the same customer, keep the external_space_id: the API cannot rename or remove a space.\n`,
    );
  }
  for (const words of [
    ['plan', edited],
    ['plan', write('more.yaml', manifest('acme').replace('acme', 'acme-2'))],
  ])
    expect((await command(it, ...words)).stderr).toBe('');
});

test('A refused template is annotated at the line of its agent, with the reason of the service', async () => {
  const it = await service();
  const path = write('acme.yaml', manifest('acme', ['One', 'Two']).replace(/tmpl_support(.*Two)/, 'tmpl_nowhere$1'));
  const ran = await command({ env: { ...it.env, GITHUB_ACTIONS: 'true' } }, 'provision', path);
  expect(ran.code).toBe(1);
  expect(ran.stderr).toMatch(/^::error file=[^,]*acme\.yaml,line=5,.*agents\[1\]\.template_id: .*tmpl_nowhere/m);
  // Beside another space, the error names the line of the agent, too, and no repeat, which would be refused the same way.
  const beside = await command(it, 'provision', path, write('globex.yaml', manifest('globex')));
  expect(beside.code).toBe(10);
  expect(beside.stderr).toMatch(/^ {2}\S+acme\.yaml:5 \(acme\): The service refused the call \(422\)\./m);
  expect(beside.stderr).not.toContain('Run it again');
});
