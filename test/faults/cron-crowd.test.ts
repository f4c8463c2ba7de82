import { join } from 'node:path';
import { expect, test } from 'vitest';
import { start } from '../e2e/program.ts';
import { type Cron, cronOn, logContent, type Said } from '../helpers/cron.ts';
import { tempDirectory } from '../helpers/run.ts';
import { type Service, service } from '../helpers/service.ts';

const CROWD = 50;

interface Ended {
  readonly exitCode: number | undefined;
  readonly stderr: string;
  readonly said: Said;
}

/** Runs so many processes at once on one state file. */
async function crowd(it: Service, words: (index: number) => readonly string[]): Promise<Ended[]> {
  const running = Array.from({ length: CROWD }, (_, index) => start(words(index), { env: it.env }));
  const ended = await Promise.all(running);
  return ended.map(({ exitCode, stdout, stderr }) => ({ exitCode, stderr, said: JSON.parse(stdout) }));
}

async function opened(): Promise<{ it: Service; cron: Cron; path: string }> {
  const it = await service();
  return { it, cron: await cronOn(it), path: join(tempDirectory(), 'state.jsonl') };
}

/** How many there are of each. */
function counted(values: readonly string[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const value of values) counts[value] = (counts[value] ?? 0) + 1;
  return counts;
}

const outcomes = (ended: readonly Ended[]) => counted(ended.map(({ exitCode, said }) => `${said.status} ${exitCode}`));

test('fifty processes at once with the same job: one POST, one created, the others are blocked', async () => {
  const { it, cron, path } = await opened();
  const ended = await crowd(it, () => cron.create('daily', '--state', path));
  expect(outcomes(ended)).toEqual({ 'created 0': 1, 'blocked 5': CROWD - 1 });
  expect(await cron.posted()).toBe(1);
  const ids = await cron.idsOf('daily');
  expect(ids).toEqual([ended.find(({ exitCode }) => exitCode === 0)?.said.cron_job_id]);
  expect(await logContent(path)).toMatchObject({ ids, damage: [] });
}, 120_000);

test('fifty processes at once with the same job and --ensure: one POST, and all are told its id', async () => {
  const { it, cron, path } = await opened();
  // A slow service: most of them come while the job is being made.
  await it.faults({ kind: 'delay', ms: 1_000, on: 'POST /automation/partner-cron-jobs/', stage: 'after' });
  const ended = await crowd(it, () => cron.create('daily', '--ensure', '--state', path));
  expect(outcomes(ended)).toEqual({ 'created 0': 1, 'exists 0': CROWD - 1 });
  expect(await cron.posted()).toBe(1);
  const ids = await cron.idsOf('daily');
  expect(new Set(ended.map(({ said }) => said.cron_job_id))).toEqual(new Set(ids));
  expect(await logContent(path)).toMatchObject({ ids, damage: [] });
}, 120_000);

test('fifty processes at once with fifty jobs: fifty jobs, fifty ids, and the file is sound', async () => {
  const { it, cron, path } = await opened();
  const ended = await crowd(it, (index) => cron.create(`job-${index}`, '--state', path));
  expect(outcomes(ended)).toEqual({ 'created 0': CROWD });
  expect(await cron.posted()).toBe(CROWD);
  const told = ended.map(({ said }) => said.cron_job_id);
  expect(new Set(told).size).toBe(CROWD);
  expect((await cron.jobs()).map(({ cron_job_id }) => cron_job_id).sort()).toEqual([...told].sort());
  const { ids, damage } = await logContent(path);
  expect({ ids: [...ids].sort(), damage }).toEqual({ ids: [...told].sort(), damage: [] });
}, 120_000);
