import { createHash, randomUUID } from 'node:crypto';
import { type BigIntStats, constants } from 'node:fs';
import { access, type FileHandle, open, readdir, stat, unlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join, relative, sep } from 'node:path';
import { describeFileError, InputError, LocalError, PartnerctlError } from '../errors.ts';
import { errorMessage } from '../platform/error-code.ts';

/** A file as it was when it was inspected. */
export interface LocalFile {
  /** As the user named it, or below the directory that the user named. */
  readonly label: string;
  readonly filename: string;
  readonly bytes: number;
  /** Changes whenever something writes to the file. */
  readonly version: string;
  /** The open file, if no path leads to it. Whoever has it closes it. */
  readonly handle?: FileHandle;
}

/** What an argument, or an entry below it, is. `why`: it cannot be uploaded. */
type Entry = LocalFile | { readonly file: string; readonly why: string } | 'left out';

function versionOf({ ino, size, mtimeNs, ctimeNs }: BigIntStats): string {
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

async function walk(directory: string, isExcluded: (path: string) => boolean): Promise<Entry[]> {
  try {
    const found = await readdir(directory, { withFileTypes: true });
    const sorted = found.toSorted((a, b) => (a.name < b.name ? -1 : 1));
    const entries = sorted.map(async (entry): Promise<Entry[]> => {
      const path = join(directory, entry.name);
      if (isExcluded(path)) return [];
      if (entry.name.startsWith('.') || entry.isSymbolicLink()) return ['left out'];
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
 * Finds the files to upload, and checks that all of them can be read. Below a directory, hidden files and links are
 * left out: nobody means to publish `.env`, `.git`, or what a link leads to elsewhere.
 * @param paths as typed
 * @param options `exclude`: patterns of what to leave out below directories
 * @returns also how many hidden files, hidden directories, and links were left out
 * @throws InputError that names every file that cannot be uploaded
 */
export async function findFiles(
  paths: readonly string[],
  { recursive = false, exclude }: { readonly recursive?: boolean | undefined; readonly exclude: readonly string[] },
): Promise<{ readonly files: readonly LocalFile[]; readonly leftOut: number }> {
  const found: Entry[][] = [];
  for (const path of paths) found.push(await inspectArgument(path, recursive, exclude));
  const entries = found.flat();
  const problems = entries.filter((entry) => typeof entry === 'object' && 'why' in entry);
  if (problems.length > 0) {
    throw new InputError('Some files cannot be uploaded.', {
      why: problems.map(({ file, why }) => `${file === '' ? '""' : file}: ${why}`).join('\n'),
      hint: 'Nothing was sent.',
      details: { problems },
    });
  }
  const files = entries.filter((entry) => typeof entry === 'object' && 'version' in entry);
  return { files, leftOut: entries.length - files.length };
}

/**
 * Copies standard input to a temporary file, so that it can be hashed and then sent. It is unlinked at once, so that it
 * disappears with this process, however that ends.
 * @throws LocalError if it cannot be stored; a PartnerctlError of reading it
 */
export async function spool(chunks: AsyncIterable<Buffer | string>, filename: string): Promise<LocalFile> {
  const path = join(tmpdir(), `partnerctl-upload-${randomUUID()}`);
  let handle: FileHandle | undefined;
  try {
    handle = await open(path, 'wx+', 0o600);
    await unlink(path);
    await writeFile(handle, chunks);
    const status = await handle.stat({ bigint: true });
    return { label: '-', filename, bytes: Number(status.size), version: versionOf(status), handle };
  } catch (error) {
    await handle?.close();
    if (error instanceof PartnerctlError) throw error;
    throw new LocalError('Standard input could not be written to a temporary file.', {
      why: errorMessage(error),
      hint: `Nothing was sent. If ${tmpdir()} is full or missing, set TMPDIR to another directory.`,
      cause: error,
    });
  }
}

/**
 * Reads a file in constant memory.
 * @param signal stops reading early, without an error
 * @throws LocalError if it cannot be read, has changed since it was inspected, or its content does not match its size
 */
export async function* readContent(file: LocalFile, signal: AbortSignal): AsyncGenerator<Buffer> {
  const { label, bytes, version } = file;
  let handle = file.handle;
  try {
    handle ??= await open(label);
    // One byte more than its size, to notice content that is longer. Large chunks keep the overhead of each small.
    const range = { start: 0, end: bytes, highWaterMark: 512 * 1024, autoClose: false };
    let read = 0;
    for await (const chunk of handle.createReadStream(range)) {
      if (signal.aborted) return;
      read += chunk.length;
      if (read > bytes) throw changedError(label);
      yield chunk;
    }
    if (read !== bytes || versionOf(await handle.stat({ bigint: true })) !== version) throw changedError(label);
  } catch (error) {
    if (error instanceof LocalError) throw error;
    throw new LocalError(`${label} cannot be read.`, { why: describeFileError(error), cause: error });
  } finally {
    if (!file.handle) await handle?.close();
  }
}

function changedError(label: string): LocalError {
  return new LocalError(`${label} changed while it was being uploaded.`, {
    why: 'The upload was not completed: it would have mixed old content with new.',
    hint: 'Wait until nothing writes to the file. If the system generates it, as below /proc, pipe it: partnerctl upload - --filename <name>',
  });
}

/** Returns the SHA-256 of a file in hexadecimal. @throws LocalError if it cannot be read; the reason of the signal */
export async function hashFile(file: LocalFile, signal: AbortSignal): Promise<string> {
  const hash = createHash('sha256');
  for await (const chunk of readContent(file, signal)) hash.update(chunk);
  signal.throwIfAborted();
  return hash.digest('hex');
}
