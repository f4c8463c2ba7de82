import { type Args, command } from '../cli/command.ts';
import type { Context } from '../cli/context.ts';
import { parseTextArgument, refuseTokenOnStdin } from '../cli/input.ts';
import { FILE_FIELD, type UploadKind } from '../contract/uploads.ts';
import { UsageError } from '../errors.ts';
import { batchResult } from '../output/batch-result.ts';
import type { Column, CommandResult } from '../output/command-result.ts';
import type { SourceInput } from '../upload/open-sources.ts';
import type { RunOptions } from '../upload/upload-files.ts';
import { summarizeUploads, type UploadResult, uploadFailure, uploadResultJson } from '../upload/upload-result.ts';

interface Input {
  readonly source: SourceInput;
  readonly options: RunOptions;
}

const KINDS: readonly UploadKind[] = ['attachment', 'document'];

const TONES = { uploaded: 'good', skipped: 'dim', planned: 'warn', unknown: 'bad', failed: 'bad' } as const;

const COLUMNS: readonly Column<UploadResult>[] = [
  { header: 'ID', value: ({ id }) => id, noTruncate: true },
  { header: 'STATUS', value: ({ status }) => status, tone: ({ status }) => TONES[status], noTruncate: true },
  { header: 'FILE', value: ({ file }) => file, noTruncate: true },
  { header: 'BYTES', value: ({ bytes }) => bytes, noTruncate: true },
  { header: 'SHA-256', value: ({ sha256 }) => sha256, tone: () => 'dim' },
];

function fieldOf(text: string): readonly [string, string] {
  const at = text.indexOf('=');
  if (at < 1) throw new UsageError(`--field takes name=value, not ${JSON.stringify(text)}.`);
  const name = text.slice(0, at);
  if (name === FILE_FIELD) throw new UsageError(`--field ${FILE_FIELD} is the field that holds the file itself.`);
  return [name, text.slice(at + 1)];
}

