import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, linkSync, mkdirSync, rmSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { basename, join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { InputError } from '../../../src/errors.ts';
import { type FindOptions, findFiles } from '../../../src/upload/find-files.ts';
import { PROGRAM, startFile } from '../../e2e/program.ts';
import { tempDirectory } from '../../helpers/run.ts';

const PLAIN: FindOptions = { recursive: false, include: [], exclude: [] };
const RECURSIVE: FindOptions = { ...PLAIN, recursive: true };

/** A directory with these files in it, each with its own path as its content. */
function tree(...paths: string[]): string {
  const directory = tempDirectory();
  for (const path of paths) {
    mkdirSync(join(directory, path, '..'), { recursive: true });
    writeFileSync(join(directory, path), path);
  }
  return directory;
}

async function names(words: readonly string[], options: FindOptions): Promise<string[]> {
  return (await findFiles(words, options)).map(({ filename }) => filename);
}

/** What is wrong with each of the words, without the directory. */
async function complaints(words: readonly string[], options = PLAIN): Promise<string[]> {
  try {
    await findFiles(words, options);
  } catch (error) {
    if (!(error instanceof InputError)) throw error;
    expect(error.info.hint).toBe('Nothing was sent.');
    return (error.info.why ?? '').split('\n').map((line) => line.replace(/^[^:]*\//, ''));
  }
  return [];
}

describe('what is named and is no file is refused by name:', () => {
  it('a FIFO, which is not even opened', async () => {
    const path = join(tempDirectory(), 'pipe');
    execFileSync('mkfifo', [path]);
    expect(await complaints([path])).toEqual(['pipe: it is a pipe (FIFO), not a file']);
  });

  it('a device', async () => {
    expect(await complaints(['/dev/zero'])).toEqual(['zero: it is a device, not a file']);
  });

  it('a socket', async () => {
    const path = join(tempDirectory(), 'socket');
    const server = createServer().listen(path);
    await once(server, 'listening');
    onTestFinished(async () => {
      server.close();
      await once(server, 'close');
    });
    expect(await complaints([path])).toEqual(['socket: it is a socket, not a file']);
  });

  it('a directory, without --recursive', async () => {
    expect(await complaints([tree('docs/a.txt')])).toEqual([
      expect.stringMatching(/: it is a directory; add --recursive to upload the files in it$/),
    ]);
  });

  it('what is not there, and a link to it', async () => {
    const directory = tempDirectory();
    symlinkSync('nowhere', join(directory, 'dangling'));
    expect(await complaints([join(directory, 'none'), join(directory, 'dangling')])).toEqual([
      'none: there is no such file or directory',
      'dangling: it is a broken symbolic link',
    ]);
  });

  it('a link to itself', async () => {
    const directory = tempDirectory();
    symlinkSync('circle', join(directory, 'circle'));
    expect(await complaints([join(directory, 'circle')])).toEqual([
      'circle: it is a symbolic link that points to itself',
    ]);
  });

  it('what is below a file', async () => {
    const directory = tree('a.txt');
    expect(await complaints([join(directory, 'a.txt', 'b')])).toEqual([
      'b: a part of its path is a file, not a directory',
    ]);
    expect(await complaints([`${directory}/a.txt/`])).toEqual([': a part of its path is a file, not a directory']);
  });

  it('nothing at all', async () => {
    expect(await complaints([''])).toEqual(['"": it is not a file name']);
  });

  // The file system of macOS takes no such name.
  it.skipIf(process.platform === 'darwin')('a name that is not UTF-8, which Node cannot tell whole', async () => {
    const directory = tree('a.txt');
    const name = Buffer.concat([Buffer.from(`${directory}/b`), Buffer.from([0xff])]);
    writeFileSync(name, 'b');
    const why = 'b\ufffd: its name is not UTF-8; skip it with --exclude';
    expect(await complaints([directory], RECURSIVE)).toEqual([why]);
    expect(await names([directory], { ...RECURSIVE, exclude: ['b?'] })).toEqual(['a.txt']);
    expect(await complaints([join(directory, 'b\ufffd')])).toEqual([
      'b\ufffd: its name is not UTF-8, or it does not exist',
    ]);
    rmSync(name);
    mkdirSync(name);
    expect(await complaints([directory], RECURSIVE)).toEqual([why]);
  });

  it('a directory with nothing in it', async () => {
    expect(await complaints([tempDirectory()], RECURSIVE)).toEqual([expect.stringMatching(/it contains no file$/)]);
  });

  it('all of them at once, those in directories too, though the others are in order', async () => {
    const directory = tree('docs/a.txt', 'b.txt');
    execFileSync('mkfifo', [join(directory, 'docs', 'pipe')]);
    symlinkSync('nowhere', join(directory, 'docs', 'dangling'));
    const words = [join(directory, 'docs'), join(directory, 'b.txt'), join(directory, 'none')];
    expect(await complaints(words, RECURSIVE)).toEqual([
      'dangling: it is a broken symbolic link',
      'pipe: it is a pipe (FIFO), not a file',
      'none: there is no such file or directory',
    ]);
  });

  // Whoever runs the tests may be allowed to read everything, so that somebody else has to try.
  it.skipIf(process.getuid?.() !== 0)('a file that may not be read, and a directory (needs root)', async () => {
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
    const words = ['upload', ...refused, '--recursive', '-o', 'json'];
    const { exitCode, stderr } = await startFile('setpriv', [...nobody, ...words], { env });
    expect(exitCode).toBe(2);
    expect(JSON.parse(stderr).error.details.problems).toEqual(
      refused.map((file) => ({ file, why: 'permission denied' })),
    );
  });
});

it('directories are left out with all that is in them, also what cannot be read there', async () => {
  const directory = tree('.git/config', 'a/node_modules/x.js', 'a/b.txt', 'build/out/c.txt', 'c.txt');
  symlinkSync('nowhere', join(directory, '.git', 'dangling'));
  const exclude = ['.git', 'node_modules/', 'build/out'];
  const found = await findFiles([directory], { recursive: true, include: [], exclude });
  expect(found.map(({ label }) => label)).toEqual([join(directory, 'a/b.txt'), join(directory, 'c.txt')]);
});

describe('files', () => {
  it.each([
    'a"b\r\nX: y.txt',
    '日本語.pdf',
    'Grüße.txt',
    ' ',
    '-dash',
    'back\\slash',
    '*.txt',
    '[a].txt',
    '100%.txt',
    '.hidden',
  ])('called %j keep their names', async (name) => {
    const directory = tree(name);
    expect(await names([join(directory, name)], PLAIN)).toEqual([name]);
    expect(await names([directory], RECURSIVE)).toEqual([name]);
  });

  it('that are linked to are taken, under the name of the link', async () => {
    const directory = tree('real.txt');
    symlinkSync('real.txt', join(directory, 'link.txt'));
    const [found] = await findFiles([join(directory, 'link.txt')], PLAIN);
    expect(found).toMatchObject({ filename: 'link.txt', bytes: 8, path: join(directory, 'real.txt') });
  });

  it('that are named twice, in whatever way, are taken once', async () => {
    const directory = tree('docs/a.txt', 'docs/b.txt');
    const path = join(directory, 'docs', 'a.txt');
    const words = [path, path, `${directory}/docs/../docs/./a.txt`, join(directory, 'docs')];
    expect(await names(words, RECURSIVE)).toEqual(['a.txt', 'b.txt']);
  });

  it('with two names of their own are two', async () => {
    const directory = tree('a.txt');
    linkSync(join(directory, 'a.txt'), join(directory, 'b.txt'));
    expect(await names([directory], RECURSIVE)).toEqual(['a.txt', 'b.txt']);
  });

  it('that are named by a link, too, go under both names', async () => {
    const directory = tree('a.txt');
    symlinkSync('a.txt', join(directory, 'current'));
    expect(await names([directory], RECURSIVE)).toEqual(['a.txt', 'current']);
  });

  it('of 0 and of 5 GiB have their length', async () => {
    const directory = tree('empty', 'sparse');
    truncateSync(join(directory, 'empty'), 0);
    truncateSync(join(directory, 'sparse'), 5 * 1024 ** 3);
    expect((await findFiles([directory], RECURSIVE)).map(({ bytes }) => bytes)).toEqual([0, 5_368_709_120]);
  });

  it('come by name also where there are more than are looked at together', async () => {
    const all = Array.from({ length: 100 }, (_, index) => `f${String(index).padStart(3, '0')}.txt`);
    expect(await names([tree(...all)], RECURSIVE)).toEqual(all);
  });

  it('come in the order of the words, and within a directory by name', async () => {
    const directory = tree('z/b.txt', 'z/a/c.txt', 'z/a.txt', 'x.txt');
    expect(await names([join(directory, 'x.txt'), join(directory, 'z')], RECURSIVE)).toEqual([
      'x.txt',
      'c.txt',
      'a.txt',
      'b.txt',
    ]);
  });
});

describe('of the files of a directory', () => {
  const FILES = ['.hidden.pdf', 'a.pdf', 'b.txt', 'old/c.pdf', 'old/deep/d.PDF', 'old/deep/e.pdf'] as const;

  it.each<[string, string[], string[], string[]]>([
    ['all, hidden ones too', [], [], ['.hidden.pdf', 'a.pdf', 'b.txt', 'c.pdf', 'd.PDF', 'e.pdf']],
    ['those of a name, wherever they are', ['*.pdf'], [], ['.hidden.pdf', 'a.pdf', 'c.pdf', 'e.pdf']],
    ['those of either name', ['a.*', 'b.*'], [], ['a.pdf', 'b.txt']],
    ['those of a path', ['old/**'], [], ['c.pdf', 'd.PDF', 'e.pdf']],
    ['those of a path of one level', ['old/*.pdf'], [], ['c.pdf']],
    ['those at the top alone', ['/*.pdf'], [], ['.hidden.pdf', 'a.pdf']],
    ['all but a directory at the top', [], ['/old'], ['.hidden.pdf', 'a.pdf', 'b.txt']],
    ['all but one that is not at the top', [], ['/deep'], ['.hidden.pdf', 'a.pdf', 'b.txt', 'c.pdf', 'd.PDF', 'e.pdf']],
    ['all but those of a name', [], ['*.pdf'], ['b.txt', 'd.PDF']],
    ['those of a name but not of a path', ['*.pdf'], ['old/deep/**'], ['.hidden.pdf', 'a.pdf', 'c.pdf']],
    ['what is left out, though it is asked for', ['a.pdf', 'b.txt'], ['a.pdf'], ['b.txt']],
  ])('%s', async (_, include, exclude, expected) => {
    expect(await names([tree(...FILES)], { recursive: true, include, exclude })).toEqual(expected);
  });

  it('none is an error, not nothing', async () => {
    const directory = tree(...FILES);
    expect(await complaints([directory], { ...RECURSIVE, include: ['*.doc'] })).toEqual([
      `${basename(directory)}: it contains no matching file`,
    ]);
  });

  it('those that are left out are not even looked at', async () => {
    const directory = tree('a.txt');
    execFileSync('mkfifo', [join(directory, 'pipe')]);
    expect(await names([directory], { ...RECURSIVE, exclude: ['pipe'] })).toEqual(['a.txt']);
  });

  it('a file that is named itself is taken whatever the patterns say', async () => {
    const directory = tree('a.txt');
    expect(await names([join(directory, 'a.txt')], { ...RECURSIVE, exclude: ['*'] })).toEqual(['a.txt']);
  });

  it('links to directories are refused by name, so that they lead nobody in a circle', async () => {
    const directory = tree('docs/a.txt');
    symlinkSync('..', join(directory, 'docs', 'up'));
    expect(await complaints([directory], RECURSIVE)).toEqual([
      expect.stringMatching(/^up: it is a symbolic link to a directory/),
    ]);
    const [found] = await findFiles([join(directory, 'docs')], { ...RECURSIVE, exclude: ['up'] });
    expect(found?.filename).toBe('a.txt');
  });

  it('those of a directory that is named by a link are taken', async () => {
    const directory = tree('docs/a.txt');
    symlinkSync('docs', join(directory, 'link'));
    expect(await names([join(directory, 'link')], RECURSIVE)).toEqual(['a.txt']);
  });
});
