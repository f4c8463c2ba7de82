import { describe, expect, test } from 'vitest';
import {
  expectEachJobOnce,
  expectEachSpaceOnce,
  expectRepeatWritesNothing,
  injectFaults,
  killAfter,
  reconcileJobs,
  rolloutManifest,
  runProvision,
  scheduledManifest,
} from '../support/rollout.ts';
import { service, write } from '../support/service.ts';

const COUNT = 200;

describe('Two hundred spaces on a failing service', () => {
  test.each([1, 2, 3, 4, 5])('are each provisioned once, and a repeat sends no POST (seed %i)', async (seed) => {
    const sandbox = await service();
    await injectFaults(sandbox, seed);
    const path = write('all.yaml', rolloutManifest(COUNT));
    const ran = await runProvision(sandbox, path);
    expect(ran).toMatchObject({ failures: [], exitCode: 0, stderr: '', summary: { created: COUNT, failed: 0 } });
    await expectEachSpaceOnce(sandbox, COUNT);
    await expectRepeatWritesNothing(sandbox, path, COUNT);
  });

  test.each([6, 7, 8])(
    'are each provisioned once by a run that is repeatedly killed and restarted (seed %i)',
    async (seed) => {
      const sandbox = await service();
      await injectFaults(sandbox, seed);
      const path = write('all.yaml', rolloutManifest(COUNT));
      // Moments that differ for every seed: early ones, and ones in the middle of the work.
      const moments = Array.from({ length: 12 }, (_, index) => 1 + ((seed * 37 + index * index * 5) % 90));
      let killed = 0;
      for (const requests of moments) if (await killAfter(sandbox, path, requests)) killed += 1;
      expect(killed).toBeGreaterThan(6);
      const ran = await runProvision(sandbox, path);
      expect(ran).toMatchObject({ failures: [], exitCode: 0, stderr: '' });
      await expectEachSpaceOnce(sandbox, COUNT);
      await expectRepeatWritesNothing(sandbox, path, COUNT);
    },
  );
});

describe('Twenty spaces with chat and scheduled jobs on a failing service', () => {
  const count = 20;

  test.each([9, 10])('have each job once after a killed run is repeated and reconciled (seed %i)', async (seed) => {
    const sandbox = await service();
    await injectFaults(sandbox, seed);
    const path = write('all.yaml', scheduledManifest(count));
    const moments = Array.from({ length: 4 }, (_, index) => 3 + ((seed * 37 + index * index * 17) % 90));
    let killed = 0;
    for (const requests of moments) if (await killAfter(sandbox, path, requests)) killed += 1;
    expect(killed).toBeGreaterThan(2);
    const stormy = await runProvision(sandbox, path);
    // A job whose response is lost is not repeated: each stays open until it is reconciled, which the run reports.
    expect(stormy.unknownJobs).toBeGreaterThan(0);
    expect([9, 10]).toContain(stormy.exitCode);
    expect(stormy.stderr).toContain('partnerctl cron reconcile');
    await reconcileJobs(sandbox);
    const ran = await runProvision(sandbox, path);
    expect(ran).toMatchObject({ failures: [], exitCode: 0, stderr: '', unknownJobs: 0 });
    expect(ran.jobs).toEqual(expect.arrayContaining([...stormy.jobs]));
    await expectEachSpaceOnce(sandbox, count);
    await expectEachJobOnce(sandbox, count);
    await expectRepeatWritesNothing(sandbox, path, count);
  });
});
