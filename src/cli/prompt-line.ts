import {
  clearScreenDown,
  createInterface,
  cursorTo,
  emitKeypressEvents,
  type Interface,
  type Key,
  moveCursor,
} from 'node:readline';
import { PassThrough, type Readable } from 'node:stream';

/** Stands for a line break while the user edits a multi-line message on one line. Nobody types this character. */
const LINE_BREAK = '\u2b92';

const BRACKETED_PASTE_ON = '\x1b[?2004h';
const BRACKETED_PASTE_OFF = '\x1b[?2004l';
const HISTORY_SIZE = 500;

/** A prompt that can print text above itself while the user types. */
export interface PromptLine {
  /** The entered messages, which may contain line breaks. Ends on Ctrl-D, or on Ctrl-C on an empty line. */
  readonly entries: AsyncIterable<string>;
  /** Writes complete lines above the prompt. Preserves the typed text and the cursor position. */
  printAbove(text: string): void;
  /** Replaces the label in front of the input. The new label must have the same width. */
  setLabel(label: string): void;
  /** Resolves when the user presses Ctrl-D or Ctrl-C. Call it only after `entries` has ended. */
  nextLeaveKey(): Promise<void>;
  /** Restores the terminal. */
  close(): void;
}

export interface PromptLineOptions {
  readonly input: Readable & { setRawMode?: (mode: boolean) => unknown };
  readonly output: NodeJS.WritableStream & { readonly rows?: number };
  readonly label: string;
  /** Redacts secrets in the text that `printAbove` prints. */
  readonly redact: (text: string) => string;
}

/** Removes what would submit the line or control the terminal. */
function toSingleLine(pasted: string): string {
  return pasted.replace(/\r\n|[\r\n\u2028\u2029]/g, LINE_BREAK).replace(/(?!\t)\p{Cc}/gu, '');
}

/**
 * Creates a key handler that passes each key to `write`, but pasted text all at once, because readline measures the
 * whole line for every key. Converts Alt+Enter and pasted line breaks to LINE_BREAK.
 */
function createKeyHandler(write: (text: string, key?: Key) => void): (text: string | undefined, key: Key) => void {
  let pasted: string | undefined;
  return (text = '', key) => {
    if (key.name === 'paste-start') {
      pasted = '';
    } else if (key.name === 'paste-end') {
      write(toSingleLine(pasted ?? ''));
      pasted = undefined;
    } else if (pasted !== undefined) {
      pasted += key.sequence ?? text;
    } else if (key.meta && (key.name === 'return' || key.name === 'enter')) {
      write(LINE_BREAK);
    } else {
      write(text, key);
    }
  };
}

class TerminalPrompt implements PromptLine {
  readonly entries: AsyncIterable<string>;
  private readonly input: PromptLineOptions['input'];
  private readonly output: PromptLineOptions['output'];
  private readonly redact: PromptLineOptions['redact'];
  private readonly line: Interface;
  private readonly handleKey: ReturnType<typeof createKeyHandler>;
  private isOpen = true;
  private isTyping = true;
  /** The cursor's row when last drawn, relative to the first row of the prompt. */
  private cursorRow = 0;

  constructor({ input, output, label, redact }: PromptLineOptions) {
    this.input = input;
    this.output = output;
    this.redact = redact;
    this.line = createInterface({
      // The key handler calls `write` instead, so that it can change pasted text.
      input: Object.assign(new PassThrough(), { setRawMode: (mode: boolean) => input.setRawMode?.(mode) }),
      output,
      prompt: label,
      terminal: true,
      historySize: HISTORY_SIZE,
      removeHistoryDuplicates: true,
    });
    this.handleKey = createKeyHandler((text, key) => {
      this.line.write(text, key);
      if (this.isTyping) this.updateCursorRow();
    });
    // Do not pass the interface: readline would append multi-character input to the line's end, not at the cursor.
    emitKeypressEvents(input);
    input.on('keypress', this.handleKey);
    input.once('end', () => this.line.close());
    output.prependListener('resize', this.handleResize);
    output.write(BRACKETED_PASTE_ON);
    this.line.on('line', () => this.redraw());
    this.line.on('SIGINT', () => this.handleInterrupt());
    // While the program is suspended, the shell turns it off.
    this.line.on('SIGCONT', () => output.write(BRACKETED_PASTE_ON));
    this.line.on('close', () => this.stopTyping());
    this.entries = this.readEntries();
  }

  printAbove(text: string): void {
    if (this.isTyping) {
      moveCursor(this.output, 0, -this.cursorRow);
      cursorTo(this.output, 0);
      clearScreenDown(this.output);
    }
    // `prompt` moves the cursor up by `cursorRow` rows to redraw, but the cursor stops at the top of the screen.
    // A pseudo-terminal without a size reports 0 rows.
    const screenRows = this.output.rows || Number.POSITIVE_INFINITY;
    const rowsBack = this.isTyping ? Math.min(this.cursorRow, screenRows - 1) : 0;
    this.output.write(`${this.redact(text)}\n${'\n'.repeat(rowsBack)}`);
    this.redraw();
  }

  setLabel(label: string): void {
    this.line.setPrompt(label);
    this.redraw();
  }

  nextLeaveKey(): Promise<void> {
    return new Promise((resolve) => {
      if (!this.isOpen) return;
      this.input.setRawMode?.(true);
      this.input.on('keypress', (_text: unknown, key: Key) => {
        if (key.ctrl && (key.name === 'c' || key.name === 'd')) resolve();
      });
      this.input.resume();
    });
  }

  close(): void {
    if (!this.isOpen) return;
    this.isOpen = false;
    if (this.isTyping) this.line.write(null, { ctrl: true, name: 'e' });
    this.line.close();
    this.input.setRawMode?.(false);
    this.input.pause();
    this.output.write(BRACKETED_PASTE_OFF);
  }

  private async *readEntries(): AsyncGenerator<string> {
    this.redraw();
    for await (const entry of this.line) yield entry.replaceAll(LINE_BREAK, '\n');
  }

  private redraw(): void {
    if (!this.isTyping) return;
    this.line.prompt(true);
    this.updateCursorRow();
  }

  private updateCursorRow(): void {
    this.cursorRow = this.line.getCursorPos().rows;
  }

  /** Runs before readline redraws, and moves the cursor to where readline expects it: a resize rewraps the line. */
  private readonly handleResize = (): void => {
    const before = this.cursorRow;
    this.updateCursorRow();
    if (this.cursorRow > before) moveCursor(this.output, 0, before - this.cursorRow);
    else this.output.write('\n'.repeat(before - this.cursorRow));
  };

  private handleInterrupt(): void {
    if (this.line.line === '') {
      this.line.close();
      return;
    }
    this.line.write(null, { ctrl: true, name: 'e' });
    this.line.write(null, { ctrl: true, name: 'u' });
  }

  private stopTyping(): void {
    this.isTyping = false;
    this.input.off('keypress', this.handleKey);
    this.output.off('resize', this.handleResize);
    this.output.write('\n');
  }
}

/** Opens a prompt on a terminal. */
export function openPromptLine(options: PromptLineOptions): PromptLine {
  return new TerminalPrompt(options);
}
