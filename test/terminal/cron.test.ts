import { expect, test } from 'vitest';
import { CRON_JOBS, type Cron, startCronService } from '../support/cron.ts';
import { start } from '../support/program.ts';
import { fasterClock, run } from '../support/run.ts';
import { readJobLog } from '../support/state-file.ts';

const POST = `POST ${CRON_JOBS}`;

async function posted(cron: Cron): Promise<void> {
  await expect.poll(() => cron.posted(), { interval: 20 }).toBeGreaterThan(0);
}

test('Ctrl-C twice while the job is being created exits immediately, and reconciling finds the job', async () => {
  const { service, cron, path } = await startCronService();
  await service.faults({ kind: 'stall', on: POST, stage: 'after', times: 1 });
  const child = start(cron.create('daily', '--state', path), { env: service.env });
  await posted(cron);
  // The system may merge two signals of one kind: repeat until it has delivered the second.
  const repeat = setInterval(() => child.kill('SIGINT'), 20);
  const ran = await child;
  clearInterval(repeat);
  expect(ran.exitCode).toBe(130);
  // A lease takes three seconds.
  const ensure = cron.create('daily', '--ensure', '--state', path);
  expect((await run(ensure, { env: service.env, clock: fasterClock(20) })).code).toBe(9);
  const reconciled = await run(['cron', 'reconcile', '-o', 'json', '--state', path], { env: service.env });
  expect(reconciled.code).toBe(0);
  const ids = await cron.idsOf('daily');
  expect(JSON.parse(reconciled.stdout)).toMatchObject([{ cron_job_id: ids[0], status: 'adopted' }]);
  expect(ids).toHaveLength(1);
  expect((await readJobLog(path)).ids).toEqual(ids);
  expect(await cron.posted()).toBe(1);
});
