import { execFileSync, spawnSync } from 'node:child_process';
import { chmodSync, cpSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { type CronService, startCronService } from '../support/cron.ts';
import { PROGRAM, shell, startFile } from '../support/program.ts';
import { errorIn, fastClock, run, tempDirectory } from '../support/run.ts';
import { manifest, write } from '../support/service.ts';
import { jobRecordKinds, readJobLog } from '../support/state-file.ts';

/* A state file that cannot be written: before the POST, nothing is sent; after it, the id is not lost. */

const isRoot = process.getuid?.() === 0;

/** The arguments that give a process its own mounts; undefined if that is not allowed. */
const MOUNTS = [['-m'], ['-rm']].find(
  (flags) => spawnSync('unshare', [...flags, 'mount', '-t', 'tmpfs', 'tmpfs', '/mnt']).status === 0,
);

interface Ran {
  readonly exitCode?: number | undefined;
  readonly stderr: string;
}

async function expectStopped({ cron }: CronService, ran: Ran, why: string): Promise<void> {
  expect(ran.exitCode).toBe(1);
  expect(ran.stderr).toContain(why);
  expect(ran.stderr).toContain('--state');
  expect(await cron.posted()).toBe(0);
  expect(await cron.jobs()).toEqual([]);
}

describe('nothing is posted if the state file cannot be written because', () => {
  it.each<[string, (path: string) => unknown, string]>([
    ['a directory', (path) => mkdirSync(path), 'It is a directory'],
    ['a pipe', (path) => execFileSync('mkfifo', [path]), 'a device, or a pipe'],
    ['a link to a full device', (path) => symlinkSync('/dev/full', path), 'a device, or a pipe'],
  ])('it is %s', async (_, make, why) => {
    const at = await startCronService();
    make(at.path);
    const { code, stderr } = await run(at.cron.create('daily', '--state', at.path), { env: at.service.env });
    await expectStopped(at, { exitCode: code, stderr }, why);
  });

  it('it has reached the largest size allowed', async () => {
    const at = await startCronService();
    writeFileSync(at.path, '\n'.repeat(1_000));
    const line = `ulimit -f 1; partnerctl ${at.cron
      .create('daily', '--state', at.path)
      .map((word) => `'${word}'`)
      .join(' ')}`;
    await expectStopped(at, await shell(line, { env: at.service.env }), 'bytes were written');
  });

  it.skipIf(MOUNTS === undefined)('the disk is full, or read-only (needs mounts of its own)', async () => {
    const at = await startCronService();
    /** Runs the program with the directory of the state on a small disk of its own. */
    const onDisk = (prepare: string, ...args: string[]) => {
      const script = `mount -t tmpfs -o size=16k tmpfs "$1" && ${prepare} && shift && exec "$@"`;
      const program = [process.execPath, PROGRAM, ...args, '--state', at.path];
      return startFile('unshare', [...(MOUNTS ?? []), 'sh', '-c', script, 'sh', at.directory, ...program], {
        env: at.service.env,
      });
    };
    const fill = '{ head -c 20k /dev/zero > "$1/all" 2>/dev/null || true; }';
    const create = at.cron.create('daily');
    await expectStopped(at, await onDisk(fill, ...create), 'The disk is full');
    await expectStopped(at, await onDisk('mount -o remount,ro "$1"', ...create), 'The file system is read-only');
  });

  it('its directory is read-only, or it belongs to somebody else', async () => {
    const at = await startCronService();
    // Root may write everywhere, so another user runs a readable copy of the program.
    const copy = tempDirectory();
    for (const part of ['bin', 'dist', 'package.json'])
      cpSync(join(PROGRAM, '../..', part), join(copy, part), { recursive: true });
    const as = isRoot ? ['setpriv', '--reuid=65534', '--regid=65534', '--clear-groups'] : ['env'];
    const [tool = '', ...program] = [...as, process.execPath, join(copy, 'bin/partnerctl.js')];
    const closed = join(at.directory, 'closed');
    mkdirSync(closed, { mode: 0o555 });
    writeFileSync(at.path, '', { mode: isRoot ? 0o644 : 0o444 });
    const provision = ['provision', write('new.yaml', manifest('new'), at.directory)];
    for (const open of [at.directory, copy]) chmodSync(open, 0o755);
    const spaces = await at.service.spaces();
    for (const args of [
      [...provision, '--state', join(closed, 'state.jsonl')],
      at.cron.create('daily', '--state', at.path),
    ])
      await expectStopped(
        at,
        await startFile(tool, [...program, ...args], { env: at.service.env }),
        'Permission denied.',
      );
    expect(await at.service.spaces()).toEqual(spaces);
    expect(readFileSync(at.path, 'utf8')).toBe('');
  });
});

it('a job that was created but cannot be recorded is reported with its id, blocks its name, and is recorded by the command in the hint, as written', async () => {
  const at = await startCronService();
  // A name that a shell would split.
  const name = 'Mia & Ben, $HOME';
  // The file accepts the reservation and nothing after it.
  writeFileSync(at.path, '\n'.repeat(250));
  const args = at.cron.create(name, '--state', at.path).map((word) => `'${word}'`);
  const ran = await shell(`ulimit -f 1; partnerctl ${args.join(' ')}`, { env: at.service.env });
  const ids = await at.cron.idsOf(name);
  expect(ids).toHaveLength(1);
  expect(ran.exitCode).toBe(1);
  expect(JSON.parse(ran.stdout)).toMatchObject({ cron_job_id: ids[0], status: 'created' });
  expect(await jobRecordKinds(at.path)).toEqual(['reserved']);
  const { message, hint } = errorIn(ran.stderr);
  expect(message).toContain(ids[0]);

  const env = { ...at.service.env, PARTNER_STATE: at.path };
  const again = (argv: readonly string[]) => run(argv, { env, clock: fastClock() });
  expect((await again(at.cron.create(name, '--ensure'))).code).toBe(9);
  const [line = ''] = /partnerctl cron adopt .*/.exec(hint ?? '') ?? [];
  // The shell splits the words; the command waits for a lease.
  const { stdout } = await shell(`printf '%s\\n' ${line}`);
  const adopted = await again(stdout.trim().split('\n').slice(1));
  expect(adopted.code, adopted.stderr).toBe(0);
  expect((await readJobLog(at.path)).ids).toEqual(ids);
  const found = await again(at.cron.create(name, '--ensure'));
  expect(found.json()).toMatchObject({ cron_job_id: ids[0], status: 'exists' });
  expect((await again(['cron', 'reconcile'])).code).toBe(0);
  expect(await at.cron.posted()).toBe(1);
});
