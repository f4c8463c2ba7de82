import type { Ora } from 'ora';
import type { Clock } from '../platform/clock.ts';
import { sanitizeLine } from './sanitize.ts';

/** The delay before the spinner appears, so that fast commands show none. */
const SECOND_MS = 1000;

/** Shows what a command is waiting for. */
export interface Progress {
  /** Shows `text` after one second, or at once in place of another text. @param limitMs counts down next to it */
  start(text: string, limitMs?: number): void;
  /** Replaces the text. Does nothing before `start`. */
  update(text: string): void;
  /** Counts down next to the text, from more than a second. @param format receives the time left: `1 min 12 s` */
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
  readonly redact: (text: string) => string;
}

interface Activity {
  readonly ended: AbortController;
  text: string;
  countdown?: { readonly until: number; readonly format: (left: string) => string } | undefined;
  spinner?: Ora;
}

const SILENT: Progress = {
  start() {},
  update() {},
  countdown() {},
  stop() {},
  pauseDuring: (act) => act(),
};

function formatLeft(ms: number): string {
  const seconds = Math.ceil(ms / 1000);
  return seconds < 60 ? `${seconds} s` : `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
}

/**
 * Creates a spinner that appears after one second. Loads the spinner library only then.
 * @param stream the terminal
 */
export function createProgress(stream: NodeJS.WritableStream, options: ProgressOptions): Progress {
  const { enabled, clock, redact } = options;
  if (!enabled) return SILENT;

  let current: Activity | undefined;
  let pauses = 0;

  const clean = (text: string) => sanitizeLine(redact(text));

  const noteOf = ({ countdown }: Activity): string => {
    const left = countdown ? countdown.until - clock.monotonic() : 0;
    return countdown && left > 0 ? clean(`(${countdown.format(formatLeft(left))})`) : '';
  };

  const show = (change: Partial<Pick<Activity, 'text' | 'countdown'>>): void => {
    if (!current) return;
    Object.assign(current, change);
    if (current.spinner) current.spinner.text = clean(current.text);
  };

  const appear = async (started: Activity): Promise<void> => {
    await clock.sleep(SECOND_MS, started.ended.signal);
    const { default: ora } = await import('ora');
    if (started.ended.signal.aborted) return;
    // Do not hide the cursor or change stdin: if a signal ends the process, nothing would restore them.
    const safe = { hideCursor: false, discardStdin: false };
    const texts = { text: clean(started.text), suffixText: () => noteOf(started) };
    started.spinner = ora({ stream, isEnabled: true, color: false, ...texts, ...safe });
    if (pauses === 0) started.spinner.start();
  };

  const countdown: Progress['countdown'] = (ms, format) => {
    if (ms > SECOND_MS) show({ countdown: { until: clock.monotonic() + ms, format } });
  };

  return {
    start(text, limitMs) {
      if (current) {
        show({ text, countdown: undefined });
      } else {
        current = { ended: new AbortController(), text };
        // It was stopped, or the library failed to load: continue without a spinner.
        appear(current).catch(() => undefined);
      }
      if (limitMs !== undefined) countdown(limitMs, (left) => `${left} left`);
    },
    update: (text) => show({ text }),
    countdown,
    stop() {
      current?.ended.abort();
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
