import type { Context } from '../../../cli/context.ts';
import { sanitizeLine } from '../../../output/sanitize.ts';
import { nameSome } from '../../../output/sentences.ts';
import { TransferProgress } from '../../../output/transfer.ts';
import { emitted } from '../../../platform/emitted.ts';
import type { LocalFile } from '../../../upload/files.ts';
import type { UploadResult } from '../../../upload/result.ts';
import { openSource, type Source } from '../../../upload/source.ts';
import { type UploadOptions, uploadFiles } from '../../../upload/upload.ts';

/** Uploads the files, and yields each result as soon as it is known. Runs to the end even if nobody reads the results. */
export async function* transfer(
  context: Context,
  source: Source,
  options: UploadOptions,
): AsyncGenerator<UploadResult> {
  // Before standard input is read, which cannot be read again.
  const http = await context.http();
  const { files, close } = await openSource(context, source);
  const progress = new TransferProgress(context, files);
  const forgetInFlight = context.signals.beforeExit(() => describeInFlight(progress.labels()));
  const deps = {
    http,
    log: await context.log(),
    clock: context.clock,
    signal: context.abortSignal,
    onSent: (file: LocalFile, bytes: number) => progress.sent(file, bytes),
    onWait: (leftMs: number) => context.progress.start('Waiting for another run that uploads the same file', leftMs),
  };
  try {
    yield* emitted<UploadResult>((emit) => {
      const onResult = (result: UploadResult): void => {
        const file = files[result.index];
        if (file) progress.finished(file, result.status === 'uploaded');
        emit(result);
      };
      return uploadFiles(files, options, { ...deps, onResult });
    });
  } finally {
    forgetInFlight();
    context.progress.stop();
    await close();
  }
}

/** For a second Ctrl-C, which ends the program at once. */
function describeInFlight(files: readonly string[]): string | undefined {
  if (files.length === 0) return undefined;
  const names = sanitizeLine(nameSome(files));
  return `Ended while files were being sent, so they may or may not be uploaded: ${names}. Run the same command again: it names those that may be, and sends the others.`;
}
