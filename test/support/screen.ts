import { once } from 'node:events';
import readline from 'node:readline';
import { PassThrough } from 'node:stream';

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
