import { readdir, realpath, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { describeFileError, readAtMost, readFileChunks, readStdin } from '../cli/input.ts';
import { InputError } from '../errors.ts';
import { LIMITS } from './limits.ts';
import type { YamlSource } from './source-text.ts';

const YAML_FILE = /\.ya?ml$/i;
/** UTF-8 takes at most three bytes for one UTF-16 unit. */
const MAX_BYTES = LIMITS.sourceLength * 3;

interface Complaint {
  readonly source: string;
  readonly message: string;
}

type Found = YamlSource | Complaint;

async function readSource(name: string, chunks: AsyncIterable<Buffer | string>): Promise<Found> {
  const bytes = await readAtMost(MAX_BYTES, chunks);
  if (!bytes) return { source: name, message: `it is larger than ${MAX_BYTES / 1024 / 1024} MiB` };
  try {
    return { name, text: new TextDecoder('utf-8', { fatal: true }).decode(bytes) };
  } catch {
    return { source: name, message: 'it is not UTF-8 text' };
  }
}

async function readPath(path: string): Promise<Found> {
  try {
    return await readSource(path, readFileChunks(path));
  } catch (error) {
    return { source: path, message: describeFileError(error) };
  }
}

/** The YAML files of a directory, by name; hidden files and directories below it are left alone. */
async function filesOf(directory: string): Promise<string[] | Complaint> {
  const entries = await readdir(directory, { withFileTypes: true });
  const files = entries
    .filter((entry) => !entry.isDirectory() && !entry.name.startsWith('.') && YAML_FILE.test(entry.name))
    .map(({ name }) => join(directory, name));
  return files.length > 0 ? files.sort() : { source: directory, message: 'the directory holds no .yaml or .yml file' };
}

async function expand(path: string): Promise<string[] | Complaint> {
  try {
    return (await stat(path)).isDirectory() ? await filesOf(path) : [path];
  } catch (error) {
    return { source: path, message: describeFileError(error) };
  }
}

async function readWord(word: string, stdin: Readable, signal: AbortSignal): Promise<Found[]> {
  if (word === '-') return [await readSource('<stdin>', readStdin(stdin, signal))];
  const paths = await expand(word);
  return Array.isArray(paths) ? Promise.all(paths.map(readPath)) : [paths];
}

/** The same file twice would look like two descriptions of the same things. */
async function refuseRepeats(sources: readonly YamlSource[]): Promise<void> {
  const names = new Map<string, string>();
  for (const { name } of sources) {
    const file = await realpath(name).catch(() => name);
    const first = names.get(file);
    if (first !== undefined) {
      throw new InputError(`${name} is given twice.`, {
        ...(first !== name && { why: `It is the same file as ${first}.` }),
        hint: 'Nothing was sent. Name it once.',
      });
    }
    names.set(file, name);
  }
}

/**
 * Reads the YAML that a command is given: files, directories (their .yaml and .yml files), or `-` for standard input.
 * @param signal ends the wait for standard input, with its own reason
 * @throws InputError that names every one that cannot be read, or one that is given twice
 */
export async function readSources(
  words: readonly string[],
  stdin: Readable,
  signal: AbortSignal,
): Promise<YamlSource[]> {
  const sources: YamlSource[] = [];
  const complaints: Complaint[] = [];
  for (const word of words) {
    for (const found of await readWord(word, stdin, signal)) {
      if ('text' in found) sources.push(found);
      else complaints.push(found);
    }
  }
  if (complaints.length === 0) {
    await refuseRepeats(sources);
    return sources;
  }
  throw new InputError(
    complaints.length === 1 ? 'A file cannot be read.' : `${complaints.length} files cannot be read.`,
    {
      why: complaints.map(({ source, message }) => `${source}: ${message}`).join('\n'),
      hint: 'Nothing was sent.',
      details: { problems: complaints },
    },
  );
}
