import { expect, test } from 'vitest';
import { badService, expectSettled, expectWhole, killAfter, rollOut, rolloutManifest } from '../helpers/rollout.ts';
import { service, write } from '../helpers/service.ts';

const COUNT = 40;

test('forty spaces through 503s, 429s, resets and cut answers: all there, none twice, and a repeat writes nothing', async () => {
  const it = await service();
  await badService(it, 1);
  const path = write('all.yaml', rolloutManifest(COUNT));
  const ran = await rollOut(it, path);
  expect(ran).toMatchObject({ failures: [], exitCode: 0, stderr: '', summary: { created: COUNT, failed: 0 } });
  await expectWhole(it, COUNT);
  await expectSettled(it, path, COUNT);
});

test('kill -9 in the middle of it, several times: the same end', async () => {
  const it = await service();
  await badService(it, 2);
  const path = write('all.yaml', rolloutManifest(COUNT));
  const killed = [];
  for (const requests of [1, 2, 9, 17]) killed.push(await killAfter(it, path, requests));
  expect(killed).toEqual([true, true, true, true]);
  const ran = await rollOut(it, path);
  expect(ran).toMatchObject({ failures: [], exitCode: 0, stderr: '' });
  await expectWhole(it, COUNT);
  await expectSettled(it, path, COUNT);
});
