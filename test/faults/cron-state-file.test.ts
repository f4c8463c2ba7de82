import { execFileSync, spawnSync } from 'node:child_process';
import {
  appendFileSync,
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
import { encodeRecord } from '../../src/state/record.ts';
import { partnerctl } from '../support/api-client.ts';
import { type CreatedJob, type Cron, createArgs, createCronAgent, readJobLog } from '../support/cron.ts';
import { PROGRAM, shell, start, startFile } from '../support/program.ts';
import { run, tempDirectory } from '../support/run.ts';
import { type Service, service } from '../support/service.ts';
import { type Gateway, startGateway } from './gateway.ts';

const isRoot = process.getuid?.() === 0;

/** The arguments that give a process its own mounts; undefined if that is not allowed. */
const MOUNTS = [['-m'], ['-rm']].find(
  (flags) => spawnSync('unshare', [...flags, 'mount', '-t', 'tmpfs', 'tmpfs', '/mnt']).status === 0,
);

interface Setup {
  readonly it: Service;
  readonly cron: Cron;
  readonly directory: string;
  /** The path of the state file. */
  readonly path: string;
}

async function setUp(): Promise<Setup> {
  const it = await service();
  const directory = tempDirectory();
  return { it, cron: await createCronAgent(it), directory, path: join(directory, 'state.jsonl') };
}

interface Ran {
  readonly exitCode?: number | undefined;
  readonly stderr: string;
}

interface Shown {
  readonly message: string;
  readonly hint: string;
  readonly details: { readonly cron_job_id?: string; readonly recovery_file?: string };
}

function errorOf({ stderr }: Ran): Shown {
  return JSON.parse(stderr.trimEnd().split('\n').at(-1) ?? '').error;
}

async function expectStopped({ cron }: Setup, ran: Ran, why: string): Promise<void> {
  expect(ran.exitCode).toBe(1);
  expect(ran.stderr).toContain(why);
  expect(ran.stderr).toContain('--state');
  expect(await cron.posted()).toBe(0);
  expect(await cron.jobs()).toEqual([]);
}

/** An unrelated record in a line of this many bytes. */
function filler(bytes: number): string {
  const line = (fill: string): string => encodeRecord({ type: 'note', at: '2026-01-02T03:04:05.000Z', id: 'f', fill });
  return `${line('x'.repeat(bytes - line('').length - 1))}\n`;
}

describe('nothing is posted if the state file cannot be written because', () => {
  it.each<[string, (path: string) => unknown, string]>([
    ['a directory', (path) => mkdirSync(path), 'It is a directory'],
    ['a pipe', (path) => execFileSync('mkfifo', [path]), 'a device, a pipe, or a socket'],
    ['a link to a full device', (path) => symlinkSync('/dev/full', path), 'a device, a pipe, or a socket'],
  ])('it is %s', async (_, make, why) => {
    const at = await setUp();
    make(at.path);
    const { code, stderr } = await run(at.cron.create('daily', '--state', at.path), { env: at.it.env });
    await expectStopped(at, { exitCode: code, stderr }, why);
  });

  it('it has reached the largest size allowed', async () => {
    const at = await setUp();
    writeFileSync(at.path, filler(1_000));
    const line = `ulimit -f 1; partnerctl ${at.cron
      .create('daily', '--state', at.path)
      .map((word) => `'${word}'`)
      .join(' ')}`;
    await expectStopped(at, await shell(line, { env: at.it.env }), 'bytes were written');
  });

  it.skipIf(MOUNTS === undefined)('the disk is full, or read-only (needs mounts of its own)', async () => {
    const at = await setUp();
    const create = (before: string) =>
      startFile(
        'unshare',
        [
          ...(MOUNTS ?? []),
          'sh',
          '-c',
          `mount -t tmpfs -o size=16k tmpfs "$1" && ${before} && shift && exec "$@"`,
          'sh',
          at.directory,
          process.execPath,
          PROGRAM,
          ...at.cron.create('daily', '--state', at.path),
        ],
        { env: at.it.env },
      );
    await expectStopped(
      at,
      await create('{ head -c 20k /dev/zero > "$1/all" 2>/dev/null || true; }'),
      'The disk is full',
    );
    await expectStopped(at, await create('mount -o remount,ro "$1"'), 'read-only file system');
  });

  it.skipIf(MOUNTS === undefined)('the disk is full, as doctor says before (needs mounts of its own)', async () => {
    const directory = tempDirectory();
    const script = `mount -t tmpfs -o size=16k tmpfs "$1" && { head -c 20k /dev/zero > "$1/all" 2>/dev/null || true; } && shift && exec "$@"`;
    const doctor = [process.execPath, PROGRAM, 'doctor', '--state', join(directory, 'state.jsonl'), '-o', 'json'];
    const { stdout } = await startFile('unshare', [...(MOUNTS ?? []), 'sh', '-c', script, 'sh', directory, ...doctor]);
    const { checks }: { checks: { name: string }[] } = JSON.parse(stdout);
    expect(checks.find(({ name }) => name === 'state')).toMatchObject({
      status: 'failed',
      hint: expect.stringContaining('space on its disk'),
    });
  });

  it('its directory is read-only, or it belongs to somebody else', async () => {
    const at = await setUp();
    // Root may write everywhere, so another user runs a readable copy of the program.
    const copy = tempDirectory();
    for (const part of ['bin', 'dist', 'package.json'])
      cpSync(join(PROGRAM, '../..', part), join(copy, part), { recursive: true });
    const as = isRoot ? ['setpriv', '--reuid=65534', '--regid=65534', '--clear-groups'] : ['env'];
    const create = (path: string) => {
      const [tool = '', ...args] = [...as, process.execPath, join(copy, 'bin/partnerctl.js')];
      return startFile(tool, [...args, ...at.cron.create('daily', '--state', path)], { env: at.it.env });
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
  async function unrecorded(at: Setup, name: string) {
    writeFileSync(at.path, filler(250));
    const args = at.cron.create(name, '--state', at.path).map((word) => `'${word}'`);
    const ran = await shell(`ulimit -f 1; partnerctl ${args.join(' ')}`, { env: at.it.env });
    const [id = '', ...more] = await at.cron.idsOf(name);
    expect(more).toEqual([]);
    expect(ran.exitCode).toBe(1);
    expect(JSON.parse(ran.stdout)).toMatchObject({ cron_job_id: id, status: 'created' });
    expect((await readJobLog(at.path)).records.map(({ kind }) => kind)).toEqual(['reserved']);
    return { id, error: errorOf(ran) };
  }

  it('is reported with its id, and has a recovery record next to the file, which reconcile reads', async () => {
    const at = await setUp();
    const { id, error } = await unrecorded(at, 'daily');
    expect(error.message).toContain(id);
    const kept = error.details.recovery_file ?? '';
    expect(dirname(kept)).toBe(at.directory);
    const env = { ...at.it.env, PARTNER_STATE: at.path };
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
    const at = await setUp();
    // A name that a shell would split.
    const name = 'Mia & Ben, $HOME';
    const { id, error } = await unrecorded(at, name);
    const [line = ''] = /partnerctl cron adopt .*/.exec(error.hint) ?? [];
    const adopted = await shell(line, { env: at.it.env });
    expect(adopted.exitCode, adopted.stderr).toBe(0);
    expect((await readJobLog(at.path)).ids).toEqual([id]);
    const again = await run(at.cron.create(name, '--ensure', '--state', at.path), { env: at.it.env });
    expect(again.json()).toMatchObject({ cron_job_id: id, status: 'exists' });
    // The recovery record that was written says nothing new.
    expect((await run(['cron', 'reconcile', '--state', at.path], { env: at.it.env })).code).toBe(0);
    expect(new Set((await readJobLog(at.path)).ids)).toEqual(new Set([id]));
    expect(await at.cron.posted()).toBe(1);
  });

  /** Creates the job while `meanwhile` runs on this machine, between the service's work and its response. */
  async function createWhile(gateway: Gateway, { it, cron, path }: Setup, meanwhile: () => void) {
    gateway.onPost(
      gateway.passThen((response, { status, text }) => {
        meanwhile();
        response.writeHead(status, { 'content-type': 'application/json' }).end(text);
      }),
    );
    const ran = await partnerctl(gateway.baseUrl, cron.create('daily', '--state', path), {
      env: { PARTNER_TOKEN: it.token },
    });
    gateway.onPost();
    return ran;
  }

  it('is reconciled once the file is back, if a directory took its place', async () => {
    const at = await setUp();
    const gateway = await startGateway(new URL(at.it.sandbox.baseUrl).origin);
    const aside = join(at.directory, 'aside');
    const ran = await createWhile(gateway, at, () => {
      renameSync(at.path, aside);
      mkdirSync(at.path);
    });
    const [id = ''] = await at.cron.idsOf('daily');
    expect(ran.code).toBe(1);
    expect(ran.json()).toMatchObject({ cron_job_id: id, status: 'created' });
    expect(ran.stderr).toContain('It is a directory');
    rmSync(at.path, { recursive: true });
    renameSync(aside, at.path);
    const env = { PARTNER_TOKEN: at.it.token };
    const reconciled = await partnerctl(gateway.baseUrl, ['cron', 'reconcile', '--state', at.path], { env });
    expect(reconciled.code).toBe(0);
    expect((await readJobLog(at.path)).ids).toEqual([id]);
  });

  it('has its recovery record elsewhere if the directory of the file is gone', async () => {
    const at = await setUp();
    const gateway = await startGateway(new URL(at.it.sandbox.baseUrl).origin);
    const deep = { ...at, path: join(at.directory, 'deep', 'state.jsonl') };
    const aside = join(at.directory, 'aside');
    const ran = await createWhile(gateway, deep, () => {
      renameSync(dirname(deep.path), aside);
      writeFileSync(dirname(deep.path), '');
    });
    const [id = ''] = await at.cron.idsOf('daily');
    expect(ran.code).toBe(1);
    const kept = errorOf(ran).details.recovery_file ?? '';
    rmSync(dirname(deep.path));
    renameSync(aside, dirname(deep.path));
    renameSync(kept, join(dirname(deep.path), basename(kept)));
    const env = { PARTNER_TOKEN: at.it.token };
    const reconciled = await partnerctl(gateway.baseUrl, ['cron', 'reconcile', '--state', deep.path], { env });
    expect({ code: reconciled.code, stderr: reconciled.stderr }).toMatchObject({
      code: 0,
      stderr: expect.stringContaining(id),
    });
    expect((await readJobLog(deep.path)).ids).toEqual([id]);
  });
});

describe('a damaged state file', () => {
  interface Damaged extends Setup {
    readonly ids: readonly string[];
    /** The intact lines; the jobs `j0` to `j3` have two each, separated by blank ones. */
    readonly lines: string[];
    /** Rewrites the file. */
    write(lines: readonly string[]): void;
    run(...args: string[]): ReturnType<typeof run>;
    /** Creates a job. */
    create(name: string): ReturnType<typeof run>;
  }

  /** @param isOwnerGone whether a process that has ended created `j1`: the test's process counts as still running */
  async function fourJobs(isOwnerGone = false): Promise<Damaged> {
    const at = await setUp();
    const act = (...args: string[]) => run([...args, '--state', at.path], { env: at.it.env });
    const create = (name: string) => act(...createArgs(at.cron.agent_id, name));
    for (const name of ['j0', 'j2', 'j3']) expect((await create(name)).code).toBe(0);
    if (isOwnerGone) {
      expect((await start(at.cron.create('j1', '--state', at.path), { env: at.it.env })).exitCode).toBe(0);
    } else expect((await create('j1')).code).toBe(0);
    const ids = (await Promise.all(['j0', 'j1', 'j2', 'j3'].map((name) => at.cron.idsOf(name)))).flat();
    expect(ids).toHaveLength(4);
    const lines = readFileSync(at.path, 'utf8').split('\n');
    await at.it.forget();
    return { ...at, ids, lines, run: act, create, write: (all) => writeFileSync(at.path, all.join('\n')) };
  }

  function lineWith(lines: readonly string[], ...texts: string[]): number {
    const index = lines.findIndex((line) => texts.every((text) => line.includes(text)));
    expect(index).toBeGreaterThan(-1);
    return index;
  }

  /** The jobs in the file, by `cron list --local`. */
  async function known({ run: act }: Damaged): Promise<{ ids: (string | null)[]; stderr: string }> {
    const { stdout, stderr } = await act('cron', 'list', '--local', '-o', 'json');
    const listed: CreatedJob[] = JSON.parse(stdout);
    return { ids: listed.map(({ cron_job_id }) => cron_job_id), stderr };
  }

  const changed = (line = ''): string => line.replace('"agent_id":"a', '"agent_id":"b');

  it.each<[string, (lines: string[], at: (name: string) => number) => number | undefined, string]>([
    [
      'in the middle',
      (lines, at) => {
        const line = at('j1');
        lines[line] = changed(lines[line]);
        return line + 1;
      },
      'changed after it was written',
    ],
    [
      'at a torn end',
      (lines, at) => {
        const line = at('j1');
        lines.splice(lines.length - 1, 1, (lines[line] ?? '').slice(0, 300));
        return lines.length;
      },
      'cut short',
    ],
    [
      'by a merge that was not finished',
      (lines, at) => {
        const line = at('j1');
        lines.splice(line, 0, '<<<<<<< HEAD');
        lines.splice(line + 2, 0, '=======', lines[line + 1] ?? '', '>>>>>>> theirs');
        return line + 1;
      },
      'a merge conflict marker',
    ],
    [
      'with binary garbage',
      (lines, at) => {
        lines.splice(at('j1'), 0, '\u0000\u0001{{{');
        return at('j1');
      },
      'not a whole record',
    ],
    [
      'with lines twice',
      (lines) => {
        lines.push(...lines);
        return undefined;
      },
      '',
    ],
  ])('%s: intact records count, the others are reported by line, and nothing is dropped', async (_, damage, why) => {
    const isLost = why.startsWith('changed');
    const at = await fourJobs(isLost);
    const lines = [...at.lines];
    const line = damage(lines, (name) => lineWith(lines, 'cron.created', `"${name}"`));
    at.write(lines);
    const bytes = readFileSync(at.path);

    const { ids, stderr } = await known(at);
    expect(ids.filter((id) => id !== null).sort()).toEqual(
      at.ids.filter((_, index) => !(isLost && index === 1)).sort(),
    );
    if (line === undefined) expect(stderr).toBe('');
    else expect(stderr).toMatch(new RegExp(`${at.path}:${line} cannot be used: .*${why}`));

    expect((await at.create('j0')).code).toBe(5);
    // If the end of a job cannot be read, only the list can tell whether the job exists.
    expect((await at.create('j1')).code).toBe(isLost ? 9 : 5);
    expect(await at.cron.posted()).toBe(0);
    expect((await at.create('j4')).code).toBe(0);
    expect(await at.cron.posted()).toBe(1);
    const after = readFileSync(at.path);
    expect(after.length).toBeGreaterThan(bytes.length);
    expect(after.subarray(0, bytes.length).equals(bytes)).toBe(true);

    if (!isLost) return;
    expect((await at.run('cron', 'reconcile')).code).toBe(0);
    expect((await at.create('j1')).json()).toMatchObject({ cron_job_id: at.ids[1], status: 'blocked' });
    expect(await at.cron.posted()).toBe(1);
  });

  it.each(['key', 'agent_id', 'cron_job_id'])(
    'is reported if all lines of a job have a damaged %s, and the list still has the job',
    async (field) => {
      const at = await fourJobs();
      const damaged = (line: string): string => line.replace(`"${field}":"`, `"${field}":"x`);
      at.write(at.lines.map((line) => (line.includes('"j1"') ? damaged(line.replace('"id":"', '"id":"x')) : line)));
      const found = await at.create('j1');
      expect(found.code).toBe(0);
      expect(found.json()).toMatchObject({ cron_job_id: at.ids[1], status: 'adopted' });
      expect(found.stderr.match(/cannot be used: changed/g)).toHaveLength(2);
      expect(await at.cron.posted()).toBe(0);
    },
  );

  it('leaves a job with a record of a newer version to that version, and the others work', async () => {
    const at = await fourJobs();
    const number = lineWith(at.lines, 'cron.created', '"j1"');
    const { sum: _, ...record } = JSON.parse(at.lines[number] ?? '');
    const covered = JSON.stringify({ ...record, v: 2 }).slice(0, -1);
    const { createHash } = await import('node:crypto');
    const sum = createHash('sha256').update(covered).digest('hex').slice(0, 16);
    const lines = [...at.lines];
    lines[number] = `${covered},"sum":"${sum}"}`;
    at.write(lines);
    const bytes = readFileSync(at.path);
    const left = await at.create('j1');
    expect(left.code).toBe(9);
    expect(left.stderr).toContain(`${at.path}:${number + 1} is`);
    expect(left.stderr).toContain('newer version');
    expect((await at.create('j2')).code).toBe(5);
    expect(await at.cron.posted()).toBe(0);
    expect((await at.create('j4')).code).toBe(0);
    expect(readFileSync(at.path).subarray(0, bytes.length).equals(bytes)).toBe(true);
  });

  it('does not damage the next record if it ends without a line feed', async () => {
    const at = await fourJobs();
    appendFileSync(at.path, '{"v":1,"type":"cron.res');
    expect((await at.create('j4')).code).toBe(0);
    const { ids, damage } = await readJobLog(at.path);
    expect({ ids: ids.length, damage: damage.length }).toEqual({ ids: 5, damage: 1 });
  });
});
