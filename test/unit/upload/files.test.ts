import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { findFiles } from '../../../src/upload/files.ts';
import { tempDirectory } from '../../support/run.ts';

const RECURSIVE = { recursive: true, exclude: [] };

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

describe('below a directory', () => {
  it('hidden files and links are left out and counted, and found if they are named', async () => {
    const outside = tree('secret.txt', 'more/c.txt');
    const directory = tree('a.txt', '.env', '.git/config', 'sub/.npmrc', 'sub/b.txt');
    symlinkSync(join(outside, 'secret.txt'), join(directory, 'link.txt'));
    symlinkSync(join(outside, 'more'), join(directory, 'more'));
    symlinkSync('nowhere', join(directory, 'dangling'));
    expect(await foundIn(directory)).toEqual({ paths: ['a.txt', 'sub/b.txt'], leftOut: 6 });
    const named = ['.env', '.git', 'link.txt', 'more'].map((name) => join(directory, name));
    const { files, leftOut } = await findFiles(named, RECURSIVE);
    expect(files.map(({ filename }) => filename)).toEqual(['.env', 'config', 'link.txt', 'c.txt']);
    expect(leftOut).toBe(0);
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
      expect(found).toEqual({ paths, leftOut: 0 });
    }
    const { files } = await findFiles([join(directory, 'a.pdf')], { ...RECURSIVE, exclude: ['*'] });
    expect(files).toHaveLength(1);
  });
});
