import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { CRON_JOBS, type Cron, type JobAnswer, startCronService } from '../support/cron.ts';
import { IS_SAMPLE, type KilledRun, killEverywhere, killWays, type PrepareRun, stageCounter } from '../support/kill.ts';
import { fasterClock, run } from '../support/run.ts';
import { readJobLog } from '../support/state-file.ts';

const WAYS = killWays();

/** The job in the output of a run, if it got that far. */
function jobIn(stdout: string): JobAnswer | undefined {
  return stdout.startsWith('{') && stdout.endsWith('}\n') ? JSON.parse(stdout) : undefined;
}

function expectReportedIdExists(job: JobAnswer | undefined, ids: readonly string[]): void {
  if (job && ['created', 'exists', 'adopted'].includes(job.status)) expect(ids).toEqual([job.cron_job_id]);
}

const RECONCILE = ['cron', 'reconcile', '--assume-not-created', '-o', 'json'];

type CreateStage = 'nothing yet' | 'reserved' | 'reserved, and made' | 'made and recorded';
type ReconcileStage = 'open' | 'adopted' | 'released';

/** The exit code of a `cron create` after a run that had come so far. */
const NEXT_CODE: Readonly<Record<CreateStage | ReconcileStage, number>> = {
  'nothing yet': 0,
  // Its owner may still be alive: this becomes 9 a lease later.
  reserved: 5,
  'reserved, and made': 5,
  'made and recorded': 5,
  open: 9,
  adopted: 5,
  released: 0,
};

/** Creates the job of a killed run as a person would. @returns the duplicates of the job */
async function settle(
  cron: Cron,
  env: Record<string, string>,
  name: string,
  path: string,
  stage: CreateStage | ReconcileStage,
): Promise<number> {
  const next = async (args: readonly string[], code: number): Promise<void> => {
    // A reconcile may wait for a lease. For the others, a faster clock would make the reservation old.
    const more = args === RECONCILE ? { clock: fasterClock(60) } : {};
    const ran = await run([...args, '--state', path], { env, ...more });
    expect(ran.code, `${stage}: ${ran.stderr}`).toBe(code);
    expectReportedIdExists(jobIn(ran.stdout), await cron.idsOf(name));
  };
  await next(cron.create(name), NEXT_CODE[stage]);
  if (stage === 'open' || stage.startsWith('reserved')) {
    await next(RECONCILE, 0);
    await next(cron.create(name, '--ensure'), 0);
  }
  const ids = await cron.idsOf(name);
  expect(ids.length).toBeGreaterThan(0);
  const log = await readJobLog(path);
  expect(new Set(log.ids)).toEqual(new Set(ids));
  expect(log.damage.filter((why) => !why.startsWith('not a whole record'))).toEqual([]);
  for (const id of ids) await cron.remove(id);
  return ids.length - 1;
}

/** Runs one task at a time, because a fault affects the entire service. */
function createTurns(): <Result>(act: () => Promise<Result>) => Promise<Result> {
  let last: Promise<unknown> = Promise.resolve();
  return (act) => {
    const mine = last.then(act);
    last = mine.catch(() => undefined);
    return mine;
  };
}

describe('kill -9 of cron create leaves a job that is created once,', () => {
  const stages = stageCounter<CreateStage>(2);

  test.each(WAYS)('at each %s', async (_, way) => {
    const { service, cron, directory } = await startCronService();
    const prepare: PrepareRun<CreateStage> = async (name, baseUrl) => {
      const path = join(directory, `${name}.jsonl`);
      const env = { ...service.env, PARTNER_BASE_URL: baseUrl };
      const stageOf = async ({ stdout }: KilledRun) => {
        const { records, ids } = await readJobLog(path);
        const made = await cron.idsOf(name);
        expectReportedIdExists(jobIn(stdout), made);
        if (stdout !== '') expect(ids).toHaveLength(1);
        if (ids.length > 0) return 'made and recorded';
        if (records.length === 0) return 'nothing yet';
        return made.length === 0 ? 'reserved' : 'reserved, and made';
      };
      const args = [...cron.create(name), '--state', path];
      return { args, env, path, stageOf, finish: (stage) => settle(cron, env, name, path, stage) };
    };
    stages.add(
      (await killEverywhere({ name: 'cron create', baseUrl: service.env.PARTNER_BASE_URL ?? '', prepare }, way)).stages,
    );
  });

  test.skipIf(IS_SAMPLE)('at every stage of a creation', () => {
    stages.expectEach('nothing yet', 'reserved', 'reserved, and made', 'made and recorded');
  });
});

describe('kill -9 of cron reconcile leaves a job that is created once,', () => {
  const stages = stageCounter<ReconcileStage>(2);

  // A job that the list does not show takes each run a lease: only its requests are worth that, and not in a sample.
  const hasRoomFor = (way: (typeof WAYS)[number][1], made: boolean): boolean => made || ('wire' in way && !IS_SAMPLE);
  const cases = WAYS.flatMap(([at, way]) =>
    [true, false]
      .filter((made) => hasRoomFor(way, made))
      .map((made) => [at, made ? 'made' : 'lost', way, made] as const),
  );

  test.each(cases)('at each %s, of a job that was %s', async (_, what, way, made) => {
    const { service, cron, directory } = await startCronService();
    const alone = createTurns();
    // With the list, the job would be adopted at once.
    const blind = await service.createToken({ scopes: ['cron_jobs.write'] });
    const prepare: PrepareRun<ReconcileStage> = async (label, baseUrl) => {
      const name = `${what}-${label}`;
      const path = join(directory, `${name}.jsonl`);
      const env = { ...service.env, PARTNER_BASE_URL: baseUrl };
      const lost = await alone(async () => {
        await service.faults({ kind: 'reset', stage: made ? 'after' : 'before', on: `POST ${CRON_JOBS}` });
        const ran = await run([...cron.create(name), '--state', path], { env: { ...env, PARTNER_TOKEN: blind } });
        await service.faults();
        return ran;
      });
      expect(lost.code).toBe(9);
      const stageOf = async () => {
        const kinds = (await readJobLog(path)).records.map(({ kind }) => kind);
        if (kinds.includes('created')) return 'adopted';
        return kinds.includes('released') ? 'released' : 'open';
      };
      const args = [...RECONCILE, '--state', path];
      return { args, env, path, stageOf, finish: (stage) => alone(() => settle(cron, env, name, path, stage)) };
    };
    const target = { name: `cron reconcile, job ${what}`, baseUrl: service.env.PARTNER_BASE_URL ?? '', prepare };
    stages.add((await killEverywhere(target, way)).stages);
  });

  test.skipIf(IS_SAMPLE)('at every stage of a reconciliation', () => {
    stages.expectEach('open', 'adopted', 'released');
  });
});
