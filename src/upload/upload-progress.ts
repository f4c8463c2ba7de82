import type { Context } from '../cli/context.ts';
import type { Transfer } from './progress-bars.ts';
import type { UploadSource } from './upload-source.ts';

const UPDATE_INTERVAL_MS = 100;

/** Receives the progress of each file. */
export interface UploadProgress {
  started(source: UploadSource): void;
  /** @param bytes sent so far; 0 again when an attempt starts */
  advanced(source: UploadSource, bytes: number): void;
  /** @param isSent whether this run uploaded it */
  finished(source: UploadSource, isSent: boolean): void;
}

/** Shows a progress bar for all files and one for each file in flight, until it is closed. */
export function showUploadProgress(
  { progress, clock, io }: Pick<Context, 'progress' | 'clock' | 'io'>,
  sources: readonly UploadSource[],
): UploadProgress & { close(): void } {
  const startedAt = clock.now();
  let bytes = sources.reduce((sum, source) => sum + source.bytes, 0);
  const inFlight = new Map<UploadSource, Transfer>();
  const closed = new AbortController();
  let finished = 0;
  let doneBytes = 0;
  progress.start('Uploading');

  function lines(formatTransfers: typeof import('./progress-bars.ts').formatTransfers): string[] {
    const sent = [...inFlight.values()].reduce((sum, transfer) => sum + transfer.sent, doneBytes);
    const all = { label: `${finished} of ${sources.length} files`, bytes, sent, startedAt };
    return formatTransfers(all, [...inFlight.values()], io.stderr.columns, clock.now());
  }

  // On a timer, because the rate also falls while nothing is sent.
  async function keepShowing(): Promise<void> {
    const { formatTransfers } = await import('./progress-bars.ts');
    while (!closed.signal.aborted) {
      await clock.sleep(UPDATE_INTERVAL_MS, closed.signal);
      progress.update(lines(formatTransfers));
    }
  }

  if (io.stderr.isTTY) {
    // Rejects when it is closed.
    keepShowing().catch(() => undefined);
  }

  return {
    started(source) {
      inFlight.set(source, { label: source.label, bytes: source.bytes, sent: 0, startedAt: clock.now() });
    },
    advanced(source, sent) {
      const transfer = inFlight.get(source);
      if (transfer) inFlight.set(source, { ...transfer, sent });
    },
    finished(source, isSent) {
      inFlight.delete(source);
      finished += 1;
      // Files that were not sent must not affect the rate and the remaining time.
      if (isSent) doneBytes += source.bytes;
      else bytes -= source.bytes;
    },
    close() {
      closed.abort();
      progress.stop();
    },
  };
}
