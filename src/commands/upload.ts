import { type Args, command, SERVICE_EXITS, SUMMARY_FLAGS } from '../cli/command.ts';
import type { Context } from '../cli/context.ts';
import { refuseTokenOnStdin } from '../cli/input.ts';
import { warnIfUnshared } from '../cli/warn-unshared.ts';
import { SCOPE } from '../contract/scopes.ts';
import type { UploadKind } from '../contract/uploads.ts';
import { type PartnerctlError, UsageError } from '../errors.ts';
import { batchFailure } from '../output/batch-failure.ts';
import { batchResult, countByStatus, formatCounts } from '../output/batch-result.ts';
import { endedAs, failedItem, itemSection } from '../output/ci/findings.ts';
import type { CiView, Column, CommandResult } from '../output/command-result.ts';
import { toErrorObject } from '../output/error-object.ts';
import { sanitizeLine } from '../output/sanitize.ts';
import { nameSome } from '../output/sentences.ts';
import { emitted } from '../platform/emitted.ts';
import { readStdin } from '../platform/input.ts';
import type { LocalFile } from '../upload/files.ts';
import { isUnfinished, type UploadResult } from '../upload/result.ts';
import type { UploadOptions } from '../upload/upload.ts';

type Source =
  | {
      readonly from: 'files';
      readonly paths: readonly string[];
      readonly recursive: boolean;
      readonly exclude: readonly string[];
    }
  | { readonly from: 'stdin'; readonly filename: string };

interface Input {
  readonly source: Source;
  readonly options: UploadOptions;
}

const KINDS: readonly UploadKind[] = ['attachment', 'document'];

const TONES = { uploaded: 'good', skipped: 'dim', planned: 'warn', unknown: 'bad', failed: 'bad' } as const;

const COLUMNS: readonly Column<UploadResult>[] = [
  { header: 'ID', value: ({ id }) => id },
  { header: 'STATUS', value: ({ status }) => status, tone: ({ status }) => TONES[status] },
  { header: 'FILE', value: ({ file }) => file, fit: 'start' },
  { header: 'BYTES', value: ({ bytes }) => bytes },
  { header: 'SHA-256', value: ({ sha256 }) => sha256, tone: () => 'dim', isOptional: true },
];

const CI_VIEW: CiView<UploadResult> = {
  findings: ({ error }) => failedItem(error, undefined),
  section({ file, id, status, error }) {
    const ended = endedAs(status, error);
    return itemSection(file, id === null ? ended : `${ended}, ${id}`, failedItem(error, undefined));
  },
};

function parseContentType(args: Args): string | undefined {
  const type = args.value('content-type');
  if (type === undefined || /^[\w!#$&^.+-]+\/[\w!#$&^.+-]+(\s*;[\t\x20-\x7e]*)?$/.test(type)) return type;
  throw new UsageError(`--content-type takes a type such as application/pdf, not ${JSON.stringify(type)}.`);
}

function parseStdin(args: Args): Source {
  const filename = args.value('filename');
  if (args.positionals.length > 1) throw new UsageError('Standard input (-) cannot be uploaded together with files.');
  if (args.isSet('recursive') || args.values('exclude').length > 0) {
    throw new UsageError('--recursive and --exclude can only be used with directories.');
  }
  if (!filename) throw new UsageError('Standard input (-) needs --filename <name>.');
  return { from: 'stdin', filename };
}

function parseSource(args: Args): Source {
  const paths = args.positionals;
  if (paths.includes('-')) return parseStdin(args);
  if (paths.length === 0) {
    const hint = 'Name files, directories with --recursive, or - for standard input.';
    throw new UsageError('No file to upload.', { hint });
  }
  if (args.value('filename') !== undefined)
    throw new UsageError('--filename can only be used with standard input (-).');
  const [recursive, exclude] = [args.isSet('recursive'), args.values('exclude')];
  if (!recursive && exclude.length > 0) throw new UsageError('--exclude needs --recursive.');
  const empty = exclude.find((pattern) => pattern === '' || pattern === '/');
  if (empty === undefined) return { from: 'files', paths, recursive, exclude };
  throw new UsageError(`--exclude takes a pattern such as *.tmp, not ${JSON.stringify(empty)}.`);
}

const NO_UPLOADS = { uploaded: 0, skipped: 0, planned: 0, unknown: 0, failed: 0 };

/** Counts the results by status, as text: `2 uploaded, 1 failed.` */
function summarize(results: readonly UploadResult[]): string {
  const { uploaded, failed, ...others } = countByStatus(results, NO_UPLOADS);
  const unfinished = results.filter(isUnfinished).length;
  const unrecorded = results.filter(({ status, error }) => status === 'uploaded' && error !== undefined).length;
  return formatCounts({
    uploaded: uploaded - unrecorded,
    'uploaded but not recorded': unrecorded,
    ...others,
    failed: failed - unfinished,
    'not uploaded': unfinished,
  });
}

/** The error of a run that did not upload all of its files; undefined if it did. */
function failureOf(
  results: readonly UploadResult[],
  force: boolean,
  interruption: unknown,
): PartnerctlError | undefined {
  const items = results.map((result) => {
    const outcome = isUnfinished(result) ? 'skipped' : result.error === undefined ? 'done' : 'failed';
    return { label: result.file, outcome, error: result.error } as const;
  });
  const again = force
    ? 'run it again with only these files: --force uploads every named file again.'
    : 'run it again: uploaded files are not sent again.';
  const messages = {
    noun: 'files',
    message: `The upload is not complete: ${summarize(results)}`,
    summary: summarize(results),
    details: countByStatus(results, NO_UPLOADS),
    resumeHint: `To continue, ${again}`,
    fixHint: `Fix the cause and ${again}`,
  };
  return batchFailure(items, messages, interruption);
}

/** What to upload, and how to remove what was made for it. */
interface Opened {
  readonly files: readonly LocalFile[];
  close(): Promise<void>;
}

async function openSource(context: Context, source: Source): Promise<Opened> {
  const { findFiles, spool } = await import('../upload/files.ts');
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

/** Uploads the files, and yields each result as soon as it is known. Runs to the end even if nobody reads the results. */
async function* upload(context: Context, { source, options }: Input): AsyncGenerator<UploadResult> {
  const [{ uploadFiles }, { TransferProgress }] = await Promise.all([
    import('../upload/upload.ts'),
    import('../output/transfer.ts'),
  ]);
  // Before standard input is read, which cannot be read again.
  const http = await context.http();
  const { files, close } = await openSource(context, source);
  const progress = new TransferProgress(context, files);
  const forgetInFlight = context.signals.beforeExit(() => describeInFlight(progress.labels()));
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
        if (file) progress.finished(file, result.status === 'uploaded');
        emit(result);
      };
      return uploadFiles(files, options, { ...deps, onResult });
    });
  } finally {
    forgetInFlight();
    context.progress.stop();
    await close();
  }
}

