import { rm } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Cron, createCronAgent } from '../support/cron.ts';
import { findGitPoints, type GitPoint, type GitVictim, killGitAt, processesUsing } from '../support/git-kill.ts';
import {
  CALL_WAYS,
  type CallWay,
  canTrace,
  IS_SAMPLE,
  type KilledRun,
  killEverywhere,
  killWays,
  type PrepareRun,
  stageCounter,
  type Way,
} from '../support/kill.ts';
import { fasterClock, run, tempDirectory } from '../support/run.ts';
import { type Service, service } from '../support/service.ts';
import { readJobLog } from '../support/state-file.ts';
import { prepared, type StoreKind, storeKinds } from '../support/stores.ts';

/*
 * Kills `cron create` at one point after another, with the state in a database or in a repository. (cron-kill.slow.ts covers the
 * file.) The calls of the main thread do the network of a database, and start git. KILL_EVERY=4 takes a quarter of them.
 */

const CALLS = CALL_WAYS.filter(({ of, call }) => of === 'main' || (of === 'any' && call === 'connect'));
/** The start and the end of each git command, and what the main thread writes. */
const CALLS_FOR_GIT: readonly CallWay[] = ['clone', 'wait4', 'write', 'writev'].map((call) => ({ call, of: 'main' }));
const RECONCILE = ['cron', 'reconcile', '--assume-not-created', '-o', 'json'];

type Stage = 'nothing yet' | 'reserved' | 'reserved, and made' | 'made and recorded';

/** The exit code of a `cron create` on another machine after a run that had come so far. */
const NEXT_CODE: Readonly<Record<Stage, number>> = {
  'nothing yet': 0,
  // Its owner may still be alive.
  reserved: 5,
  'reserved, and made': 5,
  'made and recorded': 5,
};

function waysOf({ name }: StoreKind): (readonly [string, Way])[] {
  const calls = name === 'git' ? CALLS_FOR_GIT : CALLS;
  return killWays(calls);
}

