import { renameSync } from 'node:fs';
import { open, readdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { describeFileError } from '../cli/input.ts';
import { LocalError } from '../errors.ts';
import { type Delivery, keyOf } from './delivery.ts';
import { describeSaved, type ForwardedRecord, readSaved, writeDurably } from './saved-file.ts';

/** Repeats come within days: senders give up after a few. */
const KEEP_MS = 7 * 24 * 60 * 60 * 1000;

const BODY = '.body';
const DONE = '.json';
/** Replaces `.json` while a delivery is still to be forwarded. */
const PENDING = '.pending.json';

/** Every file of a delivery, finished or not. */
const OURS = /^\d{8}T\d{9}Z-\d{6}-[0-9a-f]{24}\./;

const NAME = /^(\d{8}T\d{9}Z)-\d{6}-([0-9a-f]{24})\.(pending\.json|json)$/;

/** A file name that begins with the time of arrival, so that names sort by it. */
function nameOf({ received_at, delivery_id }: Delivery, count: number): string {
  const time = received_at.replaceAll(/[-:.]/g, '');
  return `${time}-${String(count % 1_000_000).padStart(6, '0')}-${keyOf(delivery_id)}`;
}

/** The suffix of a file that is being written. */
function draftOf(ending: string): string {
  return `${ending}.tmp`;
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
  /** Whether the user reads the directory; otherwise, it keeps only what forwarding needs. */
  readonly isForUser: boolean;
  /** Milliseconds since the epoch. */
  readonly now: number;
}

/** A directory, and the deliveries in it from earlier runs. */
export interface SpoolContent {
  readonly spool: Spool;
  /** The keys of all deliveries, the oldest first. */
  readonly keys: readonly string[];
  /** The names of deliveries that are still to be forwarded, the oldest first. */
  readonly pending: readonly string[];
}

/** Deliveries on disk. Another process must not use the directory meanwhile. */
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
    const ending = isPending ? PENDING : DONE;
    try {
      await writeDurably(this.path(name, BODY), delivery.body);
      await this.put(name, ending, describeSaved(delivery, null));
      return name;
    } catch (error) {
      // The sender sends it again. Until then, a full disk must not fill up further, and no later run may forward it.
      const files = [ending, draftOf(ending), BODY].map((each) => this.path(name, each));
      await Promise.allSettled(files.map((file) => rm(file, { force: true })));
      throw error;
    }
  }

  /** The path of the file with the exact bytes of a delivery; undefined for a directory that is not the user's. */
  bodyPath(name: string): string | undefined {
    return this.isForUser ? this.path(name, BODY) : undefined;
  }

  /** Reads a delivery that is still to be forwarded. @throws InputError if it is damaged */
  async readPending(name: string): Promise<Delivery> {
    return readSaved(this.path(name, PENDING), this.path(name, BODY));
  }

  /**
   * Marks that the target has taken a delivery, so that another run does not forward it again. Synchronous: if it waited for
   * the files of other deliveries, a killed process would leave more deliveries to be forwarded twice. `markForwarded` must
   * follow.
   */
  markTaken(name: string): void {
    renameSync(this.path(name, PENDING), this.path(name, DONE));
  }

  /** Records how a delivery was forwarded, and waits until that is on disk. */
  async markForwarded(name: string, delivery: Delivery, record: ForwardedRecord): Promise<void> {
    await this.put(name, DONE, describeSaved(delivery, record));
    if (!this.isForUser) await rm(this.path(name, BODY), { force: true });
  }

  /** Removes a delivery that was not accepted, so that its repeat is. */
  async discard(name: string): Promise<void> {
    for (const ending of [PENDING, BODY]) await rm(this.path(name, ending), { force: true });
    await syncDirectory(this.directory);
  }

  private path(name: string, ending: string): string {
    return join(this.directory, name + ending);
  }

  /** Writes a file atomically, even if the power fails. */
  private async put(name: string, ending: string, content: string): Promise<void> {
    const draft = this.path(name, draftOf(ending));
    await rm(draft, { force: true });
    await writeDurably(draft, content);
    await rename(draft, this.path(name, ending));
    await syncDirectory(this.directory);
  }
}

/** The error for a directory in which files cannot be written. */
export function unusableDirectory(directory: string, error: unknown): LocalError {
  return new LocalError(`Deliveries cannot be kept in ${directory}.`, {
    why: describeFileError(error),
    hint: 'Name a directory that you can write to with --save.',
    cause: error,
  });
}

/** Removes forwarded deliveries, and files that killed processes left, from a directory that the user does not read. */
async function prune({ directory, now }: SpoolOptions, names: readonly string[], pending: readonly string[]) {
  const oldest = new Date(now - KEEP_MS).toISOString().replaceAll(/[-:.]/g, '');
  const isNeeded = new Set(pending);
  const old = names.filter((name) => OURS.test(name) && name < oldest && !isNeeded.has(name.replace(/\..*$/, '')));
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
    const names = all.filter((name) => NAME.test(name)).sort();
    const pending = names.filter((name) => name.endsWith(PENDING)).map((name) => name.slice(0, -PENDING.length));
    if (!isForUser) await prune(options, all, pending);
    const keys = names.flatMap((name) => NAME.exec(name)?.[2] ?? []);
    return { spool: new Spool(options), keys, pending };
  } catch (error) {
    throw unusableDirectory(directory, error);
  }
}
