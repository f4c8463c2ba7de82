import prettyBytes from 'pretty-bytes';
import type { Context } from '../../../cli/context.ts';
import { UsageError } from '../../../errors.ts';
import { emitted } from '../../../platform/emitted.ts';
import { readStdin } from '../../../platform/input.ts';
import { findFiles, type LocalFile, spool } from '../../../upload/files.ts';
import type { UploadResult } from '../../../upload/result.ts';
import { type UploadOptions, uploadFiles } from '../../../upload/upload.ts';

interface Options extends UploadOptions {
  readonly recursive?: boolean | undefined;
  readonly exclude: readonly string[];
  readonly filename?: string | undefined;
}

/** @throws UsageError if the options do not fit the paths, or the content type is none */
function checkPaths(paths: readonly string[], options: Options): void {
  const { recursive, exclude, filename, contentType = 'text/plain' } = options;
  const isStdin = paths.includes('-');
  if (!isStdin && filename !== undefined) throw new UsageError('--filename can only be used with standard input (-).');
  if (isStdin && filename === undefined) throw new UsageError('Standard input (-) needs --filename <name>.');
  if (isStdin && (recursive || paths.length > 1)) {
    throw new UsageError('Standard input (-) cannot be uploaded together with files.');
  }
  if (exclude.includes('/')) throw new UsageError('--exclude takes a pattern such as *.tmp, not "/".');
  if (/^[\w!#$&^.+-]+\/[\w!#$&^.+-]+(\s*;[\t\x20-\x7e]*)?$/.test(contentType)) return;
  throw new UsageError(`--content-type takes a type such as application/pdf, not ${JSON.stringify(contentType)}.`);
}

/**
 * Checks the options, and finds the files.
 * @returns undefined for standard input
 * @throws UsageError if the options do not fit the paths, or the content type is none; as `findFiles`
 */
export async function checkFiles(context: Context, paths: readonly string[], options: Options) {
  const { progress, notice } = context;
  checkPaths(paths, options);
  if (options.filename !== undefined) return undefined;
  progress.start('Checking the files');
  const { files, leftOut } = await findFiles(paths, options);
  if (leftOut > 0) await notice(`Hidden files and links left out: ${leftOut}. To upload one, name it.`);
  return files;
}

/** Creates the function that shows how much of a file the connection has accepted: `10 MB of 40 MB` of all files. */
function createCounter({ progress }: Context, files: readonly LocalFile[]): (file: LocalFile, bytes: number) => void {
  const total = files.reduce((sum, { bytes }) => sum + bytes, 0);
  const sentOf = new Map<LocalFile, number>();
  let sent = 0;
  return (file, bytes) => {
    sent += bytes - (sentOf.get(file) ?? 0);
    sentOf.set(file, bytes);
    progress.update(`Uploading: ${prettyBytes(sent)} of ${prettyBytes(total)}`);
  };
}

async function spoolStdin({ io, abortSignal, progress, notice }: Context, filename: string): Promise<LocalFile> {
  if (io.stdin.isTTY) await notice('Reading standard input. Press Ctrl-D to finish.');
  else progress.start('Reading standard input');
  return spool(readStdin(io.stdin, abortSignal), filename);
}

/**
 * Uploads files, and yields each result as soon as it is known. Runs to the end even if nobody reads them.
 * @param found as `checkFiles` returns them
 */
export async function* transfer(
  context: Context,
  found: readonly LocalFile[] | undefined,
  options: Options,
): AsyncGenerator<UploadResult> {
  const { clock, abortSignal: signal, progress, notice } = context;
  // Before standard input is read, which cannot be read again.
  const http = await context.http();
  const log = await context.log();
  const files = found ?? [await spoolStdin(context, options.filename ?? '')];
  for (const { label, bytes } of files) if (bytes === 0) await notice(`note: ${label} is empty.`);
  const onSent = createCounter(context, files);
  const onWait = (ms: number): void => progress.start('Waiting for another run that uploads the same file', ms);
  try {
    yield* emitted<UploadResult>((emit) => {
      const onResult = (result: UploadResult): void => {
        const file = files[result.index];
        // What is skipped counts as sent.
        if (file) onSent(file, file.bytes);
        emit(result);
      };
      return uploadFiles(files, options, { http, log, clock, signal, onSent, onWait, onResult });
    });
  } finally {
    progress.stop();
    for (const { handle } of files) await handle?.close();
  }
}
