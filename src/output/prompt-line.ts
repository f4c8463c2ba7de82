import { clearScreenDown, createInterface, cursorTo, moveCursor } from 'node:readline';
import type { Readable } from 'node:stream';
import { LINE_BREAK, MultilineInput } from './multiline-input.ts';

const PASTE_MARKS_ON = '\x1b[?2004h';
const PASTE_MARKS_OFF = '\x1b[?2004l';

/** A line that is being typed, with room above it for what happens meanwhile. */
export interface PromptLine {
  /** What was entered, line breaks included. Ends when the person leaves: Ctrl-D, or Ctrl-C on an empty line. */
  readonly entries: AsyncIterable<string>;
  /** Writes whole lines above the one that is typed; the text and the cursor stay as they are. */
  above(text: string): void;
  /** Changes what stands in front of the line. */
  label(text: string): void;
  close(): void;
}

export interface PromptLineOptions {
  readonly input: Readable & { setRawMode?: (mode: boolean) => unknown };
  readonly output: NodeJS.WritableStream;
  readonly label: string;
  /** Earlier entries, the newest first. */
  readonly history: readonly string[];
  /** Told the entries, the newest first, whenever there is a new one. */
  readonly onHistory: (entries: readonly string[]) => void;
}

const HISTORY_SIZE = 500;

/** Opens a prompt on a terminal. The terminal is given back as it was by `close`. */
export function openPromptLine({ input, output, label, history, onHistory }: PromptLineOptions): PromptLine {
  const multiline = Object.assign(new MultilineInput(), { setRawMode: (mode: boolean) => input.setRawMode?.(mode) });
  input.pipe(multiline);
  output.write(PASTE_MARKS_ON);
  const line = createInterface({
    input: multiline,
    output,
    terminal: true,
    prompt: label,
    history: [...history],
    historySize: HISTORY_SIZE,
    removeHistoryDuplicates: true,
    // A reply that arrives while Escape is held back would look like a hung key.
    escapeCodeTimeout: 50,
  });
  let open = true;
  /** Takes the line away; what is written next, and the line after it, begin where it stood. */
  const lift = (): void => {
    moveCursor(output, 0, -line.getCursorPos().rows);
    cursorTo(output, 0);
    clearScreenDown(output);
    // By this readline finds the beginning of the line; it forgets to keep it while text is typed at the end.
    Object.assign(line, { prevRows: 0 });
  };
  // Terminals wrap anew what stands there; without this the line would be drawn again below a part of itself.
  output.prependListener('resize', lift);

  line.on('history', (entries: string[]) => onHistory(entries));
  line.on('SIGINT', () => {
    if (line.line === '') {
      line.close();
      return;
    }
    line.write(null, { ctrl: true, name: 'e' });
    line.write(null, { ctrl: true, name: 'u' });
  });

  async function* entries(): AsyncGenerator<string> {
    line.prompt();
    for await (const entry of line) {
      yield entry.replaceAll(LINE_BREAK, '\n');
      if (open) line.prompt();
    }
  }

  return {
    entries: entries(),
    above(text) {
      lift();
      output.write(`${text}\n`);
      if (open) line.prompt(true);
    },
    label(text) {
      lift();
      line.setPrompt(text);
      if (open) line.prompt(true);
    },
    close() {
      if (!open) return;
      open = false;
      output.off('resize', lift);
      line.close();
      input.unpipe(multiline);
      input.pause();
      output.write(`${PASTE_MARKS_OFF}\n`);
    },
  };
}
