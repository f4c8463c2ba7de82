import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { json, sendJson, startFakeService } from '../support/fake-service.ts';
import { propertyRuns } from '../support/properties.ts';
import { partnerctl, type Ran, tempDirectory } from '../support/run.ts';
import { manifest, type Service, service, write } from '../support/service.ts';
import { type Answer, command, planned } from './provisioning.ts';

/* Parts of a fleet: which spaces, how many at once, and where a run ends. */

const idsOf = (count: number) => Array.from({ length: count }, (_, index) => `c-${String(index + 1).padStart(3, '0')}`);

const fleetOf = (ids: readonly string[]): string => write('fleet.yaml', ids.map((id) => manifest(id)).join('---\n'));

const applied = (ran: Ran) => ran.json<Answer>().results.map(({ external_space_id: id }) => id);

/** The spaces that a service was asked to provision, in order. */
const provisioned = async (it: Service) =>
  (await it.posts()).flatMap(({ body }) => (body as { external_space_id: string } | null)?.external_space_id ?? []);

const SPACES = ['acme-001', 'acme-002', 'beta-001', 'beta-002'];
const SOME = ['--only', 'acme-*', '--only', 'beta-002', '--exclude', '*-001'];
const SELECTED = ['acme-002', 'beta-002'];

describe('--only and --exclude', () => {
  test('read and write nothing of other spaces, in plan, apply, provision, and export', async () => {
    const it = await service();
    const path = fleetOf(SPACES);
    expect((await command(it, 'provision', path)).code).toBe(0);
    const others = (await it.spaces()).filter(({ external_space_id: id }) => !SELECTED.includes(id));
    const more = fleetOf([...SPACES, 'gamma-001']);
    const out = join(tempDirectory(), 'plan.json');
    const directory = tempDirectory();
    for (const argv of [
      ['plan', more, '--out', out],
      ['apply', await planned(it, fleetOf([...SPACES.map((id) => `new-${id}`)])), '--only', 'new-acme-*'],
      ['provision', more],
      ['export', '--out', directory],
    ]) {
      await it.forget();
      const ran = await command(it, ...argv, ...SOME.filter(() => argv[0] !== 'apply'), '-o', 'json');
      expect(ran.code, ran.stderr).toBe(0);
      const sent = JSON.stringify(await it.received());
      for (const { space_id, external_space_id } of others) {
        expect(sent, argv[0]).not.toContain(space_id);
        expect(sent, argv[0]).not.toContain(`"${external_space_id}"`);
      }
      expect(sent).not.toMatch(/gamma|new-beta/);
    }
    expect(readdirSync(directory).toSorted()).toEqual(SELECTED.map((id) => `${id}.yaml`));
    // The plan is of all manifests, whatever was selected.
    expect((await command(it, 'apply', out, more)).code).toBe(0);
  });

  test('that match nothing are refused, and nothing is sent', async () => {
    const it = await service();
    const path = fleetOf(SPACES);
    const plan = await planned(it, path);
    for (const argv of [
      ['plan', path, '--only', 'gamma-*'],
      ['apply', plan, '--exclude', 'gamma-*'],
      ['provision', path, '--only', '!acme-001'],
      ['provision', path, '--check', '--only', 'gamma-*'],
      ['export', '--out', tempDirectory(), '--only', 'acme-*'],
    ]) {
      const ran = await command(it, ...argv);
      expect(ran, argv.join(' ')).toMatchObject({ code: 2, stdout: '' });
      expect(ran.stderr).toMatch(/matches none of the \d spaces\./);
    }
    expect(await it.posts()).toEqual([]);
  });

  test('limit what --unmanaged lists, and what --check shows', async () => {
    const it = await service();
    expect((await command(it, 'provision', fleetOf(SPACES))).code).toBe(0);
    const path = fleetOf(['acme-001', 'beta-001']);
    const ran = await command(it, 'plan', path, '--only', 'acme-*', '--unmanaged', '-o', 'json');
    expect(ran.json()).toMatchObject({ unmanaged_spaces: [{ external_space_id: 'acme-002' }] });
    const checked = await command(it, 'provision', path, '--check', '--exclude', 'acme-*', '-o', 'json');
    expect(applied(checked)).toEqual(['beta-001']);
  });
});

