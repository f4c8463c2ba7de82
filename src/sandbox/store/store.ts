import { join, resolve } from 'node:path';
import type { Change } from './changes.ts';
import { claimDirectory, JOURNAL_FILE } from './data-directory.ts';
import { openJournal, recoverJournal } from './journal.ts';
import { UploadFiles } from './upload-files.ts';
import { World } from './world.ts';

/** The service's data: read from `world`, changed by `commit`, on disk once `durable` resolves. */
export interface Store {
  readonly world: Readonly<World>;
  readonly files: UploadFiles;
  /** Applies the changes to `world` at once, and queues them to be written together. */
  commit(...changes: readonly Change[]): void;
  /** Resolves when every change committed so far is on disk. Rejects forever once a write has failed. */
  durable(): Promise<void>;
  close(): Promise<void>;
}

/** Creates a store in memory. */
export function createMemoryStore(): Store {
  const world = new World();
  const files = new UploadFiles();
  return {
    world,
    files,
    commit: (...changes) => {
      for (const change of changes) world.apply(change);
    },
    durable: () => Promise.resolve(),
    close: () => files.close(),
  };
}

/**
 * Opens the store of a data directory, and creates the directory if it is missing.
 * @throws Error when another running sandbox uses the directory, it holds only other files, or its journal is damaged
 */
export async function openStore(dataDir: string): Promise<Store> {
  const directory = resolve(dataDir);
  const release = await claimDirectory(directory);
  const path = join(directory, JOURNAL_FILE);
  try {
    const world = new World();
    for (const change of await recoverJournal(path)) world.apply(change);
    const files = new UploadFiles(directory);
    await files.removeUnrecorded((id) => world.uploads.has(id));
    const journal = await openJournal(path);
    return {
      world,
      files,
      commit: (...changes) => {
        journal.append(changes);
        for (const change of changes) world.apply(change);
      },
      durable: () => journal.durable(),
      close: () => journal.close().finally(release),
    };
  } catch (cause) {
    await release();
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new Error(`Cannot open the sandbox's journal ${path}: ${reason}.`, { cause });
  }
}
