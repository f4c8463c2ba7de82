import { execFileSync } from 'node:child_process';
import { chmod, mkdir, stat, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { LocalError } from '../../../src/errors.ts';
import { appendRecord } from '../../../src/state-old/append.ts';
import { explainFileError } from '../../../src/state-old/file-error.ts';
import { entries, ids, lineOf, temporaryDirectory } from './files.ts';
import { builtChild, runProgram } from './program.ts';

const record = { type: 'note', at: '2026-01-02T03:04:05.000Z', id: '1' };
const isRoot = process.getuid?.() === 0;

async function failure(attempt: Promise<unknown>): Promise<{ message: string; why: string; hint: string }> {
  const error = await attempt.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  if (!(error instanceof LocalError)) throw new Error('No LocalError was thrown.', { cause: error });
  return { message: error.message, why: error.info.why ?? '', hint: error.info.hint ?? '' };
}

describe('a state file is reported as unusable', () => {
  it('if its link is broken or forms a loop', async () => {
    const directory = await temporaryDirectory();
    const [nowhere, circle] = [join(directory, 'nowhere'), join(directory, 'circle')];
    await symlink(join(directory, 'missing', 'state.jsonl'), nowhere);
    await symlink(circle, circle);
    expect((await failure(appendRecord(nowhere, record))).why).toContain('symbolic link to a path that does not');
    expect((await failure(appendRecord(circle, record))).why).toContain('loop');
    expect(await entries(nowhere)).toEqual([]);
  });

  it.skipIf(process.platform === 'win32')('if it is a pipe or a device', async () => {
    const pipe = join(await temporaryDirectory(), 'pipe');
    execFileSync('mkfifo', [pipe]);
    for (const path of [pipe, '/dev/null', '/dev/full']) {
      expect((await failure(appendRecord(path, record))).why).toContain('device, a pipe, or a socket');
      expect((await failure(entries(path))).why).toContain('device, a pipe, or a socket');
    }
  });

  it('if it or its directory belongs to another user', async () => {
    const directory = await temporaryDirectory();
    const child = await builtChild(directory);
    const [closed, path] = [join(directory, 'closed'), join(directory, 'state.jsonl')];
    await mkdir(closed, { mode: 0o500 });
    await writeFile(path, '', { mode: isRoot ? 0o600 : 0o000 });
    await chmod(directory, 0o755);
    await chmod(closed, 0o555);
    // Root may do everything, so the child runs as another user.
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
      const [line = ''] = await runProgram(process.execPath, [child, task, file, 'w', '1'], other);
      expect(JSON.parse(line)).toMatchObject({
        type: 'local',
        message: expect.stringContaining(file),
        hint: expect.stringContaining('--state'),
        details: { why: of(culprit), path: file, code: 'EACCES' },
      });
    }
  });

  it('if a write was cut short, and the next record is intact', async () => {
    const directory = await temporaryDirectory();
    const child = await builtChild(directory);
    const path = join(directory, 'state.jsonl');
    await writeFile(path, `\n${lineOf('0', { fill: 'x'.repeat(300) })}\n`);
    const [first = '', second = ''] = await runProgram('bash', [
      '-c',
      'ulimit -f 1; exec "$@"',
      'bash',
      process.execPath,
      child,
      'fill',
      path,
    ]);
    expect(JSON.parse(first).details.why).toMatch(/^Only \d+ of \d+ bytes were written/);
    expect(JSON.parse(second).details).toMatchObject({ code: 'EFBIG' });
    expect((await stat(path)).size).toBe(1024);
    await appendRecord(path, record);
    expect(await ids(path)).toEqual(['0', '1']);
    expect((await entries(path)).filter(({ kind }) => kind === 'damaged')).toHaveLength(1);
  });
});

describe('an error of the file system', () => {
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

  it('is not changed if it is a bug', async () => {
    const bug = new TypeError('not a function');
    expect(await explainFileError(bug, '/state.jsonl', 'read')).toBe(bug);
  });
});
