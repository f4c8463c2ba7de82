import { chmodSync, statSync } from 'node:fs';
import { basename, dirname } from 'node:path';

/** What was typed in earlier conversations, newest first. It holds messages, so only its owner may read the file. */
export interface InputHistory {
  readonly entries: readonly string[];
  save(entries: readonly string[]): void;
}

function isStringArray(value: unknown): value is string[] {
  return Array.isArray(value) && value.every((entry) => typeof entry === 'string');
}

function isDevice(path: string): boolean {
  try {
    return statSync(path).isCharacterDevice();
  } catch {
    return false;
  }
}

/**
 * Opens the input history in a JSON file. A link to /dev/null keeps none.
 * @param path ends in .json
 * @param hasSecret whether an entry must not be saved
 * @param onError called at most once, if it cannot be saved
 */
export async function openInputHistory(
  path: string,
  hasSecret: (entry: string) => boolean,
  onError: (error: unknown) => void,
): Promise<InputHistory> {
  // conf would replace the target of the link.
  if (isDevice(path)) return { entries: [], save: () => undefined };
  const { default: Conf } = await import('conf');
  const file = { cwd: dirname(path), configName: basename(path, '.json'), configFileMode: 0o600 };
  const open = () => new Conf<{ entries: readonly string[] }>({ ...file, clearInvalidConfig: true });

  function readEntries(): readonly string[] {
    try {
      const entries: unknown = open().get('entries');
      return isStringArray(entries) ? entries : [];
    } catch {
      // The history is a convenience: one that cannot be read is replaced.
      return [];
    }
  }

  let hasFailed = false;
  return {
    entries: readEntries(),
    save(entries) {
      if (hasFailed) return;
      try {
        open().store = { entries: entries.filter((entry) => !hasSecret(entry)) };
        // conf does not change the mode of an existing file.
        chmodSync(path, 0o600);
      } catch (error) {
        hasFailed = true;
        onError(error);
      }
    },
  };
}
