import { stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { LocalError } from '../errors.ts';

export type Doing = 'read' | 'written';

interface Explanation {
  readonly why: string;
  readonly hint: string;
}

const ELSEWHERE = 'Name another file with --state or PARTNER_STATE.';

const EXPLANATIONS: Readonly<Record<string, Explanation>> = {
  ENOSPC: { why: 'The disk is full.', hint: `Free some space and run the command again. ${ELSEWHERE}` },
  EDQUOT: { why: 'Your disk quota is used up.', hint: `Free some space and run the command again. ${ELSEWHERE}` },
  EFBIG: {
    why: 'The file has reached the largest size allowed here.',
    hint: `Raise the limit (ulimit -f). ${ELSEWHERE}`,
  },
  EROFS: { why: 'It is on a read-only file system.', hint: ELSEWHERE },
  EISDIR: { why: 'A directory is in its place.', hint: ELSEWHERE },
  ENOTDIR: { why: 'A part of its path is a file, not a directory.', hint: ELSEWHERE },
  EEXIST: { why: 'A part of its path is a file, not a directory.', hint: ELSEWHERE },
  ENOENT: {
    why: 'It is a symbolic link to a place that does not exist.',
    hint: `Mend or remove the link. ${ELSEWHERE}`,
  },
  ELOOP: { why: 'Its symbolic links lead in a circle.', hint: `Mend or remove the link. ${ELSEWHERE}` },
  ENAMETOOLONG: { why: 'Its path is too long.', hint: ELSEWHERE },
  ENXIO: notAFile(),
  EIO: {
    why: 'The disk reported an error.',
    hint: `Check the disk before you rely on the file. ${ELSEWHERE}`,
  },
};

function notAFile(): Explanation {
  return { why: 'It is a device, a pipe or a socket. Records kept there would be lost.', hint: ELSEWHERE };
}

/** The failure of a state path that names something other than a regular file. */
export function notRegularFile(path: string, doing: Doing): LocalError {
  return new LocalError(message(path, doing), notAFile());
}

/** The failure of a write that the system cut short: what is on disk of it reads as a damaged line. */
export function shortWrite(path: string, written: number, wanted: number): LocalError {
  return new LocalError(message(path, 'written'), {
    why: `Only ${written} of the record's ${wanted} bytes fitted: the disk is full, or a quota or size limit was reached.`,
    hint: `Free some space and run the command again; the cut record does no harm. ${ELSEWHERE}`,
  });
}

/** The failure of a record that no reader would accept. */
export function recordTooLong(path: string, bytes: number, limit: number): LocalError {
  return new LocalError(message(path, 'written'), {
    why: `The record has ${bytes} bytes; the longest that is read back has ${limit}.`,
    hint: 'Split the input into smaller parts.',
  });
}

function message(path: string, doing: Doing): string {
  return `The state file could not be ${doing}: ${path}`;
}

/** The code of a system error, such as `ENOENT`; undefined for anything else. */
export function errorCode(error: unknown): unknown {
  return error instanceof Error && 'code' in error ? error.code : undefined;
}

function isSystemError(error: unknown): error is NodeJS.ErrnoException & { code: string } {
  return error instanceof Error && 'syscall' in error && 'code' in error && typeof error.code === 'string';
}

/** The nearest part of a path that exists, and the user id that it belongs to. */
async function nearestExisting(path: string): Promise<{ path: string; uid: number } | undefined> {
  try {
    return { path, uid: (await stat(path)).uid };
  } catch {
    const parent = dirname(path);
    return parent === path ? undefined : nearestExisting(parent);
  }
}

async function explainDenied(path: string): Promise<Explanation> {
  const culprit = await nearestExisting(path);
  const me = process.getuid?.();
  if (culprit === undefined || me === undefined || culprit.uid === me) {
    return {
      why: `The permissions of ${culprit?.path ?? path} do not allow it.`,
      hint: `Change them with chmod. ${ELSEWHERE}`,
    };
  }
  return {
    why: `${culprit.path} belongs to another user (uid ${culprit.uid}; this is uid ${me}).`,
    hint: `If a run under sudo made it, give it back with chown. ${ELSEWHERE}`,
  };
}

/**
 * Turns what the file system threw into a failure that says what, why, and what to do next.
 * @returns a LocalError for an error of the system; anything else as it was, because it is a bug.
 */
export async function explained(error: unknown, path: string, doing: Doing): Promise<unknown> {
  if (!isSystemError(error)) return error;
  const denied = error.code === 'EACCES' || error.code === 'EPERM';
  const known = denied ? await explainDenied(path) : EXPLANATIONS[error.code];
  const why = known?.why ?? error.message;
  return new LocalError(message(path, doing), {
    why,
    hint: known?.hint ?? ELSEWHERE,
    details: { why, path, code: error.code },
    cause: error,
  });
}
