import type { Sink } from '../../src/platform/io.ts';

interface MemorySinkOptions {
  readonly isTTY?: boolean;
  readonly columns?: number | undefined;
  readonly rows?: number | undefined;
  /** Called after each write, with everything that was written. The write ends when it resolves. */
  readonly onWrite?: ((text: string) => unknown) | undefined;
}

interface MemorySink extends Sink {
  readonly writes: string[];
  text(): string;
}

/** A sink that records its writes. */
export function memorySink({ isTTY = false, columns = 80, rows, onWrite }: MemorySinkOptions = {}): MemorySink {
  const writes: string[] = [];
  const text = (): string => writes.join('');
  return {
    writes,
    isTTY,
    columns,
    rows,
    text,
    async write(written) {
      writes.push(written);
      await onWrite?.(text());
    },
  };
}
