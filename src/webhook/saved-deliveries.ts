import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { describeFileError } from '../cli/input.ts';
import { InputError } from '../errors.ts';
import type { Delivery } from './delivery.ts';
import { readSaved } from './saved-file.ts';

/** A saved delivery that was checked. */
export interface SavedDelivery {
  /** Its file as the user would write it. */
  readonly file: string;
  /** The file with the bytes. */
  readonly bodyPath: string;
  readonly delivery_id: string;
}

const NAME = /^\d{8}T\d{9}Z-\d{6}-[0-9a-f]{24}(\.pending)?\.json$/;

/** Returns the files of a path: those of deliveries in a directory, by time of arrival, or the file itself. */
async function filesAt(path: string): Promise<readonly string[]> {
  try {
    if (!(await stat(path)).isDirectory()) return [path.replace(/\.body$/, '.json')];
    const names = (await readdir(path)).filter((name) => NAME.test(name)).sort();
    return names.map((name) => join(path, name));
  } catch (error) {
    throw new InputError(`${path} cannot be read.`, {
      why: describeFileError(error),
      hint: 'Name a file or a directory that `webhook listen --save` wrote. Nothing was sent.',
      cause: error,
    });
  }
}

/** Reads a delivery, also one that was still to be forwarded when its file was found. */
async function readAt(file: string): Promise<{ delivery: Delivery; bodyPath: string }> {
  const bodyPath = file.replace(/(\.pending)?\.json$/, '.body');
  return { delivery: await readSaved(file, bodyPath), bodyPath };
}

/**
 * Finds saved deliveries, and checks each of them.
 * @param paths files, and directories for everything in them
 * @throws InputError if a file cannot be read or is not a delivery, or if there are no deliveries
 */
export async function findDeliveries(paths: readonly string[]): Promise<readonly SavedDelivery[]> {
  const files = (await Promise.all(paths.map(filesAt))).flat();
  const found: SavedDelivery[] = [];
  for (const file of new Set(files)) {
    const { delivery, bodyPath } = await readAt(file);
    found.push({ file, bodyPath, delivery_id: delivery.delivery_id });
  }
  if (found.length > 0) return found;
  throw new InputError(`There are no saved deliveries in ${paths.join(', ')}.`, {
    hint: 'Save some with: partnerctl webhook listen --save <dir>',
  });
}
