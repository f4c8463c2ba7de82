import { type Args, command, SERVICE_EXITS, SUMMARY_FLAG, summaryTakenHint } from '../cli/command.ts';
import type { Context } from '../cli/context.ts';
import { parseTextArgument, refuseTokenOnStdin } from '../cli/input.ts';
import { SCOPE } from '../contract/scopes.ts';
import { fileFieldOf, type UploadKind } from '../contract/uploads.ts';
import { UsageError } from '../errors.ts';
import { batchResult } from '../output/batch-result.ts';
import type { Column, CommandResult } from '../output/command-result.ts';
import { warnIfUnshared } from '../state-old/warn-unshared.ts';
import type { UploadInput } from '../upload/open-sources.ts';
import type { RunOptions } from '../upload/upload-files.ts';
import {
  CI_VIEW,
  summarizeUploads,
  type UploadResult,
  uploadFailure,
  uploadResultJson,
} from '../upload/upload-result.ts';

interface Input {
  readonly source: UploadInput;
  readonly options: RunOptions;
}

const KINDS: readonly UploadKind[] = ['attachment', 'document'];

const TONES = { uploaded: 'good', skipped: 'dim', planned: 'warn', unknown: 'bad', failed: 'bad' } as const;

const COLUMNS: readonly Column<UploadResult>[] = [
  { header: 'ID', value: ({ id }) => id, fit: 'middle' },
  { header: 'STATUS', value: ({ status }) => status, tone: ({ status }) => TONES[status] },
  { header: 'FILE', value: ({ file }) => file, fit: 'start' },
  { header: 'BYTES', value: ({ bytes }) => bytes },
  { header: 'SHA-256', value: ({ sha256 }) => sha256, tone: () => 'dim', fit: 'middle', isOptional: true },
];

function parseFieldFlag(text: string): readonly [string, string] {
  const at = text.indexOf('=');
  if (at < 1) throw new UsageError(`--field takes name=value, not ${JSON.stringify(text)}.`);
  return [text.slice(0, at), text.slice(at + 1)];
}

