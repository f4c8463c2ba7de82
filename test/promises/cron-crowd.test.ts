import { expect, it } from 'vitest';
import { CRON_JOBS, type JobAnswer, startCronService } from '../support/cron.ts';
import { start } from '../support/program.ts';
import { propertyRuns } from '../support/properties.ts';
import { readJobLog } from '../support/state-file.ts';

/** With and without --ensure and the list. `npm run test:slow` runs fifty. */
const CROWD = propertyRuns(50, 4);
/** Processes beside them, each of which creates a job of its own. */
const OTHERS = propertyRuns(5, 1);

it(`Of ${CROWD} processes with the same job one creates it, the others are blocked or wait, and ${OTHERS} others create theirs`, async () => {
  const { service, cron, path } = await startCronService();
  // A slow service: most of them start while the job is being created.
  await service.faults({ kind: 'delay', ms: 500, on: `POST ${CRON_JOBS}`, stage: 'after' });
  // Some of them may not read the list, so that only the file guards.
  const blind = await service.envFor(['cron_jobs.write']);
  const isOther = (index: number): boolean => index >= CROWD;
  const isWaiting = (index: number): boolean => index % 2 === 1;
  const running = Array.from({ length: CROWD + OTHERS }, (_, index) => {
    const name = isOther(index) ? `job-${index}` : 'daily';
    const ensure = isWaiting(index) ? ['--ensure'] : [];
    return start(cron.create(name, ...ensure, '--state', path), { env: index % 3 === 0 ? blind : service.env });
  });
  const ended = (await Promise.all(running)).map(({ exitCode, stdout }) => {
    const said: JobAnswer = JSON.parse(stdout);
    return { exitCode, said };
  });
  const ids = await cron.idsOf('daily');
  expect(ids).toHaveLength(1);
  const creator = ended.findIndex(({ said }) => said.status === 'created');
  for (const [index, each] of ended.entries()) {
    if (isOther(index)) expect(each).toMatchObject({ exitCode: 0, said: { status: 'created' } });
    else if (index === creator) expect(each).toMatchObject({ exitCode: 0, said: { cron_job_id: ids[0] } });
    else if (isWaiting(index))
      expect(each).toMatchObject({ exitCode: 0, said: { status: 'exists', cron_job_id: ids[0] } });
    else expect(each).toMatchObject({ exitCode: 5, said: { status: 'blocked' } });
  }
  const told = ended.filter(({ said }) => said.status === 'created').map(({ said }) => said.cron_job_id);
  expect(told).toHaveLength(1 + OTHERS);
  expect(await cron.posted()).toBe(1 + OTHERS);
  expect((await cron.jobs()).map(({ cron_job_id }) => cron_job_id).sort()).toEqual(told.toSorted());
  const log = await readJobLog(path);
  expect({ ids: log.ids.toSorted(), damage: log.damage }).toEqual({ ids: told.toSorted(), damage: [] });
});
