import type { Context } from '../context.ts';
import { throttleMs } from '../domain/throttle.ts';
import type { UploadWatch } from './run.ts';
import type { UploadSource } from './source.ts';
import { type Transfer, transferLines } from './transfer.ts';

const EVERY_MS = 100;

/** Shows people how the files get on: a bar for each one in flight, and one for all. */
export function watchUploads({ progress, clock }: Context, sources: readonly UploadSource[]): UploadWatch {
  const startedAt = clock.now();
  const bytes = sources.reduce((sum, source) => sum + source.bytes, 0);
  const inFlight = new Map<UploadSource, Transfer>();
  let finished = 0;
  let doneBytes = 0;
  let shownAt: number | undefined;
  progress.start('Uploading');

  function show(): void {
    const now = clock.now();
    if (throttleMs(shownAt, now, EVERY_MS) > 0) return;
    shownAt = now;
    const sent = [...inFlight.values()].reduce((sum, transfer) => sum + transfer.sent, doneBytes);
    const all = { label: `${finished} of ${sources.length} files`, bytes, sent, startedAt };
    progress.update(transferLines(all, [...inFlight.values()], now));
  }

  return {
    began(source) {
      inFlight.set(source, { label: source.label, bytes: source.bytes, sent: 0, startedAt: clock.now() });
      show();
    },
    progress(source, sent) {
      const transfer = inFlight.get(source);
      if (transfer) inFlight.set(source, { ...transfer, sent });
      show();
    },
    ended(source) {
      inFlight.delete(source);
      finished += 1;
      doneBytes += source.bytes;
      show();
    },
  };
}
