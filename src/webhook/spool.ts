import { renameSync } from 'node:fs';
import { open, readdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { describeFileError, LocalError } from '../errors.ts';
import { type Delivery, keyOf } from './delivery.ts';
import { DELIVERY_FILE, describeSaved, type ForwardedRecord, readSaved, writeDurably } from './saved-file.ts';

/** Senders stop repeating a delivery after a few days. */
const RETENTION_MS = 7 * 24 * 60 * 60 * 1000;

const BODY = '.body';
const DONE = '.json';
/** In place of `.json` while a delivery is still to be forwarded. */
const PENDING = '.pending.json';

/** Every file of a delivery, complete or not. */
const ANY_FILE = /^\d{8}T\d{9}Z-\d{6}-[0-9a-f]{24}\./;

/** Returns a file name without its suffix. It begins with the time of arrival, so that names sort by it. */
function nameOf({ received_at, delivery_id }: Delivery, count: number): string {
  const time = received_at.replaceAll(/[-:.]/g, '');
  return `${time}-${String(count % 1_000_000).padStart(6, '0')}-${keyOf(delivery_id)}`;
}

/** The suffix of a file that is being written. */
function draftOf(suffix: string): string {
  return `${suffix}.tmp`;
}

async function syncDirectory(path: string): Promise<void> {
  const directory = await open(path, 'r');
  try {
    await directory.sync();
  } finally {
    await directory.close();
  }
}

export interface SpoolOptions {
  readonly directory: string;
  /** Whether the user reads the directory; otherwise it holds only what forwarding needs. */
  readonly isForUser: boolean;
  /** Milliseconds since the epoch. */
  readonly now: number;
}

/** A spool, and the deliveries of earlier runs in it. */
export interface SpoolContent {
  readonly spool: Spool;
  /** The keys of all deliveries, the oldest first. */
  readonly keys: readonly string[];
  /** The names of deliveries that are still to be forwarded, the oldest first. */
  readonly pending: readonly string[];
}

/** A directory of saved deliveries. No other process may use it at the same time. */
export class Spool {
  private readonly directory: string;
  private readonly isForUser: boolean;
  private count = 0;

  constructor({ directory, isForUser }: SpoolOptions) {
    this.directory = directory;
    this.isForUser = isForUser;
  }

  /**
   * Saves a delivery, and waits until it is on disk. Removes its files if that fails.
   * @returns its name
   */
  async save(delivery: Delivery, isPending: boolean): Promise<string> {
    const name = nameOf(delivery, this.count++);
    const suffix = isPending ? PENDING : DONE;
    try {
      await writeDurably(this.path(name, BODY), delivery.body);
      await this.writeAtomically(name, suffix, describeSaved(delivery, null));
      return name;
    } catch (error) {
      // The sender retries. Until then, a full disk must not fill up further, and no later run may forward it.
      const files = [suffix, draftOf(suffix), BODY].map((each) => this.path(name, each));
      await Promise.allSettled(files.map((file) => rm(file, { force: true })));
      throw error;
    }
  }

  /** Returns the path of a delivery's `.body` file; null if the user does not read the directory. */
  bodyPath(name: string): string | null {
    return this.isForUser ? this.path(name, BODY) : null;
  }

  /** Reads a delivery that is still to be forwarded. @throws InputError if it is damaged */
  async readPending(name: string): Promise<Delivery> {
    return readSaved(this.path(name, PENDING), this.path(name, BODY));
  }

  /**
   * Marks a delivery as accepted by the target, so that no later run forwards it again. Synchronous: if it queued behind
   * the files of other deliveries, a killed process would leave more deliveries to be forwarded twice. `markForwarded` must
   * follow.
   */
  markAccepted(name: string): void {
    renameSync(this.path(name, PENDING), this.path(name, DONE));
  }

  /** Records how a delivery was forwarded, and waits until that is on disk. */
  async markForwarded(name: string, delivery: Delivery, record: ForwardedRecord): Promise<void> {
    await this.writeAtomically(name, DONE, describeSaved(delivery, record));
    if (!this.isForUser) await rm(this.path(name, BODY), { force: true });
  }

  /** Removes a delivery that the target did not accept. */
  async discard(name: string): Promise<void> {
    for (const suffix of [PENDING, BODY]) await rm(this.path(name, suffix), { force: true });
    await syncDirectory(this.directory);
  }

  private path(name: string, suffix: string): string {
    return join(this.directory, name + suffix);
  }

  /** Writes a file so that it is complete or missing, even after a power failure. */
  private async writeAtomically(name: string, suffix: string, content: string): Promise<void> {
    const draft = this.path(name, draftOf(suffix));
    await rm(draft, { force: true });
    await writeDurably(draft, content);
    await rename(draft, this.path(name, suffix));
    await syncDirectory(this.directory);
  }
}

/** Returns the error for a directory that cannot be written to. */
export function unusableDirectory(directory: string, error: unknown): LocalError {
  return new LocalError(`Cannot save deliveries in ${directory}.`, {
    why: describeFileError(error),
    hint: 'Name a directory that you can write to with --save.',
    cause: error,
  });
}

/** Removes old deliveries that were forwarded, and old files of killed processes. */
async function prune({ directory, now }: SpoolOptions, names: readonly string[], pending: readonly string[]) {
  const oldest = new Date(now - RETENTION_MS).toISOString().replaceAll(/[-:.]/g, '');
  const needed = new Set(pending);
  const old = names.filter((name) => ANY_FILE.test(name) && name < oldest && !needed.has(name.replace(/\..*$/, '')));
  for (const name of old) await rm(join(directory, name), { force: true });
}

/**
 * Opens a directory of deliveries that this process has claimed.
 * @throws LocalError if it cannot be used
 */
export async function openSpool(options: SpoolOptions): Promise<SpoolContent> {
  const { directory, isForUser } = options;
  try {
    const all = await readdir(directory);
    const names = all.filter((name) => DELIVERY_FILE.test(name)).sort();
    const pending = names.filter((name) => name.endsWith(PENDING)).map((name) => name.slice(0, -PENDING.length));
    if (!isForUser) await prune(options, all, pending);
    const keys = names.flatMap((name) => DELIVERY_FILE.exec(name)?.groups?.key ?? []);
    return { spool: new Spool(options), keys, pending };
  } catch (error) {
    throw unusableDirectory(directory, error);
  }
}
