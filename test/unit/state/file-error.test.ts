import { execFileSync } from 'node:child_process';
import { chmod, mkdir, stat, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { LocalError } from '../../../src/errors.ts';
import { appendRecord } from '../../../src/state/append.ts';
import { explainFileError } from '../../../src/state/file-error.ts';
import { entries, ids, lineOf, temporaryDirectory } from './files.ts';
import { builtChild, said } from './program.ts';

const record = { type: 'note', at: '2026-01-02T03:04:05.000Z', id: '1' };
const isRoot = process.getuid?.() === 0;

/** The words that give a process mounts of its own, which end with it; undefined where that is not allowed. */
function ownMounts(): readonly string[] | undefined {
  return [['-m'], ['-rm']].find((flags) => {
    try {
      execFileSync('unshare', [...flags, 'mount', '-t', 'tmpfs', 'tmpfs', '/mnt'], { stdio: 'ignore' });
      return true;
    } catch {
      return false;
    }
  });
}

const mounts = ownMounts();

async function failure(attempt: Promise<unknown>): Promise<{ message: string; why: string; hint: string }> {
  const error = await attempt.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  if (!(error instanceof LocalError)) throw new Error('No LocalError was thrown.', { cause: error });
  return { message: error.message, why: error.info.why ?? '', hint: error.info.hint ?? '' };
}

describe('a state file that cannot be used', () => {
  it('because a directory is in its place', async () => {
    const directory = await temporaryDirectory();
    const written = await failure(appendRecord(directory, record));
    expect(written.message).toBe(`The state file could not be written: ${directory}`);
    expect(written.why).toContain('It is a directory');
    expect(written.hint).toContain('--state');
    expect(await failure(entries(directory))).toMatchObject({
      message: `The state file could not be read: ${directory}`,
      why: written.why,
    });
  });

  it('because a part of its path is a file', async () => {
    const file = join(await temporaryDirectory(), 'file');
    await writeFile(file, '');
    for (const path of [join(file, 'state.jsonl'), join(file, 'deep', 'state.jsonl')]) {
      expect((await failure(appendRecord(path, record))).why).toContain('is a file, not a directory');
      expect((await failure(entries(path))).why).toContain('is a file, not a directory');
    }
  });

  it('because its link leads nowhere, or in a circle', async () => {
    const directory = await temporaryDirectory();
    const [nowhere, circle] = [join(directory, 'nowhere'), join(directory, 'circle')];
    await symlink(join(directory, 'missing', 'state.jsonl'), nowhere);
    await symlink(circle, circle);
    expect((await failure(appendRecord(nowhere, record))).why).toContain('symbolic link to a path that does not');
    expect((await failure(appendRecord(circle, record))).why).toContain('loop');
    expect(await entries(nowhere)).toEqual([]);
  });

  it.skipIf(process.platform === 'win32')('because it is a pipe, which is not waited for, or a device', async () => {
    const pipe = join(await temporaryDirectory(), 'pipe');
    execFileSync('mkfifo', [pipe]);
    for (const path of [pipe, '/dev/null', '/dev/full']) {
      expect((await failure(appendRecord(path, record))).why).toContain('device, a pipe, or a socket');
      expect((await failure(entries(path))).why).toContain('device, a pipe, or a socket');
    }
  });

  it('because it belongs to someone else, or its directory does', async () => {
    const directory = await temporaryDirectory();
    const child = await builtChild(directory);
    const [closed, path] = [join(directory, 'closed'), join(directory, 'state.jsonl')];
    await mkdir(closed, { mode: 0o500 });
    await writeFile(path, '', { mode: isRoot ? 0o600 : 0o000 });
    await chmod(directory, 0o755);
    await chmod(closed, 0o555);
    // Root may do everything, so the child is somebody else.
    const other = isRoot ? { uid: 65534, gid: 65534, cwd: '/' } : {};
    const of = (culprit: string) =>
      isRoot
        ? `${culprit} belongs to another user (uid 0; this is uid 65534).`
        : `The permissions of ${culprit} do not allow it.`;
    const deep = join(closed, 'deep', 'state.jsonl');
    for (const [task, file, culprit] of [
      ['append', path, path],
      ['read', path, path],
      ['append', deep, closed],
    ] as const) {
      const [line = ''] = await said(process.execPath, [child, task, file, 'w', '1'], other);
      expect(JSON.parse(line)).toMatchObject({
        type: 'local',
        message: expect.stringContaining(file),
        hint: expect.stringContaining('--state'),
        details: { why: of(culprit), path: file, code: 'EACCES' },
      });
    }
  });

  it('because the write was cut short: it says so, and the next record is sound', async () => {
    const directory = await temporaryDirectory();
    const child = await builtChild(directory);
    const path = join(directory, 'state.jsonl');
    await writeFile(path, `\n${lineOf('0', { fill: 'x'.repeat(300) })}\n`);
    const [first = '', second = ''] = await said('bash', [
      '-c',
      'ulimit -f 1; exec "$@"',
      'bash',
      process.execPath,
      child,
      'fill',
      path,
    ]);
    expect(JSON.parse(first).details.why).toMatch(/^Only \d+ of the record's \d+ bytes were written/);
    expect(JSON.parse(second).details).toMatchObject({ code: 'EFBIG' });
    expect((await stat(path)).size).toBe(1024);
    await appendRecord(path, record);
    expect(await ids(path)).toEqual(['0', '1']);
    expect((await entries(path)).filter(({ kind }) => kind === 'damaged')).toHaveLength(1);
  });

  it.skipIf(mounts === undefined)('because the disk is full, or read-only (needs mounts of its own)', async () => {
    const directory = await temporaryDirectory();
    const child = await builtChild(directory);
    const disk = join(directory, 'disk');
    await mkdir(disk);
    const script = [
      'mount -t tmpfs -o size=16k tmpfs "$1"',
      '"$2" "$3" fill "$1/state.jsonl"',
      '"$2" "$3" read "$1/state.jsonl"',
      'mount -t tmpfs -o ro tmpfs "$1"',
      '"$2" "$3" append "$1/state.jsonl" w 1',
      '"$2" "$3" append "$1/deep/state.jsonl" w 1',
    ].join(' && ');
    const lines = await said('unshare', [...(mounts ?? []), 'sh', '-c', script, 'sh', disk, process.execPath, child]);
    const recorded = lines.filter((line) => line.startsWith('fill-'));
    const rest = lines.filter((line) => line.startsWith('{')).map((line) => JSON.parse(line));
    expect(recorded.length).toBeGreaterThan(10);
    expect(rest).toMatchObject([
      { type: 'local', details: { why: expect.stringMatching(/^Only \d+ of/) } },
      { type: 'local', details: { code: 'ENOSPC' } },
      { records: recorded.length, damaged: 1 },
      { type: 'local', details: { code: 'EROFS' } },
      { type: 'local', details: { code: 'EROFS' } },
    ]);
  });
});

describe('what the file system threw', () => {
  const thrown = (code: string) => Object.assign(new Error(`${code}: it failed`), { code, syscall: 'write' });

  it.each([
    ['ENOSPC', 'The disk is full'],
    ['EDQUOT', 'quota'],
    ['EROFS', 'read-only'],
    ['EIO', 'The disk reported an error'],
    ['EWHATEVER', 'EWHATEVER: it failed'],
  ])('is explained: %s', async (code, why) => {
    const error = await explainFileError(thrown(code), '/state.jsonl', 'written');
    expect(error).toBeInstanceOf(LocalError);
    expect(error).toMatchObject({
      info: { why: expect.stringContaining(why), hint: expect.stringContaining('--state') },
    });
  });

  it('stays as it is when it is a bug', async () => {
    const bug = new TypeError('not a function');
    expect(await explainFileError(bug, '/state.jsonl', 'read')).toBe(bug);
  });
});
