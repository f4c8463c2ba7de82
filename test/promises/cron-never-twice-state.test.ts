import { execFileSync, spawnSync } from 'node:child_process';
import {
  chmodSync,
  cpSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { type CronService, startCronService } from '../support/cron.ts';
import { type CronBehindGateway, startCronBehindGateway } from '../support/gateway.ts';
import { PROGRAM, shell, startFile } from '../support/program.ts';
import { errorIn, run, tempDirectory } from '../support/run.ts';
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
    ['a pipe', (path) => execFileSync('mkfifo', [path]), 'a device, a pipe, or a socket'],
    ['a link to a full device', (path) => symlinkSync('/dev/full', path), 'a device, a pipe, or a socket'],
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

  it.skipIf(MOUNTS === undefined)(
    'the disk is full, which doctor reports, or read-only (needs mounts of its own)',
    async () => {
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
      const { checks }: { checks: { name: string }[] } = JSON.parse(
        (await onDisk(fill, 'doctor', '-o', 'json')).stdout,
      );
      expect(checks.find(({ name }) => name === 'state')).toMatchObject({
        status: 'failed',
        hint: expect.stringContaining('space on its disk'),
      });
      const create = at.cron.create('daily');
      await expectStopped(at, await onDisk(fill, ...create), 'The disk is full');
      await expectStopped(at, await onDisk('mount -o remount,ro "$1"', ...create), 'read-only file system');
    },
  );

  it('its directory is read-only, or it belongs to somebody else', async () => {
    const at = await startCronService();
    // Root may write everywhere, so another user runs a readable copy of the program.
    const copy = tempDirectory();
    for (const part of ['bin', 'dist', 'package.json'])
      cpSync(join(PROGRAM, '../..', part), join(copy, part), { recursive: true });
    const as = isRoot ? ['setpriv', '--reuid=65534', '--regid=65534', '--clear-groups'] : ['env'];
    const create = (path: string) => {
      const [tool = '', ...args] = [...as, process.execPath, join(copy, 'bin/partnerctl.js')];
      return startFile(tool, [...args, ...at.cron.create('daily', '--state', path)], { env: at.service.env });
    };
    const closed = join(at.directory, 'closed');
    mkdirSync(closed, { mode: 0o555 });
    writeFileSync(at.path, '', { mode: isRoot ? 0o644 : 0o444 });
    for (const open of [at.directory, copy]) chmodSync(open, 0o755);
    const why = (culprit: string): string =>
      isRoot ? `${culprit} belongs to another user` : `permissions of ${culprit}`;
    await expectStopped(at, await create(join(closed, 'state.jsonl')), why(closed));
    await expectStopped(at, await create(at.path), why(at.path));
    expect(readFileSync(at.path, 'utf8')).toBe('');
  });
});

