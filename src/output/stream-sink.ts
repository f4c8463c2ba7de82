import type { Sink } from '../cli/io.ts';

/** What a sink needs of `process.stdout` and `process.stderr`. */
type TerminalStream = NodeJS.WritableStream & {
  readonly isTTY?: boolean;
  readonly columns?: number;
  readonly destroyed?: boolean;
  readonly writableEnded?: boolean;
};

const FALLBACK_COLUMNS = 80;

// Pipes say EPIPE on POSIX and EOF on Windows, sockets ECONNRESET; a stream that already failed says the last.
const READER_GONE = new Set(['EPIPE', 'EOF', 'ECONNRESET', 'ERR_STREAM_DESTROYED']);

function asBrokenPipe(error: Error): Error {
  if (!('code' in error) || typeof error.code !== 'string' || !READER_GONE.has(error.code)) return error;
  return error.code === 'EPIPE' ? error : Object.assign(new Error('EPIPE: the reader is gone'), { code: 'EPIPE' });
}

/**
 * A sink over a process stream: pipe, file or terminal. `write` resolves once the system has taken the text, which
 * also waits for a slow reader; it rejects with code EPIPE once the reader is gone, and with the stream's own error
 * (a full disk) otherwise. The stream's `error` events are taken care of.
 */
export function streamSink(stream: TerminalStream): Sink {
  let failure: Error | undefined;
  const failed = (error: Error): Error => {
    failure ??= asBrokenPipe(error);
    return failure;
  };
  stream.on('error', failed);
  return {
    write(text) {
      if (failure) return Promise.reject(failure);
      return new Promise((resolve, reject) => {
        // The callback, not the return value: a write that fails at once still returns true.
        stream.write(text, (error) => (error ? reject(failed(error)) : resolve()));
      });
    },
    get isTTY() {
      return stream.isTTY === true;
    },
    get columns() {
      // A pseudo-terminal without a size reports 0.
      return stream.columns || FALLBACK_COLUMNS;
    },
  };
}

/** Resolves once everything written so far is out, or can never be: to be awaited before an explicit exit. */
export function flush(stream: TerminalStream): Promise<void> {
  if (stream.destroyed || stream.writableEnded) return Promise.resolve();
  return new Promise((resolve) => {
    stream.write('', () => resolve());
  });
}

/** Whether a write failed because its reader is gone. Only the sinks fail with a bare EPIPE; a network's is a ServiceError. */
export function isReaderGone(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'EPIPE';
}
