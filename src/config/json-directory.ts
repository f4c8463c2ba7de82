import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { mkdtemp, rename, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { isJsonObject, type JsonObject } from '../contract/json.ts';
import { describeFileError, InputError, LocalError, PartnerctlError } from '../errors.ts';
import { errorCode } from '../platform/error-code.ts';
import { makeDirectories } from '../platform/files.ts';

/** The file in which an earlier version kept all entries. */
export interface OldFile {
  readonly path: string;
  /** Returns its entries by their names, at least one. @throws InputError if it is damaged */
  readonly split: (content: JsonObject) => ReadonlyMap<string, JsonObject>;
}

/**
 * A directory with a JSON file for each entry, named after it. Nothing writes what it does not change, so commands that
 * change different entries at once lose nothing; of two changes to one entry, the later counts. Until the first change,
 * an old file counts.
 */
export class JsonDirectory {
  private readonly path: string;
  private readonly old: OldFile;

  constructor(path: string, old: OldFile) {
    this.path = path;
    this.old = old;
  }

  /** The names of the entries, in no order. @throws as `read` for the old file */
  names(): readonly string[] {
    const old = this.readOld();
    if (old) return [...old.keys()];
    const files = existsSync(this.path) ? readdirSync(this.path) : [];
    return files.flatMap((file) => (file.endsWith('.json') ? basename(file, '.json') : []));
  }

  /** Reads an entry; undefined if there is none. @throws InputError if it is damaged, LocalError if it cannot be read */
  read(name: string): JsonObject | undefined {
    const old = this.readOld();
    return old ? old.get(name) : readJson(this.pathOf(name));
  }

  /** The path of the file that holds an entry, or of what holds all. */
  pathOf(name?: string): string {
    if (!existsSync(this.path) && existsSync(this.old.path)) return this.old.path;
    return name === undefined ? this.path : join(this.path, `${name}.json`);
  }

  /**
   * Changes an entry, or removes it if it becomes undefined.
   * @throws as `read`; LocalError if it cannot be written; what `change` throws
   */
  async change(name: string, change: (content: JsonObject | undefined) => object | undefined): Promise<void> {
    await writing(this.path, () => this.takeOver());
    const path = this.pathOf(name);
    const content = change(this.read(name));
    await writing(path, () => (content ? writeJson(path, content) : rm(path, { force: true })));
  }

  private readOld(): ReadonlyMap<string, JsonObject> | undefined {
    const content = existsSync(this.path) ? undefined : readJson(this.old.path);
    return content && this.old.split(content);
  }

  /** Takes the old file over, and removes it: it may hold tokens. */
  private async takeOver(): Promise<void> {
    const entries = this.readOld();
    if (entries) {
      const draft = await mkdtemp(`${this.path}-`);
      for (const [name, content] of entries) await writeJson(join(draft, `${name}.json`), content);
      // No rename replaces a directory that is not empty: of two commands one wins, and what was removed stays so.
      await rename(draft, this.path).catch(async (error: unknown) => {
        await rm(draft, { recursive: true });
        if (!existsSync(this.path)) throw error;
      });
    }
    await rm(this.old.path, { force: true });
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

async function writing(path: string, write: () => Promise<void>): Promise<void> {
  try {
    await write();
  } catch (error) {
    if (error instanceof PartnerctlError) throw error;
    throw new LocalError(`The file ${path} cannot be written.`, { why: describeFileError(error), cause: error });
  }
}

/** Replaces a JSON file atomically. Only its owner can read it. */
async function writeJson(path: string, content: object): Promise<void> {
  // Loading it takes as long as a bare start, so only what writes does.
  const { default: Conf } = await import('conf');
  const [cwd, configName] = [dirname(path), basename(path, '.json')];
  await makeDirectories(cwd);
  new Conf({ cwd, configName, configFileMode: 0o600, accessPropertiesByDotNotation: false }).store = { ...content };
}
