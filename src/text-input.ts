import { open } from 'node:fs/promises';
import type { Readable } from 'node:stream';
import { InputError } from './errors.ts';
import { fileReason, readUntil } from './input.ts';

/** Where a text comes from: the words typed, standard input, or a file. */
export type TextSource =
  | { readonly from: 'words'; readonly text: string }
  | { readonly from: 'stdin' }
  | { readonly from: 'file'; readonly path: string };

/** Far more than a text for an agent can be; it keeps a wrong file or an endless stream out of memory. */
const MAX_BYTES = 16 * 1024 * 1024;

function unusable(what: string, name: string, why: string): InputError {
  return new InputError(`${what} cannot be read from ${name}.`, { why, hint: 'Nothing was sent.' });
}

async function readAll(what: string, name: string, chunks: AsyncIterable<Buffer | string>): Promise<string> {
  const parts: Buffer[] = [];
  let size = 0;
  for await (const chunk of chunks) {
    const part = Buffer.from(chunk);
    size += part.length;
    if (size > MAX_BYTES) throw unusable(what, name, `it is larger than ${MAX_BYTES / 1024 / 1024} MiB`);
    parts.push(part);
  }
  try {
    // A byte order mark is part of the text like everything else.
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(Buffer.concat(parts));
  } catch {
    throw unusable(what, name, 'it is not UTF-8 text');
  }
}

async function readFile(what: string, path: string): Promise<string> {
  try {
    const file = await open(path);
    try {
      return await readAll(what, path, file.createReadStream({ autoClose: false }));
    } finally {
      await file.close();
    }
  } catch (error) {
    throw error instanceof InputError ? error : unusable(what, path, fileReason(error));
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
  if (source.from === 'words') return source.text;
  const name = source.from === 'stdin' ? 'standard input' : source.path;
  const text =
    source.from === 'stdin' ? await readAll(what, name, readUntil(stdin, signal)) : await readFile(what, source.path);
  if (text === '') throw unusable(what, name, 'it is empty');
  return text;
}
