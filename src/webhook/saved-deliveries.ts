import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { describeFileError, InputError } from '../errors.ts';
import { DELIVERY_FILE, readSaved, SAVED_HINT } from './saved-file.ts';

/** A saved delivery whose files were checked. */
export interface SavedDelivery {
  /** The path of the `.json` file, relative if the user gave a relative one. */
  readonly file: string;
  /** The path of the `.body` file. */
  readonly bodyPath: string;
  readonly delivery_id: string;
}

/** Returns the `.json` files of a directory, the oldest first, or the file itself. */
async function filesAt(path: string): Promise<readonly string[]> {
  try {
    if (!(await stat(path)).isDirectory()) return [path.replace(/\.body$/, '.json')];
    const names = (await readdir(path)).filter((name) => DELIVERY_FILE.test(name)).sort();
    return names.map((name) => join(path, name));
  } catch (error) {
    throw new InputError(`${path} cannot be read.`, {
      why: describeFileError(error),
      hint: SAVED_HINT,
      cause: error,
    });
  }
}

/**
 * Finds saved deliveries, and checks each of them.
 * @param paths of files, or of directories of them
 * @throws InputError if a file cannot be read or is not a delivery, or if there are none
 */
export async function findDeliveries(paths: readonly string[]): Promise<readonly SavedDelivery[]> {
  const files = (await Promise.all(paths.map(filesAt))).flat();
  const found: SavedDelivery[] = [];
  for (const file of new Set(files)) {
    const bodyPath = file.replace(/(\.pending)?\.json$/, '.body');
    const { delivery_id } = await readSaved(file, bodyPath);
    found.push({ file, bodyPath, delivery_id });
  }
  if (found.length > 0) return found;
  throw new InputError(`There are no saved deliveries in ${paths.join(', ')}.`, {
    hint: 'Save some with: partnerctl webhook listen --save <dir>',
  });
}
