import { addAbortSignal, type Readable } from 'node:stream';

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

/** Why a file or directory cannot be read, in words. */
export function fileReason(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  if (code === 'ENOENT') return 'there is no such file or directory';
  if (code === 'EACCES' || code === 'EPERM') return 'it may not be read';
  if (code === 'EISDIR') return 'it is a directory';
  return error instanceof Error ? error.message : String(error);
}
