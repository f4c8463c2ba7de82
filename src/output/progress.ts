import type { Ora } from 'ora';
import { type Sink, withWrite } from '../cli/io.ts';
import type { Clock } from '../clock.ts';
import { sanitizeLine } from './sanitize.ts';

/** The delay before the spinner appears, so that fast commands show none. */
const DELAY_MS = 1000;

/** Shows what a command is waiting for. */
export interface Progress {
  /** Shows `text` after one second. If another text is already active, replaces it immediately. */
  start(text: string): void;
  /** Replaces the text; an array sets one line per element. Does nothing before `start`. */
  update(text: string | readonly string[]): void;
  /** Replaces the detail that follows the text. '' removes it. */
  detail(text: string): void;
  /** Shows a detail that counts down. @param format gets the time that is left: `12 s` */
  countdown(ms: number, format: (left: string) => string): void;
  /** Removes the text. */
  stop(): void;
  /** Hides the text while `act` uses the terminal. */
  pauseDuring<Result>(act: () => Promise<Result>): Promise<Result>;
}

interface ProgressOptions {
  /** False disables all progress output: stderr is not a terminal, --quiet, or CI. */
  readonly enabled: boolean;
  readonly clock: Clock;
  /** Redacts texts, because the spinner bypasses the redacting sinks. */
  readonly redact?: (text: string) => string;
}

interface Activity {
  /** Cancels the delay before the spinner appears. */
  readonly delay: AbortController;
  text: string;
  detail: string;
  spinner?: Ora;
}

function spinnerText({ text, detail }: Activity): string {
  if (detail === '') return text;
  // Each line of a multi-line text is shortened to the terminal's width, so the detail gets its own line.
  return text.includes('\n') ? `${text}\n  (${detail})` : `${text} (${detail})`;
}

const SILENT: Progress = {
  start() {},
  update() {},
  detail() {},
  countdown() {},
  stop() {},
  pauseDuring: (act) => act(),
};

/**
 * Creates a spinner that appears after one second. Loads the spinner library only then.
 * @param stream the terminal
 */
export function createProgress(stream: NodeJS.WritableStream, options: ProgressOptions): Progress {
  const { enabled, clock, redact = (text: string) => text } = options;
  if (!enabled) return SILENT;

  let current: Activity | undefined;
  let pauses = 0;
  let counting: AbortController | undefined;

  const clean = (text: string): string => sanitizeLine(redact(text));

  const show = (text: string, detail: string): void => {
    if (!current) return;
    Object.assign(current, { text, detail });
    if (current.spinner) current.spinner.text = spinnerText(current);
  };

  const count = async (started: Activity, seconds: number, format: (left: string) => string, signal: AbortSignal) => {
    for (let left = seconds; left > 0 && current === started; left -= 1) {
      show(started.text, clean(format(`${left} s`)));
      await clock.sleep(1000, signal);
    }
  };

  const appear = async (started: Activity): Promise<void> => {
    await clock.sleep(DELAY_MS, started.delay.signal);
    const { default: ora } = await import('ora');
    if (current !== started) return;
    // Do not hide the cursor or change stdin: if a signal ends the process, nothing would restore them.
    started.spinner = ora({
      stream,
      isEnabled: true,
      hideCursor: false,
      discardStdin: false,
      color: false,
      text: spinnerText(started),
    });
    if (pauses === 0) started.spinner.start();
  };

  return {
    start(text) {
      counting?.abort();
      if (current) return show(clean(text), '');
      current = { delay: new AbortController(), text: clean(text), detail: '' };
      appear(current).catch(() => {
        // stop() canceled the delay, or the library failed to load: continue without a spinner.
      });
    },
    update(text) {
      const cleanText = typeof text === 'string' ? clean(text) : text.map(clean).join('\n');
      show(cleanText, current?.detail ?? '');
    },
    detail(text) {
      counting?.abort();
      if (current) show(current.text, clean(text));
    },
    countdown(ms, format) {
      counting?.abort();
      if (!current) return;
      counting = new AbortController();
      count(current, Math.ceil(ms / 1000), format, counting.signal).catch(() => {
        // Something else is shown by now.
      });
    },
    stop() {
      counting?.abort();
      current?.delay.abort();
      current?.spinner?.stop();
      current = undefined;
    },
    async pauseDuring(act) {
      pauses += 1;
      current?.spinner?.stop();
      try {
        return await act();
      } finally {
        pauses -= 1;
        if (pauses === 0) current?.spinner?.start();
      }
    },
  };
}

/** Creates a sink that pauses the spinner while it writes to a terminal. Writes to a file or pipe need no pause. */
export function progressSafeSink(sink: Sink, progress: Progress): Sink {
  return withWrite((text) => (sink.isTTY ? progress.pauseDuring(() => sink.write(text)) : sink.write(text)), sink);
}
