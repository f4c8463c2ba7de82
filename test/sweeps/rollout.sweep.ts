import { describe, expect, test } from 'vitest';
import {
  badService,
  expectScheduled,
  expectSettled,
  expectWhole,
  killAfter,
  rollOut,
  rolloutManifest,
  scheduledManifest,
  settleJobs,
} from '../helpers/rollout.ts';
import { service, write } from '../helpers/service.ts';

const COUNT = 200;

describe('two hundred spaces in bad weather', () => {
  test.each([1, 2, 3, 4, 5])(
    'seed %i: all there, none twice, no agent twice, exit 0; the same run again sends no POST',
    async (seed) => {
      const it = await service();
      await badService(it, seed);
      const path = write('all.yaml', rolloutManifest(COUNT));
      const ran = await rollOut(it, path);
      expect(ran).toMatchObject({ failures: [], exitCode: 0, stderr: '', summary: { created: COUNT, failed: 0 } });
      await expectWhole(it, COUNT);
      await expectSettled(it, path, COUNT);
    },
  );

  test.each([6, 7, 8])(
    'seed %i: killed with SIGKILL again and again, then run to its end: the same end',
    async (seed) => {
      const it = await service();
      await badService(it, seed);
      const path = write('all.yaml', rolloutManifest(COUNT));
      // Moments that are different for every seed, early ones, and ones in the thick of it.
      const moments = Array.from({ length: 12 }, (_, index) => 1 + ((seed * 37 + index * index * 5) % 90));
      let killed = 0;
      for (const requests of moments) if (await killAfter(it, path, requests)) killed += 1;
      expect(killed).toBeGreaterThan(6);
      const ran = await rollOut(it, path);
      expect(ran).toMatchObject({ failures: [], exitCode: 0, stderr: '' });
      await expectWhole(it, COUNT);
      await expectSettled(it, path, COUNT);
    },
  );
});

describe('twenty spaces with chat and scheduled jobs in bad weather', () => {
  const count = 20;

  test.each([9, 10])('seed %i: killed, run again, reconciled: the same end, and no job twice', async (seed) => {
    const it = await service();
    await badService(it, seed);
    const path = write('all.yaml', scheduledManifest(count));
    const moments = Array.from({ length: 4 }, (_, index) => 3 + ((seed * 37 + index * index * 17) % 90));
    let killed = 0;
    for (const requests of moments) if (await killAfter(it, path, requests)) killed += 1;
    expect(killed).toBeGreaterThan(2);
    const stormy = await rollOut(it, path);
    // A lost answer of a job is not repeated: each stays open until it is reconciled, and that is said.
    expect(stormy.openJobs).toBeGreaterThan(0);
    expect([9, 10]).toContain(stormy.exitCode);
    expect(stormy.stderr).toContain('partnerctl cron reconcile');
    await settleJobs(it);
    const ran = await rollOut(it, path);
    expect(ran).toMatchObject({ failures: [], exitCode: 0, stderr: '', openJobs: 0 });
    expect(ran.jobs).toEqual(expect.arrayContaining([...stormy.jobs]));
    await expectWhole(it, count);
    await expectScheduled(it, count);
    await expectSettled(it, path, count);
  });
});
