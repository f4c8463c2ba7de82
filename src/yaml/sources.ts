import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { describeFileError, InputError } from '../errors.ts';
import { decodeText, readFileChunks, readStdin } from '../platform/input.ts';
import type { YamlSource } from './problem.ts';

export const YAML_FILE = /\.ya?ml$/i;
/** The largest source, in MiB: some 25,000 spaces. */
const MAX_MIB = 10;

function unreadable(name: string, why: string): InputError {
  return new InputError(`The file cannot be read: ${name}`, {
    why,
    hint: 'Nothing was sent, and nothing was changed.',
  });
}

/**
 * Reads a file, or standard input for `-`.
 * @param signal cancels reading; its reason is thrown
 * @throws InputError that names the source if it cannot be read
 */
export async function readSource(path: string, stdin: Readable, signal: AbortSignal): Promise<YamlSource> {
  const name = path === '-' ? '<stdin>' : path;
  const chunks = path === '-' ? readStdin(stdin, signal) : readFileChunks(path, signal);
  try {
    return { name, text: await decodeText(chunks, MAX_MIB) };
  } catch (error) {
    signal.throwIfAborted();
    throw unreadable(name, describeFileError(error));
  }
}

/** The YAML files of a directory by name, without hidden files and subdirectories; any other path is itself. */
async function listFiles(path: string): Promise<readonly string[]> {
  const found = path === '' ? undefined : await stat(path).catch(() => undefined);
  if (!found?.isDirectory()) return [path];
  const entries = await readdir(path, { withFileTypes: true }).catch((error: unknown) => {
    throw unreadable(path, describeFileError(error));
  });
  const files = entries
    .filter((entry) => !entry.isDirectory() && !entry.name.startsWith('.') && YAML_FILE.test(entry.name))
    .map(({ name }) => join(path, name));
  if (files.length === 0) throw unreadable(path, 'the directory contains no .yaml or .yml file');
  return files.sort();
}

/**
 * Reads the YAML that a command is given: files, directories (their .yaml and .yml files), or `-` for standard input.
 * @param signal cancels reading; its reason is thrown
 * @throws InputError that names the first source that cannot be read
 */
export async function readSources(
  paths: readonly string[],
  stdin: Readable,
  signal: AbortSignal,
): Promise<YamlSource[]> {
  const sources: YamlSource[] = [];
  for (const path of paths) {
    const files = path === '-' ? [path] : await listFiles(path);
    for (const file of files) sources.push(await readSource(file, stdin, signal));
  }
  return sources;
}
