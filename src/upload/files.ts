import { type BigIntStats, constants } from 'node:fs';
import { access, type FileHandle, open, readdir, realpath, stat } from 'node:fs/promises';
import { basename, isAbsolute, join, relative, sep } from 'node:path';
import type { FilePart } from '../api/form-body.ts';
import { describeFileError, InputError, LocalError } from '../errors.ts';
import { errorCode } from '../platform/error-code.ts';

/** A file as it was when it was inspected. */
export interface LocalFile {
  /** As the user named it, or below the directory that the user named. */
  readonly label: string;
  /** The name for the service. */
  readonly filename: string;
  readonly bytes: number;
  /** Changes whenever something writes to the file. */
  readonly version: string;
  /** The open file, if no path leads to it. */
  readonly handle?: FileHandle;
}

export interface FindOptions {
  /** Whether to find everything below directories. */
  readonly recursive: boolean;
  /** Patterns of files and directories to leave out below directories. */
  readonly exclude: readonly string[];
}

export interface FoundFiles {
  readonly files: readonly LocalFile[];
  /** How many hidden files and directories were left out below directories. */
  readonly hidden: number;
  /** How many links that lead out of a directory were left out. */
  readonly leaving: number;
}

/** Why a file cannot be uploaded. */
interface FileProblem {
  readonly file: string;
  readonly why: string;
}

type Entry = LocalFile | FileProblem | 'hidden' | 'leaving';

/** Returns the version of a file: see `LocalFile`. */
export function versionOf({ ino, size, mtimeNs, ctimeNs }: BigIntStats): string {
  return [ino, size, mtimeNs, ctimeNs].join(' ');
}

async function inspect(path: string): Promise<LocalFile | FileProblem> {
  try {
    const status = await stat(path, { bigint: true });
    if (status.isDirectory()) return { file: path, why: 'it is a directory; add --recursive to upload what is in it' };
    if (!status.isFile()) return { file: path, why: 'it is a pipe, a socket, or a device, not a file' };
    await access(path, constants.R_OK);
    return { label: path, filename: basename(path), bytes: Number(status.size), version: versionOf(status) };
  } catch (error) {
    return problemWith(path, error);
  }
}

function problemWith(path: string, error: unknown): FileProblem {
  // Node.js decodes bytes that are not UTF-8 to U+FFFD.
  const isGarbled = errorCode(error) === 'ENOENT' && path.includes('\ufffd');
  return { file: path, why: isGarbled ? 'its name is not UTF-8; rename it' : describeFileError(error) };
}

