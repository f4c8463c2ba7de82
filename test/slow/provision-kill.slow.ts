import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { killEverywhere, killWays, type PrepareRun, stageCounter } from '../support/kill.ts';
import { start } from '../support/program.ts';
import { run, tempDirectory } from '../support/run.ts';
import { manifest, type Service, service, write } from '../support/service.ts';
import { recordTypes } from '../support/state-file.ts';

/*
 * On a service that installs the named agents again on every POST.
 */

const WAYS = killWays();
const AGENTS = ['Sales', 'Support'];
/** Longer than the sandbox takes to carry out a request whose process was killed. */
const SETTLE = ['--settle', '300ms'];

async function installService(): Promise<Service> {
  const sandbox = await service();
  await sandbox.set({ agents_on_repeat: 'install' });
  return sandbox;
}

/** The names of the agents of a space; empty if there is no such space. */
async function agentsOf(sandbox: Service, externalId: string): Promise<string[]> {
  const space = (await sandbox.spaces()).find(({ external_space_id }) => external_space_id === externalId);
  return space ? (await sandbox.agents(space.space_id)).map(({ name }) => name).toSorted() : [];
}

type Stage = 'nothing yet' | 'reserved' | 'reserved, and installed' | 'installed and recorded';

const READERS = [
  ['a token that may list agents', undefined],
  ['a token that may not', ['spaces.provision']],
] as const;

describe.each(READERS)('A provision that is killed, with %s,', (_, scopes) => {
  const stages = stageCounter<Stage>();

  test.each(WAYS)(
    'leaves nothing that a repeat does not complete, with each agent once: at each %s',
    async (_name, way) => {
      const sandbox = await installService();
      const directory = tempDirectory();
      const own = scopes ? await sandbox.envFor(scopes) : sandbox.env;
      const prepare: PrepareRun<Stage> = async (label, baseUrl) => {
        const path = join(directory, `${label}.jsonl`);
        const env = { ...own, PARTNER_BASE_URL: baseUrl };
        const file = write(`${label}.yaml`, manifest(label, AGENTS), directory);
        const args = ['provision', file, '--state', path, ...SETTLE];
        const stageOf = async () => {
          const types = await recordTypes(path);
          const isInstalled = (await agentsOf(sandbox, label)).length > 0;
          if (types.includes('space.created')) return 'installed and recorded';
          if (types.length === 0) return 'nothing yet';
          return isInstalled ? 'reserved, and installed' : 'reserved';
        };
        const finish = async () => {
          let ran = await run(args, { env });
          // Only a token that may list agents can tell what the killed run did; the first one stays blocked until then.
          if (scopes && ran.code === 9) ran = await run(args, { env: { ...env, PARTNER_TOKEN: sandbox.token } });
          expect(ran.code, ran.stderr).toBe(0);
          expect((await run(args, { env })).code).toBe(0);
          const agents = await agentsOf(sandbox, label);
          expect(new Set(agents)).toEqual(new Set(AGENTS));
          return agents.length - AGENTS.length;
        };
        return { args, env, path, stageOf, finish };
      };
      const name = scopes ? 'provision without lists' : 'provision';
      const target = { name, baseUrl: sandbox.env.PARTNER_BASE_URL ?? '', prepare };
      stages.add((await killEverywhere(target, way)).stages);
    },
  );

  test('is killed at every stage of provisioning', () => {
    stages.expectEach('nothing yet', 'reserved', 'reserved, and installed', 'installed and recorded');
  });
});

describe('Two processes that provision the same spaces with one state file', () => {
  test.each(READERS)('and %s install each agent once, in twelve rounds', async (_, scopes) => {
    const sandbox = await installService();
    await sandbox.faults({ kind: 'delay', ms: 20 });
    const ids = ['one', 'two', 'three'];
    let duplicates = 0;
    for (let round = 1; round <= 12; round += 1) {
      const own = scopes ? await sandbox.envFor(scopes) : sandbox.env;
      const env = { ...own, HOME: tempDirectory() };
      const names = ids.map((id) => `${id}-${round}`);
      const file = write('all.yaml', names.map((id) => manifest(id, AGENTS)).join('---\n'));
      const both = await Promise.all([1, 2].map(() => start(['provision', file, ...SETTLE], { env })));
      for (const { exitCode, stderr } of both) expect(exitCode, String(stderr)).toBe(0);
      for (const id of names) {
        const agents = await agentsOf(sandbox, id);
        expect(new Set(agents)).toEqual(new Set(AGENTS));
        duplicates += agents.length - AGENTS.length;
      }
    }
    process.stdout.write(`two at once: 12 rounds of 3 spaces, ${duplicates} duplicates\n`);
    expect(duplicates).toBe(0);
  });
});

describe('A 504 that is carried out 2 to 5 seconds later', () => {
  test.each([2000, 3500, 5000])('(%i ms) installs each agent once with the default of --settle', async (ms) => {
    const sandbox = await installService();
    await sandbox.faults({
      kind: 'late',
      ms,
      status: 504,
      on: 'POST /automation/agent-templates/provision-space/',
      times: 1,
    });
    const file = write('acme.yaml', manifest('acme', AGENTS));
    const { exitCode, stderr } = await start(['provision', file], { env: sandbox.env });
    expect(exitCode, String(stderr)).toBe(0);
    expect(await agentsOf(sandbox, 'acme')).toEqual(AGENTS);
  });
});
