import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import pLimit from 'p-limit';
import { afterAll, describe, expect, test } from 'vitest';
import { CRON_JOBS, type Cron, createCronAgent, type JobAnswer } from '../support/cron.ts';
import {
  CALL_WAYS,
  type CallWay,
  canTrace,
  IS_SAMPLE,
  type KilledRun,
  killWays,
  type PrepareRun,
  processesUsing,
  testKills,
  type Way,
} from '../support/kill.ts';
import { start } from '../support/program.ts';
import { fasterClock, run, tempDirectory } from '../support/run.ts';
import { type Service, service } from '../support/service.ts';
import { jobRecordKinds, readJobLog } from '../support/state-file.ts';
import { prepared, type StoreKind, storeKinds } from '../support/stores.ts';

/* Kills `cron create` and `cron reconcile` at one point after another, and then creates the job as people would. */

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

const RECONCILE = ['cron', 'reconcile', '--assume-not-created', '-o', 'json'];

/** An id that a run reported exists. */
function expectReportedIdExists(stdout: string, ids: readonly string[]): void {
  const job: JobAnswer | undefined = stdout.startsWith('{') && stdout.endsWith('}\n') ? JSON.parse(stdout) : undefined;
  if (job && ['created', 'exists', 'adopted'].includes(job.status)) expect(ids).toEqual([job.cron_job_id]);
}

