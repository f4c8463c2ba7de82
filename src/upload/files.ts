import { type BigIntStats, constants } from 'node:fs';
import { access, type FileHandle, open, readdir, stat } from 'node:fs/promises';
import { basename, join, relative, sep } from 'node:path';
import type { FilePart } from '../api/form-body.ts';
import { describeFileError, InputError, LocalError } from '../errors.ts';

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

export interface FoundFiles {
  readonly files: readonly LocalFile[];
  /** How many hidden files and directories were left out below directories. */
  readonly hidden: number;
  /** How many links were left out below directories. */
  readonly links: number;
}

/** What an argument, or an entry below it, is. `why`: it cannot be uploaded. */
type Entry = LocalFile | { readonly file: string; readonly why: string } | 'hidden' | 'link';

/** Returns the version of a file: see `LocalFile`. */
export function versionOf({ ino, size, mtimeNs, ctimeNs }: BigIntStats): string {
  return [ino, size, mtimeNs, ctimeNs].join(' ');
}

async function inspect(path: string): Promise<Entry> {
  try {
    const status = await stat(path, { bigint: true });
    if (status.isDirectory()) return { file: path, why: 'it is a directory; add --recursive to upload what is in it' };
    if (!status.isFile()) return { file: path, why: 'it is a pipe, a socket, or a device, not a file' };
    await access(path, constants.R_OK);
    return { label: path, filename: basename(path), bytes: Number(status.size), version: versionOf(status) };
  } catch (error) {
    return { file: path, why: describeFileError(error) };
  }
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

/** Inspects everything below a directory, by name. */
async function walk(directory: string, isExcluded: (path: string) => boolean): Promise<Entry[]> {
  try {
    const found = await readdir(directory, { withFileTypes: true });
    const entries = found
      .toSorted((a, b) => (a.name < b.name ? -1 : 1))
      .map(async (entry): Promise<Entry[]> => {
        const path = join(directory, entry.name);
        if (isExcluded(path)) return [];
        if (entry.name.startsWith('.')) return ['hidden'];
        if (entry.isSymbolicLink()) return ['link'];
        return entry.isDirectory() ? await walk(path, isExcluded) : [await inspect(path)];
      });
    return (await Promise.all(entries)).flat();
  } catch (error) {
    return [{ file: directory, why: describeFileError(error) }];
  }
}

async function inspectArgument(path: string, recursive: boolean, exclude: readonly string[]): Promise<Entry[]> {
  const isDirectory = recursive && (await stat(path).catch(() => undefined))?.isDirectory();
  if (!isDirectory) return [await inspect(path)];
  const isMatch = await createMatcher(exclude);
  const entries = await walk(path, (each) => isMatch(relative(path, each).split(sep).join('/')));
  if (entries.some((entry) => typeof entry === 'object')) return entries;
  return [...entries, { file: path, why: 'it contains no file to upload' }];
}

/**
 * Finds the files to upload, and checks that all of them can be read. Below a directory, hidden files and links are left out:
 * nobody means to publish `.env`, `.git`, or what a link leads to elsewhere.
 * @param paths as typed
 * @param options `recursive` whether to find everything below directories; `exclude` patterns of what to leave out there
 * @throws InputError that names every file that cannot be uploaded
 */
export async function findFiles(
  paths: readonly string[],
  { recursive, exclude }: { readonly recursive: boolean; readonly exclude: readonly string[] },
): Promise<FoundFiles> {
  const entries: Entry[] = [];
  for (const path of paths) entries.push(...(await inspectArgument(path, recursive, exclude)));
  const problems = entries.filter((entry) => typeof entry === 'object' && 'why' in entry);
  if (problems.length > 0) {
    throw new InputError('Some files cannot be uploaded.', {
      why: problems.map(({ file, why }) => `${file === '' ? '""' : file}: ${why}`).join('\n'),
      hint: 'Nothing was sent.',
      details: { problems },
    });
  }
  const count = (kind: Entry): number => entries.filter((entry) => entry === kind).length;
  const files = entries.filter((entry) => typeof entry === 'object' && 'version' in entry);
  return { files, hidden: count('hidden'), links: count('link') };
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
