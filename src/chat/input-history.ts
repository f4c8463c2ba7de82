import { randomUUID } from 'node:crypto';
import { mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';

/** What was typed in earlier conversations, newest first. It holds messages, so only its owner may read the file. */
export interface InputHistory {
  readonly entries: readonly string[];
  /** Saves the entries in the background; a later call replaces an earlier one. */
  save(entries: readonly string[]): void;
  /** Resolves once everything is saved, or cannot be. */
  flush(): Promise<void>;
}

function isStringArray(value: unknown): value is string[] {
  return Array.isArray(value) && value.every((entry) => typeof entry === 'string');
}

async function readEntries(path: string): Promise<readonly string[]> {
  try {
    const value: unknown = JSON.parse(await readFile(path, 'utf8'));
    return isStringArray(value) ? value : [];
  } catch {
    // The history is a convenience: one that cannot be read is replaced.
    return [];
  }
}

async function writeEntries(path: string, entries: readonly string[]): Promise<void> {
  const temporary = `${path}.${randomUUID()}.new`;
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  await writeFile(temporary, JSON.stringify(entries), { mode: 0o600 });
  await rename(temporary, path);
}

/**
 * Opens the input history in the file at `path`.
 * @param hasSecret whether an entry must not be saved
 * @param onError called at most once, if it cannot be saved
 */
export async function openInputHistory(
  path: string,
  hasSecret: (entry: string) => boolean,
  onError: (error: unknown) => void,
): Promise<InputHistory> {
  let saving: Promise<void> = Promise.resolve();
  let latest: readonly string[] | undefined;
  let hasFailed = false;
  return {
    entries: await readEntries(path),
    save(entries) {
      latest = entries;
      saving = saving.then(async () => {
        if (latest !== entries || hasFailed) return;
        try {
          await writeEntries(
            path,
            entries.filter((entry) => !hasSecret(entry)),
          );
        } catch (error) {
          hasFailed = true;
          onError(error);
        }
      });
    },
    flush: () => saving,
  };
}
