import { readFileSync } from 'node:fs';
import { basename, dirname } from 'node:path';
import { isJsonObject, type JsonObject } from '../contract/json.ts';
import { describeFileError, InputError, LocalError, PartnerctlError } from '../errors.ts';
import { errorCode } from '../platform/error-code.ts';
import { makeDirectories } from '../platform/files.ts';

/** Returns the error for a file that does not have what this tool writes. */
export function damagedFile(path: string, why: string): InputError {
  return new InputError(`The file ${path} is damaged.`, { why, hint: 'Repair the file, or move it away.' });
}

/** Reads a file of `writeJson`; undefined if there is none. @throws InputError if damaged, LocalError if unreadable */
export function readJson(path: string): JsonObject | undefined {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    if (errorCode(error) === 'ENOENT' || errorCode(error) === 'ENOTDIR') return undefined;
    throw new LocalError(`The file ${path} cannot be read.`, { why: describeFileError(error), cause: error });
  }
  try {
    const stored: unknown = JSON.parse(text);
    if (isJsonObject(stored)) return stored;
  } catch {}
  throw damagedFile(path, 'It is not a JSON object.');
}

/** Returns the error for a file that cannot be written or removed; an error of ours as it is. */
export function unwritable(path: string, cause: unknown): PartnerctlError {
  if (cause instanceof PartnerctlError) return cause;
  return new LocalError(`The file ${path} cannot be written.`, { why: describeFileError(cause), cause });
}

/**
 * Replaces a JSON file atomically. Only its owner can read it.
 * @param path ends in `.json` @throws LocalError if it cannot be written
 */
export async function writeJson(path: string, content: object): Promise<void> {
  // Loading it takes as long as a bare start, so only what writes does.
  const { default: Conf } = await import('conf');
  const cwd = dirname(path);
  try {
    await makeDirectories(cwd);
    const configName = basename(path, '.json');
    const conf = new Conf({ cwd, configName, configFileMode: 0o600, accessPropertiesByDotNotation: false });
    conf.store = { ...content };
  } catch (error) {
    throw unwritable(path, error);
  }
}
