import { chmodSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { json, sendJson, startFakeService } from '../support/fake-service.ts';
import { type FleetSpace, fleets, fleetYaml, writeFleet } from '../support/fleet.ts';
import { propertyRuns } from '../support/properties.ts';
import { fastClock, run, TOKEN, tempDirectory, tinyRandom } from '../support/run.ts';
import { type Service, service, write } from '../support/service.ts';
import { plan } from './provisioning.ts';

type Env = Pick<Service, 'env'>;

const exportTo = ({ env }: Env, out: string, ...args: readonly string[]) =>
  run(['export', '--out', out, '-o', 'json', ...args], { env });

async function provision({ env }: Env, path: string): Promise<void> {
  expect(await run(['provision', path, '-o', 'json'], { env, random: tinyRandom })).toMatchObject({ code: 0 });
}

const filesOf = (directory: string) =>
  Object.fromEntries(readdirSync(directory).map((name) => [name, readFileSync(join(directory, name), 'utf8')]));

/** Checks the file of the space `acme`. */
const expectFile = async (directory: string, name: string) =>
  expect(filesOf(directory)['acme.yaml']).toMatchFileSnapshot(`screens/${name}.yaml`);

type Row = Readonly<Record<'external_space_id' | 'status', string>>;

const statuses = (rows: readonly Row[]) => rows.map(({ external_space_id: id, status }) => `${id} ${status}`);

/** A sandbox with a fleet, and a directory. */
async function provisioned(...fleet: readonly FleetSpace[]) {
  const it = await service();
  await provision(it, writeFleet(fleet));
  await it.forget();
  return { it, out: tempDirectory() };
}

const ACME: FleetSpace = {
  external_space_id: 'acme',
  space: { name: 'Acme', description: 'Old' },
  agents: [
    {
      template_id: 'tmpl_support',
      name: 'Support',
      chat: { name: 'Web' },
      cron: [
        { name: 'daily', instructions: 'Look.', schedule: '0 9 * * 1-5', timezone: 'Europe/Berlin' },
        { name: 'hourly', instructions: 'Say ${NAME}:\nNow.', schedule: '0 * * * *' },
      ],
    },
    { template_id: 'tmpl_sales', name: 'Sales' },
  ],
};

describe('an export', () => {
  test('of any fleet plans nothing, and of the fleet that it makes elsewhere is the same, byte for byte', async () => {
    await fc.assert(
      fc.asyncProperty(fleets, async (fleet) => {
        const { it, out } = await provisioned(...fleet);
        const exported = await exportTo(it, out);
        expect(exported).toMatchObject({ code: 0, stderr: '' });
        expect(exported.json()).toHaveLength(fleet.length);
        expect(await it.posts()).toEqual([]);
        const files = filesOf(out);
        expect(Object.values(files).join()).not.toContain(it.token);
        for (const env of [it.env, { ...it.env, HOME: tempDirectory() }])
          expect(await plan({ env }, out, '--unmanaged', '-q')).toMatchObject({ code: 0, stderr: '' });
        const other = await service();
        await provision(other, out);
        const again = tempDirectory();
        await exportTo(other, again);
        expect(filesOf(again)).toEqual(files);
      }),
      { numRuns: propertyRuns(300, 2) },
    );
  });

  test('writes one file for each space, and a row that tells what is in it', async () => {
    const { it, out } = await provisioned(ACME);
    const [space] = await it.spaces();
    const row = { external_space_id: 'acme', space_id: space?.space_id, agents: 2, jobs: 2, error: null };
    expect((await exportTo(it, out)).json()).toEqual([{ ...row, file: join(out, 'acme.yaml'), status: 'written' }]);
    expect(Object.keys(filesOf(out))).toEqual(['acme.yaml']);
    await expectFile(out, 'export');
    const people = await run(['export', '--out', tempDirectory()], { env: it.env, columns: 120 });
    expect(people.stderr).toContain('1 written.');
  });

  test('writes only the spaces that are named, and none if one of them does not exist', async () => {
    const spaces = ['one', 'two', 'three'].map((id) => ({ ...ACME, external_space_id: id, space: { name: id } }));
    const { it, out } = await provisioned(...spaces);
    const ids = new Map((await it.spaces()).map((space) => [space.name, space.space_id]));
    expect((await exportTo(it, out, 'ext:one', 'name:nowhere')).code).toBe(4);
    expect(filesOf(out)).toEqual({});
    const named = await exportTo(it, out, 'name:three', ids.get('one') ?? '', 'ext:one');
    expect(statuses(named.json())).toEqual(['one written', 'three written']);
    expect(Object.keys(filesOf(out))).toEqual(['one.yaml', 'three.yaml']);
  });

  test('gives each external id a file of its own inside the directory', async () => {
    const ids = ['a/b', 'a_b', 'a b', '../a', '.a', 'A/B', '日本', 'x'.repeat(300)];
    const agents = [{ template_id: 'tmpl_sales', name: 'Sales' }];
    const { it, out } = await provisioned(...ids.map((id) => ({ ...ACME, external_space_id: id, agents })));
    const rows = (await exportTo(it, out)).json<readonly Row[]>();
    expect(rows.map(({ status }) => status)).toEqual(ids.map(() => 'written'));
    const names = Object.keys(filesOf(out));
    expect(new Set(names.map((name) => name.toLowerCase())).size).toBe(ids.length);
    expect(names.filter((name) => !/^[\w][\w.-]{0,100}\.yaml$/.test(name))).toEqual([]);
    expect(await plan(it, out)).toMatchObject({ code: 0 });
  });

  test('finds the file of a space by its content, leaves it as it is unless it is to be updated, and writes the others', async () => {
    const { it, out } = await provisioned(ACME, { ...ACME, external_space_id: 'other' });
    const mine = fleetYaml([{ ...ACME, space: { name: 'Mine' } }]);
    writeFileSync(join(out, 'mine.yml'), mine);
    const ran = await exportTo(it, out);
    expect(ran.code).toBe(10);
    const [acme, other] = ran.json<readonly Row[]>();
    expect(acme).toMatchObject({ status: 'failed', error: { hint: 'To update it, add --update.' } });
    expect(other).toMatchObject({ status: 'written' });
    expect(filesOf(out)).toMatchObject({ 'mine.yml': mine, 'other.yaml': expect.any(String) });
    expect(statuses((await exportTo(it, out, '--update')).json())).toEqual(['acme updated', 'other unchanged']);
    expect(Object.keys(filesOf(out))).toEqual(['mine.yml', 'other.yaml']);
    // What means the same needs no update.
    expect(statuses((await exportTo(it, out)).json())).toEqual(['acme unchanged', 'other unchanged']);
    writeFileSync(join(out, 'broken.yaml'), 'mine');
    expect(await exportTo(it, out)).toMatchObject({ code: 2, stderr: expect.stringContaining('broken.yaml:1:1') });
  });

  test('writes nothing where the jobs cannot be listed, or the directory cannot be made', async () => {
    const { it, out } = await provisioned(ACME);
    expect((await exportTo({ env: await it.envFor(['spaces.read', 'agents.read']) }, out)).code).toBe(3);
    expect(filesOf(out)).toEqual({});
    const file = write('file', '');
    for (const [path, why] of [
      [join(file, 'out'), 'a part of its path is a file, not a directory'],
      [file, 'there is a file of this name'],
    ] as const) {
      const ran = await exportTo(it, path);
      expect(ran.code).toBe(1);
      expect(ran.error()).toMatchObject({ message: `Cannot write into ${path}.`, details: { why } });
    }
  });
});

/** A service with these lists. */
async function fakeOf(spaces: readonly object[], agents: Readonly<Record<string, unknown>>, jobs: readonly object[]) {
  const fake = await startFakeService({
    'GET /automation/spaces/': json(spaces),
    'GET /automation/partner-cron-jobs/': (_, response) => sendJson(response, jobs),
    'GET /automation/spaces/{id}/agents/': ({ path }, response) => {
      const listed = agents[path.split('/').at(-3) ?? ''];
      sendJson(response, listed ?? { error: { code: 'internal' } }, listed ? 200 : 500);
    },
  });
  return { env: { PARTNER_BASE_URL: fake.baseUrl, PARTNER_TOKEN: TOKEN, HOME: tempDirectory() } };
}

const schedule = { type: 'cron', data: { minute: '0', hour: '9', day_of_week: '*' }, timezone: 'UTC' };

describe('what no manifest can describe', () => {
  const spaces = [
    { space_id: 's1', external_space_id: 'acme', name: 'Acme', description: `Use ${TOKEN}` },
    { space_id: 's2', external_space_id: null, name: 'By hand' },
    { space_id: 's3', external_space_id: 'empty', name: 'Empty' },
    { space_id: 's4', external_space_id: 'failing', name: 'Failing' },
  ];
  const agents = {
    s1: [
      { agent_id: 'a1', name: 'Support' },
      { agent_id: 'a2', name: null, template_id: 'tmpl_sales' },
      { agent_id: 'a3', name: 'Twin', template_id: 'tmpl_sales' },
      { agent_id: 'a4', name: 'Twin', template_id: 'tmpl_sales' },
    ],
    s2: [],
    s3: [],
  };
  const jobs = [
    { cron_job_id: 'j1', agent_id: 'a1', name: 'daily', schedule },
    { cron_job_id: 'j2', agent_id: 'a1', name: 'secret', schedule, instructions: `Use ${TOKEN}` },
    { cron_job_id: 'j3', agent_id: 'a1', name: 'no schedule', instructions: 'Look.' },
    { cron_job_id: 'j4', agent_id: 'a1', name: 'twice', schedule, instructions: 'Look.' },
    { cron_job_id: 'j5', agent_id: 'a1', name: 'twice', schedule, instructions: 'Look.' },
    { cron_job_id: 'j6', agent_id: 'a4', name: 'other', schedule, instructions: 'Look.' },
  ];

  test('is a placeholder, a row that says why, or not in the manifest, in whatever order it is listed; and the plan has nothing to do', async () => {
    const { env } = await fakeOf(spaces, { ...agents, s4: agents.s1 }, jobs);
    const out = tempDirectory();
    const ran = await run(['export', '--out', out, '-o', 'json', 's1', 's2', 's3'], { env });
    expect(ran.code).toBe(0);
    expect(ran.json()).toMatchObject([
      { status: 'written', agents: 2, jobs: 2 },
      { status: 'left_out', file: null, error: { message: expect.stringContaining('s3 has no agents') } },
      { status: 'left_out', file: null, error: { message: expect.stringContaining('s2 has no external_space_id') } },
    ]);
    expect(Object.keys(filesOf(out))).toEqual(['acme.yaml']);
    await expectFile(out, 'export-not-shown');
    const planned = await plan({ env }, out);
    expect(planned.code).toBe(0);
    expect(planned.json()).toMatchObject({ summary: { none: 1, differences: 0, unmanaged: 4 } });
    for (const [thing, reason] of [
      ['agent "" (a2)', 'its name cannot be written'],
      ['agent "Twin" (a4)', 'another agent has its name and its template'],
      ['job "no schedule" (j3)', 'its schedule cannot be read'],
      ['job "twice" (j4)', 'its agent has several jobs of this name'],
    ]) {
      expect(ran.stderr).toContain(`warning: ${join(out, 'acme.yaml')} leaves out ${thing}: ${reason}.`);
    }
    const shown = await run(['plan', out], { env });
    expect(shown.stdout).toContain(
      'job "no schedule" (j3): not in the manifest, and no manifest can describe it: its sch',
    );
    const reversed = { ...agents, s1: agents.s1.toReversed() };
    const other = await fakeOf(spaces.toReversed(), reversed, jobs.toReversed());
    const again = tempDirectory();
    await run(['export', '--out', again, 'ext:acme'], other);
    await expectFile(again, 'export-not-shown');
  });

  test('stays in a file that is updated, with the chat that the list does not mention, and the file where it is', async () => {
    const unclear = jobs.map(({ schedule: _, ...job }) => job);
    const { env } = await fakeOf(spaces, { s1: agents.s1.slice(0, 1) }, unclear);
    const out = tempDirectory();
    const text = `external_space_id: acme
space: { name: Old }
agents:
    - { template_id: tmpl_x, name: Support, chat: { name: Web }, cron: [ { name: daily, instructions: Look., schedule: '@daily' } ] }
`;
    const path = write('real.yaml', text);
    chmodSync(path, 0o600);
    symlinkSync(path, join(out, 'link.yaml'));
    const ran = await run(['export', '--out', out, '--update', '-o', 'json', 's1'], { env });
    expect(ran.json()).toMatchObject([{ status: 'updated', file: join(out, 'link.yaml') }]);
    expect(readFileSync(path, 'utf8')).toBe(text.replace('Old', 'Acme'));
    expect(statSync(path).mode & 0o777).toBe(0o600);
  });

  test('and a space that cannot be read, leave the other spaces to be exported', async () => {
    const { env } = await fakeOf(spaces, agents, jobs);
    const ran = await run(['export', '--out', tempDirectory(), '-o', 'json'], { env, clock: fastClock() });
    expect(ran.code).toBe(10);
    expect(statuses(ran.json())).toEqual(['acme written', 'empty left_out', 'failing failed', 'null left_out']);
  });
});

describe('export --update', () => {
  const MINE = readFileSync(new URL('screens/export-mine.yaml', import.meta.url), 'utf8');
  const update = (it: Env, out: string) => exportTo(it, out, '--update', '--var', 'TEXT=Old');

  test('sets what differs, appends what is missing, removes what is gone, and keeps the rest as it is written', async () => {
    const { it, out } = await provisioned({
      ...ACME,
      space: { name: 'Acme Inc.', description: 'Old' },
      agents: [
        {
          template_id: 'tmpl_support',
          name: 'Support',
          chat: { name: 'Phone' },
          cron: [
            { name: 'daily', instructions: 'Look at ${X}.', schedule: '30 8 * * 1-5', timezone: 'Europe/Berlin' },
            { name: 'new', instructions: 'Go.', schedule: '0 1 * * *' },
          ],
        },
        { template_id: 'tmpl_billing', name: 'Billing' },
        { template_id: 'tmpl_billing', name: 'Old bot' },
      ],
    });
    write('acme.yaml', MINE, out);
    expect((await update(it, out)).json()).toMatchObject([{ status: 'updated', error: null }]);
    await expectFile(out, 'export-updated');
    expect(await plan(it, out, '--var', 'TEXT=Old')).toMatchObject({ code: 0 });
    expect((await update(it, out)).json()).toMatchObject([{ status: 'unchanged' }]);
  });

  test('makes any file plan nothing, and is then done', async () => {
    await fc.assert(
      fc.asyncProperty(fleets, fleets, async (fleet, written) => {
        const { it, out } = await provisioned(...fleet);
        const ids = fleet.map((space) => space.external_space_id);
        for (const space of written.filter((each) => ids.includes(each.external_space_id)))
          write(`${space.external_space_id}.yaml`, fleetYaml([space]), out);
        expect(await exportTo(it, out, '--update')).toMatchObject({ code: 0, stderr: '' });
        expect(await plan(it, out)).toMatchObject({ code: 0, stderr: '' });
        const again = (await exportTo(it, out, '--update')).json<readonly Row[]>();
        expect(again.map(({ status }) => status)).toEqual(ids.map(() => 'unchanged'));
      }),
      { numRuns: propertyRuns(300, 2) },
    );
  });

  test('leaves every byte of a file that means the same, and fills in what the service shows by now, in as many lines as it has', async () => {
    const { it, out } = await provisioned(ACME);
    write('acme.yaml', MINE, out);
    expect((await update(it, out)).json()).toMatchObject([{ status: 'unchanged', error: null }]);
    expect(filesOf(out)).toEqual({ 'acme.yaml': MINE });
    const holes = MINE.replace('tmpl_support', '(not shown)').replace('Look.', '(not shown)');
    write('acme.yaml', holes.replace(/"Say.*"/, 'Other.'), out);
    expect((await update(it, out)).json()).toMatchObject([{ status: 'updated' }]);
    const filled = MINE.replace(/"Say.*"/, '|-\n      Say $$$${NAME}:\n      Now.').replace('   # from', ' # from');
    expect(filesOf(out)).toEqual({ 'acme.yaml': filled });
  });

  test('takes over a job that was changed at the service after the state recorded it, and the plan accepts that', async () => {
    const job = { cron_job_id: 'j1', agent_id: 'a1', name: 'daily', schedule, instructions: 'Look.' };
    const space = { space_id: 's1', external_space_id: 'acme', name: 'Acme' };
    const { env } = await fakeOf([space], { s1: [{ agent_id: 'a1', name: 'Support' }] }, [job]);
    const out = tempDirectory();
    await exportTo({ env }, out);
    await provision({ env }, out);
    job.instructions = 'Look twice.';
    expect((await exportTo({ env }, out, '--update')).json()).toMatchObject([{ status: 'updated' }]);
    expect(await plan({ env }, out)).toMatchObject({ code: 0 });
    job.instructions = 'Look again.';
    expect((await plan({ env }, out)).code).toBe(13);
  });

  test.each([
    ['with another document', `${MINE}---\n${MINE.replace(':-acme', ':-other')}`, 'as its only document'],
    ['of another space', MINE.replace(':-acme', ':-other'), 'as its only document'],
    ['with a variable that is not set', MINE.replace('TEXT', 'NOWHERE'), 'the variable NOWHERE is not set'],
    [
      'with anchors, where a value differs',
      MINE.replace('name: "Acme"', 'name: &x Acme Ltd\n  description: *x').replace(/ {2}description: \$.*\n/, ''),
      'its anchors',
    ],
  ])('refuses a file %s, and leaves it as it is', async (_, text, why) => {
    const { it, out } = await provisioned(ACME);
    write('acme.yaml', text, out);
    const ran = await update(it, out);
    expect(ran.code).toBe(2);
    expect(ran.stderr).toContain(why);
    expect(filesOf(out)).toEqual({ 'acme.yaml': text });
  });
});
