import { describeFileError, OutputError } from '../errors.ts';
import { errorCode } from '../platform/error-code.ts';
import type { Sink } from '../platform/io.ts';
import type { Progress } from './progress.ts';
import { sanitizeLine } from './sanitize.ts';

/** `process.stdout` or `process.stderr`. */
type OutputStream = NodeJS.WritableStream & Partial<Pick<NodeJS.WriteStream, 'isTTY' | 'columns' | 'rows'>>;

const FALLBACK_COLUMNS = 80;

function normalizeReaderGone(error: Error, isTTY: boolean): Error {
  // Sockets fail with ECONNRESET, and closed terminals with EIO, which elsewhere means a damaged disk.
  const codes: readonly unknown[] = ['EPIPE', 'ECONNRESET', 'ERR_STREAM_DESTROYED', ...(isTTY ? ['EIO'] : [])];
  return codes.includes(errorCode(error)) ? Object.assign(new Error('The reader is gone.'), { code: 'EPIPE' }) : error;
}

/**
 * Creates a sink for a process stream, and handles its `error` events. A write resolves when the operating system has
 * accepted the text, so it waits for a slow reader.
 */
export function streamSink(stream: OutputStream): Sink {
  let failure: Error | undefined;
  const fail = (error: Error): Error => {
    failure ??= normalizeReaderGone(error, stream.isTTY === true);
    return failure;
  };
  stream.on('error', fail);
  return {
    write(text, encoding = 'utf8') {
      if (failure) return Promise.reject(failure);
      return new Promise((resolve, reject) => {
        // Do not use the return value: it is true even if the write fails immediately.
        stream.write(text, encoding, (error) => (error ? reject(fail(error)) : resolve()));
      });
    },
    get isTTY() {
      return stream.isTTY === true;
    },
    get columns() {
      // A pseudo-terminal without a size reports 0 columns.
      return stream.columns || FALLBACK_COLUMNS;
    },
    get rows() {
      return stream.rows || undefined;
    },
  };
}

/** Resolves when all output is written or the stream has failed. Await it before calling `process.exit`. */
export function flush(stream: OutputStream): Promise<void> {
  return new Promise((resolve) => {
    stream.write('', () => resolve());
  });
}

const READER_GRACE_MS = 1_000;

/**
 * Waits until output is written. Once the signal aborts, waits at most one second, because nobody may read the pipe.
 * @returns whether it was written
 * @throws the error of the write
 */
export async function waitForReader(written: Promise<unknown>, signal: AbortSignal | undefined): Promise<boolean> {
  if (!signal) return written.then(() => true);
  // No controller of its own: each page of a list is a write.
  let timer: NodeJS.Timeout | undefined;
  let onAbort = (): void => undefined;
  const stalled = new Promise<false>((resolve) => {
    onAbort = () => {
      timer = setTimeout(() => resolve(false), READER_GRACE_MS);
    };
  });
  signal.addEventListener('abort', onAbort);
  if (signal.aborted) onAbort();
  try {
    return await Promise.race([written.then(() => true), stalled]);
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', onAbort);
  }
}

/** Whether the reader of the output is gone. Only sinks throw a bare EPIPE: network errors are ServiceErrors. */
export function isReaderGone(error: unknown): boolean {
  return errorCode(error) === 'EPIPE';
}

interface OutputOptions {
  /** Applied to each write, such as to redact. Write complete lines: it misses a secret split across writes. */
  readonly clean?: (text: string) => string;
  /** Hidden while the text is written: a pipe may lead to the terminal, too. */
  readonly progress?: Pick<Progress, 'pauseDuring'>;
  /** Once it aborts, a write waits at most one second for its reader. */
  readonly signal?: () => AbortSignal | undefined;
  /** Whether a write may fail without a consequence, such as that of a notice. */
  readonly isOptional?: boolean;
}

/**
 * Creates the sink that a command writes to.
 * @returns a sink whose writes reject with code EPIPE if the reader is gone, the reason of the signal if nobody reads,
 * and otherwise OutputError, such as for a full disk
 */
export function outputSink(sink: Sink, { clean, progress, signal, isOptional = false }: OutputOptions = {}): Sink {
  let isStalled = false;
  const send: Sink['write'] = async (text, encoding) => {
    const written = sink.write(clean ? clean(text) : text, encoding).catch((error: unknown) => {
      if (isReaderGone(error)) throw error;
      throw new OutputError('The output cannot be written.', { why: describeFileError(error), cause: error });
    });
    isStalled ||= !(await waitForReader(written, signal?.()));
    if (isStalled) throw signal?.()?.reason;
  };
  const write: Sink['write'] = async (text, encoding) => {
    const sent = progress ? progress.pauseDuring(() => send(text, encoding)) : send(text, encoding);
    return isOptional ? sent.catch(() => undefined) : sent;
  };
  // The size follows that of the original sink, even after a resize.
  return Object.assign(Object.create(sink), { write });
}

/** Writes a line for people: cleaned of terminal controls, and wrapped in a terminal. */
export async function writeLine(sink: Sink, text: string): Promise<void> {
  const line = sanitizeLine(text);
  if (!sink.isTTY) return sink.write(`${line}\n`);
  const { wrapText } = await import('./wrap.ts');
  await sink.write(`${wrapText(line, sink.columns, '  ')}\n`);
}
