import { randomUUID } from 'node:crypto';
import { access, constants, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import * as v from 'valibot';
import { describeFileError, InputError, LocalError } from '../errors.ts';
import { makeDirectories } from '../platform/files.ts';
import type { Delivery, SentWebhook } from './delivery.ts';

/*
 * A saved delivery is two files: <name>.body has the exact bytes, and <name>.json everything else. The .json comes
 * last, and whole: a .body without one was never accepted. Names begin with the time of arrival, so that they sort by
 * it, and are unique: two listeners may save in one directory.
 */

const savedSchema = v.object({ delivery_id: v.string(), headers: v.array(v.tuple([v.string(), v.string()])) });

/** Creates the directory of saved deliveries. @throws LocalError if that fails, or it is a file or cannot be written to */
export async function createDirectory(directory: string): Promise<void> {
  try {
    await makeDirectories(directory);
    await access(`${directory}/.`, constants.W_OK);
  } catch (error) {
    throw new LocalError(`Cannot save deliveries in ${directory}.`, { why: describeFileError(error), cause: error });
  }
}

/** Saves a delivery. A failure leaves no files: the sender repeats it. @returns the path of the `.body` file */
export async function saveDelivery(directory: string, { body, ...rest }: Delivery): Promise<string> {
  const time = rest.received_at.replaceAll(/[-:.]/g, '');
  const path = join(directory, `${time}-${randomUUID()}`);
  try {
    const options = { flag: 'wx', mode: 0o600, flush: true };
    await writeFile(`${path}.body`, body, options);
    await writeFile(`${path}.new`, `${JSON.stringify(rest, null, 2)}\n`, options);
    await rename(`${path}.new`, `${path}.json`);
  } catch (error) {
    for (const kind of ['new', 'body']) await rm(`${path}.${kind}`, { force: true });
    throw error;
  }
  return `${path}.body`;
}

/** Reads a saved delivery. @param file the `.json` file @throws InputError if it cannot be read, or is none */
export async function readDelivery(file: string): Promise<SentWebhook & { readonly delivery_id: string }> {
  try {
    const saved = v.parse(savedSchema, JSON.parse(await readFile(file, 'utf8')));
    return { ...saved, body: await readFile(file.replace(/json$/, 'body')) };
  } catch (error) {
    throw new InputError(`${file} is not a saved delivery.`, {
      why: describeFileError(error),
      hint: 'Name a file or a directory that `webhook listen --save` wrote. Nothing was sent.',
      cause: error,
    });
  }
}

/**
 * Finds the `.json` files of saved deliveries, those of a directory oldest first.
 * @param paths of files, or of directories of them
 * @throws InputError if there are none
 */
export async function findDeliveries(paths: readonly string[]): Promise<readonly string[]> {
  const files = new Set<string>();
  for (const path of paths) {
    const isDirectory = (await stat(path).catch(() => undefined))?.isDirectory();
    const names = isDirectory ? (await readdir(path)).filter((name) => name.endsWith('.json')).sort() : [];
    for (const name of names) files.add(join(path, name));
    if (!isDirectory) files.add(path.replace(/\.body$/, '.json'));
  }
  if (files.size > 0) return [...files];
  throw new InputError(`There are no saved deliveries in ${paths.join(', ')}.`, {
    hint: 'Save some with: partnerctl webhook listen --save <dir>',
  });
}
