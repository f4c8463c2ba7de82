import { isAscii } from 'node:buffer';
import { constants } from 'node:fs';
import { access, type FileHandle, open, realpath, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { describeFileError, type ErrorInfo, LocalError } from '../errors.ts';
import { errorCode } from '../platform/error-code.ts';
import { makeDirectories } from '../platform/files.ts';
import { toSentenceCase } from '../platform/text.ts';
import type { LoadedLines, LogDriver } from './log.ts';

// Without O_NONBLOCK, opening a pipe would wait for its other end.
const { O_APPEND, O_CREAT, O_NONBLOCK = 0, O_RDONLY, O_WRONLY, R_OK, W_OK } = constants;

const HINT =
  'The file must be yours to write (a run under sudo may have created it), on a disk with free space. Or name another with --state or PARTNER_STATE.';

function failed(path: string, doing: 'read' | 'written', why: string, info: ErrorInfo = {}): LocalError {
  return new LocalError(`The state file could not be ${doing}: ${path}`, { why, hint: HINT, ...info });
}

/** Opens the file. @throws LocalError if a directory, a device, or a pipe is there: records would be lost */
async function openFile(path: string, flags: number): Promise<FileHandle> {
  const file = await open(path, flags | O_NONBLOCK, 0o600);
  if ((await file.stat()).isFile()) return file;
  await file.close();
  throw failed(path, 'read', 'It is a directory, a device, or a pipe.');
}

/** Puts the entries of a directory, and of those above it, on disk. Some systems cannot. */
async function syncDirectories(path: string): Promise<void> {
  const directory = await open(path, O_RDONLY).catch(() => undefined);
  await directory?.sync().catch(() => undefined);
  await directory?.close();
  if (dirname(path) !== path) await syncDirectories(dirname(path));
}

/** Opens the file to append. Creates it (0600) and its directory (0700), and puts their names on disk. */
async function openToAppend(path: string): Promise<FileHandle> {
  await makeDirectories(dirname(path));
  const file = await openFile(path, O_WRONLY | O_APPEND | O_CREAT);
  // If the file is empty, the process that created it may have been killed before it did this.
  if ((await file.stat()).size === 0) await syncDirectories(dirname(await realpath(path)));
  return file;
}

async function nearestExisting(path: string): Promise<string> {
  const exists = await stat(path).catch(() => undefined);
  return exists || dirname(path) === path ? path : nearestExisting(dirname(path));
}

/** Explains failures of the file system. Other errors are bugs, or explained already. */
async function explained<Value>(path: string, doing: 'read' | 'written', act: () => Promise<Value>): Promise<Value> {
  try {
    return await act();
  } catch (error) {
    const code = errorCode(error);
    if (!(error instanceof Error) || !('syscall' in error) || typeof code !== 'string') throw error;
    const why = `${toSentenceCase(describeFileError(error))}.`;
    throw failed(path, doing, why, { details: { path, code }, cause: error });
  }
}

/** How far a file has been read. */
interface Progress {
  /** Its inode and device. */
  readonly file: string;
  /** The end of the last line that was read, and its number. */
  readonly offset: number;
  readonly line: number;
}

async function readTo(file: FileHandle, start: number, end: number): Promise<Buffer> {
  const bytes = Buffer.alloc(end - start);
  let length = 0;
  while (length < bytes.length) {
    const { bytesRead } = await file.read(bytes, length, bytes.length - length, start + length);
    if (bytesRead === 0) break;
    length += bytesRead;
  }
  return bytes.subarray(0, length);
}

/** Reads what a file has beyond `done`; all of it if it is another file, or has become shorter. */
async function readMore(file: FileHandle, done: Progress | undefined): Promise<[LoadedLines, Progress]> {
  const { ino, dev, size } = await file.stat();
  const id = `${ino} ${dev}`;
  const isSame = done?.file === id && size >= done.offset;
  const { offset, line: from } = isSame ? done : { offset: 0, line: 0 };
  const bytes = await readTo(file, offset, size);
  // Decoding UTF-8 costs more than all else of a large log.
  const lines = bytes.toString(isAscii(bytes) ? 'latin1' : 'utf8').split(/\r?\n/);
  const next = { file: id, offset: offset + bytes.lastIndexOf('\n') + 1, line: from + lines.length - 1 };
  return [{ from, lines }, next];
}

/** The log in a local file. Each write is one call: the system keeps those of several processes whole and in order. */
export function fileLog(path: string): LogDriver {
  let held: FileHandle | undefined;
  let done: Progress | undefined;

  /** Whether the path still leads to the open file: git or a person may have replaced it. */
  async function isCurrent(file: FileHandle): Promise<boolean> {
    const [mine, there] = await Promise.all([file.stat(), stat(path).catch(() => undefined)]);
    return there !== undefined && there.ino === mine.ino && there.dev === mine.dev;
  }

  async function append(bytes: Buffer): Promise<void> {
    for (;;) {
      held ??= await openToAppend(path);
      const { bytesWritten } = await held.write(bytes);
      if (bytesWritten < bytes.length) {
        const limit = 'the disk is full, or a quota or size limit was reached';
        throw failed(path, 'written', `Only ${bytesWritten} of ${bytes.length} bytes were written: ${limit}.`);
      }
      await held.sync();
      if (await isCurrent(held)) return;
      await held.close();
      held = undefined;
    }
  }

  return {
    label: path,
    batch: 8,
    load: () =>
      explained(path, 'read', async () => {
        const file = await openFile(path, O_RDONLY).catch((error: unknown) => {
          if (errorCode(error) !== 'ENOENT') throw error;
        });
        if (!file) {
          done = undefined;
          return undefined;
        }
        try {
          const [loaded, progress] = await readMore(file, done);
          done = progress;
          return loaded;
        } finally {
          await file.close();
        }
      }),
    // Begins with a line feed, to end what a killed writer may have left.
    write: (lines) => explained(path, 'written', () => append(Buffer.from(`\n${lines.join('\n')}\n`))),
    prepare: () => explained(path, 'written', async () => void (await (await openToAppend(path)).close())),
    check: () => explained(path, 'written', async () => access(await nearestExisting(path), R_OK | W_OK)),
    async close() {
      await held?.close();
      held = undefined;
    },
  };
}
