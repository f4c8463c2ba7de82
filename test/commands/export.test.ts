import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type Fleet, fleets, writeFleet } from '../support/fleet.ts';
import { propertyRuns } from '../support/properties.ts';
import { run, tempDirectory, tinyRandom } from '../support/run.ts';
import { type Service, type service as startService, service } from '../support/service.ts';

type Env = Pick<Service, 'env'>;

const exportTo = ({ env }: Env, out: string, ...args: readonly string[]) =>
  run(['export', '--out', out, '-o', 'json', ...args], { env });

const plan = ({ env }: Env, path: string) => run(['plan', path, '-o', 'json', '--detailed-exitcode'], { env });

async function provision({ env }: Env, path: string): Promise<void> {
  expect(await run(['provision', path, '-o', 'json'], { env, random: tinyRandom })).toMatchObject({ code: 0 });
}

const filesOf = (directory: string) =>
  Object.fromEntries(readdirSync(directory).map((name) => [name, readFileSync(join(directory, name), 'utf8')]));

interface Listed {
  readonly [field: string]: unknown;
}

const withoutIds = (item: Listed): Listed =>
  Object.fromEntries(
    Object.entries(item).flatMap(([key, value]) => {
      if (/(_id|_at)$/.test(key) && !['template_id', 'external_space_id'].includes(key)) return [];
      const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
      return [[key, isObject ? withoutIds(value as Listed) : value]];
    }),
  );

/** All that a service has, without ids and times. */
async function contentOf({ partner, spaces, agents }: Service) {
  const jobs: readonly Listed[] = (await partner('GET', '/automation/partner-cron-jobs/?page_size=1000')).json.results;
  const found = await Promise.all(
    (await spaces()).map(async (space) => ({
      ...withoutIds(space),
      agents: (await agents(space.space_id)).map((agent) => ({
        ...withoutIds(agent),
        jobs: jobs.filter(({ agent_id }) => agent_id === agent.agent_id).map(withoutIds),
      })),
    })),
  );
  return found;
}

describe('an export', () => {
  test('of any fleet plans nothing, makes the same fleet elsewhere, and is the same again', async () => {
    await fc.assert(
      fc.asyncProperty(fleets, async (fleet) => {
        const it = await service();
        await provision(it, writeFleet(fleet));
        await it.forget();
        const out = tempDirectory();
        const exported = await exportTo(it, out);
        expect(exported).toMatchObject({ code: 0, stderr: '' });
        expect(exported.json()).toHaveLength(fleet.length);
        expect(await it.posts()).toEqual([]);
        const files = filesOf(out);
        expect(await plan(it, out)).toMatchObject({ code: 0, stderr: '' });
        expect(await plan({ env: { ...it.env, HOME: tempDirectory() } }, out)).toMatchObject({ code: 0, stderr: '' });
        console.log(Object.values(files).join('---\n'));

        const other = await service();
        await provision(other, out);
        console.log(JSON.stringify(await contentOf(other)));
        expect(await contentOf(other)).toEqual(await contentOf(it));
      }),
      { numRuns: propertyRuns(300, 12) },
    );
  });
});
