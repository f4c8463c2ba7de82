import { once } from 'node:events';
import readline from 'node:readline';
import { PassThrough } from 'node:stream';
import type { Sink } from '../../src/platform/io.ts';

interface MemorySinkOptions {
  readonly isTTY?: boolean;
  readonly columns?: number | undefined;
  readonly rows?: number | undefined;
  /** Called after each write, with everything that was written. The write ends when it resolves. */
  readonly onWrite?: ((text: string) => unknown) | undefined;
}

/** A sink that records its writes. */
export function memorySink({ isTTY = false, columns = 80, rows, onWrite }: MemorySinkOptions = {}) {
  const writes: string[] = [];
  const text = (): string => writes.join('');
  const sink: Sink = {
    isTTY,
    columns,
    rows,
    async write(written) {
      writes.push(written);
      await onWrite?.(text());
    },
  };
  return { ...sink, writes, text };
}

/** A terminal of 80 columns that records its output. */
export class Screen extends PassThrough {
  readonly isTTY = true;
  readonly columns = 80;
  output = '';

  constructor() {
    super();
    this.setEncoding('utf8');
    this.on('data', (text: string) => {
      this.output += text;
    });
  }

  cursorTo(x: number) {
    return readline.cursorTo(this, x);
  }

  moveCursor(dx: number, dy: number) {
    return readline.moveCursor(this, dx, dy);
  }

  clearLine(direction: -1 | 0 | 1) {
    return readline.clearLine(this, direction);
  }

  async until(text: string): Promise<void> {
    while (!this.output.includes(text)) await once(this, 'data');
  }
}
