import type { Readable } from 'node:stream';
import { UsageError } from '../errors.ts';
import { readStdin } from '../platform/input.ts';
import { findFiles, type LocalFile, spool } from './files.ts';

/** Where the files come from. */
export type Source =
  | {
      readonly from: 'files';
      readonly paths: readonly string[];
      readonly recursive: boolean;
      readonly exclude: readonly string[];
    }
  | { readonly from: 'stdin'; readonly filename: string };

/** The options that say where the files come from. */
export interface SourceOptions {
  readonly recursive?: boolean;
  readonly exclude: readonly string[];
  readonly filename?: string;
}

/** @throws UsageError if the text is no content type */
export function checkContentType(type: string): void {
  if (/^[\w!#$&^.+-]+\/[\w!#$&^.+-]+(\s*;[\t\x20-\x7e]*)?$/.test(type)) return;
  throw new UsageError(`--content-type takes a type such as application/pdf, not ${JSON.stringify(type)}.`);
}

function parseStdin(paths: readonly string[], { filename, recursive, exclude }: SourceOptions): Source {
  if (paths.length > 1) throw new UsageError('Standard input (-) cannot be uploaded together with files.');
  if (recursive || exclude.length > 0) {
    throw new UsageError('--recursive and --exclude can only be used with directories.');
  }
  if (filename === undefined) throw new UsageError('Standard input (-) needs --filename <name>.');
  return { from: 'stdin', filename };
}

/** Says where the files come from. @throws UsageError for options that do not fit the paths */
export function parseSource(paths: readonly string[], options: SourceOptions): Source {
  const { recursive = false, exclude, filename } = options;
  if (paths.includes('-')) return parseStdin(paths, options);
  if (paths.length === 0) {
    throw new UsageError('No file to upload.', {
      hint: 'Name files, directories with --recursive, or - for standard input.',
    });
  }
  if (filename !== undefined) throw new UsageError('--filename can only be used with standard input (-).');
  if (!recursive && exclude.length > 0) throw new UsageError('--exclude needs --recursive.');
  if (!exclude.includes('/')) return { from: 'files', paths, recursive, exclude };
  throw new UsageError('--exclude takes a pattern such as *.tmp, not "/".');
}

/** What finding the files needs of a command. */
export interface SourceContext {
  readonly io: { readonly stdin: Readable & { readonly isTTY?: boolean } };
  readonly abortSignal: AbortSignal;
  readonly progress: { start(text: string): void };
  notice(text: string): Promise<void>;
}

/** What to upload, and how to remove what was made for it. */
interface Opened {
  readonly files: readonly LocalFile[];
  close(): Promise<void>;
}

/** Finds the files, or reads standard input into one. @throws InputError if one cannot be read */
export async function openSource(context: SourceContext, source: Source): Promise<Opened> {
  const { io, abortSignal, progress, notice } = context;
  if (source.from === 'stdin') {
    if (io.stdin.isTTY) await notice('Reading standard input. Press Ctrl-D to finish.');
    else progress.start('Reading standard input');
    const { file, remove } = await spool(readStdin(io.stdin, abortSignal), source.filename);
    return { files: [file], close: remove };
  }
  progress.start('Checking the files');
  const { files, hidden, leaving } = await findFiles(source.paths, source, abortSignal);
  const left = [
    ...(hidden > 0 ? [`${hidden} hidden`] : []),
    ...(leaving > 0
      ? [`${leaving} ${leaving === 1 ? 'link that leads' : 'links that lead'} out of the directory`]
      : []),
  ];
  if (left.length > 0) await notice(`Left out: ${left.join(', ')}. To upload one, name it.`);
  return { files, close: async () => undefined };
}
