import { lstatSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type Fleet, fleets, writeFleet } from '../support/fleet.ts';
import { propertyRuns } from '../support/properties.ts';
import { fasterClock, type Ran, run, tempDirectory } from '../support/run.ts';
import { manifest, PROVISION, type Service, service, write } from '../support/service.ts';
import { type Answer, command, planned } from './provisioning.ts';

const apply = (it: Service, plan: string, ...more: string[]) => command(it, 'apply', plan, '-o', 'json', ...more);

const statuses = (ran: Ran) =>
  Object.fromEntries(ran.json<Answer>().results.map(({ external_space_id, status }) => [external_space_id, status]));

const JOB = "{ name: daily, instructions: Sum up., schedule: '0 9 * * *' }";
const withJob = (id: string) => manifest(id).replace('"Support" }', `"Support", chat: {}, cron: [${JOB}] }`);

describe('a plan', () => {
  test('is written for its owner only, carried out once, and is empty afterwards', async () => {
    const it = await service();
    const path = write('all.yaml', `${withJob('acme')}---\n${manifest('beta')}`);
    const out = join(tempDirectory(), 'plan.json');
    const ran = await command(it, 'plan', path, '--out', out);
    expect(ran.stderr).toMatch(/^note: There is no state yet: \S+state\.jsonl\n/);
    expect(ran.stderr).toContain(
      `\nThe plan in ${out} has steps for 2 of 2 spaces. To carry it out: partnerctl apply ${out}\n`,
    );
    expect(await it.posts()).toEqual([]);
    expect(statSync(out).mode & 0o777).toBe(0o600);
    const first = await apply(it, out, path);
    expect(first).toMatchObject({ code: 0, stderr: '' });
    expect(statuses(first)).toEqual({ acme: 'created', beta: 'created' });
    expect((await command(it, 'plan', path, '--detailed-exitcode')).code).toBe(0);
    await it.forget();
    expect(statuses(await apply(it, out))).toEqual({ acme: 'unchanged', beta: 'unchanged' });
    expect(await it.posts()).toEqual([]);
    const nothing = await command(it, 'apply', await planned(it, path));
    expect(nothing).toMatchObject({ code: 0, stdout: 'Done: nothing to do.\n' });
  });

  test('leaves out what is blocked, and exits as provision would', async () => {
    const it = await service();
    const renamed = write('acme.yaml', manifest('acme'));
    expect((await command(it, 'provision', renamed)).code).toBe(0);
    writeFileSync(renamed, `${manifest('acme', ['Helpdesk'])}---\n${manifest('beta')}`);
    const out = join(tempDirectory(), 'plan.json');
    expect((await command(it, 'plan', renamed, '--out', out)).code).toBe(10);
    expect(statuses(await apply(it, out))).toEqual({ beta: 'created' });
    // What was agreed to when the plan was made is in it.
    expect((await command(it, 'plan', renamed, '--out', out, '--create-beside', 'acme')).code).toBe(0);
    expect(statuses(await apply(it, out))).toEqual({ acme: 'reused' });
  });

  test('is refused for another service, for other manifests, and if it is none; nothing is sent', async () => {
    const [it, other] = [await service(), await service()];
    const path = write('acme.yaml', manifest('acme'));
    const out = await planned(it, path);
    const elsewhere = await apply(other, out);
    expect(elsewhere.code).toBe(2);
    expect(elsewhere.error().message).toContain(`is for ${it.sandbox.baseUrl}, not for ${other.sandbox.baseUrl}.`);
    writeFileSync(path, `# the same\n${manifest('acme')}`);
    const changed = write('changed.yaml', manifest('acme', ['Support', 'Sales']));
    expect((await apply(it, out, changed)).error().message).toBe(
      `The plan ${out} was made of other manifests, or of other values of variables.`,
    );
    for (const [from, to] of [
      ['"Support"', '"Other"'],
      ['"create_beside": []', '"create_beside": ["acme"]'],
      ['"sha256": "', '"sha256": "0'],
    ] as const) {
      const edited = write('plan.json', readFileSync(out, 'utf8').replaceAll(from, to));
      for (const more of [[], [path]]) {
        const refused = await apply(it, edited, ...more);
        expect(refused.code).toBe(2);
        expect(refused.error().message).toContain('was edited after it was made.');
      }
    }
    for (const text of ['', '{', '[]', readFileSync(out, 'utf8').replace('"name": "Support"', '"name": 5')]) {
      const damaged = await apply(it, write('plan.json', text));
      expect(damaged.code).toBe(2);
      expect(damaged.error().hint).toBe('Make a new plan with: partnerctl plan <file...> --out plan.json');
    }
    expect((await apply(it, path)).error().hint).toBe('To carry out manifests, use: partnerctl provision <file...>');
    expect((await apply(it, join(tempDirectory(), 'none.json'))).error().message).toContain('cannot be read');
    expect([...(await it.posts()), ...(await other.received())]).toEqual([]);
    expect((await apply(it, out, path)).code).toBe(0);
  });

  test('holds the values of variables, and needs them only to compare the manifests', async () => {
    const it = await service();
    const path = write('acme.yaml', manifest('acme').replace('Space acme', '${NAME}'));
    const out = join(tempDirectory(), 'plan.json');
    expect((await command(it, 'plan', path, '--var', 'NAME=Acme', '--out', out)).code).toBe(0);
    expect((await apply(it, out, path)).code).toBe(2);
    expect((await apply(it, out, path, '--var', 'NAME=Ajax')).code).toBe(2);
    expect(await it.posts()).toEqual([]);
    expect((await apply(it, out)).code).toBe(0);
    expect(await it.spaces()).toMatchObject([{ name: 'Acme' }]);
  });
});

