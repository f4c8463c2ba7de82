import type { Ora } from 'ora';
import type { Clock } from '../platform/clock.ts';
import { sanitizeLine } from './sanitize.ts';

/** The delay before the spinner appears, so that fast commands show none. */
const DELAY_MS = 1000;

/** Shows what a command is waiting for. */
export interface Progress {
  /**
   * Shows `text` after one second. If another text is already active, replaces it immediately.
   * @param limitMs counts down next to the text
   */
  start(text: string, limitMs?: number): void;
  /** Replaces the text; an array sets one line per element. Does nothing before `start`. */
  update(text: string | readonly string[]): void;
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
  readonly redact?: (text: string) => string;
}

interface Activity {
  /** Cancels the delay before the spinner appears. */
  readonly delay: AbortController;
  text: string;
  /** The rest of its time limit, such as `5 s left`; '' without a limit. */
  left: string;
  detail: string;
  spinner?: Ora;
}

function spinnerText({ text, left, detail }: Activity): string {
  const details = [left, detail].filter((part) => part !== '').join('; ');
  if (details === '') return text;
  // Each line of a multi-line text is shortened to the terminal's width, so the details get their own line.
  return text.includes('\n') ? `${text}\n  (${details})` : `${text} (${details})`;
}

function formatLeft(ms: number): string {
  const seconds = Math.ceil(ms / 1000);
  return seconds < 60 ? `${seconds} s` : `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
}

/** Passes the time left to `showLeft` every second, and '' at the end. Aborting the returned controller stops it. */
function countDown(ms: number, clock: Clock, showLeft: (left: string) => void): AbortController {
  const ended = new AbortController();
  const until = clock.monotonic() + ms;
  const run = async (): Promise<void> => {
    for (let left = ms; left > 0; left = until - clock.monotonic()) {
      showLeft(formatLeft(left));
      await clock.sleep(1000, ended.signal);
    }
    showLeft('');
  };
  run().catch(() => {
    // It was stopped, because something else is shown by now.
  });
  return ended;
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
  let limitCountdown: AbortController | undefined;
  let detailCountdown: AbortController | undefined;

  const clean = (text: string): string => sanitizeLine(redact(text));

  const show = (change: Partial<Pick<Activity, 'text' | 'left' | 'detail'>>): void => {
    if (!current) return;
    Object.assign(current, change);
    if (current.spinner) current.spinner.text = spinnerText(current);
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

  const stopCountdowns = (): void => {
    limitCountdown?.abort();
    detailCountdown?.abort();
  };

  return {
    start(text, limitMs) {
      stopCountdowns();
      const started = { text: clean(text), left: '', detail: '' };
      if (current) {
        show(started);
      } else {
        current = { delay: new AbortController(), ...started };
        appear(current).catch(() => {
          // stop() canceled the delay, or the library failed to load: continue without a spinner.
        });
      }
      if (limitMs === undefined) return;
      limitCountdown = countDown(limitMs, clock, (left) => show({ left: left && `${left} left` }));
    },
    update(text) {
      const cleanText = typeof text === 'string' ? clean(text) : text.map(clean).join('\n');
      show({ text: cleanText });
    },
    detail(text) {
      detailCountdown?.abort();
      show({ detail: clean(text) });
    },
    countdown(ms, format) {
      detailCountdown?.abort();
      if (!current || ms <= 1000) return;
      detailCountdown = countDown(ms, clock, (left) => show({ detail: left && clean(format(left)) }));
    },
    stop() {
      stopCountdowns();
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
