import prettyBytes from 'pretty-bytes';
import type { Context } from '../../../cli/context.ts';
import { emitted } from '../../../platform/emitted.ts';
import { readStdin } from '../../../platform/input.ts';
import { findFiles, type LocalFile } from '../../../upload/files.ts';
import type { UploadResult } from '../../../upload/result.ts';
import { spool } from '../../../upload/source.ts';
import { type UploadOptions, uploadFiles } from '../../../upload/upload.ts';

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
  const { files, hidden, links } = await findFiles(paths, options);
  if (hidden + links > 0) await notice(`Left out: hidden (${hidden}), links (${links}). To upload one, name it.`);
  return { files, close: async () => undefined };
}

const BAR_WIDTH = 20;

/** One progress bar for all files, from the first byte that is sent. */
class TransferProgress {
  private readonly progress: Context['progress'];
  /** How much of each file that is being sent the connection has accepted. */
  private readonly inFlight = new Map<LocalFile, number>();
  private readonly files: number;
  private finished = 0;
  private bytes: number;
  private sentBytes = 0;

  constructor(progress: Context['progress'], files: readonly LocalFile[]) {
    this.progress = progress;
    this.files = files.length;
    this.bytes = files.reduce((sum, file) => sum + file.bytes, 0);
  }

  sent(file: LocalFile, bytes: number): void {
    this.inFlight.set(file, bytes);
    this.show();
  }

  /** @param isSent false if it did not have to be sent, or failed: then it does not count */
  end(file: LocalFile, isSent: boolean): void {
    this.inFlight.delete(file);
    this.finished += 1;
    if (isSent) this.sentBytes += file.bytes;
    else this.bytes -= file.bytes;
    this.show();
  }

  /** Shows `█████░░░░░ 1 of 3 files, 10 MB of 40 MB`. */
  private show(): void {
    const sent = [...this.inFlight.values()].reduce((sum, bytes) => sum + bytes, this.sentBytes);
    const full = Math.round(BAR_WIDTH * (this.bytes === 0 ? 1 : Math.min(1, sent / this.bytes)));
    const bar = `${'█'.repeat(full)}${'░'.repeat(BAR_WIDTH - full)}`;
    const bytes = `${prettyBytes(sent)} of ${prettyBytes(this.bytes)}`;
    this.progress.update(`${bar} ${this.finished} of ${this.files} files, ${bytes}`);
  }
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
  const progress = new TransferProgress(context.progress, files);
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
        if (file) progress.end(file, result.status === 'uploaded');
        emit(result);
      };
      return uploadFiles(files, options, { ...deps, onResult });
    });
  } finally {
    context.progress.stop();
    await close();
  }
}