function contentTypeOf(words: Args): string | undefined {
  const type = words.value('content-type');
  if (type === undefined || /^[\w!#$&^.+-]+\/[\w!#$&^.+-]+(\s*;[\t\x20-\x7e]*)?$/.test(type)) return type;
  throw new UsageError(`--content-type takes a type such as application/pdf, not ${JSON.stringify(type)}.`);
}

/** What is uploaded decides which of these flags mean something. */
const GOES_WITH = {
  recursive: 'directories',
  include: 'directories',
  exclude: 'directories',
  field: 'files',
  'content-type': 'files',
  filename: 'standard input (-)',
  name: '--text',
} as const;

type SourceFlag = keyof typeof GOES_WITH;

const TAKES: Readonly<Record<SourceInput['from'], readonly SourceFlag[]>> = {
  files: ['recursive', 'include', 'exclude', 'field', 'content-type'],
  stdin: ['field', 'content-type', 'filename'],
  text: ['name'],
};

function refuseOtherFlags(words: Args, from: SourceInput['from']): void {
  const given: SourceFlag[] = [
    ...(['recursive'] as const).filter((flag) => words.isSet(flag)),
    ...(['include', 'exclude', 'field'] as const).filter((flag) => words.values(flag).length > 0),
    ...(['content-type', 'filename', 'name'] as const).filter((flag) => words.value(flag) !== undefined),
  ];
  const other = given.find((flag) => !TAKES[from].includes(flag));
  if (other !== undefined) throw new UsageError(`--${other} goes with ${GOES_WITH[other]}.`);
}

function textInput(words: Args, text: string, as: UploadKind): SourceInput {
  refuseOtherFlags(words, 'text');
  const name = words.value('name');
  if (as !== 'document') throw new UsageError('--text makes a document; add --as document.');
  if (text === '') throw new UsageError('--text is empty.', { hint: 'Is a shell variable in it unset?' });
  if (!name) throw new UsageError('--text needs the name of the document: --name <name>.');
  if (words.positionals.length > 0) throw new UsageError('--text and files exclude each other.');
  return { from: 'text', name, text: parseTextArgument('--text', text) };
}

function stdinInput(words: Args): SourceInput {
  refuseOtherFlags(words, 'stdin');
  const filename = words.value('filename');
  if (words.positionals.length > 1) throw new UsageError('Standard input is uploaded alone.');
  if (!filename) throw new UsageError('Standard input has no name.', { hint: 'Give it one with --filename.' });
  return { from: 'stdin', filename, ...formOf(words) };
}

function patternsOf(words: Args, flag: 'include' | 'exclude'): readonly string[] {
  const patterns = words.values(flag);
  // A slash at the end only says that a directory is meant.
  const nothing = patterns.find((pattern) => pattern === '' || pattern === '/');
  if (nothing === undefined) return patterns;
  throw new UsageError(`--${flag} takes a pattern such as *.pdf, not ${JSON.stringify(nothing)}.`);
}

function filesInput(words: Args): SourceInput {
  refuseOtherFlags(words, 'files');
  if (words.positionals.length === 0) {
    throw new UsageError('No file is named.', {
      hint: 'Give files, directories with --recursive, or - for standard input.',
    });
  }
  const [include, exclude] = [patternsOf(words, 'include'), patternsOf(words, 'exclude')];
  const recursive = words.isSet('recursive');
  if (!recursive && include.length + exclude.length > 0) {
    throw new UsageError('--include and --exclude choose among the files of directories; add --recursive.');
  }
  return { from: 'files', words: words.positionals, recursive, include, exclude, ...formOf(words) };
}

function formOf(words: Args) {
  return { fields: words.values('field').map(fieldOf), contentType: contentTypeOf(words) };
}

function sourceInput(words: Args, as: UploadKind): SourceInput {
  const text = words.value('text');
  if (text !== undefined) return textInput(words, text, as);
  return words.positionals.includes('-') ? stdinInput(words) : filesInput(words);
}

const KEPT = 'What was skipped keeps the fields and the type that it was uploaded with; --force uploads it anew.';

/** Whether more is said of the files than they say themselves. */
function describesFiles(source: SourceInput): boolean {
  return source.from !== 'text' && (source.fields.length > 0 || source.contentType !== undefined);
}

/** What standard input holds; undefined where it is not read. */
function onStdin(source: SourceInput): 'file' | 'text' | undefined {
  if (source.from === 'stdin') return 'file';
  return source.from === 'text' && source.text.from === 'stdin' ? 'text' : undefined;
}

async function upload(context: Context, { source, options }: Input): Promise<CommandResult> {
  const [{ openSources }, { uploadFiles: uploadAll }, { showProgress: watchUploads }] = await Promise.all([
    import('../upload/open-sources.ts'),
    import('../upload/upload-files.ts'),
    import('../upload/progress.ts'),
  ]);
  const awaited = onStdin(source);
  if (awaited !== undefined) refuseTokenOnStdin(context.flags, awaited);
  // Standard input cannot be read again: without a token it is left as it is.
  const early = awaited === undefined ? undefined : await context.http();
  const opened = await openSources(context, source);
  async function* results(): AsyncGenerator<UploadResult> {
    const watch = watchUploads(context, opened.sources);
    try {
      const http = early ?? (await context.http());
      let isAnySkipped = false;
      for await (const result of uploadAll(context, http, opened.sources, options, watch)) {
        isAnySkipped ||= result.status === 'skipped';
        yield result;
      }
      if (isAnySkipped && describesFiles(source)) await context.notice(KEPT);
    } finally {
      watch.close();
      await opened.close();
    }
  }
  return batchResult(results(), COLUMNS, {
    empty: 'There is nothing to upload.',
    json: uploadResultJson,
    summary: summarizeUploads,
    failure: (all) => uploadFailure(all, options.force, context.signals.interrupt.reason),
  });
}

export default command<Input>({
  description:
    'Uploads files as attachments or documents, each once: what was uploaded is known by its content and name, and skipped. A file whose answer was lost is not sent again unless you say so.',
  args: [{ usage: '[file...]', description: 'files, directories with --recursive, or - for standard input' }],
  flags: [
    { usage: '--as <kind>', description: 'what they become', choices: KINDS, default: 'attachment' },
    { usage: '-r, --recursive', description: 'upload everything below directories' },
    {
      usage: '--include <pattern>',
      description: 'of the files of directories, only these; a pattern without / means the name; may be repeated',
      repeatable: true,
    },
    { usage: '--exclude <pattern>', description: 'and not these; may be repeated', repeatable: true },
    { usage: '--filename <name>', description: 'the name of what comes from standard input' },
    { usage: '--content-type <type>', description: 'the type of all files (by the name of each, by default)' },
    { usage: '--field <name=value>', description: 'a further field of the form; may be repeated', repeatable: true },
    {
      usage: '--text <text|@file|->',
      description: 'a document with this text, in place of files; with --as document and --name',
    },
    { usage: '--name <name>', description: 'the name of the document that --text makes' },
    { usage: '--concurrency <n>', description: 'how many files at a time, 1 to 32', default: '4' },
    { usage: '--force', description: 'upload also what was uploaded before, or may have been' },
    { usage: '--retry-unknown', description: 'upload again what may have been uploaded, though no answer said so' },
    { usage: '--dry-run', description: 'show what would be uploaded; nothing is sent' },
  ],
  examples: [
    { line: 'partnerctl upload report.pdf', does: 'one attachment' },
    {
      line: "partnerctl upload manuals/ --recursive --include '*.pdf' --as document",
      does: 'a directory of documents',
    },
    {
      line: "partnerctl upload manuals/ --recursive --exclude .git --query '[].[file,id]'",
      does: 'the id of each file; what was uploaded is not sent again',
    },
    { line: 'partnerctl upload - --filename acme.sql < acme.sql', does: 'standard input, under a name' },
    {
      line: "partnerctl upload --as document --name faq.md --text 'Opening hours: 9 to 5'",
      does: 'a document out of a text',
    },
  ],
  parse(words) {
    const as = KINDS.find((kind) => kind === words.value('as')) ?? 'attachment';
    return {
      source: sourceInput(words, as),
      options: {
        as,
        concurrency: words.count('concurrency', { min: 1, max: 32, fallback: 4 }),
        force: words.isSet('force'),
        retryUnknown: words.isSet('retry-unknown'),
        dryRun: words.isSet('dry-run'),
      },
    };
  },
  run: upload,
});
