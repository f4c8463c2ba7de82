import type { Readable } from 'node:stream';

/** An output stream. `write` resolves when the stream accepts more, and rejects with EPIPE if the reader is gone. */
export interface Sink {
  /** @param encoding `latin1` for bytes that are not text, one per character */
  write(text: string, encoding?: 'utf8' | 'latin1'): Promise<void>;
  readonly isTTY: boolean;
  /** Width in columns; 80 without a terminal. */
  readonly columns: number;
  /** Height in lines; undefined if it is not known. */
  readonly rows?: number | undefined;
}

/** The width to lay out text for: that of a terminal, else Infinity. */
export function layoutWidth({ isTTY, columns }: Sink): number {
  return isTTY ? columns : Number.POSITIVE_INFINITY;
}

export interface Io {
  readonly stdin: Readable & { readonly isTTY?: boolean };
  readonly stdout: Sink;
  readonly stderr: Sink;
  /** The terminal behind stderr, for the spinner and for questions. */
  readonly terminal: NodeJS.WritableStream;
}

/** The environment variables of the process. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** Creates an `Io` that opens standard input only when it is used, which saves start-up time. */
export function lazyIo(stdin: () => Io['stdin'], others: Omit<Io, 'stdin'>): Io {
  return {
    get stdin() {
      return stdin();
    },
    ...others,
  };
}
