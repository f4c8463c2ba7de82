import { constants } from 'node:fs';
import { access, type FileHandle, mkdir, open, readFile, realpath, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { describeFileError, LocalError } from '../errors.ts';
import { errorCode } from '../platform/error-code.ts';
import type { LogDriver } from './log.ts';

// Without O_NONBLOCK, opening a pipe would wait for a reader.
const { O_APPEND, O_CREAT, O_NONBLOCK = 0, O_RDONLY, O_WRONLY, R_OK, W_OK, X_OK } = constants;

const ELSEWHERE = 'Name another file with --state or PARTNER_STATE.';

const HINTS: Readonly<Record<string, string>> = {
  ENOSPC: `Free some space and run the command again. ${ELSEWHERE}`,
  EDQUOT: `Your disk quota is used up. Free some space and run the command again. ${ELSEWHERE}`,
  EFBIG: `Raise the limit on the size of files (ulimit -f). ${ELSEWHERE}`,
  EACCES: `Change its permissions or its owner: a run under sudo may have created it. ${ELSEWHERE}`,
  EPERM: `Change its permissions or its owner: a run under sudo may have created it. ${ELSEWHERE}`,
  EIO: `Check the disk before you rely on the file. ${ELSEWHERE}`,
  ELOOP: `Repair or remove the link. ${ELSEWHERE}`,
};

/** Explains a failure of the file system. Returns any other error unchanged, because it is a bug. */
function explain(error: unknown, path: string, doing: 'read' | 'written'): unknown {
  const code = errorCode(error);
  if (!(error instanceof Error) || !('syscall' in error) || typeof code !== 'string') return error;
  const why = `${describeFileError(error).replace(/^./, (first) => first.toUpperCase())}.`;
  return new LocalError(`The state file could not be ${doing}: ${path}`, {
    why,
    hint: HINTS[code] ?? ELSEWHERE,
    details: { why, path, code },
    cause: error,
  });
}

/** Puts the entries of a directory on disk. Some systems cannot. */
async function syncDirectory(path: string): Promise<void> {
  const directory = await open(path, O_RDONLY).catch(() => undefined);
  await directory?.sync().catch(() => undefined);
  await directory?.close();
}

async function requireFile(file: FileHandle, path: string, doing: 'read' | 'written'): Promise<number> {
  const status = await file.stat();
  if (status.isFile()) return status.size;
  throw new LocalError(`The state file could not be ${doing}: ${path}`, {
    why: 'It is a directory, a device, or a pipe. Records written there would be lost.',
    hint: ELSEWHERE,
  });
}

/** Opens the file to append. Creates it (0600) and its directory (0700), and puts their names on disk. */
async function openToAppend(path: string): Promise<FileHandle> {
  const created = await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  const file = await open(path, O_WRONLY | O_APPEND | O_CREAT | O_NONBLOCK, 0o600);
  try {
    const size = await requireFile(file, path, 'written');
    // If the file is empty, the process that created it may have been killed before it did this.
    if (size === 0) await syncDirectory(dirname(await realpath(path)));
    for (let at = dirname(path); created !== undefined && at.length >= created.length; at = dirname(at)) {
      await syncDirectory(dirname(at));
    }
    return file;
  } catch (error) {
    await file.close();
    throw error;
  }
}

async function readText(path: string): Promise<string | undefined> {
  const file = await open(path, O_RDONLY | O_NONBLOCK).catch((error: unknown) => {
    if (errorCode(error) === 'ENOENT') return undefined;
    throw error;
  });
  if (!file) return undefined;
  try {
    await requireFile(file, path, 'read');
    return await readFile(file, 'utf8');
  } finally {
    await file.close();
  }
}

/** The nearest directory that exists. */
async function existingParent(path: string): Promise<string> {
  const parent = dirname(path);
  const exists = await stat(parent).catch(() => undefined);
  return exists || parent === path ? parent : existingParent(parent);
}

/**
 * The log in a local file. Several processes may append at once: each write is one call, which the system keeps whole and in
 * one order.
 */
export function fileLog(path: string): LogDriver {
  let held: FileHandle | undefined;

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
        throw new LocalError(`The state file could not be written: ${path}`, {
          why: `Only ${bytesWritten} of ${bytes.length} bytes were written: the disk is full, or a quota or size limit was reached.`,
          hint: `Free some space and run the command again. ${ELSEWHERE}`,
        });
      }
      await held.sync();
      if (await isCurrent(held)) return;
      await held.close();
      held = undefined;
    }
  }

  async function guarded<Value>(doing: 'read' | 'written', act: () => Promise<Value>): Promise<Value> {
    try {
      return await act();
    } catch (error) {
      throw explain(error, path, doing);
    }
  }

  return {
    label: path,
    load: () => guarded('read', async () => (await readText(path))?.split(/\r?\n/)),
    // Begins with a line feed, to end what a killed writer may have left.
    write: (lines) => guarded('written', () => append(Buffer.from(`\n${lines.join('\n')}\n`))),
    async prepare() {
      await guarded('written', async () => await (await openToAppend(path)).close());
      return undefined;
    },
    check: () =>
      guarded('written', async () => {
        const exists = (await readText(path)) !== undefined;
        await (exists ? access(path, R_OK | W_OK) : access(await existingParent(path), W_OK | X_OK));
      }),
    async close() {
      await held?.close();
      held = undefined;
    },
  };
}
