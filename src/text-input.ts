import { open } from 'node:fs/promises';
import type { Readable } from 'node:stream';
import { InputError } from '../errors.ts';
import { fileReason, readUntil } from '../input.ts';

/** Where the text of a message comes from. */
export type TextSource =
  | { readonly from: 'words'; readonly text: string }
  | { readonly from: 'stdin' }
  | { readonly from: 'file'; readonly path: string };

/** Far more than a message can be; it keeps a wrong file or an endless stream out of memory. */
const MAX_BYTES = 16 * 1024 * 1024;

function unusable(name: string, why: string): InputError {
  return new InputError(`The message cannot be read from ${name}.`, { why, hint: 'Nothing was sent.' });
}

async function readAll(name: string, chunks: AsyncIterable<Buffer | string>): Promise<string> {
  const parts: Buffer[] = [];
  let size = 0;
  for await (const chunk of chunks) {
    const part = Buffer.from(chunk);
    size += part.length;
    if (size > MAX_BYTES) throw unusable(name, `it is larger than ${MAX_BYTES / 1024 / 1024} MiB`);
    parts.push(part);
  }
  try {
    // A byte order mark is part of the text like everything else.
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(Buffer.concat(parts));
  } catch {
    throw unusable(name, 'it is not UTF-8 text');
  }
}

async function readFile(path: string): Promise<string> {
  try {
    const file = await open(path);
    try {
      return await readAll(path, file.createReadStream({ autoClose: false }));
    } finally {
      await file.close();
    }
  } catch (error) {
    throw error instanceof InputError ? error : unusable(path, fileReason(error));
  }
}

/**
 * The text of a message, byte for byte, whatever line ends it has.
 * @param signal ends the wait for standard input, with its own reason
 * @throws InputError when it cannot be read, is not UTF-8, or is empty
 */
export async function readText(source: TextSource, stdin: Readable, signal: AbortSignal): Promise<string> {
  if (source.from === 'words') return source.text;
  const name = source.from === 'stdin' ? 'standard input' : source.path;
  const text = source.from === 'stdin' ? await readAll(name, readUntil(stdin, signal)) : await readFile(source.path);
  if (text === '') throw unusable(name, 'it is empty');
  return text;
}
