import { expect } from 'vitest';
import { testKills } from '../support/kill.ts';
import { run } from '../support/run.ts';
import { manifest, type Service, write } from '../support/service.ts';
import { recordTypes } from '../support/state-file.ts';

const AGENTS = ['Sales', 'Support'];

/** The names of the agents of a space; empty if there is no such space. */
async function agentsOf(sandbox: Service, externalId: string): Promise<string[]> {
  const space = (await sandbox.spaces()).find(({ external_space_id }) => external_space_id === externalId);
  return space ? (await sandbox.agents(space.space_id)).map(({ name }) => name).toSorted() : [];
}

for (const [name, scopes] of [
  ['provision', undefined],
  ['provision without lists', ['spaces.provision']],
  ['apply', undefined],
] as const) {
  testKills({
    name,
    title: 'leaves nothing that a repeat does not complete, with each agent once',
    stages: ['nothing yet', 'installed', 'installed and recorded'],
    prepareOn: async (sandbox) => {
      const token = scopes && { PARTNER_TOKEN: await sandbox.createToken({ scopes }) };
      return async (label, given) => {
        const env: Record<string, string> = { ...given, ...token };
        const path = write(`${label}.yaml`, manifest(label, AGENTS));
        const plan = path.replace('.yaml', '.json');
        if (name === 'apply') expect((await run(['plan', path, '--out', plan], { env })).code).toBe(0);
        const args = name === 'apply' ? ['apply', plan] : ['provision', path];
        const stageOf = async () => {
          const types = await recordTypes(env.PARTNER_STATE ?? '');
          if (types.includes('space')) return 'installed and recorded';
          return (await agentsOf(sandbox, label)).length > 0 ? 'installed' : 'nothing yet';
        };
        const finish = async () => {
          for (const _ of [1, 2]) {
            const ran = await run(args, { env });
            expect(ran.code, ran.stderr).toBe(0);
          }
          const agents = await agentsOf(sandbox, label);
          expect(new Set(agents)).toEqual(new Set(AGENTS));
          return agents.length - AGENTS.length;
        };
        return { args, env, stageOf, finish };
      };
    },
  });
}
