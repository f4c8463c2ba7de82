import fc from 'fast-check';
import { expect, test } from 'vitest';
import { fleets, writeFleet } from '../support/fleet.ts';
import { start } from '../support/program.ts';
import { manifest, service, write } from '../support/service.ts';

/* Rehearsals of random fleets: one that a correct service ends well, whatever fails, and wherever provision is killed. */

test.each([1, 2, 3])('A random fleet ends well with each of twenty seeds (fleet %i)', async (seed) => {
  const [fleet = []] = fc.sample(fleets, { numRuns: 1, seed });
  const { env, posts } = await service();
  const ran = await start(['sandbox', 'rehearse', writeFleet(fleet), '--seeds', '20', '-o', 'json'], { env });
  const { seeds, summary } = JSON.parse(ran.stdout);
  expect(seeds.flatMap(({ problems }: { readonly problems: readonly object[] }) => problems)).toEqual([]);
  expect(summary).toMatchObject({ seeds: 20, ended_well: 20 });
  expect(ran).toMatchObject({ exitCode: 0, stderr: '' });
  expect(await posts()).toEqual([]);
});

test('A rate limit that cannot be met in time is shown, and what is missing for it', async () => {
  const settings = '{"rate_limit":{"requests":2,"per_seconds":600}}';
  const path = write('acme.yaml', manifest('acme'));
  const args = ['sandbox', 'rehearse', path, '--seeds', '1', '--settings', settings, '--run-timeout', '10s'];
  const ran = await start(args);
  expect(ran.exitCode).toBe(10);
  expect(ran.stdout).toContain('provision exited with 7: ');
  expect(ran.stdout).toMatch(
    /^ +still to do in acme: \[\["create_space","Space acme"\],\["install_agent","Support"\]/m,
  );
});
