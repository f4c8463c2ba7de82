import { randomUUID } from 'node:crypto';
import { mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';

/** What was entered in earlier conversations, the newest first. It holds messages, so it is the owner's alone. */
export interface EntryHistory {
  readonly entries: readonly string[];
  /** Keeps the entries for the next time; a later call overtakes an earlier one. */
  keep(entries: readonly string[]): void;
  /** Resolves once everything is kept that can be. */
  settled(): Promise<void>;
}

function isTexts(value: unknown): value is string[] {
  return Array.isArray(value) && value.every((entry) => typeof entry === 'string');
}

async function readEntries(path: string): Promise<readonly string[]> {
  try {
    const value: unknown = JSON.parse(await readFile(path, 'utf8'));
    return isTexts(value) ? value : [];
  } catch {
    // Convenience, not data: a history that cannot be read begins anew.
    return [];
  }
}

async function writeEntries(path: string, entries: readonly string[]): Promise<void> {
  const temporary = `${path}.${randomUUID()}.new`;
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  await writeFile(temporary, JSON.stringify(entries), { mode: 0o600 });
  await rename(temporary, path);
}

/** Opens the history in a file of its own. @param onTrouble told once when it cannot be kept */
export async function openHistory(path: string, onTrouble: (error: unknown) => void): Promise<EntryHistory> {
  let writing: Promise<void> = Promise.resolve();
  let latest: readonly string[] | undefined;
  let failed = false;
  return {
    entries: await readEntries(path),
    keep(entries) {
      latest = entries;
      writing = writing.then(async () => {
        if (latest !== entries || failed) return;
        try {
          await writeEntries(path, entries);
        } catch (error) {
          failed = true;
          onTrouble(error);
        }
      });
    },
    settled: () => writing,
  };
}
