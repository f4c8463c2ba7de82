import { constants } from 'node:fs';
import { access, lstat, open, stat } from 'node:fs/promises';
import { dirname, posix, win32 } from 'node:path';
import { UsageError } from '../errors.ts';
import { errorCode, explainFileError, notRegularFileError } from './file-error.ts';

export interface LocationSources {
  /** The value of `--state`, if set. */
  readonly flag: string | undefined;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly platform: NodeJS.Platform;
  /** The user's home directory. */
  readonly home: string;
}

export interface StateLocation {
  readonly path: string;
  /** Where the path comes from. */
  readonly from: '--state' | 'PARTNER_STATE' | 'XDG_STATE_HOME' | 'LOCALAPPDATA' | 'default';
}

/**
 * Returns the location of the state file: the flag, else `PARTNER_STATE`, else `partnerctl/state.jsonl` in the
 * platform's state directory. An empty variable counts as unset. A relative XDG_STATE_HOME is ignored, as the XDG
 * specification requires.
 * @throws UsageError if the flag is empty, or if no setting names a directory and the user has no home directory
 */
export function stateLocation({ flag, env, platform, home }: LocationSources): StateLocation {
  if (flag === '') throw new UsageError('--state needs a file name.', { hint: 'Is the shell variable in it unset?' });
  if (flag !== undefined) return { path: flag, from: '--state' };
  if (env.PARTNER_STATE) return { path: env.PARTNER_STATE, from: 'PARTNER_STATE' };

  const { isAbsolute, join } = platform === 'win32' ? win32 : posix;
  const inDirectory = (directory: string) => join(directory, 'partnerctl', 'state.jsonl');
  const xdg = env.XDG_STATE_HOME;
  if (xdg && isAbsolute(xdg)) return { path: inDirectory(xdg), from: 'XDG_STATE_HOME' };
  if (platform === 'win32' && env.LOCALAPPDATA) return { path: inDirectory(env.LOCALAPPDATA), from: 'LOCALAPPDATA' };
  if (!isAbsolute(home)) {
    throw new UsageError('There is no home directory for the state file.', {
      hint: 'Name the file with --state or PARTNER_STATE.',
    });
  }
  const inHome = platform === 'win32' ? join(home, 'AppData', 'Local') : join(home, '.local', 'state');
  return { path: inDirectory(inHome), from: 'default' };
}

// Without O_NONBLOCK, opening a pipe would wait for its other end.
const { O_NONBLOCK = 0, O_RDONLY, W_OK, X_OK } = constants;

/** Whether the path exists; a broken symbolic link counts. */
export async function isPathTaken(path: string): Promise<boolean> {
  try {
    await lstat(path);
    return true;
  } catch {
    return false;
  }
}

/**
 * Returns the size of the state file in bytes; undefined if it does not exist.
 * @throws LocalError if the path is a directory, a pipe, a broken link, or the like, or if the file cannot be read
 */
export async function findStateFile(path: string): Promise<{ readonly bytes: number } | undefined> {
  try {
    const file = await open(path, O_RDONLY | O_NONBLOCK);
    try {
      const status = await file.stat();
      // Reading a directory makes the system throw EISDIR, which `explainFileError` explains.
      if (status.isDirectory()) await file.read(Buffer.alloc(1));
      if (!status.isFile()) throw notRegularFileError(path, 'read');
      return { bytes: status.size };
    } finally {
      await file.close();
    }
  } catch (error) {
    if (errorCode(error) === 'ENOENT' && !(await isPathTaken(path))) return undefined;
    throw await explainFileError(error, path, 'read');
  }
}

async function canAccess(path: string, mode: number): Promise<boolean> {
  try {
    await access(path, mode);
    return true;
  } catch {
    return false;
  }
}

/** Whether files can be created in the directory, or in its nearest parent that exists. */
async function isCreatable(directory: string): Promise<boolean> {
  try {
    return (await stat(directory)).isDirectory() && (await canAccess(directory, W_OK | X_OK));
  } catch (error) {
    return errorCode(error) === 'ENOENT' && dirname(directory) !== directory && isCreatable(dirname(directory));
  }
}

/**
 * Whether permissions allow writing records. Writes nothing.
 * @param exists whether the file exists (see `findStateFile`)
 */
export async function isWritable(path: string, exists: boolean): Promise<boolean> {
  return exists ? canAccess(path, W_OK) : isCreatable(dirname(path));
}
