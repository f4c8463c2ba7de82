import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { IS_SAMPLE, killEverywhere, killWays, type PrepareRun, stageCounter } from '../support/kill.ts';
import { run, tempDirectory } from '../support/run.ts';
import { manifest, type Service, service, write } from '../support/service.ts';
import { recordTypes } from '../support/state-file.ts';

const WAYS = killWays();
const AGENTS = ['Sales', 'Support'];
/** The names of the agents of a space; empty if there is no such space. */
async function agentsOf(sandbox: Service, externalId: string): Promise<string[]> {
  const space = (await sandbox.spaces()).find(({ external_space_id }) => external_space_id === externalId);
  return space ? (await sandbox.agents(space.space_id)).map(({ name }) => name).toSorted() : [];
}

type Stage = 'nothing yet' | 'installed' | 'installed and recorded';

const READERS = [
  ['a token that may list agents', undefined],
  ['a token that may not', ['spaces.provision']],
] as const;

describe.each(READERS)('A provision that is killed, with %s,', (_, scopes) => {
  const stages = stageCounter<Stage>();

  test.each(WAYS)(
    'leaves nothing that a repeat does not complete, with each agent once: at each %s',
    async (_name, way) => {
      const sandbox = await service();
      const directory = tempDirectory();
      const own = scopes ? await sandbox.envFor(scopes) : sandbox.env;
      const prepare: PrepareRun<Stage> = async (label, baseUrl) => {
        const path = join(directory, `${label}.jsonl`);
        const env = { ...own, PARTNER_BASE_URL: baseUrl };
        const file = write(`${label}.yaml`, manifest(label, AGENTS), directory);
        const args = ['provision', file, '--state', path];
        const stageOf = async () => {
          const types = await recordTypes(path);
          if (types.includes('space')) return 'installed and recorded';
          return (await agentsOf(sandbox, label)).length > 0 ? 'installed' : 'nothing yet';
        };
        const finish = async () => {
          const ran = await run(args, { env });
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
      stages.add(await killEverywhere(target, way));
    },
  );

  test.skipIf(IS_SAMPLE)('is killed at every stage of provisioning', () => {
    stages.expectEach('nothing yet', 'installed', 'installed and recorded');
  });
});
