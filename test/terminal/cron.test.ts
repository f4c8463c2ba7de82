import { join } from 'node:path';
import { expect, test } from 'vitest';
import { type CreatedJob, type Cron, createCronAgent, readJobLog } from '../support/cron.ts';
import { start } from '../support/program.ts';
import { run, tempDirectory } from '../support/run.ts';
import { type Service, service } from '../support/service.ts';

const POST = 'POST /automation/partner-cron-jobs/';

async function opened(): Promise<{ it: Service; cron: Cron; path: string }> {
  const it = await service();
  return { it, cron: await createCronAgent(it), path: join(tempDirectory(), 'state.jsonl') };
}

async function posted(cron: Cron): Promise<void> {
  await expect.poll(() => cron.posted(), { interval: 20 }).toBeGreaterThan(0);
}

const parseJob = (stdout: string): CreatedJob => JSON.parse(stdout);

test.each(['SIGINT', 'SIGTERM'] as const)(
  '%s while the job is being created waits for the response',
  async (signal) => {
    const { it, cron, path } = await opened();
    await it.faults({ kind: 'delay', ms: 700, on: POST, stage: 'after' });
    const child = start(cron.create('daily', '--state', path), { env: it.env });
    await posted(cron);
    child.kill(signal);
    const ran = await child;
    expect(ran.exitCode).toBe(0);
    const ids = await cron.idsOf('daily');
    expect(ids).toEqual([parseJob(ran.stdout).cron_job_id]);
    expect((await readJobLog(path)).ids).toEqual(ids);
  },
);

test('Ctrl-C twice while the job is being created exits immediately, and reconciling finds the job', async () => {
  const { it, cron, path } = await opened();
  await it.faults({ kind: 'stall', on: POST, stage: 'after', times: 1 });
  const child = start(cron.create('daily', '--state', path), { env: it.env });
  await posted(cron);
  // The system may merge two signals of one kind: repeat until it has delivered the second.
  const repeat = setInterval(() => child.kill('SIGINT'), 20);
  const ran = await child;
  clearInterval(repeat);
  expect(ran.exitCode).toBe(130);
  expect((await run(cron.create('daily', '--ensure', '--state', path), { env: it.env })).code).toBe(9);
  const reconciled = await run(['cron', 'reconcile', '-o', 'json', '--state', path], { env: it.env });
  expect(reconciled.code).toBe(0);
  const ids = await cron.idsOf('daily');
  expect(JSON.parse(reconciled.stdout)).toMatchObject([{ cron_job_id: ids[0], status: 'adopted' }]);
  expect(ids).toHaveLength(1);
  expect((await readJobLog(path)).ids).toEqual(ids);
  expect(await cron.posted()).toBe(1);
});
