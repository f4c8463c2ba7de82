import type { Sink } from '../../../src/cli/io.ts';

export interface MemorySink extends Sink {
  readonly writes: string[];
  text(): string;
}

/** A sink that keeps what is written. */
export function memorySink({ isTTY = false, columns = 80 } = {}): MemorySink {
  const writes: string[] = [];
  return {
    writes,
    isTTY,
    columns,
    text: () => writes.join(''),
    async write(text) {
      writes.push(text);
    },
  };
}

/** A sink whose reader leaves after `after` writes. */
export function brokenSink(after = 0): Sink {
  let left = after;
  return {
    isTTY: false,
    columns: 80,
    async write() {
      left -= 1;
      if (left < 0) throw Object.assign(new Error('EPIPE: the reader is gone'), { code: 'EPIPE' });
    },
  };
}
