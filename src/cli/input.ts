import { open } from 'node:fs/promises';
import { addAbortSignal, type Readable } from 'node:stream';
import { UsageError } from '../errors.ts';

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
export async function* readUntil(stdin: Readable, signal: AbortSignal): AsyncGenerator<Buffer | string> {
  signal.throwIfAborted();
  addAbortSignal(signal, stdin);
  try {
    yield* stdin;
  } catch (error) {
    throw signal.aborted ? signal.reason : error;
  }
}

/** The chunks of a file, which is closed when they are through or no more of them is asked for. */
export async function* chunksOf(path: string): AsyncGenerator<Buffer> {
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
export function fileReason(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  if (code === 'ENOENT') return 'there is no such file or directory';
  if (code === 'EACCES' || code === 'EPERM') return 'it may not be read';
  if (code === 'EISDIR') return 'it is a directory';
  if (code === 'ENOTDIR') return 'a part of its path is a file, not a directory';
  if (code === 'ELOOP') return 'it is a link that leads in a circle';
  return error instanceof Error ? error.message : String(error);
}
