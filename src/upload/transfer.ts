import cliProgress from 'cli-progress';
import prettyBytes from 'pretty-bytes';

/** How one file gets on. */
export interface Transfer {
  readonly label: string;
  readonly bytes: number;
  /** Taken by the connection so far. */
  readonly sent: number;
  /** Milliseconds since the epoch. */
  readonly startedAt: number;
}

const BAR_WIDTH = 20;
const LABEL_WIDTH = 28;
const COMPLETE = '█'.repeat(BAR_WIDTH);
const INCOMPLETE = '░'.repeat(BAR_WIDTH);

function bar(share: number): string {
  return cliProgress.Format.BarFormat(share, {
    barsize: BAR_WIDTH,
    barCompleteString: COMPLETE,
    barIncompleteString: INCOMPLETE,
    barGlue: '',
  });
}

function timeLeft(seconds: number): string {
  if (!Number.isFinite(seconds)) return '';
  if (seconds < 60) return `${Math.ceil(seconds)} s left`;
  const minutes = Math.ceil(seconds / 60);
  return minutes < 60 ? `${minutes} min left` : `${Math.floor(minutes / 60)} h ${minutes % 60} min left`;
}

/** One bar: `report.pdf  ████░░  12 MB of 40 MB, 3 MB/s, 10 s left`. */
function line({ label, bytes, sent, startedAt }: Transfer, now: number): string {
  const share = bytes === 0 ? 1 : Math.min(1, sent / bytes);
  const rate = sent / Math.max(0.001, (now - startedAt) / 1000);
  const name = label.length > LABEL_WIDTH ? `…${label.slice(1 - LABEL_WIDTH)}` : label.padEnd(LABEL_WIDTH);
  const left = sent === 0 || share === 1 ? '' : timeLeft((bytes - sent) / rate);
  const facts = [`${prettyBytes(sent)} of ${prettyBytes(bytes)}`, `${prettyBytes(rate)}/s`, left];
  return `${name} ${bar(share)} ${facts.filter((fact) => fact !== '').join(', ')}`;
}

/**
 * A bar for each file in flight, after one for all. Pure.
 * @param now milliseconds since the epoch
 */
export function transferLines(all: Transfer, inFlight: readonly Transfer[], now: number): string[] {
  return [line(all, now), ...inFlight.map((transfer) => line(transfer, now))];
}
