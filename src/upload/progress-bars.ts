import cliProgress from 'cli-progress';
import prettyBytes from 'pretty-bytes';
import { sanitizeLine } from '../output/sanitize.ts';
import { displayWidth, graphemes, truncate } from '../output/width.ts';

/** The progress of one file. */
export interface Transfer {
  readonly label: string;
  readonly bytes: number;
  /** Bytes that the connection has accepted so far. */
  readonly sent: number;
  /** Milliseconds since the epoch. */
  readonly startedAt: number;
}

const MAX_LABEL = 28;
/** The smallest width at which file names can be distinguished. */
const MIN_LABEL = 16;

/** The spinner before the first line, and the last column, which makes some terminals wrap. */
const MARGIN = 3;
const INDENT = '  ';

/**
 * Layouts, widest first. `detailsWidth` is the maximum width of the details: `1000 kB of 1000 kB, 1000 kB/s, 59 min left`,
 * or the first one or two of them.
 */
const LAYOUTS = [
  { detailsWidth: 43, details: 3, bar: 20 },
  { detailsWidth: 43, details: 3, bar: 10 },
  { detailsWidth: 29, details: 2, bar: 10 },
  { detailsWidth: 18, details: 1, bar: 10 },
] as const;
const NARROWEST = { detailsWidth: 18, details: 1, bar: 0 } as const;

interface Layout {
  readonly room: number;
  readonly label: number;
  /** 0 when there is no room for a bar. */
  readonly bar: number;
  /** How many details fit. */
  readonly details: number;
}

function layoutOf(columns: number): Layout {
  const room = Math.max(1, columns - MARGIN);
  const fits = LAYOUTS.find(({ detailsWidth, bar }) => detailsWidth + bar + MIN_LABEL + 2 <= room);
  const { detailsWidth, details, bar } = fits ?? NARROWEST;
  return { room, details, bar, label: Math.min(MAX_LABEL, Math.max(1, room - detailsWidth - bar - 2)) };
}

function bar(fraction: number, width: number): string {
  return cliProgress.Format.BarFormat(fraction, {
    barsize: width,
    barCompleteString: '█'.repeat(width),
    barIncompleteString: '░'.repeat(width),
    barGlue: '',
  });
}

/** Pads or cuts a name to a width. Cuts the beginning, because the end of a path distinguishes files. */
function fitLabel(width: number, label: string): string {
  const clean = sanitizeLine(label);
  let used = displayWidth(clean);
  if (used <= width) return clean + ' '.repeat(width - used);
  const kept = [...graphemes(clean)];
  while (used > width - 1) used -= kept.shift()?.width ?? used;
  return `…${kept.map(({ text }) => text).join('')}${' '.repeat(width - 1 - used)}`;
}

function timeLeft(seconds: number): string {
  if (!Number.isFinite(seconds)) return '';
  if (seconds < 60) return `${Math.ceil(seconds)} s left`;
  const minutes = Math.ceil(seconds / 60);
  return minutes < 60 ? `${minutes} min left` : `${Math.floor(minutes / 60)} h ${minutes % 60} min left`;
}

/** One bar: `report.pdf  ████░░  12 MB of 40 MB, 3 MB/s, 10 s left`. */
function line({ label, bytes, sent, startedAt }: Transfer, layout: Layout, now: number): string {
  const fraction = bytes === 0 ? 1 : Math.min(1, sent / bytes);
  const rate = sent / Math.max(0.001, (now - startedAt) / 1000);
  const left = sent === 0 || fraction === 1 ? '' : timeLeft((bytes - sent) / rate);
  const details = [`${prettyBytes(sent)} of ${prettyBytes(bytes)}`, `${prettyBytes(rate)}/s`, left];
  const shown = details.slice(0, layout.details).filter((detail) => detail !== '');
  const parts = [fitLabel(layout.label, label), bar(fraction, layout.bar), shown.join(', ')];
  return truncate(parts.filter((part) => part !== '').join(' '), layout.room);
}

/**
 * Returns a line for all files, then one for each file in flight. No line is wider than the terminal.
 * @param columns of the terminal
 * @param now milliseconds since the epoch
 */
export function formatTransfers(all: Transfer, inFlight: readonly Transfer[], columns: number, now: number): string[] {
  const layout = layoutOf(columns);
  const [first = '', ...others] = [all, ...inFlight].map((transfer) => line(transfer, layout, now));
  return [first, ...others.map((other) => INDENT + other)];
}
