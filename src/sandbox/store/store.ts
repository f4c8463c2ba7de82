import type { Journal } from './journal.ts';
import { temporaryUploads, type UploadFiles } from './upload-files.ts';
import { type Change, World } from './world.ts';

/** The service's data: read from `world`, changed by `commit`, safe once `durable` resolves. */
export interface Store {
  readonly world: Readonly<World>;
  /** The bytes of uploads. */
  readonly files: UploadFiles;
  /** Makes the changes visible at once and puts them in line for the disk, all or none of them. */
  commit(...changes: readonly Change[]): void;
  /** Resolves when every change committed so far is on disk; rejects when it cannot be written, from then on always. */
  durable(): Promise<void>;
  close(): Promise<void>;
}

/** A store that lives and ends with the process; the bytes of uploads are in a temporary directory meanwhile. */
export function memoryStore(): Store {
  const world = new World();
  const files = temporaryUploads();
  return {
    world,
    files,
    commit: (...changes) => {
      for (const change of changes) world.apply(change);
    },
    durable: () => Promise.resolve(),
    close: () => files.removeAll(),
  };
}

/** A store whose changes are kept in a journal. */
export function journaledStore(
  world: World,
  files: UploadFiles,
  journal: Journal,
  release: () => Promise<void>,
): Store {
  return {
    world,
    files,
    commit: (...changes) => {
      journal.append(changes);
      for (const change of changes) world.apply(change);
    },
    durable: () => journal.durable(),
    close: async () => {
      try {
        await journal.close();
      } finally {
        await release();
      }
    },
  };
}