/** For a second Ctrl-C, which ends the program at once. */
function describeInFlight(files: readonly string[]): string | undefined {
  if (files.length === 0) return undefined;
  const names = sanitizeLine(nameSome(files));
  return `Ended while files were being sent, so they may or may not be uploaded: ${names}. Run the same command again: it names those that may be, and sends the others.`;
}

async function runUpload(context: Context, input: Input): Promise<CommandResult> {
  const { source, options } = input;
  if (source.from === 'stdin') refuseTokenOnStdin(context.flags, 'file');
  if (!options.dryRun) await warnIfUnshared(context, 'uploads');
  return batchResult(upload(context, input), COLUMNS, {
    empty: 'Nothing to upload.',
    json: ({ index: _, error, ...result }) => ({ ...result, error: error === undefined ? null : toErrorObject(error) }),
    summary: summarize,
    ci: CI_VIEW,
    failure: (all) => failureOf(all, options.force, context.signals.interrupt.reason),
  });
}

export default command<Input>({
  description:
    'Uploads files as attachments or documents, each once: a file that was already uploaded (same content, same name) is skipped. A file whose response was lost is not sent again without --retry-unknown. Hidden files in a directory, and links that lead out of it, are left out unless they are named.',
  args: [{ usage: '[file...]', description: 'files, directories with --recursive, or - for standard input' }],
  flags: [
    { usage: '--as <kind>', description: 'what to create from each file', choices: KINDS, default: 'attachment' },
    { usage: '-r, --recursive', description: 'upload everything below directories' },
    { usage: '--exclude <pattern>', description: 'leave out these files or directories; repeatable', repeatable: true },
    { usage: '--filename <name>', description: 'the name of the file from standard input' },
    {
      usage: '--content-type <type>',
      description: 'the content type of all files',
      defaultText: 'from each file name',
    },
    { usage: '--concurrency <n>', description: 'how many files at a time, 1 to 32', default: '4' },
    { usage: '--force', description: 'also upload files that were already uploaded' },
    { usage: '--retry-unknown', description: 'upload a file again if the outcome of its last upload is unknown' },
    { usage: '--dry-run', description: 'show what would be uploaded; nothing is sent' },
    ...SUMMARY_FLAGS,
  ],
  columns: COLUMNS,
  scopes: [SCOPE.upload],
  exits: [...SERVICE_EXITS, 'unknown', 'partial'],
  examples: [
    { line: 'partnerctl upload report.pdf', does: 'one attachment' },
    {
      line: "partnerctl upload manuals/ --recursive --exclude 'drafts/' --as document",
      does: 'a directory of documents',
    },
    {
      line: "partnerctl upload manuals/ --recursive --query '[].[file,id]'",
      does: 'print the id of each file; files that were already uploaded are not sent again',
    },
    { line: 'partnerctl upload - --filename acme.sql < acme.sql', does: 'standard input, with a file name' },
  ],
  writes: ({ options }) => !options.dryRun,
  parse: (args) => ({
    source: parseSource(args),
    options: {
      as: KINDS.find((kind) => kind === args.value('as')) ?? 'attachment',
      contentType: parseContentType(args),
      concurrency: args.count('concurrency', { min: 1, max: 32, fallback: 4 }),
      force: args.isSet('force'),
      retryUnknown: args.isSet('retry-unknown'),
      dryRun: args.isSet('dry-run'),
    },
  }),
  run: runUpload,
});
