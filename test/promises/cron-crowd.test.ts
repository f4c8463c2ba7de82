import { expect, it } from 'vitest';
import { CRON_JOBS, type JobAnswer, startCronService } from '../support/cron.ts';
import { type Running, start } from '../support/program.ts';
import { propertyRuns } from '../support/properties.ts';
import { readJobLog } from '../support/state-file.ts';

/** One of each kind: with and without --ensure and the list. `npm run test:slow` runs fifty. */
const CROWD = propertyRuns(50, 4);

interface Ended {
  readonly exitCode: number | undefined;
  readonly said: JobAnswer;
}

/** Runs that many processes concurrently. */
async function runConcurrently(count: number, begin: (index: number) => Running): Promise<Ended[]> {
  const ended = await Promise.all(Array.from({ length: count }, (_, index) => begin(index)));
  return ended.map(({ exitCode, stdout }) => ({ exitCode, said: JSON.parse(stdout) }));
}

it(`${CROWD} processes with the same job send one POST: one creates it, the others are blocked or wait`, async () => {
  const { service, cron, path } = await startCronService();
  // A slow service: most of them start while the job is being created.
  await service.faults({ kind: 'delay', ms: 500, on: `POST ${CRON_JOBS}`, stage: 'after' });
  // Some of them may not read the list, so that only the file guards.
  const blind = await service.envFor(['cron_jobs.write']);
  const isWaiting = (index: number): boolean => index % 2 === 1;
  const ended = await runConcurrently(CROWD, (index) =>
    start(cron.create('daily', ...(isWaiting(index) ? ['--ensure'] : []), '--state', path), {
      env: index % 3 === 0 ? blind : service.env,
    }),
  );
  expect(await cron.posted()).toBe(1);
  const ids = await cron.idsOf('daily');
  expect(ids).toHaveLength(1);
  const creator = ended.findIndex(({ said }) => said.status === 'created');
  for (const [index, { exitCode, said }] of ended.entries()) {
    if (index === creator) expect({ exitCode, said }).toMatchObject({ exitCode: 0, said: { cron_job_id: ids[0] } });
    else if (isWaiting(index))
      expect({ exitCode, said }).toMatchObject({ exitCode: 0, said: { status: 'exists', cron_job_id: ids[0] } });
    else expect({ exitCode, said }).toMatchObject({ exitCode: 5, said: { status: 'blocked' } });
  }
  expect(creator).toBeGreaterThan(-1);
  expect(await readJobLog(path)).toMatchObject({ ids, damage: [] });
});

it('processes with a job each create as many jobs and ids, and the file is intact', async () => {
  const count = CROWD / 2;
  const { service, cron, path } = await startCronService();
  const ended = await runConcurrently(count, (index) =>
    start(cron.create(`job-${index}`, '--state', path), { env: service.env }),
  );
  for (const { exitCode, said } of ended) expect([exitCode, said.status]).toEqual([0, 'created']);
  expect(await cron.posted()).toBe(count);
  const told = ended.map(({ said }) => said.cron_job_id);
  expect(new Set(told).size).toBe(count);
  expect((await cron.jobs()).map(({ cron_job_id }) => cron_job_id).sort()).toEqual([...told].sort());
  const { ids, damage } = await readJobLog(path);
  expect({ ids: [...ids].sort(), damage }).toEqual({ ids: [...told].sort(), damage: [] });
});
