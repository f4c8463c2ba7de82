import type { Context } from '../context.ts';
import { fileStamp } from '../domain/upload/identity.ts';
import { type FindOptions, type FoundFile, findFiles } from './find-files.ts';
import { fileContent, fileForm, type LookedAt, textSource, type UploadSource } from './source.ts';
import { spool } from './spool.ts';

interface FormInput {
  readonly fields: readonly (readonly [string, string])[];
  /** For all files; by their names where it is undefined. */
  readonly contentType: string | undefined;
}

/** What is to be uploaded, as typed. */
export type SourceInput =
  | ({ readonly from: 'files'; readonly words: readonly string[] } & FindOptions & FormInput)
  | ({ readonly from: 'stdin'; readonly filename: string } & FormInput)
  | { readonly from: 'text'; readonly name: string; readonly text: string };

export interface OpenedSources {
  readonly sources: readonly UploadSource[];
  /** Removes what was kept for a while. */
  close(): Promise<void>;
}

const UNKNOWN_TYPE = 'application/octet-stream';

async function typeOf(filename: string, given: string | undefined): Promise<string> {
  if (given !== undefined) return given;
  const { default: mime } = await import('mime');
  return mime.getType(filename) ?? UNKNOWN_TYPE;
}

async function sourceOf(
  { label, filename, ...looked }: LookedAt & Pick<FoundFile, 'label' | 'filename'>,
  form: FormInput,
  stamp: string | null,
): Promise<UploadSource> {
  return {
    label,
    filename,
    bytes: looked.bytes,
    stamp,
    content: (over) => fileContent(looked, over),
    body: fileForm(filename, looked.bytes, await typeOf(filename, form.contentType), form.fields),
  };
}

/**
 * Everything that is to be uploaded, looked at before anything is sent.
 * @throws InputError that names what cannot be uploaded; LocalError where standard input cannot be kept
 */
export async function openSources(context: Context, input: SourceInput): Promise<OpenedSources> {
  const nothing = async (): Promise<void> => undefined;
  if (input.from === 'text') return { sources: [textSource(input.name, input.text)], close: nothing };
  if (input.from === 'stdin') {
    const { file, remove } = await spool(context.io.stdin, context.ended);
    const named = { ...file, label: '-', filename: input.filename };
    return { sources: [await sourceOf(named, input, null)], close: remove };
  }
  const found = await findFiles(input.words, input);
  const sources = await Promise.all(found.map((file) => sourceOf(file, input, fileStamp(file))));
  return { sources, close: nothing };
}
