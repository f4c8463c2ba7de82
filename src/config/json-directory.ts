import { existsSync, readdirSync } from 'node:fs';
import { mkdtemp, rename, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import type { JsonObject } from '../contract/json.ts';
import { readJson, unwritable, writeJson } from './json-file.ts';

/** The file in which an earlier version kept all entries. */
export interface OldFile {
  readonly path: string;
  /** Returns its entries by their names, one of which nobody removes. @throws InputError if it is damaged */
  readonly split: (content: JsonObject) => ReadonlyMap<string, JsonObject>;
}

/**
 * A directory with a JSON file for each entry, named after it. Nothing writes what it does not change, so commands that
 * change different entries at once lose nothing; of two changes to one entry, the later counts. Until the first change,
 * an old file counts.
 */
export class JsonDirectory {
  readonly path: string;
  private readonly old: OldFile;

  constructor(path: string, old: OldFile) {
    this.path = path;
    this.old = old;
  }

  /** The names of the entries, in no order. @throws as `readJson` for the old file */
  names(): readonly string[] {
    const old = this.readOld();
    if (old) return [...old.keys()];
    const files = existsSync(this.path) ? readdirSync(this.path) : [];
    return files.flatMap((file) => (file.endsWith('.json') ? file.slice(0, -'.json'.length) : []));
  }

  /** Reads an entry; undefined if there is none. @throws as `readJson` */
  read(name: string): JsonObject | undefined {
    const old = this.readOld();
    return old ? old.get(name) : readJson(this.pathOf(name));
  }

  /** The path of the file that holds an entry, or of what holds all. */
  pathOf(name?: string): string {
    if (!existsSync(this.path) && existsSync(this.old.path)) return this.old.path;
    return name === undefined ? this.path : join(this.path, `${name}.json`);
  }

  /** Changes an entry. @throws as `readJson` and `writeJson`; what `change` throws */
  async change(name: string, change: (content: JsonObject | undefined) => object): Promise<void> {
    await this.takeOver();
    await writeJson(this.pathOf(name), change(this.read(name)));
  }

  /** Removes an entry, if it is there. @throws as `readJson` for the old file, LocalError if it cannot be removed */
  async remove(name: string): Promise<void> {
    await this.takeOver();
    await removePath(this.pathOf(name));
  }

  private readOld(): ReadonlyMap<string, JsonObject> | undefined {
    const content = existsSync(this.path) ? undefined : readJson(this.old.path);
    return content && this.old.split(content);
  }

  /**
   * Takes the old file over, whole, by one rename: no rename replaces a directory that is not empty, so of two
   * commands one wins, and what was removed since does not come back. Then the old file is removed, because it may hold tokens;
   * last, because it also tells that a command which was killed may have left a draft.
   */
  private async takeOver(): Promise<void> {
    const { path, old } = this;
    if (!existsSync(old.path)) return;
    try {
      const entries = this.readOld();
      if (entries) {
        const draft = await mkdtemp(`${path}-`);
        for (const [name, content] of entries) await writeJson(join(draft, `${name}.json`), content);
        await rename(draft, path);
      }
    } catch (error) {
      if (!existsSync(path)) throw unwritable(path, error);
    }
    const beside = dirname(path);
    const drafts = readdirSync(beside).filter((name) => name.startsWith(`${basename(path)}-`));
    for (const draft of drafts) await removePath(join(beside, draft));
    await removePath(old.path);
  }
}

async function removePath(path: string): Promise<void> {
  try {
    // The command that lost may still be writing into its draft.
    await rm(path, { recursive: true, force: true, maxRetries: 5 });
  } catch (error) {
    throw unwritable(path, error);
  }
}
