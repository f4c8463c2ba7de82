import type { Context } from '../cli/context.ts';
import { readText, type TextSource } from '../cli/input.ts';
import { type FindOptions, findFiles } from './find-files.ts';
import { fileStamp } from './identity.ts';
import { fileContent, fileForm, openContent, textSource, type UploadSource } from './source.ts';
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
  | { readonly from: 'text'; readonly name: string; readonly text: TextSource };

export interface OpenedSources {
  readonly sources: readonly UploadSource[];
  /** Removes what was kept for a while. */
  close(): Promise<void>;
}

const UNKNOWN_TYPE = 'application/octet-stream';

/** Puts files into forms: all of one command alike. */
async function formsOf({ fields, contentType }: FormInput) {
  const types = contentType === undefined ? (await import('mime')).default : undefined;
  return (file: Omit<UploadSource, 'form'>): UploadSource => {
    const { filename, bytes } = file;
    const type = contentType ?? types?.getType(filename) ?? UNKNOWN_TYPE;
    return { ...file, form: () => fileForm(filename, bytes, type, fields) };
  };
}

async function awaitStdin({ io, notice, progress }: Context): Promise<void> {
  if (io.stdin.isTTY) await notice('Reading standard input; Ctrl-D ends it.');
  else progress.start('Reading standard input');
}

/**
 * Everything that is to be uploaded, looked at before anything is sent.
 * @throws InputError that names what cannot be uploaded; LocalError where standard input cannot be kept
 */
export async function openSources(context: Context, input: SourceInput): Promise<OpenedSources> {
  const nothing = async (): Promise<void> => undefined;
  if (input.from === 'text') {
    if (input.text.from === 'stdin') await awaitStdin(context);
    const text = await readText(input.text, 'The text', context.io.stdin, context.abortSignal);
    return { sources: [textSource(input.name, text)], close: nothing };
  }
  if (input.from === 'stdin') {
    await awaitStdin(context);
    const { file, facts, remove } = await spool(context.io.stdin, context.abortSignal);
    const inForm = await formsOf(input);
    const content: UploadSource['content'] = (over) => openContent(file, facts, over);
    const source = inForm({ label: '-', filename: input.filename, bytes: facts.bytes, stamp: null, content });
    return { sources: [source], close: remove };
  }
  context.progress.start('Looking at the files');
  const found = await findFiles(input.words, input);
  const inForm = await formsOf(input);
  const sources = found.map((file) => {
    const content: UploadSource['content'] = (over) => fileContent(file, over);
    return inForm({ label: file.label, filename: file.filename, bytes: file.bytes, stamp: fileStamp(file), content });
  });
  return { sources, close: nothing };
}
