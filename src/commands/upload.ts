import { Option } from '@commander-js/extra-typings';
import { deferred, defineCommand, fieldsOf } from '../cli/command.ts';
import { CONFIRM, collect, integer, SUMMARY_FILE } from '../cli/options.ts';
import { OPERATIONS } from '../contract/operations.ts';
import { type Batch, batchResult, countByStatus } from '../output/batch-result.ts';
import type { Column } from '../output/command-result.ts';
import { errorJson } from '../output/error-text.ts';
import { NotStarted, type UploadResult } from '../upload/result.ts';

const TONES = { uploaded: 'good', skipped: 'dim', planned: 'warn', unknown: 'bad', failed: 'bad' } as const;

const COLUMNS: readonly Column<UploadResult>[] = [
  { header: 'ID', value: ({ id }) => id },
  { header: 'STATUS', value: ({ status }) => status, tone: ({ status }) => TONES[status] },
  { header: 'FILE', value: ({ file }) => file, fit: 'start' },
  { header: 'BYTES', value: ({ bytes }) => bytes },
  { header: 'SHA-256', value: ({ sha256 }) => sha256, tone: () => 'dim', isWide: true },
];

function toJson({ index: _, error, ...result }: UploadResult) {
  return { ...result, error: errorJson(error) };
}

const FILES: Batch<UploadResult> = {
  columns: COLUMNS,
  noun: 'files',
  again: 'Run it again: uploaded files are not sent again, except with --force.',
  item: ({ file: name, status, id, error }) => {
    return { name, status, id, error, isUnfinished: error instanceof NotStarted };
  },
  json: toJson,
  counts: (results) => countByStatus(results, TONES),
};

export const upload = () =>
  defineCommand('upload', 'Upload files as attachments or documents, each once', {
    description:
      'Uploads files as attachments or documents, each once: a file that was already uploaded (same content, same name) is skipped. A file whose response was lost is not sent again without --retry-unknown. Hidden files and links in a directory are left out unless they are named.',
    scopes: [OPERATIONS.createDocument.scope],
    exits: ['unknown', 'partial'],
    required: [{ oneOf: ['--recursive'], when: ['--exclude'] }],
    json: `[${fieldsOf<ReturnType<typeof toJson>>()('file, as, id, bytes, sha256, status, error')}]`,
    examples: [
      'partnerctl upload report.pdf  # one attachment',
      "partnerctl upload manuals/ --recursive --exclude 'drafts/' --as document  # a directory of documents",
      'partnerctl upload - --filename acme.sql < acme.sql  # standard input, with a file name',
    ],
  })
    .argument('<file...>', 'files, directories with --recursive, or - for standard input')
    .addOption(
      new Option('--as <kind>', 'what to create from each file')
        .choices(['attachment', 'document'])
        .default('attachment'),
    )
    .option('-r, --recursive', 'upload everything below directories')
    .option('--exclude <pattern>', 'leave out these files or directories; repeatable', collect, [])
    .option('--filename <name>', 'the name of the file from standard input')
    .option('--content-type <type>', 'the content type of all files (default: from each file name)')
    .option('--concurrency <n>', 'how many files at a time, 1 to 32', integer(1, 32), 4)
    .option('--force', 'also upload files that were already uploaded')
    .option('--retry-unknown', 'upload a file again if the outcome of its last upload is unknown')
    .option('--dry-run', 'show what would be uploaded; nothing is sent')
    .option(...SUMMARY_FILE)
    .option(...CONFIRM)
    .action(
      deferred(async (context, files, options) => {
        const { checkFiles, transfer } = await import('./upload/shared/transfer.ts');
        const found = await checkFiles(context, files, options);
        if (!options.dryRun) await context.prompts.confirmWrite(options.confirm);
        return batchResult(transfer(context, found, options), FILES, context.signals);
      }),
    );