describe('a job that was created but cannot be recorded', () => {
  /** Creates the job in a file that accepts the reservation and nothing after it. */
  async function unrecorded(at: CronService, name: string) {
    writeFileSync(at.path, '\n'.repeat(250));
    const args = at.cron.create(name, '--state', at.path).map((word) => `'${word}'`);
    const ran = await shell(`ulimit -f 1; partnerctl ${args.join(' ')}`, { env: at.service.env });
    const [id = '', ...more] = await at.cron.idsOf(name);
    expect(more).toEqual([]);
    expect(ran.exitCode).toBe(1);
    expect(JSON.parse(ran.stdout)).toMatchObject({ cron_job_id: id, status: 'created' });
    expect(await jobRecordKinds(at.path)).toEqual(['reserved']);
    return { id, error: errorIn(ran.stderr) };
  }

  it('is reported with its id, and has a recovery record next to the file, which reconcile reads', async () => {
    const at = await startCronService();
    const { id, error } = await unrecorded(at, 'daily');
    expect(error.message).toContain(id);
    const kept = String(Object(error.details).recovery_file);
    expect(dirname(kept)).toBe(at.directory);
    const env = { ...at.service.env, PARTNER_STATE: at.path };
    expect((await run(at.cron.create('daily', '--ensure'), { env })).code).toBe(9);

    const reconciled = await run(['cron', 'reconcile', '-o', 'json'], { env });
    expect(reconciled).toMatchObject({ code: 0, stdout: '[]\n', stderr: expect.stringContaining(id) });
    expect((await readJobLog(at.path)).ids).toEqual([id]);
    expect(readdirSync(at.directory)).toEqual([basename(at.path)]);
    const again = await run(at.cron.create('daily', '--ensure'), { env });
    expect(again.json()).toMatchObject({ cron_job_id: id, status: 'exists' });
    expect(await at.cron.posted()).toBe(1);
  });

  it('is recorded by the command in the hint, as written', async () => {
    const at = await startCronService();
    // A name that a shell would split.
    const name = 'Mia & Ben, $HOME';
    const { id, error } = await unrecorded(at, name);
    const [line = ''] = /partnerctl cron adopt .*/.exec(error.hint ?? '') ?? [];
    const adopted = await shell(line, { env: at.service.env });
    expect(adopted.exitCode, adopted.stderr).toBe(0);
    expect((await readJobLog(at.path)).ids).toEqual([id]);
    const again = await run(at.cron.create(name, '--ensure', '--state', at.path), { env: at.service.env });
    expect(again.json()).toMatchObject({ cron_job_id: id, status: 'exists' });
    // The recovery record that was written says nothing new.
    expect((await run(['cron', 'reconcile', '--state', at.path], { env: at.service.env })).code).toBe(0);
    expect(new Set((await readJobLog(at.path)).ids)).toEqual(new Set([id]));
    expect(await at.cron.posted()).toBe(1);
  });

  /** Creates the job while `meanwhile` runs on this machine, between the service's work and its response. */
  async function createWhile({ cron, gateway, run }: CronBehindGateway, path: string, meanwhile: () => void) {
    gateway.onPost(
      gateway.passThen((response, { status, text }) => {
        meanwhile();
        response.writeHead(status, { 'content-type': 'application/json' }).end(text);
      }),
    );
    const ran = await run(cron.create('daily', '--state', path));
    gateway.onPost();
    return ran;
  }

  it('is reconciled once the file is back, if a directory took its place', async () => {
    const at = await startCronBehindGateway();
    const aside = join(at.directory, 'aside');
    const ran = await createWhile(at, at.path, () => {
      renameSync(at.path, aside);
      mkdirSync(at.path);
    });
    const [id = ''] = await at.cron.idsOf('daily');
    expect(ran.code).toBe(1);
    expect(ran.json()).toMatchObject({ cron_job_id: id, status: 'created' });
    expect(ran.stderr).toContain('It is a directory');
    rmSync(at.path, { recursive: true });
    renameSync(aside, at.path);
    expect((await at.run(['cron', 'reconcile'])).code).toBe(0);
    expect((await readJobLog(at.path)).ids).toEqual([id]);
  });

  it('has its recovery record elsewhere if the directory of the file is gone', async () => {
    const at = await startCronBehindGateway();
    const deep = join(at.directory, 'deep');
    const path = join(deep, 'state.jsonl');
    const aside = join(at.directory, 'aside');
    const ran = await createWhile(at, path, () => {
      renameSync(deep, aside);
      writeFileSync(deep, '');
    });
    const [id = ''] = await at.cron.idsOf('daily');
    expect(ran.code).toBe(1);
    const kept = String(Object(ran.error().details).recovery_file);
    rmSync(deep);
    renameSync(aside, deep);
    renameSync(kept, join(deep, basename(kept)));
    const reconciled = await at.run(['cron', 'reconcile', '--state', path]);
    expect({ code: reconciled.code, stderr: reconciled.stderr }).toMatchObject({
      code: 0,
      stderr: expect.stringContaining(id),
    });
    expect((await readJobLog(path)).ids).toEqual([id]);
  });
});