/** Returns a function that empties a state for one run: a file, a table, or a branch. It returns the address. */
async function statesOf(kind: StoreKind): Promise<(label: string) => Promise<string>> {
  const base = await kind.fresh();
  return async (label) => {
    const name = label.replaceAll('-', '_');
    if (kind.name === 'a file') return join(tempDirectory(), `${name}.jsonl`);
    return await prepared(kind.name === 'PostgreSQL' ? `${base}&table=${name}` : base.replace(/#.*/, `#${name}`));
  };
}

/** Creates the job of a killed run: first on another machine, then on that of the run. @returns the duplicates */
async function settle(
  cron: Cron,
  name: string,
  env: Readonly<Record<string, string>>,
  stage: CreateStage | ReconcileStage,
): Promise<number> {
  const { PARTNER_STATE: address = '', HOME: mine = '' } = env;
  const next = async (args: readonly string[], HOME: string, code: number): Promise<void> => {
    // A reconcile may wait for a lease. For the others, a faster clock would make the reservation old.
    const ran = await run(args, { env: { ...env, HOME }, ...(args === RECONCILE && { clock: fasterClock(60) }) });
    if (ran.code === 8 && ran.stderr.includes('.lock')) {
      // A killed git server leaves its lock behind.
      await rm(`${fileURLToPath(address.replace(/^git\+|#.*$/g, ''))}/refs/heads/${address.split('#')[1]}.lock`);
      return await next(args, HOME, code);
    }
    expect(ran.code, `${stage}: ${ran.stderr}`).toBe(code);
    expectReportedIdExists(ran.stdout, await cron.idsOf(name));
  };
  await next(cron.create(name), tempDirectory(), NEXT_CODE[stage]);
  if (stage === 'open' || stage.startsWith('reserved')) await next(RECONCILE, mine, 0);
  await next(cron.create(name, '--ensure'), mine, 0);
  const ids = await cron.idsOf(name);
  expect(ids.length).toBeGreaterThan(0);
  const log = await readJobLog(address);
  expect(new Set(log.ids)).toEqual(new Set(ids));
  expect(log.damage.filter((why) => !why.startsWith('not a whole record'))).toEqual([]);
  for (const id of ids) await cron.remove(id);
  await expect.poll(() => processesUsing(mine)).toEqual([]);
  return ids.length - 1;
}

/** Prepares the `cron create` of a machine that has not used the state before. */
async function createsOf(sandbox: Service, kind: StoreKind): Promise<PrepareRun<CreateStage>> {
  const [cron, stateFor] = [await createCronAgent(sandbox), await statesOf(kind)];
  return async (name, given) => {
    const path = await stateFor(name);
    const env = { ...given, HOME: tempDirectory(), PARTNER_STATE: path };
    const stageOf = async ({ stdout }: KilledRun): Promise<CreateStage> => {
      // A git command outlives its process, and may still push.
      if (kind.name === 'git') await expect.poll(() => processesUsing(`heads/${path.split('#')[1]} `)).toEqual([]);
      const [{ records, ids }, made] = [await readJobLog(path), await cron.idsOf(name)];
      expectReportedIdExists(stdout, made);
      if (stdout !== '') expect(ids).toHaveLength(1);
      if (ids.length > 0) return 'made and recorded';
      if (records.length === 0) return 'nothing yet';
      // Without git, the command could not see its reservation, sent nothing, and gave it up.
      if (records.at(-1)?.kind === 'released') {
        expect(made).toEqual([]);
        return 'nothing yet';
      }
      return made.length === 0 ? 'reserved' : 'reserved, and made';
    };
    return { args: cron.create(name), env, stageOf, finish: (stage) => settle(cron, name, env, stage) };
  };
}

/** What the calls of a command with each kind of state are: the main thread does the network of a database, and starts git. */
function waysOf({ name }: StoreKind): (readonly [string, Way])[] {
  if (name === 'a file') return killWays();
  if (name === 'git') {
    const ways = killWays(['clone', 'wait4', 'write', 'writev'].map((call): CallWay => ({ call, of: 'main' })));
    // A run with git takes seconds, and these reach every stage that the others do.
    return ways.filter(([what]) => !IS_SAMPLE || ['request processed', 'write (main)'].includes(what));
  }
  return killWays(CALL_WAYS.filter(({ of, call }) => of === 'main' || (of === 'any' && call === 'connect')));
}

for (const kind of storeKinds()) {
  describe.skipIf(kind.missing)(`With the state in ${kind.name},`, () => {
    afterAll(() => kind.stop());
    testKills({
      name: 'cron create',
      title: 'leaves no job twice, and none that the state does not explain',
      stages: ['nothing yet', 'reserved', 'reserved, and made', 'made and recorded'],
      ways: waysOf(kind),
      prepareOn: (sandbox) => createsOf(sandbox, kind),
    });
  });
}

/** Calls of git that change files or send something to another process. */
const CALLS = 'write,link,rename,unlink,mkdir,rmdir,fsync';

/** A system call of a git command. */
interface GitPoint {
  /** The number of the git command in the run, from 1. */
  readonly command: number;
  readonly call: string;
  /** Counts the calls with this name in a process. */
  readonly nth: number;
}

type Run = Pick<Awaited<ReturnType<PrepareRun<CreateStage>>>, 'args' | 'env'>;

/** Starts a command for which the `git` in the PATH is a script of sh. `$n` is the number of the git command. */
async function runWithGit({ args, env }: Run, script: (git: string) => string) {
  const directory = tempDirectory();
  const git = execFileSync('sh', ['-c', 'command -v git'], { encoding: 'utf8' }).trim();
  const count = `echo >> '${directory}/count'\nn=$(($(wc -l < '${directory}/count')))`;
  writeFileSync(join(directory, 'git'), `#!/bin/sh\n${count}\n${script(git)}\n`, { mode: 0o755 });
  return await start(args, { env: { ...env, PATH: `${directory}:${process.env.PATH}` } });
}

/** The calls of a git command. @param log the output of strace: `<pid> <call>(…` for each */
function pointsIn(command: number, log: string): GitPoint[] {
  const counts = new Map<string, number>();
  const points = new Map<string, GitPoint>();
  for (const [, pid, call = ''] of log.matchAll(/^(\d+) +(\w+)\(/gm)) {
    const nth = (counts.get(`${pid} ${call}`) ?? 0) + 1;
    counts.set(`${pid} ${call}`, nth);
    points.set(`${call} ${nth}`, { command, call, nth });
  }
  return [...points.values()];
}

/** Runs a command to its end. @returns the points of its git commands, in order */
async function findGitPoints(run: Run): Promise<GitPoint[]> {
  const logs = tempDirectory();
  await runWithGit(run, (git) => `exec strace -f -qq -o '${logs}/'$n -e trace=${CALLS} '${git}' "$@"`);
  const commands = readdirSync(logs)
    .map(Number)
    .sort((one, other) => one - other);
  return commands.flatMap((command) => pointsIn(command, readFileSync(join(logs, String(command)), 'utf8')));
}

/** Runs a command, and kills one of its git commands and immediately the process that started it, as if the machine failed. */
async function killGitAt(run: Run, { command, call, nth }: GitPoint) {
  const inject = `-qq -o /dev/null -e trace=${call} -e inject=${call}:signal=KILL:when=${nth}`;
  return await runWithGit(
    run,
    (git) => `[ $n = ${command} ] || exec '${git}' "$@"
strace ${inject} '${git}' "$@"
code=$?
[ $code != 137 ] || kill -9 $PPID
exit $code`,
  );
}

const git = storeKinds().find(({ name }) => name === 'git');

describe.skipIf(git === undefined || git.missing || !canTrace())('A cron create whose machine fails', () => {
  test('leaves no job twice: at each call of git that changes something', async () => {
    if (!git) throw new Error('There is no git.');
    const sandbox = await service();
    const prepare = await createsOf(sandbox, git);
    const reference = await prepare('reference', sandbox.env);
    const all = await findGitPoints(reference);
    expect(await reference.finish('made and recorded')).toBe(0);
    const every = Number(process.env.KILL_EVERY ?? 1);
    const points = all.filter((_, index) => index % every === 0);
    const stages = new Set<CreateStage>();
    const killOne = async (point: GitPoint): Promise<void> => {
      const { command, call, nth } = point;
      const run = await prepare(`git-${command}-${call}-${nth}`, sandbox.env);
      const { exitCode, signal, stdout, stderr } = await killGitAt(run, point);
      const isKilled = signal === 'SIGKILL';
      if (!isKilled) expect(exitCode, stderr).toBe(0);
      const stage = await run.stageOf({ isKilled, stdout, stderr });
      expect(await run.finish(stage)).toBe(0);
      stages.add(stage);
    };
    const lane = async (): Promise<void> => {
      for (let point = points.shift(); point; point = points.shift()) await killOne(point);
    };
    await Promise.all([lane(), lane()]);
    if (every <= 4) expect([...stages]).toEqual(expect.arrayContaining(['nothing yet', 'made and recorded']));
  });
});

// With a job that the list does not show, each run takes a lease: only its requests and records are worth that, and not in a sample.
const LOST_WAYS = killWays().filter(
  ([, way]) => !IS_SAMPLE && ('wire' in way || (way.call === 'fsync' && way.of === 'file')),
);

for (const [what, stage, ways] of [
  ['made', 'after', killWays()],
  ['lost', 'before', LOST_WAYS],
] as const) {
  testKills<ReconcileStage>({
    name: `cron reconcile of a job that was ${what}`,
    title: 'leaves a job that is created once',
    stages: ['open', what === 'made' ? 'adopted' : 'released'],
    ways,
    prepareOn: async (sandbox) => {
      const cron = await createCronAgent(sandbox);
      // One at a time, because a fault affects the entire service.
      const alone = pLimit(1);
      // With the list, the job would be adopted at once.
      const blind = await sandbox.createToken({ scopes: ['cron_jobs.write'] });
      return async (name, env) => {
        const lost = await alone(async () => {
          await sandbox.faults({ kind: 'reset', stage, on: `POST ${CRON_JOBS}` });
          const ran = await run(cron.create(name), { env: { ...env, PARTNER_TOKEN: blind } });
          await sandbox.faults();
          return ran;
        });
        expect(lost.code).toBe(9);
        const stageOf = async (): Promise<ReconcileStage> => {
          const kinds = await jobRecordKinds(env.PARTNER_STATE ?? '');
          if (kinds.includes('created')) return 'adopted';
          return kinds.includes('released') ? 'released' : 'open';
        };
        return { args: RECONCILE, env, stageOf, finish: (reached) => alone(() => settle(cron, name, env, reached)) };
      };
    },
  });
}
