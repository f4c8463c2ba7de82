import { open } from 'node:fs/promises';
import { addAbortSignal, type Readable } from 'node:stream';
import { InputError, UsageError } from '../errors.ts';

/** Where a text comes from. */
export type TextSource =
  | { readonly from: 'argument'; readonly text: string }
  | { readonly from: 'stdin' }
  | { readonly from: 'file'; readonly path: string };

/** What Node replaces bytes of an argument with that are not UTF-8. */
const REPLACEMENT_CHARACTER = '\ufffd';

/** Keeps a wrong file or an endless stream out of memory; no text for an agent is that long. */
const MAX_TEXT_MIB = 16;

/**
 * Standard input can be read only once.
 * @param what it is read for, such as `message`
 * @throws UsageError if the token is read from it, too
 */
export function refuseTokenOnStdin({ tokenFile }: { readonly tokenFile?: string | undefined }, what: string): void {
  if (tokenFile === '-') throw new UsageError(`Standard input cannot be both the ${what} and the token.`);
}

/**
 * Reads standard input chunk by chunk.
 * @throws the signal's reason when that aborts
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

/** Reads a file chunk by chunk, and closes it when the caller stops. */
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

/** The reason why a file or directory cannot be read, as a clause without a full stop. */
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
 * Checks a text from the command line.
 * @param name starts the error message: `The text`
 * @param alternative another way to give the text: `with --file <path>`
 * @throws UsageError if Node may have replaced bytes that are not UTF-8
 */
export function textFromArgument(name: string, text: string, alternative: string): TextSource {
  if (!text.includes(REPLACEMENT_CHARACTER)) return { from: 'argument', text };
  throw new UsageError(`${name} is not UTF-8, or contains the replacement character U+FFFD.`, {
    hint: `Give it ${alternative}, where its bytes are read as they are.`,
  });
}

/** Interprets the value of a flag as `<text|@file|->`. @throws UsageError for `@` alone, and text that is not UTF-8 */
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
    // A byte order mark is kept: the text is sent as it is.
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
 * Reads a text byte for byte, whatever its line endings.
 * @param name starts the error messages: `The message`
 * @param signal ends the wait for standard input
 * @throws InputError if it cannot be read, is not UTF-8, or is empty; the signal's reason
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
