import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { readStore } from '../../src/state/store.ts';
import { createCronAgent, type LogContent, readJobs } from '../helpers/cron.ts';
import {
  CALL_WAYS,
  canTrace,
  describeWay,
  type KilledRun,
  killEverywhere,
  type PrepareRun,
  WIRE_WAYS,
} from '../helpers/kill.ts';
import { run, tempDirectory } from '../helpers/run.ts';
import { service } from '../helpers/service.ts';
import { openAt, type StoreKind, storeKinds } from '../helpers/stores.ts';

/*
 * Kills `cron create` at one point after another, with the state in a database or in a repository. (cron-kill.sweep.ts has
 * the file.) The calls of the main thread do the network of a database.
 */

const CALLS = CALL_WAYS.filter(({ of, call }) => of === 'main' || (of === 'any' && call === 'connect'));
const WAYS = [...WIRE_WAYS, ...(canTrace() ? CALLS : [])].map((way) => [describeWay(way), way] as const);
const RECONCILE = ['cron', 'reconcile', '--assume-not-created', '--grace', '1ms', '-o', 'json'];

type Stage = 'nothing yet' | 'reserved' | 'reserved, and made' | 'made and recorded';

/** The address of an empty state of its own for a run: a table, or a branch. */
async function stateFor(kind: StoreKind, base: string, label: string): Promise<string> {
  const name = label.replaceAll('-', '_');
  const address = kind.name === 'PostgreSQL' ? `${base}&table=${name}` : base.replace(/#.*/, `#${name}`);
  const store = await openAt(address, tempDirectory());
  await store.init();
  await store.close();
  return address;
}

async function jobsIn(address: string): Promise<LogContent> {
  const store = await openAt(address, tempDirectory());
  try {
    return await readJobs(readStore(store));
  } finally {
    await store.close();
  }
}

for (const kind of storeKinds().filter(({ name }) => name === 'PostgreSQL')) {
  describe.skipIf(kind.missing)(`kill -9 of cron create, with the state in ${kind.name}`, () => {
    beforeAll(() => kind.start());
    afterAll(() => kind.stop());
    const stages = new Map<Stage, number>();

    test.each(WAYS)('at each %s', async (_, way) => {
      const it = await service();
      const cron = await createCronAgent(it);
      const base = await kind.fresh();
      const prepare: PrepareRun<Stage> = async (name, baseUrl) => {
        const address = await stateFor(kind, base, name);
        const env = { ...it.env, HOME: tempDirectory(), PARTNER_BASE_URL: baseUrl, PARTNER_STATE: address };
        const stageOf = async ({ stdout }: KilledRun): Promise<Stage> => {
          const [{ records, ids }, made] = [await jobsIn(address), await cron.idsOf(name)];
          // An id that was printed exists, and is recorded or will be by the next run.
          if (stdout.endsWith('}\n')) expect(made).toEqual([JSON.parse(stdout).cron_job_id]);
          if (ids.length > 0) return 'made and recorded';
          if (records.length === 0) return 'nothing yet';
          return made.length === 0 ? 'reserved' : 'reserved, and made';
        };
        const finish = async (): Promise<number> => {
          const next = async (args: readonly string[], codes: readonly number[]): Promise<number> => {
            const ran = await run(args, { env });
            expect(codes, ran.stderr).toContain(ran.code);
            return ran.code;
          };
          if ((await next(cron.create(name), [0, 5, 9])) === 9) {
            await next(RECONCILE, [0]);
            await next(cron.create(name, '--ensure'), [0]);
          }
          const ids = await cron.idsOf(name);
          expect(ids.length).toBeGreaterThan(0);
          const log = await jobsIn(address);
          expect(new Set(log.ids)).toEqual(new Set(ids));
          expect(log.damage).toEqual([]);
          for (const id of ids) await cron.remove(id);
          return ids.length - 1;
        };
        return { args: cron.create(name), env, path: '', stageOf, finish };
      };
      const target = { name: `cron create (${kind.name})`, baseUrl: it.env.PARTNER_BASE_URL ?? '', prepare };
      const counted = await killEverywhere(target, way);
      for (const [stage, count] of counted.stages) stages.set(stage, (stages.get(stage) ?? 0) + count);
    });

    test('comes in every stage that a creation has', () => {
      for (const stage of ['nothing yet', 'reserved', 'reserved, and made', 'made and recorded'] as const) {
        expect(stages.get(stage), stage).toBeGreaterThan(0);
      }
    });
  });
}
