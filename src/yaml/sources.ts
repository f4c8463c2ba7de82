import { readdir, realpath, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { describeFileError, InputError } from '../errors.ts';
import { decodeText, readFileChunks, readStdin } from '../platform/input.ts';
import type { YamlSource } from './problem.ts';

const YAML_FILE = /\.ya?ml$/i;
/** The largest source, in MiB: some 20,000 spaces. */
const MAX_MIB = 8;
/** Far below the usual limit of a process, 1,024. */
const MAX_OPEN_FILES = 64;

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

/** A file that is given twice would look like two descriptions of the same things. */
async function refuseRepeats(sources: readonly YamlSource[]): Promise<void> {
  const names = new Map<string, string>();
  for (const { name } of sources) {
    const file = await realpath(name).catch(() => name);
    const first = names.get(file);
    if (first !== undefined) {
      throw new InputError(`${name} is given twice.`, {
        ...(first !== name && { why: `It is the same file as ${first}.` }),
        hint: 'Give it once. Nothing was sent.',
      });
    }
    names.set(file, name);
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
 * @throws InputError that names every source that cannot be read, or one that is given twice
 */
export async function readSources(
  paths: readonly string[],
  stdin: Readable,
  signal: AbortSignal,
): Promise<YamlSource[]> {
  const { default: pLimit } = await import('p-limit');
  const limit = pLimit(MAX_OPEN_FILES);
  const results: (YamlSource | Unreadable)[] = [];
  for (const path of paths) {
    const files = path === '-' ? [] : await listFiles(path);
    const readFile = (file: string) => limit(() => readSource(file, readFileChunks(file, signal), signal));
    if (path === '-') results.push(await readSource('<stdin>', readStdin(stdin, signal), signal));
    else if (Array.isArray(files)) results.push(...(await Promise.all(files.map(readFile))));
    else results.push(files);
  }
  const unreadable = results.filter((result): result is Unreadable => !('text' in result));
  const sources = results.filter((result): result is YamlSource => 'text' in result);
  if (unreadable.length > 0) throw unreadableError(unreadable);
  await refuseRepeats(sources);
  return sources;
}
