import { clearScreenDown, createInterface, cursorTo, emitKeypressEvents, type Key, moveCursor } from 'node:readline';
import { PassThrough, type Readable } from 'node:stream';

/** Represents a line break while a message of several lines is edited on one line: a character that nobody types. */
export const LINE_BREAK = '\u2b92';

const BRACKETED_PASTE_ON = '\x1b[?2004h';
const BRACKETED_PASTE_OFF = '\x1b[?2004l';
const HISTORY_SIZE = 500;

/** A prompt with room above it for text that arrives while a person types. */
export interface PromptLine {
  /** What was entered, with its line breaks. Ends with Ctrl-D, or Ctrl-C on an empty line. */
  readonly entries: AsyncIterable<string>;
  /** Writes whole lines above the prompt, and keeps the typed text and the cursor. */
  printAbove(text: string): void;
  /** Changes the text before the line, which must keep its width. */
  setLabel(label: string): void;
  /** After the entries have ended: resolves when Ctrl-D or Ctrl-C is pressed. */
  nextLeaveKey(): Promise<void>;
  /** Gives the terminal back. */
  close(): void;
}

export interface PromptLineOptions {
  readonly input: Readable & { setRawMode?: (mode: boolean) => unknown };
  readonly output: NodeJS.WritableStream & { readonly rows?: number };
  readonly label: string;
  /** Earlier entries, newest first. */
  readonly history: readonly string[];
  /** Called with all entries, newest first, whenever there is a new one. */
  readonly onHistory: (entries: readonly string[]) => void;
}

/** Pasted text must not submit the line or control the terminal. */
function toSingleLine(pasted: string): string {
  return pasted.replace(/\r\n|[\r\n\u2028\u2029]/g, LINE_BREAK).replace(/(?!\t)\p{Cc}/gu, '');
}

/**
 * Reads keys and passes them to `write`, one by one, but pasted text in one piece: readline measures the whole line for
 * every key. Alt+Enter and pasted line breaks become LINE_BREAK.
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

/** Opens a prompt on a terminal. */
export function openPromptLine({ input, output, label, history, onHistory }: PromptLineOptions): PromptLine {
  const line = createInterface({
    // Keys come through `write`, so that pasted text can be changed.
    input: Object.assign(new PassThrough(), { setRawMode: (mode: boolean) => input.setRawMode?.(mode) }),
    output,
    prompt: label,
    terminal: true,
    history: [...history],
    historySize: HISTORY_SIZE,
    removeHistoryDuplicates: true,
    escapeCodeTimeout: 50,
  });
  let isOpen = true;
  let isTyping = true;
  /** The row of the cursor, counted from the start of the prompt, as last drawn. */
  let cursorRow = 0;
  const updateCursorRow = (): void => {
    cursorRow = line.getCursorPos().rows;
  };
  const redraw = (): void => {
    if (!isTyping) return;
    line.prompt(true);
    updateCursorRow();
  };
  const handleKey = createKeyHandler((text, key) => {
    line.write(text, key);
    if (isTyping) updateCursorRow();
  });
  /** Runs before readline redraws from `cursorRow` rows up, to where the line no longer starts once it has wrapped anew. */
  const handleResize = (): void => {
    const row = cursorRow;
    updateCursorRow();
    if (cursorRow > row) moveCursor(output, 0, row - cursorRow);
    else output.write('\n'.repeat(row - cursorRow));
  };
  emitKeypressEvents(input, line);
  input.on('keypress', handleKey);
  input.once('end', () => line.close());
  output.prependListener('resize', handleResize);
  output.write(BRACKETED_PASTE_ON);
  line.on('history', (entries) => onHistory(entries));
  line.on('SIGINT', () => {
    if (line.line === '') {
      line.close();
      return;
    }
    line.write(null, { ctrl: true, name: 'e' });
    line.write(null, { ctrl: true, name: 'u' });
  });
  line.on('close', () => {
    isTyping = false;
    input.off('keypress', handleKey);
    output.off('resize', handleResize);
    output.write('\n');
  });

  async function* readEntries(): AsyncGenerator<string> {
    redraw();
    for await (const entry of line) {
      redraw();
      yield entry.replaceAll(LINE_BREAK, '\n');
    }
  }

  return {
    entries: readEntries(),
    printAbove(text) {
      if (isTyping) {
        moveCursor(output, 0, -cursorRow);
        cursorTo(output, 0);
        clearScreenDown(output);
      }
      // `prompt` redraws from `cursorRow` rows up, but the cursor stops at the top of the screen.
      const rowsBack = isTyping ? Math.min(cursorRow, (output.rows ?? Number.POSITIVE_INFINITY) - 1) : 0;
      output.write(`${text}\n${'\n'.repeat(rowsBack)}`);
      redraw();
    },
    setLabel(text) {
      line.setPrompt(text);
      redraw();
    },
    nextLeaveKey() {
      return new Promise((resolve) => {
        if (!isOpen) return;
        input.setRawMode?.(true);
        input.on('keypress', (_text: unknown, key: Key) => {
          if (key.ctrl && (key.name === 'c' || key.name === 'd')) resolve();
        });
        input.resume();
      });
    },
    close() {
      if (!isOpen) return;
      isOpen = false;
      if (isTyping) line.write(null, { ctrl: true, name: 'e' });
      line.close();
      input.setRawMode?.(false);
      input.pause();
      output.write(BRACKETED_PASTE_OFF);
    },
  };
}
