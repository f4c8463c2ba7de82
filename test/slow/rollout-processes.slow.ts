import { expect, test } from 'vitest';
import {
  expectEachSpaceOnce,
  expectRepeatWritesNothing,
  injectFaults,
  killAfter,
  rolloutManifest,
  runProvision,
} from '../support/rollout.ts';
import { service, write } from '../support/service.ts';

const COUNT = 12;

test('a dozen spaces are each provisioned once through 503s, 429s, resets, and cut responses, and a repeat writes nothing', async () => {
  const it = await service();
  await injectFaults(it, 1);
  const path = write('all.yaml', rolloutManifest(COUNT));
  const ran = await runProvision(it, path);
  expect(ran).toMatchObject({ failures: [], exitCode: 0, stderr: '', summary: { created: COUNT, failed: 0 } });
  await expectEachSpaceOnce(it, COUNT);
  await expectRepeatWritesNothing(it, path, COUNT);
});

test('a dozen spaces are each provisioned once by a run that is killed several times and repeated', async () => {
  const it = await service();
  await injectFaults(it, 2);
  const path = write('all.yaml', rolloutManifest(COUNT));
  const killed = [];
  for (const requests of [1, 2, 9, 17]) killed.push(await killAfter(it, path, requests));
  expect(killed).toEqual([true, true, true, true]);
  const ran = await runProvision(it, path);
  expect(ran).toMatchObject({ failures: [], exitCode: 0, stderr: '' });
  await expectEachSpaceOnce(it, COUNT);
  await expectRepeatWritesNothing(it, path, COUNT);
});
