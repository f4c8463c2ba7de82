import { execFileSync } from 'node:child_process';
import {
  appendFileSync,
  mkdirSync,
  readdirSync,
  renameSync,
  rmSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { buffer, text } from 'node:stream/consumers';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { InputError, InterruptedError } from '../../../src/errors.ts';
import { findFiles, type LocalFile, readContent } from '../../../src/upload/files.ts';
import { spool } from '../../../src/upload/source.ts';
import { tempDirectory } from '../../support/run.ts';

const RECURSIVE = { recursive: true, exclude: [] };
const GOING_ON = new AbortController().signal;
const PART = 512 * 1024;

/** A directory with these files, each with its own path as its content. */
function tree(...paths: string[]): string {
  const directory = tempDirectory();
  for (const path of paths) {
    mkdirSync(join(directory, path, '..'), { recursive: true });
    writeFileSync(join(directory, path), path);
  }
  return directory;
}

/** The paths of the files that are found in a directory, and how many entries are left out. */
async function foundIn(directory: string, exclude: readonly string[] = []) {
  const { files, ...left } = await findFiles([directory], { recursive: true, exclude });
  return { ...left, paths: files.map(({ label }) => label.slice(directory.length + 1)) };
}

it('arguments that cannot be uploaded are named at once, including those in directories', async () => {
  const directory = tree('docs/a.txt', 'b.txt', 'hidden/.env');
  execFileSync('mkfifo', [join(directory, 'docs', 'pipe')]);
  symlinkSync('nowhere', join(directory, 'docs', 'dangling'));
  symlinkSync('.', join(directory, 'docs', 'self'));
  const paths = ['docs', 'b.txt', 'none', 'hidden', 'b.txt/below'].map((name) => join(directory, name));
  const error = await findFiles([...paths, ''], RECURSIVE).catch((thrown: unknown) => thrown);
  if (!(error instanceof InputError)) throw error;
  expect(error.info.why?.split('\n').map((line) => line.replace(/^[^:]*\//, ''))).toEqual([
    'dangling: it is a link, and there is no such file or directory',
    'pipe: it is a pipe, a socket, or a device, not a file',
    'self: it is a link to a directory; skip it with --exclude',
    'none: there is no such file or directory',
    'hidden: it contains no file to upload',
    'below: a part of its path is a file, not a directory',
    '"": there is no such file or directory',
  ]);
});

describe('below a directory', () => {
  it('hidden files and links that lead out are left out and counted, and found if they are named', async () => {
    const outside = tree('secret.txt', 'more/c.txt');
    const directory = tree('a.txt', '.env', '.git/config', 'sub/.npmrc', 'sub/b.txt');
    for (const [target, name] of [
      [join(outside, 'secret.txt'), 'link.txt'],
      [join(outside, 'more'), 'more'],
      ['a.txt', 'current'],
      ['.env', 'settings'],
    ] as const) {
      symlinkSync(target, join(directory, name));
    }
    expect(await foundIn(directory)).toEqual({ paths: ['a.txt', 'current', 'sub/b.txt'], hidden: 4, leaving: 2 });
    const named = ['.env', '.git', 'link.txt', 'more'].map((name) => join(directory, name));
    const { files, hidden, leaving } = await findFiles(named, RECURSIVE);
    expect(files.map(({ filename }) => filename)).toEqual(['.env', 'config', 'link.txt', 'c.txt']);
    expect({ hidden, leaving }).toEqual({ hidden: 0, leaving: 0 });
    symlinkSync('sub', join(directory, 'top'));
    expect((await foundIn(join(directory, 'top'))).paths).toEqual(['b.txt']);
  });

  it.each<[string, string[], string[]]>([
    ['a directory at the top', ['/old'], ['a.pdf', 'b.txt']],
    ['nothing that is not at the top', ['/deep'], ['a.pdf', 'b.txt', 'old/c.pdf', 'old/deep/d.PDF']],
    ['a directory at any depth', ['deep/'], ['a.pdf', 'b.txt', 'old/c.pdf']],
    ['several names', ['*.{pdf,PDF}'], ['b.txt']],
    ['a path', ['old/*.pdf'], ['a.pdf', 'b.txt', 'old/deep/d.PDF']],
  ])('--exclude leaves out %s, case-sensitively: %j', async (_, exclude, expected) => {
    const directory = tree('a.pdf', 'b.txt', 'old/c.pdf', 'old/deep/d.PDF');
    expect((await foundIn(directory, exclude)).paths).toEqual(expected);
  });

  it('what --exclude names is not examined or counted, and an argument is never excluded', async () => {
    const directory = tree('a.txt', '.git/config');
    symlinkSync('nowhere', join(directory, 'dangling'));
    const left = { hidden: 0, leaving: 0 };
    expect(await foundIn(directory, ['dangling', '.git'])).toEqual({ paths: ['a.txt'], ...left });
    const { files } = await findFiles([join(directory, 'a.txt')], { ...RECURSIVE, exclude: ['*'] });
    expect(files.map(({ filename }) => filename)).toEqual(['a.txt']);
  });
});

describe('the content of a file', () => {
  async function inspect(path: string): Promise<LocalFile> {
    const [file] = (await findFiles([path], RECURSIVE)).files;
    if (!file) throw new Error(`${path} was not found.`);
    return file;
  }

  function write(content: string | Uint8Array): string {
    const path = join(tempDirectory(), 'a.txt');
    writeFileSync(path, content);
    utimesSync(path, 1, 2);
    return path;
  }

  it.each([0, 1, PART, PART + 1])('of %i bytes is read completely, and more than once', async (bytes) => {
    const content = Buffer.alloc(bytes, 'abcdefg');
    const file = await inspect(write(content));
    for (const _ of ['first', 'again']) expect((await buffer(readContent(file, GOING_ON))).equals(content)).toBe(true);
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

  it.each<[string, (path: string) => void, { readonly isNoticedWhileOpen: boolean }]>([
    ['grows', (path) => appendFileSync(path, 'x'), { isNoticedWhileOpen: true }],
    ['shrinks', (path) => truncateSync(path, PART + 1), { isNoticedWhileOpen: true }],
    [
      'is written to in place, and its time is set back',
      (path) => {
        writeFileSync(path, Buffer.alloc(2 * PART, 'other'), { flag: 'r+' });
        utimesSync(path, 1, 2);
      },
      { isNoticedWhileOpen: true },
    ],
    [
      'is replaced by another of the same length and time',
      (path) => {
        writeFileSync(`${path}.new`, Buffer.alloc(2 * PART, 'other'));
        utimesSync(`${path}.new`, 1, 2);
        renameSync(`${path}.new`, path);
      },
      { isNoticedWhileOpen: false },
    ],
  ])('is not read to its end if it %s before or meanwhile', async (_, change, { isNoticedWhileOpen }) => {
    const path = write(Buffer.alloc(2 * PART, 'content'));
    const message = `${path} changed while it was being uploaded.`;
    const before = await inspect(path);
    change(path);
    await expect(buffer(readContent(before, GOING_ON))).rejects.toThrow(message);
    if (!isNoticedWhileOpen) return;
    const file = await inspect(write(Buffer.alloc(2 * PART, 'content')));
    const reading = readContent(file, GOING_ON);
    await reading.next();
    change(file.label);
    await expect(buffer(reading)).rejects.toThrow('changed while it was being uploaded');
  });

  it('is not read if the file was removed, and not sent if it is longer than its size, as below /proc', async () => {
    const path = write('hello');
    const file = await inspect(path);
    rmSync(path);
    await expect(buffer(readContent(file, GOING_ON))).rejects.toMatchObject({ message: `${path} cannot be read.` });
    const reading = buffer(readContent(await inspect('/proc/version'), GOING_ON));
    await expect(reading).rejects.toMatchObject({ info: { hint: expect.stringContaining('--filename') } });
  });
});

it('standard input is stored where nothing is left behind, even if reading it fails, and read twice', async () => {
  const directory = tempDirectory();
  vi.stubEnv('TMPDIR', directory);
  onTestFinished(() => void vi.unstubAllEnvs());
  const { file, close } = await spool(Readable.from([Buffer.from('hel'), Buffer.from('lo')]), 'x.txt');
  expect(readdirSync(directory)).toEqual([]);
  expect(file).toMatchObject({ label: '-', filename: 'x.txt', bytes: 5 });
  for (const _ of ['first', 'again']) expect(await text(readContent(file, GOING_ON))).toBe('hello');
  await close();
  async function* broken(): AsyncGenerator<Buffer> {
    yield Buffer.from('hel');
    throw new InterruptedError('Interrupted.');
  }
  await expect(spool(broken(), 'x.txt')).rejects.toThrow(InterruptedError);
  expect(readdirSync(directory)).toEqual([]);
});
