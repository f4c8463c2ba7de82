import { constants, type Dirent } from 'node:fs';
import { access, lstat, readdir, realpath, stat } from 'node:fs/promises';
import { basename, join, relative, sep } from 'node:path';
import { describeFileError, errorCode, InputError } from '../errors.ts';
import type { InspectedFile } from './upload-records.ts';

export interface FindOptions {
  /** Whether to include everything below directories. */
  readonly recursive: boolean;
  /** Patterns of files below a directory to include (all, if empty) and to exclude. */
  readonly include: readonly string[];
  readonly exclude: readonly string[];
}

/** A file that exists and can be read. */
export interface FoundFile extends InspectedFile {
  /** The path, relative if the user gave a relative one. */
  readonly label: string;
  readonly filename: string;
}

/** Why a file cannot be uploaded. */
interface FileProblem {
  readonly file: string;
  readonly why: string;
}

/** Filters paths relative to the searched directory, with / as the separator. */
interface Filter {
  readonly hasPatterns: boolean;
  /** @param path of a file */
  isIncluded(path: string): boolean;
  /** @param path of a file, or of a directory: then everything in it is excluded */
  isExcluded(path: string): boolean;
}

async function createFilter({ include, exclude }: FindOptions): Promise<Filter> {
  if (include.length + exclude.length === 0)
    return { hasPatterns: false, isIncluded: () => true, isExcluded: () => false };
  const { default: picomatch } = await import('picomatch');
  // As in .gitignore: a pattern without a slash matches the name in any directory, and a leading slash anchors it.
  const matches = (patterns: readonly string[]): ((path: string) => boolean) => {
    const tests = patterns.map((pattern) =>
      picomatch(pattern.replace(/^\//, ''), { dot: true, basename: !pattern.includes('/') }),
    );
    return (path) => tests.some((test) => test(path));
  };
  return {
    hasPatterns: true,
    isIncluded: include.length === 0 ? () => true : matches(include),
    isExcluded: matches(exclude.map((pattern) => pattern.replace(/\/$/, ''))),
  };
}

function describeNonFile(entry: { isFIFO(): boolean; isSocket(): boolean; isDirectory(): boolean }): string {
  if (entry.isDirectory()) return 'it is a directory; add --recursive to upload the files in it';
  if (entry.isFIFO()) return 'it is a pipe (FIFO), not a file';
  return entry.isSocket() ? 'it is a socket, not a file' : 'it is a device, not a file';
}

/** Checks a file. @param isListed whether it was found in a directory, so that it exists */
async function inspect(path: string, isListed: boolean): Promise<FoundFile | FileProblem> {
  try {
    const status = await stat(path, { bigint: true });
    if (!status.isFile()) return { file: path, why: describeNonFile(status) };
    await access(path, constants.R_OK);
    if (status.size > BigInt(Number.MAX_SAFE_INTEGER)) return { file: path, why: 'it is too large' };
    const { size, ino: inode, mtimeNs: modified, ctimeNs: changed } = status;
    return {
      label: path,
      filename: basename(path),
      path: await realpath(path),
      bytes: Number(size),
      inode,
      modified,
      changed,
    };
  } catch (error) {
    return { file: path, why: await describeProblem(path, error, isListed) };
  }
}

/** Node.js decodes bytes that are not UTF-8 to this. */
const REPLACEMENT = '\ufffd';

async function isLink(path: string): Promise<boolean> {
  try {
    return (await lstat(path)).isSymbolicLink();
  } catch {
    return false;
  }
}

async function describeProblem(path: string, error: unknown, isListed: boolean): Promise<string> {
  if (path === '') return 'it is not a file name';
  const isMissing = errorCode(error) === 'ENOENT';
  if (!isMissing) return describeFileError(error);
  if (await isLink(path)) return 'it is a broken symbolic link';
  if (!path.includes(REPLACEMENT)) return describeFileError(error);
  return isListed ? 'its name is not UTF-8; skip it with --exclude' : 'its name is not UTF-8, or it does not exist';
}

/** An entry of a directory that is not a directory itself. */
interface Entry {
  readonly path: string;
  readonly isLink: boolean;
}

/** Lists everything below a directory by name, and the directories that cannot be read. */
async function* walk(directory: string, isExcluded: (path: string) => boolean): AsyncGenerator<Entry | FileProblem> {
  let entries: Dirent[];
  try {
    entries = await readdir(directory, { withFileTypes: true });
  } catch (error) {
    yield { file: directory, why: await describeProblem(directory, error, true) };
    return;
  }
  for (const entry of entries.toSorted((a, b) => (a.name < b.name ? -1 : 1))) {
    const path = join(directory, entry.name);
    if (isExcluded(path)) continue;
    if (entry.isDirectory()) yield* walk(path, isExcluded);
    else yield { path, isLink: entry.isSymbolicLink() };
  }
}

/** Symbolic links to directories are not followed: they could form a cycle. */
async function inspectEntry({ path, isLink }: Entry): Promise<FoundFile | FileProblem> {
  if (!isLink || !(await isDirectory(path))) return await inspect(path, true);
  return { file: path, why: 'it is a symbolic link to a directory, which is not followed; skip it with --exclude' };
}

/** How many files are inspected at a time. */
const CONCURRENCY = 32;

async function findBelow(
  directory: string,
  { hasPatterns, isIncluded, isExcluded }: Filter,
  signal: AbortSignal,
): Promise<(FoundFile | FileProblem)[]> {
  const entries: (Entry | FileProblem)[] = [];
  const relativePath = (path: string): string => relative(directory, path).split(sep).join('/');
  for await (const entry of walk(directory, (path) => isExcluded(relativePath(path)))) {
    signal.throwIfAborted();
    if ('why' in entry || isIncluded(relativePath(entry.path))) entries.push(entry);
  }
  const found: (FoundFile | FileProblem)[] = [];
  for (let at = 0; at < entries.length; at += CONCURRENCY) {
    signal.throwIfAborted();
    const batch = entries.slice(at, at + CONCURRENCY);
    found.push(...(await Promise.all(batch.map((entry) => ('why' in entry ? entry : inspectEntry(entry))))));
  }
  return found.length > 0
    ? found
    : [{ file: directory, why: hasPatterns ? 'it contains no matching file' : 'it contains no file' }];
}

async function isDirectory(path: string): Promise<boolean> {
  try {
    return (await stat(path)).isDirectory();
  } catch {
    return false;
  }
}

/**
 * Finds the files to upload, each once, and checks that all of them can be read.
 * @param paths as typed
 * @throws InputError that names every file that cannot be uploaded; the reason of the signal
 */
export async function findFiles(
  paths: readonly string[],
  options: FindOptions,
  signal: AbortSignal,
): Promise<readonly FoundFile[]> {
  const filter = await createFilter(options);
  const files = new Map<string, FoundFile>();
  const problems: FileProblem[] = [];
  for (const path of paths) {
    const isSearched = options.recursive && (await isDirectory(path));
    for (const found of isSearched ? await findBelow(path, filter, signal) : [await inspect(path, false)]) {
      if ('why' in found) problems.push(found);
      else {
        // The same file under another name is another upload.
        const key = JSON.stringify([found.path, found.filename]);
        if (!files.has(key)) files.set(key, found);
      }
    }
  }
  if (problems.length === 0) return [...files.values()];
  throw new InputError(
    problems.length === 1 ? 'A file cannot be uploaded.' : `${problems.length} files cannot be uploaded.`,
    {
      why: problems.map(({ file, why }) => `${file === '' ? '""' : file}: ${why}`).join('\n'),
      hint: 'Nothing was sent.',
      details: { problems },
    },
  );
}
