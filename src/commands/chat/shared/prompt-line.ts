import {
  clearScreenDown,
  createInterface,
  cursorTo,
  emitKeypressEvents,
  type Interface,
  type Key,
  moveCursor,
} from 'node:readline';
import { PassThrough } from 'node:stream';
import type { Context } from '../../../cli/context.ts';

/** Stands for a line break while the user edits a multi-line message on one line. Nobody types this character. */
const LINE_BREAK = '\u2b92';

const BRACKETED_PASTE_ON = '\x1b[?2004h';
const BRACKETED_PASTE_OFF = '\x1b[?2004l';

/** Removes what would submit the line or control the terminal. */
function toSingleLine(pasted: string): string {
  return pasted.replace(/\r\n|[\r\n\u2028\u2029]/g, LINE_BREAK).replace(/(?!\t)\p{Cc}/gu, '');
}

/** A prompt in a terminal that can print text above itself while the user types. */
export class PromptLine {
  private readonly terminal: Context['io']['terminal'];
  private readonly redactor: Context['redactor'];
  private readonly input: Context['io']['stdin'] & { setRawMode?: (mode: boolean) => unknown };
  private readonly line: Interface;
  private isTyping = true;
  private pasted: string | undefined;
  /** The row of the cursor below the prompt, as last drawn. */
  private cursorRow = 0;

  constructor({ io, redactor }: Context, label: string) {
    const { terminal } = io;
    this.terminal = terminal;
    this.redactor = redactor;
    this.input = io.stdin;
    this.line = createInterface({
      // `handleKey` passes on the keys instead, so that it can change pasted text.
      input: Object.assign(new PassThrough(), { setRawMode: (mode: boolean) => this.input.setRawMode?.(mode) }),
      output: terminal,
      prompt: label,
      terminal: true,
    });
    // Do not pass the interface: readline would append multi-character input to the line's end, not at the cursor.
    emitKeypressEvents(this.input);
    this.input.on('keypress', this.handleKey);
    // A question before, such as that of a protected profile, has paused it.
    this.input.resume();
    this.input.once('end', () => this.line.close());
    this.line.on('line', () => this.redraw());
    this.line.on('SIGINT', () => this.handleInterrupt());
    // While the program is suspended, the shell turns it off.
    this.line.on('SIGCONT', () => terminal.write(BRACKETED_PASTE_ON));
    this.line.on('close', () => this.stopTyping());
    terminal.prependListener('resize', this.handleResize);
    terminal.write(BRACKETED_PASTE_ON);
  }

  /** The entered messages, which may contain line breaks. Ends on Ctrl-D, or on Ctrl-C on an empty line. */
  async *entries(): AsyncGenerator<string> {
    this.redraw();
    for await (const entry of this.line) yield entry.replaceAll(LINE_BREAK, '\n');
  }

  /** Writes complete lines above the prompt. Preserves the typed text and the cursor position. */
  printAbove(text: string): void {
    const rows = this.isTyping ? this.cursorRow : 0;
    if (this.isTyping) {
      moveCursor(this.terminal, 0, -rows);
      cursorTo(this.terminal, 0);
      clearScreenDown(this.terminal);
    }
    // `prompt` moves the cursor up by as many rows to draw the line again.
    this.terminal.write(`${this.redactor.redact(text)}\n${'\n'.repeat(rows)}`);
    this.redraw();
  }

  close(): void {
    this.line.close();
  }

  private redraw(): void {
    if (!this.isTyping) return;
    this.line.prompt(true);
    this.cursorRow = this.line.getCursorPos().rows;
  }

  private write(text: string, key?: Key): void {
    this.line.write(text, key);
    this.cursorRow = this.line.getCursorPos().rows;
  }

  /** Runs before readline redraws, and moves the cursor to where readline expects it: a resize rewraps the line. */
  private readonly handleResize = (): void => {
    const before = this.cursorRow;
    this.cursorRow = this.line.getCursorPos().rows;
    if (this.cursorRow > before) moveCursor(this.terminal, 0, before - this.cursorRow);
    else this.terminal.write('\n'.repeat(before - this.cursorRow));
  };

  /** Passes on pasted text all at once, because readline measures the whole line for every key. */
  private readonly handleKey = (text: string | undefined, key: Key): void => {
    if (key.name === 'paste-start') {
      this.pasted = '';
    } else if (key.name === 'paste-end') {
      this.write(toSingleLine(this.pasted ?? ''));
      this.pasted = undefined;
    } else if (this.pasted !== undefined) {
      this.pasted += key.sequence ?? text ?? '';
    } else if (key.meta && (key.name === 'return' || key.name === 'enter')) {
      this.write(LINE_BREAK);
    } else {
      // The history shows what begins like the text before the cursor, and would drop the text after it.
      const isHistory = key.name === 'up' || key.name === 'down';
      if (isHistory && this.line.cursor < this.line.line.length) this.write('', { ctrl: true, name: 'e' });
      this.write(text ?? '', key);
    }
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
    this.terminal.off('resize', this.handleResize);
    this.input.pause();
    this.terminal.write(`\n${BRACKETED_PASTE_OFF}`);
  }
}
