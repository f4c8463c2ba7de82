import type { Ora } from 'ora';
import type { Clock } from '../platform/clock.ts';
import { sanitizeLine } from './sanitize.ts';

/** The delay before the spinner appears, so that fast commands show none; then, the time between its updates. */
const SECOND_MS = 1000;

/** Shows what a command is waiting for. */
export interface Progress {
  /**
   * Shows `text` after one second. If another text is already active, replaces it immediately.
   * @param limitMs counts down next to the text
   */
  start(text: string, limitMs?: number): void;
  /** Replaces the text. Does nothing before `start`. */
  update(text: string): void;
  /** Replaces the detail that follows the text. '' removes it. */
  detail(text: string): void;
  /** Shows a detail that counts down; ignores waits of up to a second. @param format receives the time left: `1 min 12 s` */
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

/** A note that follows the text, with the time left if it counts down; '' for none. */
type Note = string | { readonly until: number; readonly format: (left: string) => string };

interface Activity {
  readonly ended: AbortController;
  text: string;
  limit: Note;
  detail: Note;
  isTicking?: boolean;
  spinner?: Ora;
}

const SILENT: Progress = {
  start() {},
  update() {},
  detail() {},
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

  const clean = (text: string): string => sanitizeLine(redact(text));

  const countDown = (ms: number, format: (left: string) => string): Note => ({ until: clock.monotonic() + ms, format });

  const leftOf = (note: Note): number => (typeof note === 'string' ? 0 : note.until - clock.monotonic());

  const describe = ({ text, limit, detail }: Activity): string => {
    const notes = [limit, detail].map((note) => {
      if (typeof note === 'string') return note;
      return leftOf(note) > 0 ? clean(note.format(formatLeft(leftOf(note)))) : '';
    });
    const shown = notes.filter((note) => note !== '').join('; ');
    return shown === '' ? text : `${text} (${shown})`;
  };

  /** Updates the notes every second, as long as one counts down. */
  const tick = async (activity: Activity): Promise<void> => {
    if (activity.isTicking) return;
    activity.isTicking = true;
    while (Math.max(leftOf(activity.limit), leftOf(activity.detail)) > 0) {
      await clock.sleep(SECOND_MS, activity.ended.signal);
      if (activity.spinner) activity.spinner.text = describe(activity);
    }
    activity.isTicking = false;
  };

  const show = (change: Partial<Pick<Activity, 'text' | 'limit' | 'detail'>>): void => {
    if (!current) return;
    Object.assign(current, change);
    if (current.spinner) current.spinner.text = describe(current);
    tick(current).catch(() => {
      // It was stopped.
    });
  };

  const appear = async (started: Activity): Promise<void> => {
    await clock.sleep(SECOND_MS, started.ended.signal);
    const { default: ora } = await import('ora');
    if (started.ended.signal.aborted) return;
    started.spinner = ora({
      stream,
      isEnabled: true,
      color: false,
      text: describe(started),
      // Do not hide the cursor or change stdin: if a signal ends the process, nothing would restore them.
      hideCursor: false,
      discardStdin: false,
    });
    if (pauses === 0) started.spinner.start();
  };

  return {
    start(text, limitMs) {
      const limit = limitMs === undefined ? '' : countDown(limitMs, (left) => `${left} left`);
      const started = { text: clean(text), limit, detail: '' };
      if (!current) {
        current = { ended: new AbortController(), ...started };
        appear(current).catch(() => {
          // It was stopped, or the library failed to load: continue without a spinner.
        });
      }
      show(started);
    },
    update: (text) => show({ text: clean(text) }),
    detail: (text) => show({ detail: clean(text) }),
    countdown(ms, format) {
      if (ms > SECOND_MS) show({ detail: countDown(ms, format) });
    },
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
