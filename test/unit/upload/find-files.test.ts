import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, linkSync, mkdirSync, rmSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { basename, join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { InputError } from '../../../src/errors.ts';
import { type FindOptions, findFiles as find } from '../../../src/upload/find-files.ts';
import { PROGRAM, startFile } from '../../support/program.ts';
import { tempDirectory } from '../../support/run.ts';

const PLAIN: FindOptions = { recursive: false, include: [], exclude: [] };
const RECURSIVE: FindOptions = { ...PLAIN, recursive: true };

function findFiles(paths: readonly string[], options: FindOptions, signal = new AbortController().signal) {
  return find(paths, options, signal);
}

/** A directory with these files, each with its own path as its content. */
function tree(...paths: string[]): string {
  const directory = tempDirectory();
  for (const path of paths) {
    mkdirSync(join(directory, path, '..'), { recursive: true });
    writeFileSync(join(directory, path), path);
  }
  return directory;
}

function fifo(directory: string): string {
  const path = join(directory, 'pipe');
  execFileSync('mkfifo', [path]);
  return path;
}

/** A symbolic link `link` to this target. */
function linkTo(target: string): string {
  const path = join(tempDirectory(), 'link');
  symlinkSync(target, path);
  return path;
}

async function names(args: readonly string[], options: FindOptions): Promise<string[]> {
  return (await findFiles(args, options)).map(({ filename }) => filename);
}

/** The problems with these arguments, without their directories. */
async function problemsWith(args: readonly string[], options = PLAIN): Promise<string[]> {
  try {
    await findFiles(args, options);
  } catch (error) {
    if (!(error instanceof InputError)) throw error;
    expect(error.info.hint).toBe('Nothing was sent.');
    return (error.info.why ?? '').split('\n').map((line) => line.replace(/^[^:]*\//, ''));
  }
  return [];
}

describe('an argument that is not a file is rejected by name:', () => {
  it.each<[string, () => string, string | RegExp]>([
    ['a FIFO, which is not opened', () => fifo(tempDirectory()), 'pipe: it is a pipe (FIFO), not a file'],
    ['a device', () => '/dev/zero', 'zero: it is a device, not a file'],
    ['a directory without --recursive', () => tree('docs/a.txt'), /: it is a directory; add --recursive to upload the/],
    ['a missing file', () => join(tempDirectory(), 'none'), 'none: there is no such file or directory'],
    ['a link to a missing file', () => linkTo('nowhere'), 'link: it is a broken symbolic link'],
    ['a link to itself', () => linkTo('link'), 'link: it is a symbolic link that points to itself'],
    [
      'a path below a file',
      () => join(tree('a.txt'), 'a.txt', 'b'),
      'b: a part of its path is a file, not a directory',
    ],
    ['a file with a slash', () => `${tree('a.txt')}/a.txt/`, ': a part of its path is a file, not a directory'],
    ['an empty argument', () => '', '"": it is not a file name'],
  ])('%s', async (_, make, complaint) => {
    const expected = typeof complaint === 'string' ? complaint : expect.stringMatching(complaint);
    expect(await problemsWith([make()])).toEqual([expected]);
  });

  it('a socket', async () => {
    const path = join(tempDirectory(), 'socket');
    const server = createServer().listen(path);
    await once(server, 'listening');
    onTestFinished(async () => {
      server.close();
      await once(server, 'close');
    });
    expect(await problemsWith([path])).toEqual(['socket: it is a socket, not a file']);
  });

  // The file system of macOS does not accept such a name.
  it.skipIf(process.platform === 'darwin')('a name that is not UTF-8', async () => {
    const directory = tree('a.txt');
    const name = Buffer.concat([Buffer.from(`${directory}/b`), Buffer.from([0xff])]);
    writeFileSync(name, 'b');
    const why = 'b\ufffd: its name is not UTF-8; skip it with --exclude';
    expect(await problemsWith([directory], RECURSIVE)).toEqual([why]);
    expect(await names([directory], { ...RECURSIVE, exclude: ['b?'] })).toEqual(['a.txt']);
    expect(await problemsWith([join(directory, 'b\ufffd')])).toEqual([
      'b\ufffd: its name is not UTF-8, or it does not exist',
    ]);
    rmSync(name);
    mkdirSync(name);
    expect(await problemsWith([directory], RECURSIVE)).toEqual([why]);
  });

  it('an empty directory', async () => {
    expect(await problemsWith([tempDirectory()], RECURSIVE)).toEqual([expect.stringMatching(/it contains no file$/)]);
  });

  it('several of them, at once, including those in directories', async () => {
    const directory = tree('docs/a.txt', 'b.txt');
    fifo(join(directory, 'docs'));
    symlinkSync('nowhere', join(directory, 'docs', 'dangling'));
    const args = [join(directory, 'docs'), join(directory, 'b.txt'), join(directory, 'none')];
    expect(await problemsWith(args, RECURSIVE)).toEqual([
      'dangling: it is a broken symbolic link',
      'pipe: it is a pipe (FIFO), not a file',
      'none: there is no such file or directory',
    ]);
  });

  // Root may read everything, so another user has to try.
  it.skipIf(process.getuid?.() !== 0)('a file and a directory without read permission (needs root)', async () => {
    const directory = tree('secret.txt', 'closed/a.txt');
    chmodSync(directory, 0o755);
    chmodSync(join(directory, 'secret.txt'), 0o600);
    chmodSync(join(directory, 'closed'), 0o700);
    const nobody = ['--reuid=65534', '--regid=65534', '--clear-groups', process.execPath, PROGRAM];
    const env = {
      PARTNER_BASE_URL: 'http://127.0.0.1:9/v1',
      PARTNER_TOKEN: 'pat_nobody',
      PARTNER_STATE: join(directory, 'state.jsonl'),
    };
    symlinkSync('secret.txt', join(directory, 'link'));
    symlinkSync('closed/a.txt', join(directory, 'inside'));
    const refused = ['secret.txt', 'closed', 'link', 'inside'].map((name) => join(directory, name));
    const args = ['upload', ...refused, '--recursive', '-o', 'json'];
    const { exitCode, stderr } = await startFile('setpriv', [...nobody, ...args], { env });
    expect(exitCode).toBe(2);
    expect(JSON.parse(stderr).error.details.problems).toEqual(
      refused.map((file) => ({ file, why: 'permission denied' })),
    );
  });
});

it('excluded directories are skipped with all their content, readable or not', async () => {
  const directory = tree('.git/config', 'a/node_modules/x.js', 'a/b.txt', 'build/out/c.txt', 'c.txt');
  symlinkSync('nowhere', join(directory, '.git', 'dangling'));
  const exclude = ['.git', 'node_modules/', 'build/out'];
  const found = await findFiles([directory], { recursive: true, include: [], exclude });
  expect(found.map(({ label }) => label)).toEqual([join(directory, 'a/b.txt'), join(directory, 'c.txt')]);
});

it('the search of a directory ends when the signal aborts', async () => {
  const reason = new Error('the time is up');
  await expect(findFiles([tree('a', 'b')], RECURSIVE, AbortSignal.abort(reason))).rejects.toBe(reason);
});

describe('files', () => {
  it.each(['*.txt', '[a].txt', '100%.txt', '.hidden'])('named %j keep their names', async (name) => {
    const directory = tree(name);
    expect(await names([join(directory, name)], PLAIN)).toEqual([name]);
    expect(await names([directory], RECURSIVE)).toEqual([name]);
  });

  it('named by a link are found under the name of the link', async () => {
    const directory = tree('real.txt');
    symlinkSync('real.txt', join(directory, 'link.txt'));
    const [found] = await findFiles([join(directory, 'link.txt')], PLAIN);
    expect(found).toMatchObject({ filename: 'link.txt', bytes: 8, path: join(directory, 'real.txt') });
  });

  it('named twice are found once, however they are spelled', async () => {
    const directory = tree('docs/a.txt', 'docs/b.txt');
    const path = join(directory, 'docs', 'a.txt');
    const args = [path, path, `${directory}/docs/../docs/./a.txt`, join(directory, 'docs')];
    expect(await names(args, RECURSIVE)).toEqual(['a.txt', 'b.txt']);
  });

  it('with two hard links count as two', async () => {
    const directory = tree('a.txt');
    linkSync(join(directory, 'a.txt'), join(directory, 'b.txt'));
    expect(await names([directory], RECURSIVE)).toEqual(['a.txt', 'b.txt']);
  });

  it('that a link in the directory points to are found under both names', async () => {
    const directory = tree('a.txt');
    symlinkSync('a.txt', join(directory, 'current'));
    expect(await names([directory], RECURSIVE)).toEqual(['a.txt', 'current']);
  });

  it('of 0 bytes and of 5 GiB have their length', async () => {
    const directory = tree('empty', 'sparse');
    truncateSync(join(directory, 'empty'), 0);
    truncateSync(join(directory, 'sparse'), 5 * 1024 ** 3);
    expect((await findFiles([directory], RECURSIVE)).map(({ bytes }) => bytes)).toEqual([0, 5_368_709_120]);
  });

  it('are sorted by name, even if there are more than are examined concurrently', async () => {
    const all = Array.from({ length: 100 }, (_, index) => `f${String(index).padStart(3, '0')}.txt`);
    expect(await names([tree(...all)], RECURSIVE)).toEqual(all);
  });

  it('are in the order of the arguments, and within a directory sorted by name', async () => {
    const directory = tree('z/b.txt', 'z/a/c.txt', 'z/a.txt', 'x.txt');
    expect(await names([join(directory, 'x.txt'), join(directory, 'z')], RECURSIVE)).toEqual([
      'x.txt',
      'c.txt',
      'a.txt',
      'b.txt',
    ]);
  });
});

describe('findFiles in a directory', () => {
  const FILES = ['.hidden.pdf', 'a.pdf', 'b.txt', 'old/c.pdf', 'old/deep/d.PDF', 'old/deep/e.pdf'] as const;

  it.each<[string, string[], string[], string[]]>([
    ['all files, including hidden ones', [], [], ['.hidden.pdf', 'a.pdf', 'b.txt', 'c.pdf', 'd.PDF', 'e.pdf']],
    ['those with a name, in any directory', ['*.pdf'], [], ['.hidden.pdf', 'a.pdf', 'c.pdf', 'e.pdf']],
    ['those with either name', ['a.*', 'b.*'], [], ['a.pdf', 'b.txt']],
    ['those on a path', ['old/**'], [], ['c.pdf', 'd.PDF', 'e.pdf']],
    ['those on a path of one level', ['old/*.pdf'], [], ['c.pdf']],
    ['only those at the top', ['/*.pdf'], [], ['.hidden.pdf', 'a.pdf']],
    ['all but those in a directory at the top', [], ['/old'], ['.hidden.pdf', 'a.pdf', 'b.txt']],
    [
      'all if the excluded directory is not at the top',
      [],
      ['/deep'],
      ['.hidden.pdf', 'a.pdf', 'b.txt', 'c.pdf', 'd.PDF', 'e.pdf'],
    ],
    ['all but those with a name', [], ['*.pdf'], ['b.txt', 'd.PDF']],
    ['those with a name but not on a path', ['*.pdf'], ['old/deep/**'], ['.hidden.pdf', 'a.pdf', 'c.pdf']],
    ['no excluded file, even if it is included', ['a.pdf', 'b.txt'], ['a.pdf'], ['b.txt']],
  ])('finds %s', async (_, include, exclude, expected) => {
    expect(await names([tree(...FILES)], { recursive: true, include, exclude })).toEqual(expected);
  });

  it('fails if nothing is selected', async () => {
    const directory = tree(...FILES);
    expect(await problemsWith([directory], { ...RECURSIVE, include: ['*.doc'] })).toEqual([
      `${basename(directory)}: it contains no matching file`,
    ]);
  });

  it('does not examine excluded files', async () => {
    const directory = tree('a.txt');
    fifo(directory);
    expect(await names([directory], { ...RECURSIVE, exclude: ['pipe'] })).toEqual(['a.txt']);
  });

  it('finds a file that is an argument, whatever the patterns are', async () => {
    const directory = tree('a.txt');
    expect(await names([join(directory, 'a.txt')], { ...RECURSIVE, exclude: ['*'] })).toEqual(['a.txt']);
  });

  it('rejects links to directories by name, because they may form a cycle', async () => {
    const directory = tree('docs/a.txt');
    symlinkSync('..', join(directory, 'docs', 'up'));
    expect(await problemsWith([directory], RECURSIVE)).toEqual([
      expect.stringMatching(/^up: it is a symbolic link to a directory/),
    ]);
    const [found] = await findFiles([join(directory, 'docs')], { ...RECURSIVE, exclude: ['up'] });
    expect(found?.filename).toBe('a.txt');
  });

  it('finds the files of a directory if the argument is a link to it', async () => {
    const directory = tree('docs/a.txt');
    symlinkSync('docs', join(directory, 'link'));
    expect(await names([join(directory, 'link')], RECURSIVE)).toEqual(['a.txt']);
  });
});