test('A plan that saw the jobs needs a token that may list them, and replaces a file that others may read', async () => {
  const it = await service();
  const path = write('acme.yaml', withJob('acme'));
  expect((await command(it, 'provision', path)).code).toBe(0);
  writeFileSync(
    path,
    withJob('acme').replace('"Support",', '"Support 2",').concat("  - { template_id: tmpl_sales, name: 'Sales' }\n"),
  );
  const file = write('real.json', 'public');
  const out = join(tempDirectory(), 'plan.json');
  symlinkSync(file, out);
  expect((await command(it, 'plan', path, '--create-beside', 'acme', '--out', out)).code).toBe(0);
  expect(lstatSync(out).isSymbolicLink()).toBe(true);
  expect(statSync(file).mode & 0o777).toBe(0o600);
  await it.forget();
  const scopes = ['spaces.read', 'agents.read', 'spaces.provision', 'api_chat.setup', 'cron_jobs.write'];
  const blind = await apply({ ...it, env: await it.envFor(scopes) }, out);
  expect(blind.code).toBe(3);
  expect(await it.posts()).toEqual([]);
  expect(statuses(await apply(it, out))).toEqual({ acme: 'reused' });
});

test('A space that others have changed since the plan is stale, and shown with what to do, beside those that are done', async () => {
  const it = await service();
  const path = write('all.yaml', `${manifest('old')}---\n${manifest('same')}`);
  expect((await command(it, 'provision', path)).code).toBe(0);
  const more = ['old', 'same'].map((id) => manifest(id, ['Support', 'Triage']));
  writeFileSync(path, [...more, manifest('new')].join('---\n'));
  const out = await planned(it, path);
  const theirs = { space: { name: 'Theirs' }, agents: [{ template_id: 'tmpl_sales', name: 'Sales' }] };
  for (const external_space_id of ['old', 'new'])
    expect((await it.partner('POST', PROVISION, { body: { external_space_id, ...theirs } })).status).toBeLessThan(300);

  await it.forget();
  const ran = await command(it, 'apply', out);
  expect(ran.code).toBe(10);
  expect(ran.stdout).toMatch(
    /^x old {2}spc_\w+ {2}\S+all\.yaml:1 {2}stale\n {4}\? agent "Sales".*\n {4}x The space "old" is not as it was when the plan was made\. added: agent agt_\w+\n/,
  );
  expect(ran.stdout).toContain('The space "new" is not as it was when the plan was made. added: space spc_');
  expect(ran.stdout).toMatch(/\nDone: 1 agent created; 1 space changed; 2 spaces stale/);
  expect(ran.stderr).toMatch(/Make a new plan with: partnerctl plan <file\.\.\.> --out plan\.json\n$/);
  expect(await it.posts()).toMatchObject([{ body: { external_space_id: 'same' } }]);
});

/** A fleet as it was before: the first agents and jobs of its first spaces. */
function earlier(fleet: Fleet, count: number): Fleet {
  return fleet.slice(0, count).map((space) => ({
    ...space,
    agents: space.agents.slice(0, 1).map(({ chat, cron = [], ...agent }) => ({ ...agent, cron: cron.slice(0, 1) })),
  }));
}

const cases = fc.record({
  fleet: fleets,
  before: fc.nat(4),
  failAfter: fc.nat(12),
  stage: fc.constantFrom('before' as const, 'after' as const),
});

type Case = typeof cases extends fc.Arbitrary<infer Value> ? Value : never;

test('A fleet of any kind is complete after its plan was applied, cut off at any request, and applied again', async () => {
  const check = async ({ fleet, before, failAfter, stage }: Case) => {
    const it = await service();
    if (before > 0) expect((await command(it, 'provision', writeFleet(earlier(fleet, before)))).code).toBe(0);
    const path = writeFleet(fleet);
    const out = await planned(it, path);
    await it.faults({ kind: 'reset', stage, skip: failAfter });
    const cut = await apply(it, out, '--retries', '0');
    await it.faults();
    if (cut.code === 9 || cut.code === 10) {
      const argv = ['cron', 'reconcile', '--assume-not-created'];
      expect((await run(argv, { env: it.env, clock: fasterClock(500) })).code).toBe(0);
    }
    const ran = await apply(it, out);
    expect(ran.code, ran.stderr).toBe(0);
    await it.forget();
    expect((await command(it, 'plan', path, '--detailed-exitcode')).code).toBe(0);
    expect((await apply(it, out)).code).toBe(0);
    expect(await it.posts()).toEqual([]);
  };
  await fc.assert(fc.asyncProperty(cases, check), { numRuns: propertyRuns(300, 3) });
});
