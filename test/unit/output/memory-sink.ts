import type { Sink } from '../../../src/cli/io.ts';

export interface MemorySink extends Sink {
  readonly writes: string[];
  text(): string;
}

/** A sink that records its writes. */
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

/** A sink that fails with EPIPE after some writes. */
export function brokenSink(writes = 0): Sink {
  let left = writes;
  return {
    isTTY: false,
    columns: 80,
    async write() {
      left -= 1;
      if (left < 0) throw Object.assign(new Error('EPIPE: the reader is gone'), { code: 'EPIPE' });
    },
  };
}
