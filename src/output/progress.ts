import type { Ora } from 'ora';
import { type Sink, withWrite } from '../cli/io.ts';
import type { Clock } from '../clock.ts';
import { sanitizeLine } from './sanitize.ts';

/** Quick commands show nothing at all. */
const DELAY_MS = 1000;

/** Tells people what a command is waiting for. */
export interface Progress {
  /** Begins to show `text` after one second; shows it in place of another text. */
  start(text: string): void;
  /** Replaces the text, of one line or several; does nothing when nothing was started. */
  update(text: string | readonly string[]): void;
  /** Adds what is being waited for to the text, until the next detail; an empty one removes it. */
  detail(text: string): void;
  /** Takes the text away. */
  stop(): void;
  /** Runs a write to the same terminal while the text is out of the way, then shows it again. */
  pauseDuring<Result>(write: () => Promise<Result>): Promise<Result>;
}

interface ProgressOptions {
  /** Whether anything may be shown: stderr is a terminal, no --quiet, no CI. */
  readonly enabled: boolean;
  readonly clock: Clock;
  /** Applied to texts, because the spinner writes to the stream itself. */
  readonly redact?: (text: string) => string;
}

interface Shown {
  readonly waiting: AbortController;
  text: string;
  detail: string;
  spinner?: Ora;
}

function lineOf({ text, detail }: Shown): string {
  if (detail === '') return text;
  // Several lines are made to fit the terminal, each of them.
  return text.includes('\n') ? `${text}\n  (${detail})` : `${text} (${detail})`;
}

const SILENT: Progress = { start() {}, update() {}, detail() {}, stop() {}, pauseDuring: (write) => write() };

/**
 * A spinner on stderr that appears once something has taken a second. Only then is its library loaded.
 * @param stream the terminal itself; the spinner moves its cursor
 */
export function createProgress(stream: NodeJS.WritableStream, options: ProgressOptions): Progress {
  const { enabled, clock, redact = (text: string) => text } = options;
  if (!enabled) return SILENT;

  let current: Shown | undefined;
  let writes = 0;

  const harmless = (text: string): string => sanitizeLine(redact(text));

  const show = (text: string, detail: string): void => {
    if (!current) return;
    Object.assign(current, { text, detail });
    if (current.spinner) current.spinner.text = lineOf(current);
  };

  const appear = async (started: Shown): Promise<void> => {
    await clock.sleep(DELAY_MS, started.waiting.signal);
    const { default: ora } = await import('ora');
    if (current !== started) return;
    // The cursor stays and stdin is left alone: both would need restoring when a signal ends the process.
    started.spinner = ora({
      stream,
      isEnabled: true,
      hideCursor: false,
      discardStdin: false,
      color: false,
      text: lineOf(started),
    });
    if (writes === 0) started.spinner.start();
  };

  return {
    start(text) {
      if (current) return show(harmless(text), '');
      current = { waiting: new AbortController(), text: harmless(text), detail: '' };
      appear(current).catch(() => {
        // The sleep was cut short by stop(), or the library cannot be loaded: the command goes on without a spinner.
      });
    },
    update(text) {
      const harmlessText = typeof text === 'string' ? harmless(text) : text.map(harmless).join('\n');
      show(harmlessText, current?.detail ?? '');
    },
    detail(text) {
      if (current) show(current.text, harmless(text));
    },
    stop() {
      current?.waiting.abort();
      current?.spinner?.stop();
      current = undefined;
    },
    async pauseDuring(write) {
      writes += 1;
      current?.spinner?.stop();
      try {
        return await write();
      } finally {
        writes -= 1;
        if (writes === 0) current?.spinner?.start();
      }
    },
  };
}

/** A sink whose writes do not tear the spinner where both go to a terminal; a file or a pipe is written to directly. */
export function progressSafeSink(sink: Sink, progress: Progress): Sink {
  return withWrite((text) => (sink.isTTY ? progress.pauseDuring(() => sink.write(text)) : sink.write(text)), sink);
}
