import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { describeFileError, InputError } from '../errors.ts';
import { decodeText, readFileChunks, readStdin } from '../platform/input.ts';
import type { YamlSource } from './problem.ts';

const YAML_FILE = /\.ya?ml$/i;
/** The largest source, in MiB: some 20,000 spaces. */
const MAX_MIB = 8;

/** Why a source cannot be read. */
interface Unreadable {
  readonly source: string;
  readonly message: string;
}

/** @throws the signal's reason when the signal aborts */
async function readSource(
  name: string,
  chunks: AsyncIterable<Buffer | string>,
  signal: AbortSignal,
): Promise<YamlSource | Unreadable> {
  try {
    return { name, text: await decodeText(chunks, MAX_MIB) };
  } catch (error) {
    signal.throwIfAborted();
    return { source: name, message: describeFileError(error) };
  }
}

/** The YAML files of a directory by name, without hidden files and subdirectories; any other path is itself. */
async function listFiles(path: string): Promise<string[] | Unreadable> {
  if (path === '') return { source: '""', message: 'it is not a file name' };
  try {
    if (!(await stat(path)).isDirectory()) return [path];
    const entries = await readdir(path, { withFileTypes: true });
    const files = entries
      .filter((entry) => !entry.isDirectory() && !entry.name.startsWith('.') && YAML_FILE.test(entry.name))
      .map(({ name }) => join(path, name));
    return files.length > 0 ? files.sort() : { source: path, message: 'the directory contains no .yaml or .yml file' };
  } catch (error) {
    return { source: path, message: describeFileError(error) };
  }
}

function unreadableError(unreadable: readonly Unreadable[]): InputError {
  const message = unreadable.length === 1 ? 'A file cannot be read.' : `${unreadable.length} files cannot be read.`;
  return new InputError(message, {
    why: unreadable.map(({ source, message: reason }) => `${source}: ${reason}`).join('\n'),
    hint: 'Nothing was sent.',
    details: { problems: unreadable },
  });
}

/**
 * Reads the YAML that a command is given: files, directories (their .yaml and .yml files), or `-` for standard input.
 * @param signal cancels reading; its reason is thrown
 * @throws InputError that names every source that cannot be read
 */
export async function readSources(
  paths: readonly string[],
  stdin: Readable,
  signal: AbortSignal,
): Promise<YamlSource[]> {
  const sources: YamlSource[] = [];
  const unreadable: Unreadable[] = [];
  const add = (read: YamlSource | Unreadable): void => {
    if ('text' in read) sources.push(read);
    else unreadable.push(read);
  };
  for (const path of paths) {
    const files = path === '-' ? [] : await listFiles(path);
    if (path === '-') add(await readSource('<stdin>', readStdin(stdin, signal), signal));
    else if (!Array.isArray(files)) add(files);
    else for (const file of files) add(await readSource(file, readFileChunks(file, signal), signal));
  }
  if (unreadable.length > 0) throw unreadableError(unreadable);
  return sources;
}
