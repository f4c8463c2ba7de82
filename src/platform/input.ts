import { isUtf8 } from 'node:buffer';
import { close, constants, createReadStream, fstat, open } from 'node:fs';
import { addAbortSignal, type Readable } from 'node:stream';
import { promisify } from 'node:util';

/** The source of a text: an argument, standard input, or a file. */
export type TextSource =
  | { readonly from: 'argument'; readonly text: string }
  | { readonly from: 'stdin' }
  | { readonly from: 'file'; readonly path: string };

/**
 * Reads a stream, such as standard input, chunk by chunk, and closes it when the caller stops early.
 * @throws the signal's reason when the signal aborts
 */
export async function* readStdin(stream: Readable, signal: AbortSignal): AsyncGenerator<Buffer | string> {
  signal.throwIfAborted();
  addAbortSignal(signal, stream);
  try {
    yield* stream;
  } catch (error) {
    throw signal.aborted ? signal.reason : error;
  }
}

/**
 * Opens a file for a stream that can be destroyed at any time. Opening or reading a pipe through `fs` can block a
 * thread of Node forever, and the process cannot exit before that thread ends.
 */
async function openStream(path: string): Promise<Readable> {
  // Without O_NONBLOCK, opening a pipe waits for its writer.
  const fd = await promisify(open)(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0));
  try {
    if ((await promisify(fstat)(fd)).isFIFO()) {
      const { Socket } = await import('node:net');
      return new Socket({ fd, readable: true, writable: false });
    }
    const tty = await import('node:tty');
    return tty.isatty(fd) ? new tty.ReadStream(fd) : createReadStream(path, { fd });
  } catch (error) {
    await promisify(close)(fd);
    throw error;
  }
}

/**
 * Reads a file, a pipe, or a terminal chunk by chunk. Closes it at the end, or when the caller stops early.
 * @throws the signal's reason when the signal aborts
 */
export async function* readFileChunks(path: string, signal: AbortSignal): AsyncGenerator<Buffer | string> {
  signal.throwIfAborted();
  yield* readStdin(await openStream(path), signal);
}

/**
 * Reads UTF-8 text, including a byte order mark.
 * @throws Error if the text is longer than `maxMib` (MiB) or not UTF-8; its message is a clause without a period
 */
export async function decodeText(chunks: AsyncIterable<Buffer | string>, maxMib: number): Promise<string> {
  const parts: Buffer[] = [];
  let size = 0;
  for await (const chunk of chunks) {
    const part = Buffer.from(chunk);
    size += part.length;
    if (size > maxMib * 1024 * 1024) throw new Error(`it is larger than ${maxMib} MiB`);
    parts.push(part);
  }
  const bytes = Buffer.concat(parts);
  if (isUtf8(bytes)) return bytes.toString();
  throw new Error('it is not UTF-8 text; save it as UTF-8');
}
