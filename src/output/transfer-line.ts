import prettyBytes from 'pretty-bytes';
import { truncate } from './width.ts';

/** How far a transfer of several files is. */
export interface Transfer {
  readonly files: number;
  readonly finishedFiles: number;
  readonly bytes: number;
  /** Bytes that the connections have accepted so far. */
  readonly sentBytes: number;
  readonly elapsedMs: number;
}

const BAR_WIDTH = 20;
/** The spinner before the line, and the last column, which makes some terminals wrap. */
const MARGIN = 3;

function timeLeft(seconds: number): string {
  if (seconds < 60) return `${Math.ceil(seconds)} s left`;
  const minutes = Math.ceil(seconds / 60);
  return minutes < 60 ? `${minutes} min left` : `${Math.floor(minutes / 60)} h ${minutes % 60} min left`;
}

/** Returns a line that fits a terminal: `█████░░░░░ 1 of 3 files, 10 MB of 40 MB, 2 MB/s, 15 s left`. */
export function transferLine({ files, finishedFiles, ...rest }: Transfer, columns: number): string {
  const { bytes, sentBytes, elapsedMs } = rest;
  const full = Math.round(BAR_WIDTH * (bytes === 0 ? 1 : Math.min(1, sentBytes / bytes)));
  const rate = (sentBytes * 1000) / Math.max(1, elapsedMs);
  const details = [
    `${'█'.repeat(full)}${'░'.repeat(BAR_WIDTH - full)} ${finishedFiles} of ${files} files`,
    `${prettyBytes(sentBytes)} of ${prettyBytes(bytes)}`,
    `${prettyBytes(rate)}/s`,
    ...(rate > 0 && sentBytes < bytes ? [timeLeft((bytes - sentBytes) / rate)] : []),
  ];
  return truncate(details.join(', '), Math.max(1, columns - MARGIN));
}
