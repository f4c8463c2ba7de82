import { type FileHandle, writeFile } from 'node:fs/promises';
import type { Readable } from 'node:stream';
import type { Context } from '../cli/context.ts';
import { readStdin, readText, type TextSource } from '../cli/input.ts';
import { openTemporaryFile, type TemporaryFile, temporaryFileError } from '../config/temporary-file.ts';
import { fileForm, UNKNOWN_TYPE } from './file-form.ts';
import { type FindOptions, findFiles } from './find-files.ts';
import { fileStamp, type InspectedFile } from './upload-records.ts';
import { readFileContent, readOpenFile, textSource, type UploadSource } from './upload-source.ts';

interface FormInput {
  readonly fields: readonly (readonly [string, string])[];
  /** For all files; undefined derives it from each file name. */
  readonly contentType: string | undefined;
}

/** What to upload, as typed. */
export type UploadInput =
  | ({ readonly from: 'files'; readonly paths: readonly string[] } & FindOptions & FormInput)
  | ({ readonly from: 'stdin'; readonly filename: string } & FormInput)
  | { readonly from: 'text'; readonly name: string; readonly text: TextSource };

export interface OpenedSources {
  readonly sources: readonly UploadSource[];
  /** Removes temporary files. */
  close(): Promise<void>;
}

/** Returns a function that adds the form to a file. */
async function createFormBuilder({ fields, contentType }: FormInput) {
  const types = contentType === undefined ? (await import('mime')).default : undefined;
  return (file: Omit<UploadSource, 'form'>): UploadSource => {
    const { filename, bytes } = file;
    const type = contentType ?? types?.getType(filename) ?? UNKNOWN_TYPE;
    return { ...file, form: (fileField) => fileForm({ fileField, filename, bytes, contentType: type, fields }) };
  };
}

async function announceStdin({ io, notice, progress }: Context): Promise<void> {
  if (io.stdin.isTTY) await notice('Reading standard input. Press Ctrl-D to finish.');
  else progress.start('Reading standard input');
}

/**
 * Opens everything to upload.
 * @throws InputError that names what cannot be uploaded; LocalError if standard input cannot be stored
 */
export async function openSources(context: Context, input: UploadInput): Promise<OpenedSources> {
  const noop = async (): Promise<void> => undefined;
  if (input.from === 'text') {
    if (input.text.from === 'stdin') await announceStdin(context);
    const text = await readText(input.text, 'The text', () => context.io.stdin, context.abortSignal);
    return { sources: [textSource(input.name, text)], close: noop };
  }
  if (input.from === 'stdin') {
    await announceStdin(context);
    const { file, inspected, remove } = await spoolStdin(context.io.stdin, context.abortSignal);
    const withForm = await createFormBuilder(input);
    const content: UploadSource['content'] = (signal) => readOpenFile(file, inspected, signal);
    const source = withForm({ label: '-', filename: input.filename, bytes: inspected.bytes, stamp: null, content });
    return { sources: [source], close: remove };
  }
  context.progress.start('Checking the files');
  const found = await findFiles(input.paths, input, context.abortSignal);
  const withForm = await createFormBuilder(input);
  const sources = found.map((file) => {
    const content: UploadSource['content'] = (signal) => readFileContent(file, signal);
    return withForm({ label: file.label, filename: file.filename, bytes: file.bytes, stamp: fileStamp(file), content });
  });
  return { sources, close: noop };
}

/** Standard input, stored on disk so that it can be sent more than once. */
export interface SpooledFile {
  readonly file: FileHandle;
  readonly inspected: InspectedFile;
  remove(): Promise<void>;
}

/**
 * Writes standard input to a temporary file that nobody else can read, in constant memory.
 * Removes the file if that fails.
 * @throws LocalError if the file cannot be written; the reason of the signal
 */
export async function spoolStdin(stdin: Readable, signal: AbortSignal): Promise<SpooledFile> {
  let temporary: TemporaryFile | undefined;
  try {
    temporary = await openTemporaryFile('upload');
    const { file, path, remove } = temporary;
    await writeFile(file, readStdin(stdin, signal));
    const { size, ino, mtimeNs, ctimeNs } = await file.stat({ bigint: true });
    const inspected = { path, bytes: Number(size), inode: ino, modified: mtimeNs, changed: ctimeNs };
    return { file, inspected, remove };
  } catch (error) {
    await temporary?.remove();
    if (signal.aborted) throw signal.reason;
    throw temporaryFileError('Standard input', error);
  }
}
