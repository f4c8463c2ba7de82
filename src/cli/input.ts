import { open } from 'node:fs/promises';
import { addAbortSignal, type Readable } from 'node:stream';
import { InputError, UsageError } from '../errors.ts';

/**
 * Standard input can be read once.
 * @param what it is to hold: `message`
 * @throws UsageError where the token is to come from it too
 */
export function refuseTokenOnStdin({ tokenFile }: { readonly tokenFile?: string | undefined }, what: string): void {
  if (tokenFile === '-') throw new UsageError(`Standard input cannot be both the ${what} and the token.`);
}

/**
 * The chunks of standard input, for as long as the signal lets them come.
 * @throws the signal's own reason when it ends the wait
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

/** The chunks of a file, which is closed when they are through or no more of them is asked for. */
export async function* readFileChunks(path: string): AsyncGenerator<Buffer> {
  const file = await open(path);
  try {
    yield* file.createReadStream({ autoClose: false });
  } finally {
    await file.close();
  }
}

/** All that comes, unless it is more than so many bytes: then it is undefined, and no more of it is read. */
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

/** Why a file or directory cannot be read, in words. */
export function describeFileError(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  if (code === 'ENOENT') return 'there is no such file or directory';
  if (code === 'EACCES' || code === 'EPERM') return 'it may not be read';
  if (code === 'EISDIR') return 'it is a directory';
  if (code === 'ENOTDIR') return 'a part of its path is a file, not a directory';
  if (code === 'ELOOP') return 'it is a link that leads in a circle';
  return error instanceof Error ? error.message : String(error);
}

/** Where a text comes from: the words typed, standard input, or a file. */
export type TextSource =
  | { readonly from: 'argument'; readonly text: string }
  | { readonly from: 'stdin' }
  | { readonly from: 'file'; readonly path: string };

/** What Node puts in the place of bytes of an argument that are not UTF-8. */
const REPLACED = '\ufffd';

/**
 * A text that was typed.
 * @param what names it at the beginning of an error: `The text`
 * @param otherwise how it can be given in place of that: `with --file <path>`
 * @throws UsageError when it is, or may be, not the text that was meant
 */
export function textFromArgument(what: string, text: string, otherwise: string): TextSource {
  if (!text.includes(REPLACED)) return { from: 'argument', text };
  throw new UsageError(`${what} is not UTF-8, or holds the character U+FFFD, which stands for what is not.`, {
    hint: `Give it ${otherwise}: there every byte counts as it is.`,
  });
}

/**
 * What the value `<text|@file|->` of a flag means.
 * @throws UsageError when the file has no name, or the text is not what was meant
 */
export function parseTextArgument(flag: string, text: string): TextSource {
  if (text === '-') return { from: 'stdin' };
  if (!text.startsWith('@')) return textFromArgument(flag, text, 'as @<file>, or as - for standard input');
  if (text === '@') throw new UsageError(`${flag} @<file> lacks the name of the file.`);
  return { from: 'file', path: text.slice(1) };
}

/** Far more than a text for an agent can be; it keeps a wrong file or an endless stream out of memory. */
const MAX_BYTES = 16 * 1024 * 1024;

function unusable(what: string, name: string, why: string): InputError {
  return new InputError(`${what} cannot be read from ${name}.`, { why, hint: 'Nothing was sent.' });
}

async function readAll(what: string, name: string, chunks: AsyncIterable<Buffer | string>): Promise<string> {
  const bytes = await readAtMost(MAX_BYTES, chunks);
  if (!bytes) throw unusable(what, name, `it is larger than ${MAX_BYTES / 1024 / 1024} MiB`);
  try {
    // A byte order mark is part of the text like everything else.
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw unusable(what, name, 'it is not UTF-8 text');
  }
}

async function readFile(what: string, path: string): Promise<string> {
  try {
    return await readAll(what, path, readFileChunks(path));
  } catch (error) {
    throw error instanceof InputError ? error : unusable(what, path, describeFileError(error));
  }
}

/**
 * A text, byte for byte, whatever line ends it has.
 * @param what names it at the beginning of an error: `The message`
 * @param signal ends the wait for standard input, with its own reason
 * @throws InputError when it cannot be read, is not UTF-8, or is empty
 */
export async function readText(
  source: TextSource,
  what: string,
  stdin: Readable,
  signal: AbortSignal,
): Promise<string> {
  if (source.from === 'argument') return source.text;
  const name = source.from === 'stdin' ? 'standard input' : source.path;
  const text =
    source.from === 'stdin' ? await readAll(what, name, readStdin(stdin, signal)) : await readFile(what, source.path);
  if (text === '') throw unusable(what, name, 'it is empty');
  return text;
}
