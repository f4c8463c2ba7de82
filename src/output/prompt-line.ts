import { createInterface } from 'node:readline';
import { type Readable, Writable } from 'node:stream';
import { type LineView, lineView, rowsAbove, type ScreenSize } from './line-view.ts';
import { LINE_BREAK, MultilineInput } from './multiline-input.ts';
import { sanitizeLine } from './sanitize.ts';

const PASTE_MARKS_ON = '\x1b[?2004h';
const PASTE_MARKS_OFF = '\x1b[?2004l';
const CLEAR_SCREEN = '\x1b[H\x1b[2J';
const CLEAR_BELOW = '\x1b[J';
/** Ctrl-C and Ctrl-D, as a terminal in raw mode sends them. */
const LEAVING = /[\x03\x04]/;

/** A line that is being typed, with room above it for what happens meanwhile. */
export interface PromptLine {
  /** What was entered, line breaks included. Ends when the person leaves: Ctrl-D, or Ctrl-C on an empty line. */
  readonly entries: AsyncIterable<string>;
  /** Writes whole lines above the one that is typed; the text and the cursor stay as they are. */
  above(text: string): void;
  /** Changes what stands in front of the line. */
  label(text: string): void;
  /** After the entries have ended: resolves when Ctrl-D or Ctrl-C is pressed once more. */
  leavingAgain(): Promise<void>;
  close(): void;
}

export interface PromptLineOptions {
  readonly input: Readable & { setRawMode?: (mode: boolean) => unknown };
  readonly output: NodeJS.WritableStream & Partial<ScreenSize>;
  readonly label: string;
  /** Earlier entries, the newest first. */
  readonly history: readonly string[];
  /** Told the entries, the newest first, whenever there is a new one. */
  readonly onHistory: (entries: readonly string[]) => void;
}

const HISTORY_SIZE = 500;
const USUAL_SIZE: ScreenSize = { columns: 80, rows: 24 };
const BLANK: LineView = { rows: [''], cursor: { row: 0, column: 0 } };

function up(rows: number): string {
  return rows > 0 ? `\x1b[${rows}A` : '';
}

function right(columns: number): string {
  return columns > 0 ? `\x1b[${columns}C` : '';
}

/** Draws the line on a terminal, over and over in the same place. */
class LineScreen {
  private readonly output: PromptLineOptions['output'];
  private drawn = BLANK;

  constructor(output: PromptLineOptions['output']) {
    this.output = output;
  }

  private size(): ScreenSize {
    // A pseudo-terminal without a size says 0.
    return { columns: this.output.columns || USUAL_SIZE.columns, rows: this.output.rows || USUAL_SIZE.rows };
  }

  /** Takes the line away and writes something in its place. */
  replace(text: string): void {
    // Terminals wrap anew what stands there when they get narrower.
    this.output.write(`${up(rowsAbove(this.drawn, this.size().columns))}\r${CLEAR_BELOW}${text}`);
    this.drawn = BLANK;
  }

  draw(label: string, text: string, cursor: number): void {
    const view = lineView(label, text, cursor, this.size());
    const back = `${up(view.rows.length - 1 - view.cursor.row)}\r${right(view.cursor.column)}`;
    this.replace(view.rows.join('\r\n') + back);
    this.drawn = view;
  }

  /** Begins with an empty screen. */
  clear(): void {
    this.output.write(CLEAR_SCREEN);
    this.drawn = BLANK;
  }

  /** The cursor is no more where the line was drawn; it is drawn anew where the cursor is. */
  forget(): void {
    this.drawn = BLANK;
  }

  /** Leaves what is drawn where it is and goes on below it. */
  leave(): void {
    const below = this.drawn.rows.length - 1 - this.drawn.cursor.row;
    this.output.write(`${'\n'.repeat(below)}\r\n`);
    this.drawn = BLANK;
  }
}

/** Opens a prompt on a terminal. The terminal is given back as it was by `close`. */
export function openPromptLine({
  input,
  output,
  label: firstLabel,
  history,
  onHistory,
}: PromptLineOptions): PromptLine {
  const multiline = Object.assign(new MultilineInput(), { setRawMode: (mode: boolean) => input.setRawMode?.(mode) });
  input.pipe(multiline);
  output.write(PASTE_MARKS_ON);
  // Readline knows the keys. What it would draw goes nowhere: it cannot draw a line that is taller than the screen.
  const line = createInterface({
    input: multiline,
    output: new Writable({ write: (_chunk, _encoding, done) => done() }),
    terminal: true,
    history: [...history],
    historySize: HISTORY_SIZE,
    removeHistoryDuplicates: true,
    // A reply that arrives while Escape is held back would look like a hung key.
    escapeCodeTimeout: 50,
  });
  // It measures the whole line at every key, which takes minutes for a long paste, to draw what is not shown.
  Object.assign(line, { getCursorPos: () => ({ rows: 0, cols: 0 }) });
  const screen = new LineScreen(output);
  let label = firstLabel;
  let typing = true;
  let closed = false;
  let isDue = false;

  const draw = (): void => {
    if (typing) screen.draw(label, line.line, line.cursor);
  };
  /** Once for all the keys of one reading: a paste has many. */
  const drawSoon = (): void => {
    if (isDue) return;
    isDue = true;
    queueMicrotask(() => {
      isDue = false;
      draw();
    });
  };
  output.on('resize', draw);
  multiline.on('keypress', (_text: unknown, key: { ctrl?: boolean; name?: string } | undefined) => {
    if (key?.ctrl && key.name === 'l') screen.clear();
    drawSoon();
  });
  // After Ctrl-Z and fg the shell has written where the line stood, and readline has paused.
  line.on('SIGCONT', () => {
    line.resume();
    screen.forget();
    draw();
  });
  line.on('line', (entry) => screen.replace(`${label}${sanitizeLine(entry)}\r\n`));
  line.on('history', (entries: string[]) => onHistory(entries));
  line.on('SIGINT', () => {
    if (line.line === '') {
      line.close();
      return;
    }
    line.write(null, { ctrl: true, name: 'e' });
    line.write(null, { ctrl: true, name: 'u' });
  });
  line.on('close', () => {
    typing = false;
    output.off('resize', draw);
    screen.leave();
    input.unpipe(multiline);
  });

  async function* entries(): AsyncGenerator<string> {
    draw();
    for await (const entry of line) yield entry.replaceAll(LINE_BREAK, '\n');
  }

  return {
    entries: entries(),
    above(text) {
      if (typing) screen.replace(`${text}\n`);
      else output.write(`${text}\n`);
      draw();
    },
    label(text) {
      label = text;
      draw();
    },
    leavingAgain() {
      return new Promise((resolve) => {
        if (closed) return;
        input.setRawMode?.(true);
        input.on('data', (chunk: unknown) => {
          if (LEAVING.test(String(chunk))) resolve();
        });
        input.resume();
      });
    },
    close() {
      if (closed) return;
      closed = true;
      line.close();
      input.setRawMode?.(false);
      input.pause();
      output.write(PASTE_MARKS_OFF);
    },
  };
}
