import { execFileSync } from 'node:child_process';
import { mkdirSync, renameSync, symlinkSync, truncateSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { describe, expect, it } from 'vitest';
import { InputError } from '../../../src/errors.ts';
import { findFiles, type LocalFile, readContent } from '../../../src/upload/files.ts';
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
  const paths = ['docs', 'b.txt', 'none', 'hidden', 'b.txt/below'].map((name) => join(directory, name));
  const error = await findFiles([...paths, ''], RECURSIVE).catch((thrown: unknown) => thrown);
  if (!(error instanceof InputError)) throw error;
  expect(error.info.why?.split('\n').map((line) => line.replace(/^[^:]*\//, ''))).toEqual([
    'pipe: it is a pipe, a socket, or a device, not a file',
    'none: there is no such file or directory',
    'hidden: it contains no file to upload',
    'below: a part of its path is a file, not a directory',
    '"": there is no such file or directory',
  ]);
});

describe('below a directory', () => {
  it('hidden files and links are left out and counted, and found if they are named', async () => {
    const outside = tree('secret.txt', 'more/c.txt');
    const directory = tree('a.txt', '.env', '.git/config', 'sub/.npmrc', 'sub/b.txt');
    symlinkSync(join(outside, 'secret.txt'), join(directory, 'link.txt'));
    symlinkSync(join(outside, 'more'), join(directory, 'more'));
    symlinkSync('nowhere', join(directory, 'dangling'));
    expect(await foundIn(directory)).toEqual({ paths: ['a.txt', 'sub/b.txt'], hidden: 3, links: 3 });
    const named = ['.env', '.git', 'link.txt', 'more'].map((name) => join(directory, name));
    const { files, hidden, links } = await findFiles(named, RECURSIVE);
    expect(files.map(({ filename }) => filename)).toEqual(['.env', 'config', 'link.txt', 'c.txt']);
    expect({ hidden, links }).toEqual({ hidden: 0, links: 0 });
  });

  it('--exclude leaves out paths, without examining or counting them, but never an argument', async () => {
    const directory = tree('a.pdf', 'b.txt', '.git/config', 'old/c.pdf', 'old/deep/d.PDF');
    for (const [exclude, paths] of [
      [['/old'], ['a.pdf', 'b.txt']],
      [['/deep'], ['a.pdf', 'b.txt', 'old/c.pdf', 'old/deep/d.PDF']],
      [['deep/'], ['a.pdf', 'b.txt', 'old/c.pdf']],
      [['*.{pdf,PDF}'], ['b.txt']],
      [['old/*.pdf'], ['a.pdf', 'b.txt', 'old/deep/d.PDF']],
    ] as const) {
      const found = await foundIn(directory, ['.git', ...exclude]);
      expect(found).toEqual({ paths, hidden: 0, links: 0 });
    }
    const { files } = await findFiles([join(directory, 'a.pdf')], { ...RECURSIVE, exclude: ['*'] });
    expect(files).toHaveLength(1);
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

  it('is read completely, and more than once, and ends early once the signal aborts', async () => {
    const content = Buffer.alloc(PART + 1, 'abcdefg');
    const file = await inspect(write(content));
    for (const _ of ['first', 'again']) expect((await buffer(readContent(file, GOING_ON))).equals(content)).toBe(true);
    const over = new AbortController();
    const chunks: Uint8Array[] = [];
    for await (const chunk of readContent(file, over.signal)) {
      chunks.push(chunk);
      over.abort();
    }
    expect(chunks).toHaveLength(1);
  });

  it.each<[string, (path: string) => void]>([
    ['shrinks', (path) => truncateSync(path, PART)],
    ['is replaced by another of the same length and time', (path) => renameSync(write('other'.padEnd(2 * PART)), path)],
  ])('is not read to its end if it %s after it was found', async (_, change) => {
    const path = write(Buffer.alloc(2 * PART, 'content'));
    const file = await inspect(path);
    change(path);
    await expect(buffer(readContent(file, GOING_ON))).rejects.toThrow(`${path} changed while it was being uploaded.`);
  });

  it('is not sent if the file is longer than its size, as below /proc', async () => {
    const reading = buffer(readContent(await inspect('/proc/version'), GOING_ON));
    await expect(reading).rejects.toMatchObject({ info: { hint: expect.stringContaining('--filename') } });
  });
});
