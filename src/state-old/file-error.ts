import { stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { LocalError } from '../errors.ts';

export type FileOperation = 'read' | 'written';

interface Explanation {
  readonly why: string;
  readonly hint: string;
}

const ELSEWHERE = 'Name another file with --state or PARTNER_STATE.';

const EXPLANATIONS: Readonly<Record<string, Explanation>> = {
  ENOSPC: { why: 'The disk is full.', hint: `Free some space and run the command again. ${ELSEWHERE}` },
  EDQUOT: { why: 'Your disk quota is used up.', hint: `Free some space and run the command again. ${ELSEWHERE}` },
  EFBIG: {
    why: 'The file has reached the largest size that is allowed.',
    hint: `Raise the limit (ulimit -f). ${ELSEWHERE}`,
  },
  EROFS: { why: 'It is on a read-only file system.', hint: ELSEWHERE },
  EISDIR: { why: 'It is a directory.', hint: ELSEWHERE },
  ENOTDIR: { why: 'A part of its path is a file, not a directory.', hint: ELSEWHERE },
  EEXIST: { why: 'A part of its path is a file, not a directory.', hint: ELSEWHERE },
  ENOENT: {
    why: 'It is a symbolic link to a path that does not exist.',
    hint: `Repair or remove the link. ${ELSEWHERE}`,
  },
  ELOOP: { why: 'Its symbolic links form a loop.', hint: `Repair or remove the link. ${ELSEWHERE}` },
  ENAMETOOLONG: { why: 'Its path is too long.', hint: ELSEWHERE },
  ENXIO: notAFileExplanation(),
  EIO: {
    why: 'The disk reported an error.',
    hint: `Check the disk before you rely on the file. ${ELSEWHERE}`,
  },
};

function notAFileExplanation(): Explanation {
  return { why: 'It is a device, a pipe, or a socket. Records written there would be lost.', hint: ELSEWHERE };
}

/** Returns the error for a state path that is not a regular file. */
export function notRegularFileError(path: string, doing: FileOperation): LocalError {
  return new LocalError(fileErrorMessage(path, doing), notAFileExplanation());
}

/** Returns the error for a partial write. Readers report the part on disk as a damaged line. */
export function shortWriteError(path: string, written: number, wanted: number): LocalError {
  return new LocalError(fileErrorMessage(path, 'written'), {
    why: `Only ${written} of ${wanted} bytes were written: the disk is full, or a quota or size limit was reached.`,
    hint: `Free some space and run the command again. If the partial record blocks it, that run says how to go on. ${ELSEWHERE}`,
  });
}

/** Returns the error for a record that exceeds the length limit of readers. */
export function recordTooLongError(path: string, bytes: number, limit: number): LocalError {
  return new LocalError(fileErrorMessage(path, 'written'), {
    why: `The record has ${bytes} bytes; the limit is ${limit}.`,
    hint: 'Split the input into smaller parts.',
  });
}

function fileErrorMessage(path: string, doing: FileOperation): string {
  return `The state file could not be ${doing}: ${path}`;
}

function isSystemError(error: unknown): error is NodeJS.ErrnoException & { code: string } {
  return error instanceof Error && 'syscall' in error && 'code' in error && typeof error.code === 'string';
}

/** Returns the path or its nearest existing ancestor, with the owner's user id. */
async function nearestExisting(path: string): Promise<{ path: string; uid: number } | undefined> {
  try {
    return { path, uid: (await stat(path)).uid };
  } catch {
    const parent = dirname(path);
    return parent === path ? undefined : nearestExisting(parent);
  }
}

async function explainDenial(path: string): Promise<Explanation> {
  const denied = await nearestExisting(path);
  const me = process.getuid?.();
  if (denied === undefined || me === undefined || denied.uid === me) {
    return {
      why: `The permissions of ${denied?.path ?? path} do not allow it.`,
      hint: `Change them with chmod. ${ELSEWHERE}`,
    };
  }
  return {
    why: `${denied.path} belongs to another user (uid ${denied.uid}; this is uid ${me}).`,
    hint: `If a run under sudo created it, change the owner with chown. ${ELSEWHERE}`,
  };
}

/**
 * Converts a file system error into a LocalError with its cause and a hint.
 * @returns any other error unchanged, because it is a bug
 */
export async function explainFileError(error: unknown, path: string, doing: FileOperation): Promise<unknown> {
  if (!isSystemError(error)) return error;
  const denied = error.code === 'EACCES' || error.code === 'EPERM';
  const explanation = denied ? await explainDenial(path) : EXPLANATIONS[error.code];
  const why = explanation?.why ?? error.message;
  return new LocalError(fileErrorMessage(path, doing), {
    why,
    hint: explanation?.hint ?? ELSEWHERE,
    details: { why, path, code: error.code },
    cause: error,
  });
}
