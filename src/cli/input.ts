import { open } from 'node:fs/promises';
import { addAbortSignal, type Readable } from 'node:stream';
import { InputError, UsageError } from '../errors.ts';

/** The source of a text: an argument, standard input, or a file. */
export type TextSource =
  | { readonly from: 'argument'; readonly text: string }
  | { readonly from: 'stdin' }
  | { readonly from: 'file'; readonly path: string };

/** Node decodes invalid UTF-8 in an argument to this character. */
const REPLACEMENT_CHARACTER = '\ufffd';

/** Prevents reading a wrong file or an endless stream into memory; no text for an agent is this long. */
const MAX_TEXT_MIB = 16;

/**
 * Checks that the token does not come from standard input, which can be read only once.
 * @param what the data that the command reads from standard input, such as `message`
 * @throws UsageError if the token comes from standard input too
 */
export function refuseTokenOnStdin({ tokenFile }: { readonly tokenFile?: string | undefined }, what: string): void {
  if (tokenFile === '-') throw new UsageError(`Standard input cannot be both the ${what} and the token.`);
}

/**
 * Reads standard input chunk by chunk.
 * @throws the signal's reason when the signal aborts
 */
export async function* readStdin(stdin: Readable, signal: AbortSignal): AsyncGenerator<Buffer | string> {
  signal.throwIfAborted();
  addAbortSignal(signal, stdin);
  try {
    yield* stdin;
  } catch (error) {
    throw signal.aborted ? signal.reason : error;
  }
}

/** Reads a file chunk by chunk. Closes it at the end, or when the caller stops early. */
export async function* readFileChunks(path: string): AsyncGenerator<Buffer> {
  const file = await open(path);
  try {
    yield* file.createReadStream({ autoClose: false });
  } finally {
    await file.close();
  }
}

/** Reads all chunks, or returns undefined as soon as they exceed `maxBytes`. */
export async function readAtMost(
  maxBytes: number,
  chunks: AsyncIterable<Buffer | string>,
): Promise<Buffer | undefined> {
  const parts: Buffer[] = [];
  let size = 0;
  for await (const chunk of chunks) {
    const part = Buffer.from(chunk);
    size += part.length;
    if (size > maxBytes) return undefined;
    parts.push(part);
  }
  return Buffer.concat(parts);
}

/** Describes why a file or directory cannot be read, as a clause without a period. */
export function describeFileError(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  if (code === 'ENOENT') return 'there is no such file or directory';
  if (code === 'EACCES' || code === 'EPERM') return 'permission denied';
  if (code === 'EISDIR') return 'it is a directory';
  if (code === 'ENOTDIR') return 'a part of its path is a file, not a directory';
  if (code === 'ELOOP') return 'it is a symbolic link that points to itself';
  return error instanceof Error ? error.message : String(error);
}

/**
 * Checks a text argument for invalid UTF-8.
 * @param name the subject of the error message: `The text`
 * @param alternative another way to pass the text, for the hint: `with --file <path>`
 * @throws UsageError if the text contains U+FFFD, which may stand for invalid UTF-8
 */
export function textFromArgument(name: string, text: string, alternative: string): TextSource {
  if (!text.includes(REPLACEMENT_CHARACTER)) return { from: 'argument', text };
  throw new UsageError(`${name} is not UTF-8, or contains the replacement character U+FFFD.`, {
    hint: `Give it ${alternative}, where its bytes are read as they are.`,
  });
}

/** Parses a flag value of the form `<text|@file|->`. @throws UsageError for `@` alone or text that is not UTF-8 */
export function parseTextArgument(flag: string, text: string): TextSource {
  if (text === '-') return { from: 'stdin' };
  if (!text.startsWith('@')) return textFromArgument(flag, text, 'as @<file>, or as - for standard input');
  if (text === '@') throw new UsageError(`${flag} needs a file name after the @.`);
  return { from: 'file', path: text.slice(1) };
}

function unreadable(name: string, source: string, why: string): InputError {
  return new InputError(`${name} cannot be read from ${source}.`, { why, hint: 'Nothing was sent.' });
}

async function decodeText(name: string, source: string, chunks: AsyncIterable<Buffer | string>): Promise<string> {
  const bytes = await readAtMost(MAX_TEXT_MIB * 1024 * 1024, chunks);
  if (!bytes) throw unreadable(name, source, `it is larger than ${MAX_TEXT_MIB} MiB`);
  try {
    // ignoreBOM keeps a byte order mark: the text is sent unchanged.
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw unreadable(name, source, 'it is not UTF-8 text');
  }
}

async function readTextFile(name: string, path: string): Promise<string> {
  try {
    return await decodeText(name, path, readFileChunks(path));
  } catch (error) {
    throw error instanceof InputError ? error : unreadable(name, path, describeFileError(error));
  }
}

/**
 * Reads a text. Does not change its line endings.
 * @param name the subject of the error messages: `The message`
 * @param signal cancels reading from standard input
 * @throws InputError if the text cannot be read, is not UTF-8, or is empty; the signal's reason if the signal aborts
 */
export async function readText(
  source: TextSource,
  name: string,
  stdin: Readable,
  signal: AbortSignal,
): Promise<string> {
  if (source.from === 'argument') return source.text;
  const text =
    source.from === 'stdin'
      ? await decodeText(name, 'standard input', readStdin(stdin, signal))
      : await readTextFile(name, source.path);
  if (text === '') throw unreadable(name, source.from === 'stdin' ? 'standard input' : source.path, 'it is empty');
  return text;
}
