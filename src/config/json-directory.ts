import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { isJsonObject, type JsonObject } from '../contract/json.ts';
import { describeFileError, InputError, LocalError } from '../errors.ts';
import { errorCode } from '../platform/error-code.ts';
import { makeDirectories } from '../platform/files.ts';

/**
 * A directory with a JSON file for each entry, named after it. Nothing writes what it does not change, so commands that
 * change different entries at once lose nothing; of two changes to one entry, the later counts.
 */
export class JsonDirectory {
  private readonly path: string;

  constructor(path: string) {
    this.path = path;
  }

  /** The names of the entries, in no order. */
  names(): readonly string[] {
    const files = existsSync(this.path) ? readdirSync(this.path) : [];
    return files.flatMap((file) => (file.endsWith('.json') ? basename(file, '.json') : []));
  }

  /** Reads an entry; undefined if there is none. @throws InputError if it is damaged, LocalError if it cannot be read */
  read(name: string): JsonObject | undefined {
    return readJson(this.pathOf(name));
  }

  /** The path of the file that holds an entry, or of the directory. */
  pathOf(name?: string): string {
    return name === undefined ? this.path : join(this.path, `${name}.json`);
  }

  /**
   * Changes an entry, or removes it if it becomes undefined.
   * @throws as `read`; LocalError if it cannot be written; what `change` throws
   */
  async change(name: string, change: (content: JsonObject | undefined) => object | undefined): Promise<void> {
    const path = this.pathOf(name);
    const content = change(readJson(path));
    try {
      await (content ? writeJson(path, content) : rm(path, { force: true }));
    } catch (error) {
      throw new LocalError(`The file ${path} cannot be written.`, { why: describeFileError(error), cause: error });
    }
  }
}

/** Returns the error for a file that does not have what this tool writes. */
export function damagedFile(path: string, why: string): InputError {
  return new InputError(`The file ${path} is damaged.`, { why, hint: 'Repair the file, or move it away.' });
}

function readJson(path: string): JsonObject | undefined {
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

/** Replaces a JSON file atomically. Only its owner can read it. */
async function writeJson(path: string, content: object): Promise<void> {
  // Loading it takes as long as a bare start, so only what writes does.
  const { default: Conf } = await import('conf');
  const [cwd, configName] = [dirname(path), basename(path, '.json')];
  await makeDirectories(cwd);
  new Conf({ cwd, configName, configFileMode: 0o600, accessPropertiesByDotNotation: false }).store = { ...content };
}
