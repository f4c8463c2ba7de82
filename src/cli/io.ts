import type { Readable } from 'node:stream';

/** Where a command's words go. `write` resolves once the reader can take more; it fails with EPIPE when there is none. */
export interface Sink {
  write(text: string): Promise<void>;
  readonly isTTY: boolean;
  /** Width in columns; 80 where there is no terminal. */
  readonly columns: number;
}

/** A sink that writes in another way. It is as wide as the first one, also once its window has changed. */
export function withWrite(write: Sink['write'], sink: Sink): Sink {
  return {
    write,
    get isTTY() {
      return sink.isTTY;
    },
    get columns() {
      return sink.columns;
    },
  };
}

export interface Io {
  readonly stdin: Readable & { readonly isTTY?: boolean };
  readonly stdout: Sink;
  readonly stderr: Sink;
}

/** Streams whose standard input is looked at only when it is needed: that alone opens it, which takes time. */
export function lazyIo(stdin: () => Io['stdin'], stdout: Sink, stderr: Sink): Io {
  return {
    get stdin() {
      return stdin();
    },
    stdout,
    stderr,
  };
}

export type Environment = Readonly<Record<string, string | undefined>>;
