import { constants, type Dirent } from 'node:fs';
import { access, lstat, readdir, realpath, stat } from 'node:fs/promises';
import { basename, join, relative, sep } from 'node:path';
import { InputError } from '../errors.ts';
import { fileReason } from '../input.ts';
import type { LookedAt } from './source.ts';

export interface FindOptions {
  /** Whether directories are gone through, with all that is below them. */
  readonly recursive: boolean;
  /** Patterns of files below a directory that are taken (all, where there are none), and that are left out. */
  readonly include: readonly string[];
  readonly exclude: readonly string[];
}

/** A file as it was found. */
export interface FoundFile extends LookedAt {
  /** The path as the person would write it. */
  readonly label: string;
  readonly filename: string;
}

interface Complaint {
  readonly file: string;
  readonly why: string;
}

type Matcher = (path: string) => boolean;

async function matcher({ include, exclude }: FindOptions): Promise<Matcher> {
  if (include.length + exclude.length === 0) return () => true;
  const { default: picomatch } = await import('picomatch');
  // A pattern without a slash means the name, wherever the file is, as everywhere.
  const matches = (patterns: readonly string[]): Matcher => {
    const tests = patterns.map((pattern) => picomatch(pattern, { dot: true, basename: !pattern.includes('/') }));
    return (path) => tests.some((test) => test(path));
  };
  const [taken, left] = [matches(include), matches(exclude)];
  return (path) => (include.length === 0 || taken(path)) && !left(path);
}

function kindOf(entry: { isFIFO(): boolean; isSocket(): boolean; isDirectory(): boolean }): string {
  if (entry.isDirectory()) return 'it is a directory; --recursive uploads what is in it';
  if (entry.isFIFO()) return 'it is a pipe (FIFO), not a file';
  return entry.isSocket() ? 'it is a socket, not a file' : 'it is a device, not a file';
}

/** Looks at one file. */
async function look(path: string): Promise<FoundFile | Complaint> {
  try {
    const status = await stat(path, { bigint: true });
    if (!status.isFile()) return { file: path, why: kindOf(status) };
    await access(path, constants.R_OK);
    if (status.size > BigInt(Number.MAX_SAFE_INTEGER)) return { file: path, why: 'it is too large' };
    const facts = { bytes: Number(status.size), inode: status.ino, modified: status.mtimeNs };
    return { label: path, filename: basename(path), path: await realpath(path), ...facts };
  } catch (error) {
    return { file: path, why: await reasonOf(path, error) };
  }
}

async function reasonOf(path: string, error: unknown): Promise<string> {
  try {
    if ((await lstat(path)).isSymbolicLink()) return 'it is a link to something that is not there';
  } catch {
    // It is as the error says.
  }
  return fileReason(error);
}

/** Everything below a directory, by name, and the directories that cannot be read. */
async function* below(directory: string): AsyncGenerator<string | Complaint> {
  let entries: Dirent[];
  try {
    entries = await readdir(directory, { withFileTypes: true });
  } catch (error) {
    yield { file: directory, why: fileReason(error) };
    return;
  }
  for (const entry of entries.toSorted((a, b) => (a.name < b.name ? -1 : 1))) {
    const path = join(directory, entry.name);
    if (entry.isDirectory()) yield* below(path);
    else yield path;
  }
}

/** Links to directories are not followed: they may lead in a circle. */
async function lookBelow(path: string): Promise<FoundFile | Complaint> {
  if (!(await isDirectory(path))) return await look(path);
  return { file: path, why: 'it is a link to a directory, which is not followed; --exclude leaves it out' };
}

async function findBelow(directory: string, isTaken: Matcher): Promise<(FoundFile | Complaint)[]> {
  const found: (FoundFile | Complaint)[] = [];
  for await (const entry of below(directory)) {
    if (typeof entry !== 'string') found.push(entry);
    else if (isTaken(relative(directory, entry).split(sep).join('/'))) found.push(await lookBelow(entry));
  }
  return found.length > 0 ? found : [{ file: directory, why: 'there is no file in it that is asked for' }];
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
 * @throws InputError that names everything that cannot be uploaded
 */
export async function findFiles(words: readonly string[], options: FindOptions): Promise<readonly FoundFile[]> {
  const isTaken = await matcher(options);
  const files = new Map<string, FoundFile>();
  const complaints: Complaint[] = [];
  for (const word of words) {
    const goesThrough = options.recursive && (await isDirectory(word));
    for (const found of goesThrough ? await findBelow(word, isTaken) : [await look(word)]) {
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
      why: complaints.map(({ file, why }) => `${file}: ${why}`).join('\n'),
      hint: 'Nothing was sent.',
      details: { problems: complaints },
    },
  );
}
