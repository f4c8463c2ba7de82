import prettyBytes from 'pretty-bytes';
import type { Context } from '../../../cli/context.ts';
import { UsageError } from '../../../errors.ts';
import { type Batch, countByStatus, endedAs, formatCounts } from '../../../output/batch-result.ts';
import { toErrorObject } from '../../../output/error-object.ts';
import { emitted } from '../../../platform/emitted.ts';
import { readStdin } from '../../../platform/input.ts';
import { findFiles, type LocalFile, spool } from '../../../upload/files.ts';
import { isUnfinished, type UploadResult } from '../../../upload/result.ts';
import { type UploadOptions, uploadFiles } from '../../../upload/upload.ts';

/** What is to be uploaded. */
export interface Source {
  readonly paths: readonly string[];
  readonly recursive: boolean;
  readonly exclude: readonly string[];
  /** The name of the file from standard input. */
  readonly filename: string | undefined;
}

/** @throws UsageError if the options do not fit the paths, or the content type is none */
export function checkSource({ paths, recursive, exclude, filename }: Source, contentType = 'text/plain'): void {
  const isStdin = paths.includes('-');
  if (paths.length === 0) {
    throw new UsageError('No file to upload.', {
      hint: 'Name files, directories with --recursive, or - for standard input.',
    });
  }
  if (!isStdin && filename !== undefined) throw new UsageError('--filename can only be used with standard input (-).');
  if (isStdin && filename === undefined) throw new UsageError('Standard input (-) needs --filename <name>.');
  if (isStdin && (recursive || paths.length > 1)) {
    throw new UsageError('Standard input (-) cannot be uploaded together with files.');
  }
  if (!recursive && exclude.length > 0) throw new UsageError('--exclude needs --recursive.');
  if (exclude.includes('/')) throw new UsageError('--exclude takes a pattern such as *.tmp, not "/".');
  if (/^[\w!#$&^.+-]+\/[\w!#$&^.+-]+(\s*;[\t\x20-\x7e]*)?$/.test(contentType)) return;
  throw new UsageError(`--content-type takes a type such as application/pdf, not ${JSON.stringify(contentType)}.`);
}

/** Finds the files, or reads standard input into one. @throws InputError if one cannot be read */
async function openFiles(context: Context, { paths, filename, ...options }: Source): Promise<readonly LocalFile[]> {
  const { io, abortSignal, progress, notice } = context;
  if (filename !== undefined) {
    if (io.stdin.isTTY) await notice('Reading standard input. Press Ctrl-D to finish.');
    else progress.start('Reading standard input');
    return [await spool(readStdin(io.stdin, abortSignal), filename)];
  }
  progress.start('Checking the files');
  const { files, leftOut } = await findFiles(paths, options);
  if (leftOut > 0) await notice(`Hidden files and links left out: ${leftOut}. To upload one, name it.`);
  return files;
}

const BAR_WIDTH = 20;

/** One progress bar for all files, from the first byte that is sent: `█████░░░░░ 1 of 3 files, 10 MB of 40 MB` */
class TransferProgress {
  private readonly progress: Context['progress'];
  private readonly files: readonly LocalFile[];
  /** How much of each file the connection has accepted. */
  private readonly sentOf = new Map<LocalFile, number>();
  private readonly bytes: number;
  private sentBytes = 0;
  private finished = 0;

  constructor(progress: Context['progress'], files: readonly LocalFile[]) {
    this.progress = progress;
    this.files = files;
    this.bytes = files.reduce((sum, file) => sum + file.bytes, 0);
  }

  sent(file: LocalFile, bytes: number): void {
    this.sentBytes += bytes - (this.sentOf.get(file) ?? 0);
    this.sentOf.set(file, bytes);
    const full = Math.floor(BAR_WIDTH * (this.bytes === 0 ? 1 : this.sentBytes / this.bytes));
    const bar = `${'█'.repeat(full)}${'░'.repeat(BAR_WIDTH - full)}`;
    const bytesSent = `${prettyBytes(this.sentBytes)} of ${prettyBytes(this.bytes)}`;
    this.progress.update(`${bar} ${this.finished} of ${this.files.length} files, ${bytesSent}`);
  }

  end({ index }: UploadResult): void {
    const file = this.files[index];
    this.finished += 1;
    if (file) this.sent(file, file.bytes);
  }
}

/** Uploads the files, and yields each result as soon as it is known. Runs to the end even if nobody reads them. */
export async function* transfer(
  context: Context,
  source: Source,
  options: UploadOptions,
): AsyncGenerator<UploadResult> {
  const { clock, abortSignal: signal, progress } = context;
  // Before standard input is read, which cannot be read again.
  const http = await context.http();
  const log = await context.log();
  const files = await openFiles(context, source);
  const bar = new TransferProgress(progress, files);
  const onSent = (file: LocalFile, bytes: number): void => bar.sent(file, bytes);
  const onWait = (ms: number): void => progress.start('Waiting for another run that uploads the same file', ms);
  try {
    yield* emitted<UploadResult>((emit) => {
      const onResult = (result: UploadResult): void => {
        bar.end(result);
        emit(result);
      };
      return uploadFiles(files, options, { http, log, clock, signal, onSent, onWait, onResult });
    });
  } finally {
    progress.stop();
    for (const { handle } of files) await handle?.close();
  }
}

const NONE = { uploaded: 0, skipped: 0, planned: 0, unknown: 0, failed: 0 };

const AGAIN = 'run it again: uploaded files are not sent again, except with --force.';

/** Files as `upload` shows them. */
export const FILE_BATCH: Batch<UploadResult> = {
  empty: 'Nothing to upload.',
  json: ({ index: _, error, ...result }) => ({ ...result, error: error === undefined ? null : toErrorObject(error) }),
  item: (result) => ({
    label: result.file,
    outcome: isUnfinished(result) ? 'skipped' : result.error === undefined ? 'done' : 'failed',
    error: result.error,
  }),
  messages: (results) => {
    const details = countByStatus(results, NONE);
    const summary = formatCounts(details);
    return {
      noun: 'files',
      message: `The upload is not complete: ${summary}`,
      summary,
      details,
      resumeHint: `To continue, ${AGAIN}`,
      fixHint: `Fix the cause and ${AGAIN}`,
    };
  },
  ci: ({ file, id, status, error }) => ({
    name: file,
    detail: [endedAs(status, error), id].filter((part) => part !== null).join(', '),
    failures: [error],
  }),
};