/** As in .gitignore: a pattern without a slash matches the name in any directory, and a leading slash anchors it. */
async function createMatcher(patterns: readonly string[]): Promise<(path: string) => boolean> {
  if (patterns.length === 0) return () => false;
  const { default: picomatch } = await import('picomatch');
  const tests = patterns.map((typed) => {
    const pattern = typed.replace(/\/$/, '');
    return picomatch(pattern.replace(/^\//, ''), { dot: true, basename: !pattern.includes('/') });
  });
  return (path) => tests.some((test) => test(path));
}

/** What a link below a directory stands for. @param root the directory, without links in its path */
async function inspectLink(path: string, root: string): Promise<Entry> {
  try {
    const target = relative(root, await realpath(path));
    const parts = target.split(sep);
    if (isAbsolute(target) || parts[0] === '..') return 'leaving';
    if (parts.some((part) => part.startsWith('.'))) return 'hidden';
    const isDirectory = (await stat(path)).isDirectory();
    return isDirectory ? { file: path, why: 'it is a link to a directory; skip it with --exclude' } : inspect(path);
  } catch (error) {
    return { file: path, why: `it is a link, and ${describeFileError(error)}` };
  }
}

/** Inspects everything below a directory, by name. */
async function walk(directory: string, isExcluded: (path: string) => boolean, signal: AbortSignal): Promise<Entry[]> {
  const root = await realpath(directory);

  async function walkBelow(at: string): Promise<Entry[]> {
    signal.throwIfAborted();
    let found: Promise<Entry[]>[];
    try {
      const entries = (await readdir(at, { withFileTypes: true })).toSorted((a, b) => (a.name < b.name ? -1 : 1));
      found = entries.map(async (entry): Promise<Entry[]> => {
        const path = join(at, entry.name);
        if (isExcluded(relative(directory, path).split(sep).join('/'))) return [];
        if (entry.name.startsWith('.')) return ['hidden'];
        if (entry.isDirectory()) return await walkBelow(path);
        return [await (entry.isSymbolicLink() ? inspectLink(path, root) : inspect(path))];
      });
    } catch (error) {
      return [problemWith(at, error)];
    }
    return (await Promise.all(found)).flat();
  }

  const entries = await walkBelow(directory);
  if (entries.some((entry) => typeof entry === 'object')) return entries;
  return [...entries, { file: directory, why: 'it contains no file to upload' }];
}

async function isDirectory(path: string): Promise<boolean> {
  return await stat(path).then(
    (status) => status.isDirectory(),
    () => false,
  );
}

/**
 * Finds the files to upload, and checks that all of them can be read. Below a directory, hidden files and links that lead
 * out of it are left out: nobody means to publish `.env` or `.git`.
 * @param paths as typed
 * @throws InputError that names every file that cannot be uploaded; the reason of the signal
 */
export async function findFiles(
  paths: readonly string[],
  { recursive, exclude }: FindOptions,
  signal: AbortSignal,
): Promise<FoundFiles> {
  const isExcluded = await createMatcher(exclude);
  const entries: Entry[] = [];
  for (const path of paths) {
    if (recursive && (await isDirectory(path))) entries.push(...(await walk(path, isExcluded, signal)));
    else entries.push(await inspect(path));
  }
  const problems = entries.filter((entry) => typeof entry === 'object' && 'why' in entry);
  if (problems.length === 0) {
    const count = (kind: Entry): number => entries.filter((entry) => entry === kind).length;
    const files = entries.filter((entry) => typeof entry === 'object' && 'version' in entry);
    return { files, hidden: count('hidden'), leaving: count('leaving') };
  }
  throw new InputError(
    problems.length === 1 ? 'A file cannot be uploaded.' : `${problems.length} files cannot be uploaded.`,
    {
      why: problems.map(({ file, why }) => `${file === '' ? '""' : file}: ${why}`).join('\n'),
      hint: 'Nothing was sent.',
      details: { problems },
    },
  );
}

/** Large enough that the overhead per chunk does not matter. */
const CHUNK_BYTES = 512 * 1024;

/**
 * Reads a file in constant memory.
 * @param signal stops reading early, without an error
 * @throws LocalError if it cannot be read, has changed since it was inspected, or its content does not match its size
 */
export async function* readContent(file: LocalFile, signal: AbortSignal): AsyncGenerator<Buffer> {
  let handle = file.handle;
  try {
    handle ??= await open(file.label);
    // One byte more than its size, to notice content that is longer.
    const range = { start: 0, end: file.bytes, highWaterMark: CHUNK_BYTES, autoClose: false };
    let read = 0;
    for await (const chunk of handle.createReadStream(range)) {
      if (signal.aborted) return;
      read += chunk.length;
      if (read > file.bytes) throw changedError(file);
      yield chunk;
    }
    const isSame = read === file.bytes && versionOf(await handle.stat({ bigint: true })) === file.version;
    if (!isSame) throw changedError(file);
  } catch (error) {
    if (error instanceof LocalError) throw error;
    throw new LocalError(`${file.label} cannot be read.`, { why: describeFileError(error), cause: error });
  } finally {
    if (!file.handle) await handle?.close();
  }
}

function changedError({ label }: LocalFile): LocalError {
  return new LocalError(`${label} changed while it was being uploaded.`, {
    why: 'Its size, time, or content is no longer the same. The upload was not completed: it would have mixed old content with new.',
    hint: 'Wait until nothing writes to the file. If the system generates it, as below /proc, pipe it: partnerctl upload - --filename <name>',
  });
}

/** Returns the part of a form with a file. @param contentType by default that of its extension */
export async function filePart(name: string, file: LocalFile, contentType?: string): Promise<FilePart> {
  const { filename, bytes } = file;
  const type = contentType ?? (await import('mime')).default.getType(filename) ?? 'application/octet-stream';
  return { name, filename, contentType: type, bytes, content: (attemptEnded) => readContent(file, attemptEnded) };
}
