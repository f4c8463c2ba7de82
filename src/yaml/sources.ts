import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { describeFileError, InputError } from '../errors.ts';
import { decodeText, readFileChunks, readStdin } from '../platform/input.ts';
import type { YamlSource } from './problem.ts';

export const YAML_FILE = /\.ya?ml$/i;
/** The largest source, in MiB: some 20,000 spaces. */
const MAX_MIB = 8;

function unreadable(name: string, why: string): InputError {
  return new InputError(`The file cannot be read: ${name}`, { why, hint: 'Nothing was sent.' });
}

async function readSource(
  name: string,
  chunks: AsyncIterable<Buffer | string>,
  signal: AbortSignal,
): Promise<YamlSource> {
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
    if (path === '-') sources.push(await readSource('<stdin>', readStdin(stdin, signal), signal));
    else
      for (const file of await listFiles(path))
        sources.push(await readSource(file, readFileChunks(file, signal), signal));
  }
  return sources;
}