describe('apply --limit', () => {
  test('does the first spaces that have something left to do, and says how many remain', async () => {
    const it = await service();
    const ids = idsOf(8);
    const path = fleetOf(ids);
    const out = await planned(it, path);
    const wave = () => command(it, 'apply', out, '--limit', '3', '--concurrency', '1', '-o', 'json');
    await it.forget();
    const first = await wave();
    expect(first).toMatchObject({ code: 0, stderr: '5 spaces of the plan remain. To go on, repeat the command.\n' });
    expect(applied(first)).toEqual(ids.slice(0, 3));
    // The spaces that it reports are those that `chat test` holds its conversations with.
    const talk = write('hello.yaml', 'agent: name:Support\nturns: [{ say: Hi, expect: [{ contains: hi }] }]\n');
    const gate = ['chat', 'test', talk, '--manifests', path, ...applied(first).flatMap((id) => ['--only', id])];
    expect((await command(it, ...gate, '--dry-run', '-o', 'json')).json()).toMatchObject({ spaces: 3 });
    await it.faults({ kind: 'status', status: 422, on: 'POST', times: 1 });
    const second = await wave();
    expect(second.code).toBe(10);
    expect(second.stderr).toContain('3 spaces of the plan remain.');
    const third = await wave();
    expect(applied(third)).toEqual(['c-004', 'c-007', 'c-008']);
    expect(third).toMatchObject({ code: 0, stderr: '' });
    expect(await provisioned(it)).toEqual([...ids.slice(0, 3), 'c-005', 'c-006', 'c-004', 'c-007', 'c-008']);
    expect((await command(it, 'apply', out, '--limit', '3')).stdout).toBe('Done: nothing to do.\n');
  });

  test('counts a stale space as one that remains, and goes on behind it', async () => {
    const it = await service();
    const out = await planned(it, fleetOf(idsOf(3)));
    expect((await command(it, 'provision', write('other.yaml', manifest('c-001', ['Sales'])))).code).toBe(0);
    const ran = await command(it, 'apply', out, '--limit', '1', '-o', 'json');
    expect(ran.code).toBe(10);
    expect(ran.json<Answer>().results.map(({ status }) => status)).toEqual(['stale', 'created']);
    expect(ran.stderr).toContain('2 spaces of the plan remain.');
  });
});

const CHAT_AND_JOB = `"Support", chat: {}, cron: [{ name: daily, instructions: Look., schedule: '0 9 * * *' }] }`;

describe('--max-failures', () => {
  test('is never exceeded, and no more spaces run at a time than may still fail', async () => {
    const cases = fc.record({
      spaces: fc.integer({ min: 1, max: 14 }),
      concurrency: fc.integer({ min: 1, max: 6 }),
      most: fc.integer({ min: 1, max: 4 }),
      phase: fc.constantFrom('provision-space', 'api-chat', 'partner-cron-jobs'),
      every: fc.integer({ min: 1, max: 3 }),
      verb: fc.constantFrom('provision', 'apply'),
    });
    const check = async ({
      spaces,
      concurrency,
      most,
      phase,
      every,
      verb,
    }: typeof cases extends fc.Arbitrary<infer C> ? C : never) => {
      const [failed, running] = [new Set<string>(), new Set<string>()];
      let isExceeded = false;
      const it = await startFakeService({
        'GET *': json([]),
        'POST *': async ({ path, body }, response) => {
          const id = /c-\d{3}/.exec(`${path} ${body}`)?.[0] ?? '';
          const isBad = path.includes(phase) && Number(id.slice(2)) % every === 0;
          running.add(id);
          isExceeded ||= running.size > most - failed.size;
          await new Promise((resolve) => setImmediate(resolve));
          if (isBad) failed.add(id);
          if (isBad || path.includes('partner-cron-jobs')) running.delete(id);
          if (isBad) return sendJson(response, { detail: 'No.' }, 422);
          const agent = { agent_id: `agt_${id}`, name: 'Support', template_id: 'tmpl_support' };
          sendJson(response, { space_id: id, agents: [agent], source_id: `src_${id}`, cron_job_id: `job_${id}` }, 201);
        },
      });
      const text = idsOf(spaces).map((id) => manifest(id).replace('"Support" }', CHAT_AND_JOB));
      const path = write('fleet.yaml', text.join('---\n'));
      const env = { HOME: tempDirectory() };
      const out = join(env.HOME, 'plan.json');
      if (verb === 'apply') await partnerctl(it.baseUrl, ['plan', path, '--out', out], { env });
      const limits = ['--max-failures', `${most}`, '--concurrency', `${concurrency}`, '-o', 'json'];
      const ran = await partnerctl(it.baseUrl, [verb, verb === 'apply' ? out : path, ...limits], { env });
      const bad = Math.floor(spaces / every);
      const { summary } = ran.json<Answer>();
      expect(summary.failed, ran.stderr).toBe(Math.min(bad, most));
      expect(failed.size).toBe(Math.min(bad, most));
      expect(isExceeded).toBe(false);
      // Those that run are finished.
      expect(summary.created).toBe(bad < most ? spaces - bad : spaces - Math.min(bad, most) - (summary.skipped ?? 0));
      if (bad < most) expect(summary.skipped).toBe(0);
    };
    await fc.assert(fc.asyncProperty(cases, check), { numRuns: propertyRuns(300, 8) });
  });
});

test('--max-creates refuses more new spaces, or more new agents, before anything is sent', async () => {
  const it = await service();
  const path = write('fleet.yaml', ['a', 'b'].map((id) => manifest(id, ['Support', 'Sales'])).join('---\n'));
  const plan = await planned(it, path);
  await it.forget();
  for (const argv of [
    ['provision', path],
    ['apply', plan],
  ]) {
    const refused = await command(it, ...argv, '--max-creates', '3', '-o', 'json');
    expect(refused.code).toBe(2);
    expect(refused.error().message).toBe('This would create 2 spaces and 4 agents, and --max-creates is 3.');
    expect(await it.posts()).toEqual([]);
  }
  expect((await command(it, 'apply', plan, '--limit', '1', '--max-creates', '2')).code).toBe(0);
  expect((await command(it, 'provision', path, '--max-creates', '2')).code).toBe(0);
});
