import { constants, type Dirent } from 'node:fs';
import { access, lstat, readdir, realpath, stat } from 'node:fs/promises';
import { basename, join, relative, sep } from 'node:path';
import { describeFileError } from '../cli/input.ts';
import { InputError } from '../errors.ts';
import type { FileFacts } from './upload-records.ts';

export interface FindOptions {
  /** Whether directories are gone through, with all that is below them. */
  readonly recursive: boolean;
  /** Patterns of files below a directory that are taken (all, where there are none), and that are left out. */
  readonly include: readonly string[];
  readonly exclude: readonly string[];
}

/** A file as it was found. */
export interface FoundFile extends FileFacts {
  /** The path as the person would write it. */
  readonly label: string;
  readonly filename: string;
}

/** Why something cannot be uploaded. */
interface Complaint {
  readonly file: string;
  readonly why: string;
}

/** Asked of paths below the directory that is gone through, with / between their parts. */
interface Choice {
  /** Whether any pattern was given. */
  readonly isChoosing: boolean;
  /** Of files. */
  isTaken(path: string): boolean;
  /** Of files, and of directories with all that is in them. */
  isLeftOut(path: string): boolean;
}

async function choice({ include, exclude }: FindOptions): Promise<Choice> {
  if (include.length + exclude.length === 0) return { isChoosing: false, isTaken: () => true, isLeftOut: () => false };
  const { default: picomatch } = await import('picomatch');
  // As everywhere: one without a slash means the name, wherever it is, and one in front only says that it begins there.
  const matches = (patterns: readonly string[]): ((path: string) => boolean) => {
    const tests = patterns.map((pattern) =>
      picomatch(pattern.replace(/^\//, ''), { dot: true, basename: !pattern.includes('/') }),
    );
    return (path) => tests.some((test) => test(path));
  };
  return {
    isChoosing: true,
    isTaken: include.length === 0 ? () => true : matches(include),
    isLeftOut: matches(exclude.map((pattern) => pattern.replace(/\/$/, ''))),
  };
}

function whyNoFile(entry: { isFIFO(): boolean; isSocket(): boolean; isDirectory(): boolean }): string {
  if (entry.isDirectory()) return 'it is a directory; --recursive uploads what is in it';
  if (entry.isFIFO()) return 'it is a pipe (FIFO), not a file';
  return entry.isSocket() ? 'it is a socket, not a file' : 'it is a device, not a file';
}

/** @param isListed whether a directory names it, so that it is there */
async function look(path: string, isListed: boolean): Promise<FoundFile | Complaint> {
  try {
    const status = await stat(path, { bigint: true });
    if (!status.isFile()) return { file: path, why: whyNoFile(status) };
    await access(path, constants.R_OK);
    if (status.size > BigInt(Number.MAX_SAFE_INTEGER)) return { file: path, why: 'it is too large' };
    const facts = { bytes: Number(status.size), inode: status.ino, modified: status.mtimeNs, changed: status.ctimeNs };
    return { label: path, filename: basename(path), path: await realpath(path), ...facts };
  } catch (error) {
    return { file: path, why: await reasonOf(path, error, isListed) };
  }
}

/** What Node puts in the place of bytes of a name that are not UTF-8. */
const REPLACED = '\ufffd';

async function isLink(path: string): Promise<boolean> {
  try {
    return (await lstat(path)).isSymbolicLink();
  } catch {
    return false;
  }
}

async function reasonOf(path: string, error: unknown, isListed: boolean): Promise<string> {
  if (path === '') return 'it is no file name';
  const isMissing = error instanceof Error && 'code' in error && error.code === 'ENOENT';
  if (!isMissing) return describeFileError(error);
  if (await isLink(path)) return 'it is a link to something that is not there';
  if (!path.includes(REPLACED)) return describeFileError(error);
  return isListed
    ? 'its name is not UTF-8; --exclude leaves it out'
    : 'its name is not UTF-8, or there is no such file';
}

/** What a directory holds that is no directory. */
interface Entry {
  readonly path: string;
  readonly isLink: boolean;
}

/** Everything below a directory, by name, and the directories that cannot be read. */
async function* below(directory: string, isLeftOut: (path: string) => boolean): AsyncGenerator<Entry | Complaint> {
  let entries: Dirent[];
  try {
    entries = await readdir(directory, { withFileTypes: true });
  } catch (error) {
    yield { file: directory, why: await reasonOf(directory, error, true) };
    return;
  }
  for (const entry of entries.toSorted((a, b) => (a.name < b.name ? -1 : 1))) {
    const path = join(directory, entry.name);
    if (isLeftOut(path)) continue;
    if (entry.isDirectory()) yield* below(path, isLeftOut);
    else yield { path, isLink: entry.isSymbolicLink() };
  }
}

/** Links to directories are not followed: they may lead in a circle. */
async function lookBelow({ path, isLink }: Entry): Promise<FoundFile | Complaint> {
  if (!isLink || !(await isDirectory(path))) return await look(path, true);
  return { file: path, why: 'it is a link to a directory, which is not followed; --exclude leaves it out' };
}

/** Files that are looked at together: one after the other, a slow disk would be waited for each time. */
const AT_ONCE = 32;

async function findBelow(
  directory: string,
  { isChoosing, isTaken, isLeftOut }: Choice,
): Promise<(FoundFile | Complaint)[]> {
  const entries: (Entry | Complaint)[] = [];
  const within = (path: string): string => relative(directory, path).split(sep).join('/');
  for await (const entry of below(directory, (path) => isLeftOut(within(path)))) {
    if ('why' in entry || isTaken(within(entry.path))) entries.push(entry);
  }
  const found: (FoundFile | Complaint)[] = [];
  for (let at = 0; at < entries.length; at += AT_ONCE) {
    const some = entries.slice(at, at + AT_ONCE);
    found.push(...(await Promise.all(some.map((entry) => ('why' in entry ? entry : lookBelow(entry))))));
  }
  return found.length > 0
    ? found
    : [{ file: directory, why: `it holds no file${isChoosing ? ' that is asked for' : ''}` }];
}

async function isDirectory(path: string): Promise<boolean> {
  try {
    return (await stat(path)).isDirectory();
  } catch {
    return false;
  }
}

/**
 * The files that are meant by the words typed, each once. All of them are looked at before anything is sent.
 * @param words paths as they were typed
 * @throws InputError that names everything that cannot be uploaded
 */
export async function findFiles(words: readonly string[], options: FindOptions): Promise<readonly FoundFile[]> {
  const chosen = await choice(options);
  const files = new Map<string, FoundFile>();
  const complaints: Complaint[] = [];
  for (const word of words) {
    const goesThrough = options.recursive && (await isDirectory(word));
    for (const found of goesThrough ? await findBelow(word, chosen) : [await look(word, false)]) {
      if ('why' in found) complaints.push(found);
      else {
        // Under another name it is another upload.
        const key = JSON.stringify([found.path, found.filename]);
        if (!files.has(key)) files.set(key, found);
      }
    }
  }
  if (complaints.length === 0) return [...files.values()];
  throw new InputError(
    complaints.length === 1 ? 'A file cannot be uploaded.' : `${complaints.length} files cannot be uploaded.`,
    {
      why: complaints.map(({ file, why }) => `${file === '' ? '""' : file}: ${why}`).join('\n'),
      hint: 'Nothing was sent.',
      details: { problems: complaints },
    },
  );
}
