import prettyBytes from 'pretty-bytes';
import type { Context } from '../../../cli/context.ts';
import { shorten } from '../../../output/wrap.ts';
import type { LocalFile } from '../../../upload/files.ts';

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
    `${'█'.repeat(full)}${'░'.repeat(BAR_WIDTH - full)} ${finishedFiles} of ${files} ${files === 1 ? 'file' : 'files'}`,
    `${prettyBytes(sentBytes)} of ${prettyBytes(bytes)}`,
    `${prettyBytes(rate)}/s`,
    ...(rate > 0 && sentBytes < bytes ? [timeLeft((bytes - sentBytes) / rate)] : []),
  ];
  return shorten(details.join(', '), Math.max(1, columns - MARGIN), 'end');
}

/** Shows one progress bar for all files, from the first byte that is sent. */
export class TransferProgress {
  private readonly context: Pick<Context, 'progress' | 'clock' | 'io'>;
  private readonly inFlight = new Map<LocalFile, number>();
  private readonly files: number;
  private finishedFiles = 0;
  private bytes: number;
  private sentBytes = 0;
  private startedAt: number | undefined;

  constructor(context: Pick<Context, 'progress' | 'clock' | 'io'>, files: readonly LocalFile[]) {
    this.context = context;
    this.files = files.length;
    this.bytes = files.reduce((sum, file) => sum + file.bytes, 0);
  }

  /** The files that are being sent. */
  labels(): string[] {
    return [...this.inFlight.keys()].map(({ label }) => label);
  }

  /** @param bytes how much of the file was sent in this attempt */
  sent(file: LocalFile, bytes: number): void {
    this.inFlight.set(file, bytes);
    this.show();
  }

  /** @param isSent false if it did not have to be sent, or failed: then it counts neither for the rate nor for the time left */
  finished(file: LocalFile, isSent: boolean): void {
    this.inFlight.delete(file);
    this.finishedFiles += 1;
    if (isSent) this.sentBytes += file.bytes;
    else this.bytes -= file.bytes;
    this.show();
  }

  private show(): void {
    const { progress, clock, io } = this.context;
    const now = clock.monotonic();
    this.startedAt ??= now;
    const { files, finishedFiles, bytes } = this;
    const sentBytes = [...this.inFlight.values()].reduce((sum, sent) => sum + sent, this.sentBytes);
    const transfer = { files, finishedFiles, bytes, sentBytes, elapsedMs: now - this.startedAt };
    progress.update(transferLine(transfer, io.stderr.columns));
  }
}
