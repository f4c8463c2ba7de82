import type { Ora } from 'ora';
import type { Clock } from '../platform/clock.ts';
import { sanitizeLine } from './sanitize.ts';

/** The delay before the spinner appears, so that fast commands show none. */
const SECOND_MS = 1000;

export type Progress = ReturnType<typeof createProgress>;

interface ProgressOptions {
  /** False disables all progress output: stderr is not a terminal, --quiet, or CI. */
  readonly enabled: boolean;
  readonly clock: Clock;
  /** Redacts texts, because the spinner bypasses the redacting sinks. */
  readonly redact: (text: string) => string;
}

interface Activity {
  /** Ends the wait for the spinner to appear. */
  wait: AbortController;
  text: string;
  /** What is shown next to the text. */
  note: () => string;
  spinner?: Ora;
}

function formatLeft(ms: number): string {
  const seconds = Math.ceil(ms / 1000);
  return seconds < 60 ? `${seconds} s` : `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
}

/** Creates a spinner that appears after one second. Loads the spinner library only then. @param stream the terminal */
export function createProgress(stream: NodeJS.WritableStream, { enabled, clock, redact }: ProgressOptions) {
  let current: Activity | undefined;
  let pauses = 0;
  const clean = (text: string) => sanitizeLine(redact(text));

  const hide = (activity: Activity): void => {
    activity.wait.abort();
    activity.spinner?.stop();
  };

  /** Shows the spinner after a second without another write: the reader of a pipe may still write it to the terminal. */
  const appear = async (activity: Activity): Promise<void> => {
    activity.wait = new AbortController();
    const { signal } = activity.wait;
    await clock.sleep(SECOND_MS, signal);
    const { default: ora } = await import('ora');
    if (signal.aborted) return;
    // Do not hide the cursor or change stdin: if a signal ends the process, nothing would restore them.
    const safe = { hideCursor: false, discardStdin: false };
    const texts = { text: clean(activity.text), suffixText: () => clean(activity.note()) };
    activity.spinner ??= ora({ stream, isEnabled: true, color: false, ...texts, ...safe });
    if (pauses === 0) activity.spinner.start();
  };

  const appearLater = (activity: Activity): void => {
    // It was hidden, or the library failed to load: continue without a spinner.
    appear(activity).catch(() => undefined);
  };

  /** Replaces the text. Does nothing before `start`. */
  const update = (text: string): void => {
    if (!current) return;
    current.text = text;
    if (current.spinner) current.spinner.text = clean(text);
  };

  /** Counts down next to the text, from more than a second. @param format receives the time left: `1 min 12 s` */
  const countdown = (ms: number, format: (left: string) => string): void => {
    if (!current || ms <= SECOND_MS) return;
    const end = clock.monotonic() + ms;
    current.note = () => {
      const left = end - clock.monotonic();
      return left > 0 ? `(${format(formatLeft(left))})` : '';
    };
  };

  return {
    isEnabled: enabled,
    /** Shows `text` after one second, or at once in place of another text. @param limitMs counts down next to it */
    start(text: string, limitMs = 0): void {
      if (!enabled) return;
      if (current) {
        current.note = () => '';
        update(text);
      } else {
        current = { wait: new AbortController(), text, note: () => '' };
        appearLater(current);
      }
      countdown(limitMs, (left) => `${left} left`);
    },
    update,
    countdown,
    stop(): void {
      if (current) hide(current);
      current = undefined;
    },
    /** Hides the text while `act` uses the terminal, or writes to a pipe that may lead there. */
    async pauseDuring<Result>(act: () => Promise<Result>): Promise<Result> {
      pauses += 1;
      if (current) hide(current);
      try {
        return await act();
      } finally {
        pauses -= 1;
        if (pauses === 0 && current) appearLater(current);
      }
    },
  };
}
