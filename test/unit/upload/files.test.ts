import { execFileSync } from 'node:child_process';
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readlinkSync,
  renameSync,
  rmSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { basename, join } from 'node:path';
import { Readable } from 'node:stream';
import { buffer, text } from 'node:stream/consumers';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { InputError, InterruptedError, LocalError } from '../../../src/errors.ts';
import { type FindOptions, findFiles as find, type LocalFile, readContent } from '../../../src/upload/files.ts';
import { spool } from '../../../src/upload/spool.ts';
import { tempDirectory } from '../../support/run.ts';

const PLAIN: FindOptions = { recursive: false, exclude: [] };
const RECURSIVE: FindOptions = { ...PLAIN, recursive: true };
const GOING_ON = new AbortController().signal;
const PART = 512 * 1024;

function findFiles(paths: readonly string[], options: FindOptions, signal = GOING_ON) {
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

/** The paths of the files that are found in a directory, and how many entries are left out. */
async function foundIn(directory: string, exclude: readonly string[] = []) {
  const { files, ...left } = await findFiles([directory], { recursive: true, exclude });
  return { ...left, paths: files.map(({ label }) => label.slice(directory.length + 1)) };
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

describe('an argument that cannot be uploaded is named:', () => {
  it.each<[string, () => string, string | RegExp]>([
    [
      'a FIFO, which is not opened',
      () => fifo(tempDirectory()),
      'pipe: it is a pipe, a socket, or a device, not a file',
    ],
    ['a device', () => '/dev/zero', 'zero: it is a pipe, a socket, or a device, not a file'],
    ['a directory without --recursive', () => tree('docs/a.txt'), /: it is a directory; add --recursive to upload /],
    ['a missing file', () => join(tempDirectory(), 'none'), 'none: there is no such file or directory'],
    ['a link to a missing file', () => linkTo('nowhere'), 'link: there is no such file or directory'],
    ['a link to itself', () => linkTo('link'), 'link: it is a symbolic link that points to itself'],
    [
      'a path below a file',
      () => join(tree('a.txt'), 'a.txt', 'b'),
      'b: a part of its path is a file, not a directory',
    ],
    ['an empty argument', () => '', '"": there is no such file or directory'],
  ])('%s', async (_, make, complaint) => {
    const expected = typeof complaint === 'string' ? complaint : expect.stringMatching(complaint);
    expect(await problemsWith([make()])).toEqual([expected]);
  });

  // The file system of macOS does not accept such a name.
  it.skipIf(process.platform === 'darwin')('a name that is not UTF-8', async () => {
    const directory = tree('a.txt');
    writeFileSync(Buffer.concat([Buffer.from(`${directory}/b`), Buffer.from([0xff])]), 'b');
    expect(await problemsWith([directory], RECURSIVE)).toEqual(['b\ufffd: its name is not UTF-8; rename it']);
    expect((await foundIn(directory, ['b?'])).paths).toEqual(['a.txt']);
  });

  it('a directory without a file to upload', async () => {
    const directory = tree('.env');
    expect(await problemsWith([directory], RECURSIVE)).toEqual([
      `${basename(directory)}: it contains no file to upload`,
    ]);
  });

  it('several of them, at once, including those in directories', async () => {
    const directory = tree('docs/a.txt', 'b.txt');
    fifo(join(directory, 'docs'));
    symlinkSync('nowhere', join(directory, 'docs', 'dangling'));
    const args = [join(directory, 'docs'), join(directory, 'b.txt'), join(directory, 'none')];
    expect(await problemsWith(args, RECURSIVE)).toEqual([
      'dangling: it is a link, and there is no such file or directory',
      'pipe: it is a pipe, a socket, or a device, not a file',
      'none: there is no such file or directory',
    ]);
  });

  it('a link to a directory inside a directory, because links may form a cycle', async () => {
    const directory = tree('docs/a.txt');
    symlinkSync('.', join(directory, 'docs', 'self'));
    expect(await problemsWith([directory], RECURSIVE)).toEqual([
      'self: it is a link to a directory; skip it with --exclude',
    ]);
    expect((await foundIn(directory, ['self'])).paths).toEqual(['docs/a.txt']);
  });
});

describe('below a directory', () => {
  it('hidden files and directories are left out and counted, and found if they are named', async () => {
    const directory = tree('a.txt', '.env', '.git/config', '.git/HEAD', 'sub/.npmrc', 'sub/b.txt');
    expect(await foundIn(directory)).toEqual({ paths: ['a.txt', 'sub/b.txt'], hidden: 3, leaving: 0 });
    const named = [join(directory, '.env'), join(directory, '.git')];
    const { files, hidden } = await findFiles(named, RECURSIVE);
    expect(files.map(({ filename }) => filename)).toEqual(['.env', 'HEAD', 'config']);
    expect(hidden).toBe(0);
  });

  it('links that lead out of it are left out and counted, and found if they are named', async () => {
    const outside = tree('secret.txt', 'more/c.txt');
    const directory = tree('a.txt');
    symlinkSync(join(outside, 'secret.txt'), join(directory, 'link.txt'));
    symlinkSync(join(outside, 'more'), join(directory, 'more'));
    expect(await foundIn(directory)).toEqual({ paths: ['a.txt'], hidden: 0, leaving: 2 });
    const named = [join(directory, 'link.txt'), join(directory, 'more')];
    const { files, leaving } = await findFiles(named, RECURSIVE);
    expect(files.map(({ filename }) => filename)).toEqual(['link.txt', 'c.txt']);
    expect(leaving).toBe(0);
  });

  it('links within it are found under their own names, except those to hidden files', async () => {
    const directory = tree('a.txt', '.env');
    symlinkSync('a.txt', join(directory, 'current'));
    symlinkSync('.env', join(directory, 'settings'));
    expect(await foundIn(directory)).toEqual({ paths: ['a.txt', 'current'], hidden: 2, leaving: 0 });
  });

  it('everything is found if the argument is a link to it', async () => {
    const directory = tree('docs/a.txt', 'docs/b.txt');
    symlinkSync('a.txt', join(directory, 'docs', 'current'));
    symlinkSync('docs', join(directory, 'link'));
    expect((await foundIn(join(directory, 'link'))).paths).toEqual(['a.txt', 'b.txt', 'current']);
  });

  it('files are sorted by name', async () => {
    const all = Array.from({ length: 100 }, (_, index) => `f${String(index).padStart(3, '0')}.txt`);
    expect((await foundIn(tree(...all, 'e/z.txt'))).paths).toEqual(['e/z.txt', ...all]);
  });

  it.each<[string, string[], string[]]>([
    ['a directory at the top', ['/old'], ['a.pdf', 'b.txt']],
    ['nothing that is not at the top', ['/deep'], ['a.pdf', 'b.txt', 'old/c.pdf', 'old/deep/d.PDF', 'old/deep/e.pdf']],
    ['a directory at any depth', ['deep/'], ['a.pdf', 'b.txt', 'old/c.pdf']],
    ['a name at any depth', ['*.pdf'], ['b.txt', 'old/deep/d.PDF']],
    ['several names', ['*.{pdf,PDF}'], ['b.txt']],
    ['a path', ['old/*.pdf'], ['a.pdf', 'b.txt', 'old/deep/d.PDF', 'old/deep/e.pdf']],
  ])('--exclude leaves out %s, case-sensitively: %j', async (_, exclude, expected) => {
    const directory = tree('a.pdf', 'b.txt', 'old/c.pdf', 'old/deep/d.PDF', 'old/deep/e.pdf');
    expect((await foundIn(directory, exclude)).paths).toEqual(expected);
  });

  it('what --exclude names is not examined or counted, and an argument is never excluded', async () => {
    const directory = tree('a.txt', '.git/config');
    const pipe = fifo(directory);
    symlinkSync('nowhere', join(directory, 'dangling'));
    const left = { hidden: 0, leaving: 0 };
    expect(await foundIn(directory, ['pipe', 'dangling', '.git'])).toEqual({ paths: ['a.txt'], ...left });
    rmSync(pipe);
    const { files } = await findFiles([join(directory, 'a.txt')], { ...RECURSIVE, exclude: ['*'] });
    expect(files).toHaveLength(1);
  });

  it('the search ends when the signal aborts', async () => {
    const reason = new Error('the time is up');
    await expect(findFiles([tree('a', 'b')], RECURSIVE, AbortSignal.abort(reason))).rejects.toBe(reason);
  });
});

it('a file of 5 GiB has its length', async () => {
  const path = join(tree('sparse'), 'sparse');
  truncateSync(path, 5 * 1024 ** 3);
  expect((await findFiles([path], PLAIN)).files).toMatchObject([{ bytes: 5_368_709_120, filename: 'sparse' }]);
});

function write(content: string | Uint8Array): string {
  const path = join(tempDirectory(), 'a.txt');
  writeFileSync(path, content);
  return path;
}

async function inspect(path: string): Promise<LocalFile> {
  const [file] = (await findFiles([path], PLAIN)).files;
  if (!file) throw new Error(`${path} was not found.`);
  return file;
}

describe('the content of a file', () => {
  it.each([0, 1, PART - 1, PART, PART + 1, 3 * PART])('of %i bytes is read completely', async (bytes) => {
    const content = Buffer.alloc(bytes, 'abcdefg');
    const file = await inspect(write(content));
    expect((await buffer(readContent(file, GOING_ON))).equals(content)).toBe(true);
    expect((await buffer(readContent(file, GOING_ON))).equals(content)).toBe(true);
  });

  it.skipIf(!existsSync('/proc/self/fd'))('is closed once it is read or abandoned (needs /proc)', async () => {
    const path = write(Buffer.alloc(3 * PART));
    const open = (): string[] =>
      readdirSync('/proc/self/fd').filter((number) => {
        const link = `/proc/self/fd/${number}`;
        return existsSync(link) && readlinkSync(link) === path;
      });
    const file = await inspect(path);
    await buffer(readContent(file, GOING_ON));
    expect(open()).toEqual([]);
    for await (const _ of readContent(file, GOING_ON)) {
      expect(open()).toHaveLength(1);
      break;
    }
    expect(open()).toEqual([]);
  });

  it('ends early once the signal aborts', async () => {
    const over = new AbortController();
    let taken = 0;
    for await (const chunk of readContent(await inspect(write(Buffer.alloc(3 * PART))), over.signal)) {
      taken += chunk.length;
      over.abort();
    }
    expect(taken).toBe(PART);
  });

  /** Each is noticed before the file is opened and in the middle of it. */
  const CHANGES: readonly [string, (path: string) => void][] = [
    ['grows', (path) => appendFileSync(path, 'x')],
    ['shrinks', (path) => truncateSync(path, PART + 1)],
    ['is emptied', (path) => truncateSync(path, 0)],
    [
      'is written to in place, and its time is set back',
      (path) => {
        writeFileSync(path, Buffer.alloc(2 * PART, 'other'), { flag: 'r+' });
        utimesSync(path, 1, 2);
      },
    ],
    [
      'is replaced by another of the same length and time',
      (path) => {
        writeFileSync(`${path}.new`, Buffer.alloc(2 * PART, 'other'));
        utimesSync(`${path}.new`, 1, 2);
        renameSync(`${path}.new`, path);
      },
    ],
  ];

  it.each(CHANGES)('is not read to its end if it %s before', async (_, change) => {
    const path = write(Buffer.alloc(2 * PART, 'content'));
    utimesSync(path, 1, 2);
    const file = await inspect(path);
    change(path);
    await expect(buffer(readContent(file, GOING_ON))).rejects.toThrow(`${path} changed while it was being uploaded.`);
  });

  it.each(CHANGES.slice(0, 4))('is not read to its end if it %s meanwhile', async (_, change) => {
    const path = write(Buffer.alloc(2 * PART, 'content'));
    utimesSync(path, 1, 2);
    const reading = async (): Promise<void> => {
      let isFirst = true;
      for await (const _ of readContent(await inspect(path), GOING_ON)) {
        if (isFirst) change(path);
        isFirst = false;
      }
    };
    await expect(reading()).rejects.toThrow(`${path} changed while it was being uploaded.`);
  });

  it('is not read if the file was removed', async () => {
    const path = write('hello');
    const file = await inspect(path);
    rmSync(path);
    const reading = buffer(readContent(file, GOING_ON));
    await expect(reading).rejects.toBeInstanceOf(LocalError);
    await expect(reading).rejects.toMatchObject({ message: `${path} cannot be read.` });
  });

  it.skipIf(!existsSync('/proc/version'))('is not sent if it is longer than its size, as below /proc', async () => {
    const reading = buffer(readContent(await inspect('/proc/version'), GOING_ON));
    await expect(reading).rejects.toMatchObject({ info: { hint: expect.stringContaining('--filename') } });
  });
});

describe('standard input', () => {
  /** The directory for temporary files of a test: the shared one has those of tests in other processes. */
  function temporaryFiles(): () => string[] {
    const directory = tempDirectory();
    vi.stubEnv('TMPDIR', directory);
    onTestFinished(() => void vi.unstubAllEnvs());
    return () => readdirSync(directory);
  }

  it.skipIf(process.platform === 'win32')('is stored where nothing is left behind, and read twice', async () => {
    const left = temporaryFiles();
    const { file, remove } = await spool(Readable.from([Buffer.from('hel'), Buffer.from('lo')]), 'x.txt');
    expect(left()).toEqual([]);
    expect(file).toMatchObject({ label: '-', filename: 'x.txt', bytes: 5 });
    expect(await text(readContent(file, GOING_ON))).toBe('hello');
    expect(await text(readContent(file, GOING_ON))).toBe('hello');
    await remove();
  });

  it('leaves nothing behind if reading it fails, and the error is that of reading', async () => {
    const left = temporaryFiles();
    async function* broken(): AsyncGenerator<Buffer> {
      yield Buffer.from('hel');
      throw new InterruptedError('Interrupted.');
    }
    await expect(spool(broken(), 'x.txt')).rejects.toThrow(InterruptedError);
    expect(left()).toEqual([]);
  });
});