/** The URL of an empty state for one run: a table, or a branch. */
async function stateFor(kind: StoreKind, base: string, label: string): Promise<string> {
  const name = label.replaceAll('-', '_');
  return await prepared(kind.name === 'PostgreSQL' ? `${base}&table=${name}` : base.replace(/#.*/, `#${name}`));
}

interface Setup {
  readonly sandbox: Service;
  readonly cron: Cron;
  readonly kind: StoreKind;
  /** The address of the server. */
  readonly base: string;
}

async function setUp(kind: StoreKind): Promise<Setup> {
  const sandbox = await service();
  return { sandbox, cron: await createCronAgent(sandbox), kind, base: await kind.fresh() };
}

/** Continues as people would, first on another machine, then on that of the killed run. @returns the duplicates */
async function settle(
  cron: Cron,
  name: string,
  address: string,
  env: Record<string, string>,
  stage: Stage,
): Promise<number> {
  const next = async (args: readonly string[], HOME: string, code: number): Promise<void> => {
    // A lease takes three seconds.
    const ran = await run(args, { env: { ...env, HOME }, clock: fasterClock(20) });
    if (ran.code === 8 && ran.stderr.includes('.lock')) {
      // A killed git server leaves its lock behind.
      await rm(`${fileURLToPath(address.replace(/^git\+|#.*$/g, ''))}/refs/heads/${address.split('#')[1]}.lock`);
      return await next(args, HOME, code);
    }
    expect(ran.code, `${stage}: ${ran.stderr}`).toBe(code);
  };
  const [mine = '', other] = [env.HOME, tempDirectory()];
  await next(cron.create(name), other, NEXT_CODE[stage]);
  if (stage.startsWith('reserved')) await next(RECONCILE, mine, 0);
  await next(cron.create(name, '--ensure'), mine, 0);
  const ids = await cron.idsOf(name);
  expect(ids.length).toBeGreaterThan(0);
  const log = await readJobLog(address);
  expect(new Set(log.ids)).toEqual(new Set(ids));
  expect(log.damage).toEqual([]);
  for (const id of ids) await cron.remove(id);
  await expect.poll(() => processesUsing(mine)).toEqual([]);
  return ids.length - 1;
}

/** Prepares the `cron create` of a machine that has not used the state before. */
function createsOf({ sandbox, cron, kind, base }: Setup): PrepareRun<Stage> {
  return async (name, baseUrl) => {
    const address = await stateFor(kind, base, name);
    const env = { ...sandbox.env, HOME: tempDirectory(), PARTNER_BASE_URL: baseUrl, PARTNER_STATE: address };
    const stageOf = async ({ stdout }: KilledRun): Promise<Stage> => {
      const [{ records, ids }, made] = [await readJobLog(address), await cron.idsOf(name)];
      // An id that was printed exists.
      const { cron_job_id: id } = stdout.endsWith('}\n') ? JSON.parse(stdout) : {};
      if (id) expect(made).toEqual([id]);
      if (ids.length > 0) return 'made and recorded';
      if (records.length === 0) return 'nothing yet';
      // Without git, the command could not see its reservation, sent nothing, and gave it up.
      if (records.at(-1)?.kind === 'released') {
        expect(made).toEqual([]);
        return 'nothing yet';
      }
      return made.length === 0 ? 'reserved' : 'reserved, and made';
    };
    return {
      args: cron.create(name),
      env,
      path: '',
      stageOf,
      finish: (stage) => settle(cron, name, address, env, stage),
    };
  };
}

for (const kind of storeKinds().filter(({ name }) => name !== 'a file')) {
  describe.skipIf(kind.missing)(`A cron create that is killed, with the state in ${kind.name},`, () => {
    beforeAll(() => kind.start());
    afterAll(() => kind.stop());
    const stages = stageCounter<Stage>();

    test.each(waysOf(kind))(
      'leaves no job twice, and none that the state does not explain: at each %s',
      async (_, way) => {
        const here = await setUp(kind);
        const { env } = here.sandbox;
        const name = `cron create (${kind.name})`;
        const target = { name, baseUrl: env.PARTNER_BASE_URL ?? '', prepare: createsOf(here) };
        stages.add((await killEverywhere(target, way)).stages);
      },
    );

    test.skipIf(IS_SAMPLE)('is killed at every stage of a creation', () => {
      stages.expectEach('nothing yet', 'reserved', 'reserved, and made', 'made and recorded');
    });
  });
}

const git = storeKinds().find(({ name }) => name === 'git');

describe.skipIf(git === undefined || git.missing || !canTrace())('A cron create whose git is killed', () => {
  /** Kills one run. @returns how far it had come */
  async function killOne(here: Setup, point: GitPoint, victim: GitVictim): Promise<Stage> {
    const { command, call, nth } = point;
    const prepared = await createsOf(here)(
      `${victim}-${command}-${call}-${nth}`,
      here.sandbox.env.PARTNER_BASE_URL ?? '',
    );
    const { exitCode, signal, stdout, stderr } = await killGitAt(prepared, point, victim);
    const isKilled = signal === 'SIGKILL';
    // Without git, a command says that the state is unavailable before the job is created (8) or after it (9), or that a git
    // command failed on this machine (1).
    if (!isKilled) expect([0, 1, 8, 9], stderr).toContain(exitCode);
    const stage = await prepared.stageOf({ isKilled, stdout, stderr });
    if (exitCode === 0) expect(stage).toBe('made and recorded');
    if (exitCode === 8) expect(stage, stderr).not.toMatch(/made/);
    expect(await prepared.finish(stage)).toBe(0);
    return stage;
  }

  test.each(['machine', 'git'] as const)(
    'leaves no job twice: at each call that changes something, with the victim %s',
    async (victim) => {
      if (!git) throw new Error('There is no git.');
      const here = await setUp(git);
      const reference = await createsOf(here)('reference', here.sandbox.env.PARTNER_BASE_URL ?? '');
      const all = await findGitPoints(reference);
      expect(await reference.finish('made and recorded')).toBe(0);
      const every = Number(process.env.KILL_EVERY ?? 1);
      // Each point has two victims.
      const step = every === 1 ? 1 : 2 * every;
      const points = all.filter((_, index) => index % step === 0);
      const stages = new Map<Stage, number>();
      const lane = async (): Promise<void> => {
        for (let point = points.shift(); point; point = points.shift()) {
          const stage = await killOne(here, point, victim);
          stages.set(stage, (stages.get(stage) ?? 0) + 1);
        }
      };
      await Promise.all([lane(), lane()]);
      process.stdout.write(
        `cron create: killed ${victim} at calls of git: ${JSON.stringify(Object.fromEntries(stages))}\n`,
      );
      if (every > 4) return;
      for (const stage of ['nothing yet', 'made and recorded'] as const)
        expect(stages.get(stage), stage).toBeGreaterThan(0);
    },
  );
});
