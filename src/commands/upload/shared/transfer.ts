import type { Context } from '../../../cli/context.ts';
import { sanitizeLine } from '../../../output/sanitize.ts';
import { nameSome } from '../../../output/sentences.ts';
import { emitted } from '../../../platform/emitted.ts';
import { readStdin } from '../../../platform/input.ts';
import { findFiles, type LocalFile } from '../../../upload/files.ts';
import type { UploadResult } from '../../../upload/result.ts';
import { spool } from '../../../upload/source.ts';
import { type UploadOptions, uploadFiles } from '../../../upload/upload.ts';
import { TransferProgress } from './transfer-progress.ts';

/** What is to be uploaded. */
export interface Source {
  readonly paths: readonly string[];
  readonly recursive: boolean;
  readonly exclude: readonly string[];
  /** The name of the file from standard input, if that is meant. */
  readonly filename: string | undefined;
}

/** Finds the files, or reads standard input into one. @throws InputError if one cannot be read */
async function openSource(context: Context, { paths, filename, ...options }: Source) {
  const { io, abortSignal, progress, notice } = context;
  if (filename !== undefined) {
    if (io.stdin.isTTY) await notice('Reading standard input. Press Ctrl-D to finish.');
    else progress.start('Reading standard input');
    const { file, close } = await spool(readStdin(io.stdin, abortSignal), filename);
    return { files: [file], close };
  }
  progress.start('Checking the files');
  const { files, hidden, leaving } = await findFiles(paths, options);
  const links = leaving === 1 ? 'link that leads' : 'links that lead';
  const left = [hidden > 0 ? `${hidden} hidden` : [], leaving > 0 ? `${leaving} ${links} out of the directory` : []];
  if (hidden + leaving > 0) await notice(`Left out: ${left.flat().join(', ')}. To upload one, name it.`);
  return { files, close: async () => undefined };
}

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
