import { mkdtemp, open, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { LocalError, PartnerctlError, UsageError } from '../errors.ts';
import { errorMessage } from '../platform/error-code.ts';
import { type LocalFile, versionOf } from './files.ts';

/** @throws UsageError if the text is no content type */
export function checkContentType(type: string): void {
  if (/^[\w!#$&^.+-]+\/[\w!#$&^.+-]+(\s*;[\t\x20-\x7e]*)?$/.test(type)) return;
  throw new UsageError(`--content-type takes a type such as application/pdf, not ${JSON.stringify(type)}.`);
}

/** Checks that the options fit the paths. @returns the name of the file from standard input, if that is meant */
export function checkSource(
  paths: readonly string[],
  {
    recursive = false,
    exclude,
    filename,
  }: {
    readonly recursive?: boolean | undefined;
    readonly exclude: readonly string[];
    readonly filename?: string | undefined;
  },
): string | undefined {
  if (paths.length === 0) {
    throw new UsageError('No file to upload.', {
      hint: 'Name files, directories with --recursive, or - for standard input.',
    });
  }
  const isStdin = paths.includes('-');
  if (!isStdin && filename !== undefined) throw new UsageError('--filename can only be used with standard input (-).');
  if (!recursive && exclude.length > 0) throw new UsageError('--exclude needs --recursive.');
  if (exclude.includes('/')) throw new UsageError('--exclude takes a pattern such as *.tmp, not "/".');
  if (isStdin && filename === undefined) throw new UsageError('Standard input (-) needs --filename <name>.');
  if (isStdin && (recursive || paths.length > 1)) {
    throw new UsageError('Standard input (-) cannot be uploaded together with files.');
  }
  return filename;
}

/**
 * Copies standard input to a temporary file, so that it can be hashed and then sent. It is unlinked at once, so that it
 * disappears with this process, however that ends. Windows cannot unlink an open file; there, only `close` deletes it.
 * @throws LocalError if it cannot be stored; a PartnerctlError of reading it
 */
export async function spool(
  chunks: AsyncIterable<Buffer | string>,
  filename: string,
): Promise<{ readonly file: LocalFile; close(): Promise<void> }> {
  let close = async (): Promise<void> => undefined;
  try {
    const directory = await mkdtemp(join(tmpdir(), 'partnerctl-upload-'));
    const unlink = (): Promise<void> => rm(directory, { recursive: true, force: true });
    close = unlink;
    const handle = await open(join(directory, 'upload'), 'wx+', 0o600);
    close = async () => {
      await handle.close();
      await unlink();
    };
    await unlink().catch(() => undefined);
    await writeFile(handle, chunks);
    const status = await handle.stat({ bigint: true });
    const file = { label: '-', filename, bytes: Number(status.size), version: versionOf(status), handle };
    return { file, close };
  } catch (error) {
    await close();
    if (error instanceof PartnerctlError) throw error;
    throw new LocalError('Standard input could not be written to a temporary file.', {
      why: errorMessage(error),
      hint: `Nothing was sent. If ${tmpdir()} is full or missing, set TMPDIR to another directory.`,
      cause: error,
    });
  }
}
