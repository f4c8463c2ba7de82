import { hash } from 'node:crypto';
import { mkdir, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import * as v from 'valibot';
import { describeFileError, InputError, LocalError } from '../errors.ts';
import type { Delivery } from './delivery.ts';

/*
 * A saved delivery is two files: <name>.body has the exact bytes, and <name>.json everything else. The .json is written
 * last: a .body without one was never accepted.
 */

/** The name of a `.json` file: the time of arrival, and a hash of the delivery's id. Names sort by time. */
const DELIVERY_FILE = /^\d{8}T\d{9}Z-[0-9a-f]{24}\.json$/;

const savedSchema = v.object({
  delivery_id: v.string(),
  received_at: v.string(),
  verification: v.picklist(['verified', 'failed', 'unsigned', 'not-checked']),
  reason: v.nullable(v.string()),
  headers: v.array(v.tuple([v.string(), v.string()])),
  bytes: v.number(),
  sha256: v.string(),
});

/** Creates the directory of saved deliveries. @throws LocalError if that fails */
export async function createDirectory(directory: string): Promise<void> {
  try {
    await mkdir(directory, { recursive: true, mode: 0o700 });
  } catch (error) {
    throw new LocalError(`Cannot save deliveries in ${directory}.`, {
      why: describeFileError(error),
      hint: 'Name a directory that you can write to with --save.',
      cause: error,
    });
  }
}

/**
 * Saves a delivery. A failure leaves no files: the sender repeats the delivery.
 * @returns the path of its `.body` file
 */
export async function saveDelivery(directory: string, { body, ...rest }: Delivery): Promise<string> {
  const time = rest.received_at.replaceAll(/[-:.]/g, '');
  const path = join(directory, `${time}-${hash('sha256', rest.delivery_id, 'hex').slice(0, 24)}`);
  const described = { ...rest, bytes: body.length, sha256: hash('sha256', body, 'hex') };
  try {
    const options = { flag: 'wx', mode: 0o600, flush: true };
    await writeFile(`${path}.body`, body, options);
    await writeFile(`${path}.json`, `${JSON.stringify(described, null, 2)}\n`, options);
  } catch (error) {
    await removeDelivery(`${path}.body`);
    throw error;
  }
  return `${path}.body`;
}

/** Removes a saved delivery that was not accepted. @param bodyPath as `saveDelivery` returned it */
export async function removeDelivery(bodyPath: string): Promise<void> {
  for (const path of [bodyPath.replace(/body$/, 'json'), bodyPath]) await rm(path, { force: true });
}

const HINT = 'Name a file or a directory that `webhook listen --save` wrote. Nothing was sent.';

/**
 * Reads a saved delivery.
 * @param file the `.json` file
 * @throws InputError if a file cannot be read, or the bytes do not match the recorded size and SHA-256
 */
export async function readDelivery(file: string): Promise<Delivery> {
  try {
    const { bytes, sha256, ...rest } = v.parse(savedSchema, JSON.parse(await readFile(file, 'utf8')));
    const body = await readFile(file.replace(/json$/, 'body'));
    if (body.length === bytes && hash('sha256', body, 'hex') === sha256) return { ...rest, body };
    throw new Error('its .body file was changed: its size or its SHA-256 differs');
  } catch (error) {
    throw new InputError(`${file} is not a saved delivery.`, {
      why: describeFileError(error),
      hint: HINT,
      cause: error,
    });
  }
}

/** Returns the `.json` files of a directory, the oldest first, or the file itself. */
async function filesAt(path: string): Promise<readonly string[]> {
  try {
    if (!(await stat(path)).isDirectory()) return [path.replace(/\.body$/, '.json')];
    const names = (await readdir(path)).filter((name) => DELIVERY_FILE.test(name)).sort();
    return names.map((name) => join(path, name));
  } catch (error) {
    throw new InputError(`${path} cannot be read.`, { why: describeFileError(error), hint: HINT, cause: error });
  }
}

/**
 * Finds the `.json` files of saved deliveries.
 * @param paths of files, or of directories of them
 * @throws InputError if a path cannot be read, or if there are none
 */
export async function findDeliveries(paths: readonly string[]): Promise<readonly string[]> {
  const files = new Set((await Promise.all(paths.map(filesAt))).flat());
  if (files.size > 0) return [...files];
  throw new InputError(`There are no saved deliveries in ${paths.join(', ')}.`, {
    hint: 'Save some with: partnerctl webhook listen --save <dir>',
  });
}