function parseContentType(args: Args): string | undefined {
  const type = args.value('content-type');
  if (type === undefined || /^[\w!#$&^.+-]+\/[\w!#$&^.+-]+(\s*;[\t\x20-\x7e]*)?$/.test(type)) return type;
  throw new UsageError(`--content-type takes a type such as application/pdf, not ${JSON.stringify(type)}.`);
}

/** What each flag can be used with, for messages. */
const APPLIES_TO = {
  recursive: 'directories',
  include: 'directories',
  exclude: 'directories',
  field: 'files',
  'content-type': 'files',
  filename: 'standard input (-)',
  name: '--text',
} as const;

type SourceFlag = keyof typeof APPLIES_TO;

const ALLOWED_FLAGS: Readonly<Record<UploadInput['from'], readonly SourceFlag[]>> = {
  files: ['recursive', 'include', 'exclude', 'field', 'content-type'],
  stdin: ['field', 'content-type', 'filename'],
  text: ['name'],
};

function refuseOtherFlags(args: Args, from: UploadInput['from']): void {
  const flags: SourceFlag[] = [
    ...(['recursive'] as const).filter((flag) => args.isSet(flag)),
    ...(['include', 'exclude', 'field'] as const).filter((flag) => args.values(flag).length > 0),
    ...(['content-type', 'filename', 'name'] as const).filter((flag) => args.value(flag) !== undefined),
  ];
  const other = flags.find((flag) => !ALLOWED_FLAGS[from].includes(flag));
  if (other !== undefined) throw new UsageError(`--${other} can only be used with ${APPLIES_TO[other]}.`);
}

function parseTextInput(args: Args, text: string, as: UploadKind): UploadInput {
  refuseOtherFlags(args, 'text');
  const name = args.value('name');
  if (as !== 'document') throw new UsageError('--text needs --as document.');
  if (text === '') throw new UsageError('--text is empty.', { hint: 'Check whether a shell variable in it is unset.' });
  if (!name) throw new UsageError('--text needs --name <name>.');
  if (args.positionals.length > 0) throw new UsageError('--text and files cannot be combined.');
  return { from: 'text', name, text: parseTextArgument('--text', text) };
}

function parseStdinInput(args: Args): UploadInput {
  refuseOtherFlags(args, 'stdin');
  const filename = args.value('filename');
  if (args.positionals.length > 1) throw new UsageError('Standard input (-) cannot be uploaded together with files.');
  if (!filename) throw new UsageError('Standard input (-) needs --filename <name>.');
  return { from: 'stdin', filename, ...parseForm(args) };
}

function parsePatterns(args: Args, flag: 'include' | 'exclude'): readonly string[] {
  const patterns = args.values(flag);
  const empty = patterns.find((pattern) => pattern === '' || pattern === '/');
  if (empty === undefined) return patterns;
  throw new UsageError(`--${flag} takes a pattern such as *.pdf, not ${JSON.stringify(empty)}.`);
}

function parseFilesInput(args: Args): UploadInput {
  refuseOtherFlags(args, 'files');
  if (args.positionals.length === 0) {
    const taken = args.value('summary');
    throw new UsageError('No file to upload.', {
      hint: taken ? summaryTakenHint(taken) : 'Name files, directories with --recursive, or - for standard input.',
    });
  }
  const [include, exclude] = [parsePatterns(args, 'include'), parsePatterns(args, 'exclude')];
  const recursive = args.isSet('recursive');
  if (!recursive && include.length + exclude.length > 0) {
    throw new UsageError('--include and --exclude need --recursive.');
  }
  return { from: 'files', paths: args.positionals, recursive, include, exclude, ...parseForm(args) };
}

function parseForm(args: Args) {
  return { fields: args.values('field').map(parseFieldFlag), contentType: parseContentType(args) };
}

function parseInput(args: Args, as: UploadKind): UploadInput {
  const text = args.value('text');
  if (text !== undefined) return parseTextInput(args, text, as);
  return args.positionals.includes('-') ? parseStdinInput(args) : parseFilesInput(args);
}

const SKIPPED_KEEP_FIELDS =
  'Skipped files keep their earlier fields and content type. To upload them again, add --force.';

function hasFormFlags(source: UploadInput): boolean {
  return source.from !== 'text' && (source.fields.length > 0 || source.contentType !== undefined);
}

/** What standard input contains, for messages. @returns undefined if the command does not read it */
function contentOfStdin(source: UploadInput): 'file' | 'text' | undefined {
  if (source.from === 'stdin') return 'file';
  return source.from === 'text' && source.text.from === 'stdin' ? 'text' : undefined;
}

/** @throws UsageError if --field sets the field that holds the file */
function refuseFileField(source: UploadInput, fileField: string): void {
  if (source.from === 'text' || !source.fields.some(([name]) => name === fileField)) return;
  throw new UsageError(`--field cannot set ${fileField}, because that field is the file itself.`);
}

async function runUpload(context: Context, { source, options }: Input): Promise<CommandResult> {
  const [{ openSources }, { uploadFiles }, { showUploadProgress }] = await Promise.all([
    import('../upload/open-sources.ts'),
    import('../upload/upload-files.ts'),
    import('../upload/upload-progress.ts'),
  ]);
  const stdinContent = contentOfStdin(source);
  if (stdinContent !== undefined) refuseTokenOnStdin(context.flags, stdinContent);
  // Check the token first: standard input cannot be read again.
  const hasFields = source.from !== 'text' && source.fields.length > 0;
  const earlyHttp = stdinContent === undefined && !hasFields ? undefined : await context.http();
  if (earlyHttp) refuseFileField(source, fileFieldOf(options.as, earlyHttp.contract));
  const opened = await openSources(context, source);
  async function* results(): AsyncGenerator<UploadResult> {
    const progress = showUploadProgress(context, opened.sources);
    try {
      const http = earlyHttp ?? (await context.http());
      if (!options.dryRun) await warnIfUnshared(context, 'uploads');
      let hasSkipped = false;
      for await (const result of uploadFiles(context, http, opened.sources, { ...options, progress })) {
        hasSkipped ||= result.status === 'skipped';
        yield result;
      }
      if (hasSkipped && hasFormFlags(source)) await context.notice(SKIPPED_KEEP_FIELDS);
    } finally {
      progress.close();
      await opened.close();
    }
  }
  return batchResult(results(), COLUMNS, {
    empty: 'Nothing to upload.',
    json: uploadResultJson,
    summary: summarizeUploads,
    ci: CI_VIEW,
    failure: (all) => uploadFailure(all, options.force, context.signals.interrupt.reason),
  });
}

export default command<Input>({
  description:
    'Uploads files as attachments or documents, each once: a file that was already uploaded (same content, same name) is skipped. A file whose response was lost is not sent again without --retry-unknown.',
  args: [{ usage: '[file...]', description: 'files, directories with --recursive, or - for standard input' }],
  flags: [
    { usage: '--as <kind>', description: 'what to create from each file', choices: KINDS, default: 'attachment' },
    { usage: '-r, --recursive', description: 'upload everything below directories' },
    {
      usage: '--include <pattern>',
      description: 'only these files of directories; a pattern without / matches the file name; repeatable',
      repeatable: true,
    },
    { usage: '--exclude <pattern>', description: 'skip these files or directories; repeatable', repeatable: true },
    { usage: '--filename <name>', description: 'the name of the file from standard input' },
    {
      usage: '--content-type <type>',
      description: 'the content type of all files',
      defaultText: 'from each file name',
    },
    { usage: '--field <name=value>', description: 'an additional form field; repeatable', repeatable: true },
    {
      usage: '--text <text|@file|->',
      description: 'a document with this text, instead of files; needs --as document and --name',
    },
    { usage: '--name <name>', description: 'the name of the document with --text' },
    { usage: '--concurrency <n>', description: 'how many files at a time, 1 to 32', default: '4' },
    { usage: '--force', description: 'also upload files that were already uploaded, or may have been' },
    { usage: '--retry-unknown', description: 'upload a file again if the outcome of its last upload is unknown' },
    { usage: '--dry-run', description: 'show what would be uploaded; nothing is sent' },
    SUMMARY_FLAG,
  ],
  columns: COLUMNS,
  output: async () => (await import('../output-schemas/uploads.ts')).UPLOAD,
  scopes: [SCOPE.upload],
  exits: [...SERVICE_EXITS, 'unknown', 'partial'],
  examples: [
    { line: 'partnerctl upload report.pdf', does: 'one attachment' },
    {
      line: "partnerctl upload manuals/ --recursive --include '*.pdf' --as document",
      does: 'a directory of documents',
    },
    {
      line: "partnerctl upload manuals/ --recursive --exclude .git --query '[].[file,id]'",
      does: 'print the id of each file; files that were already uploaded are not sent again',
    },
    { line: 'partnerctl upload - --filename acme.sql < acme.sql', does: 'standard input, with a file name' },
    {
      line: "partnerctl upload --as document --name faq.md --text 'Opening hours: 9 to 5'",
      does: 'a document from a text',
    },
  ],
  writes: ({ options }) => !options.dryRun,
  parse(args) {
    const as = KINDS.find((kind) => kind === args.value('as')) ?? 'attachment';
    return {
      source: parseInput(args, as),
      options: {
        as,
        concurrency: args.count('concurrency', { min: 1, max: 32, fallback: 4 }),
        force: args.isSet('force'),
        retryUnknown: args.isSet('retry-unknown'),
        dryRun: args.isSet('dry-run'),
      },
    };
  },
  run: runUpload,
});
