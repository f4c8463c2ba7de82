import type { Context } from '../context.ts';
import type { UploadWatch } from './run.ts';
import type { UploadSource } from './source.ts';
import { type Transfer, transferLines } from './transfer.ts';

const EVERY_MS = 100;

/** Shows people how the files get on, until it is closed: a bar for each one in flight, and one for all. */
export function watchUploads(
  { progress, clock, io }: Context,
  sources: readonly UploadSource[],
): UploadWatch & { close(): void } {
  const startedAt = clock.now();
  const bytes = sources.reduce((sum, source) => sum + source.bytes, 0);
  const inFlight = new Map<UploadSource, Transfer>();
  const closed = new AbortController();
  let finished = 0;
  let doneBytes = 0;
  progress.start('Uploading');

  function show(): void {
    const sent = [...inFlight.values()].reduce((sum, transfer) => sum + transfer.sent, doneBytes);
    const all = { label: `${finished} of ${sources.length} files`, bytes, sent, startedAt };
    progress.update(transferLines(all, [...inFlight.values()], io.stderr.columns, clock.now()));
  }

  // On a beat of its own: the rate falls also while nothing is taken, and the last news is never left out.
  async function keepShowing(): Promise<void> {
    while (!closed.signal.aborted) {
      await clock.sleep(EVERY_MS, closed.signal);
      show();
    }
  }

  if (io.stderr.isTTY) {
    keepShowing().catch(() => {
      // Closed while it slept.
    });
  }

  return {
    began(source) {
      inFlight.set(source, { label: source.label, bytes: source.bytes, sent: 0, startedAt: clock.now() });
    },
    progress(source, sent) {
      const transfer = inFlight.get(source);
      if (transfer) inFlight.set(source, { ...transfer, sent });
    },
    ended(source) {
      inFlight.delete(source);
      finished += 1;
      doneBytes += source.bytes;
    },
    close: () => closed.abort(),
  };
}
