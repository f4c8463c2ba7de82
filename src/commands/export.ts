import { deferred, defineCommand, fieldsOf } from '../cli/command.ts';
import { collect, EXCLUDE, ONLY, SPACE_HELP, VAR_FILE } from '../cli/options.ts';
import { OPERATIONS } from '../contract/operations.ts';
import { type Batch, batchResult, countByStatus } from '../output/batch-result.ts';
import type { Column } from '../output/command-result.ts';
import { describeError, errorJson } from '../output/error-text.ts';
import type { ExportResult } from '../provision/export.ts';

const TONES = { written: 'good', updated: 'good', unchanged: 'dim', left_out: 'warn', failed: 'bad' } as const;

const COLUMNS: readonly Column<ExportResult>[] = [
  { header: 'STATUS', value: ({ status }) => status, tone: ({ status }) => TONES[status] },
  { header: 'FILE', value: ({ file }) => file, fit: 'start' },
  { header: 'EXTERNAL ID', value: ({ external_space_id }) => external_space_id },
  { header: 'SPACE', value: ({ space_id }) => space_id },
  { header: 'AGENTS', value: ({ agents }) => agents, isOptional: true },
  { header: 'JOBS', value: ({ jobs }) => jobs, isOptional: true },
  { header: 'NOTE', value: ({ error }) => (error === undefined ? null : describeError(error)), fit: 'end' },
];

function toJson({ index: _, leftOut: left_out, error, ...result }: ExportResult) {
  return { ...result, ...(left_out.length > 0 && { left_out }), error: errorJson(error) };
}

const SPACES: Batch<ExportResult> = {
  columns: COLUMNS,
  noun: 'spaces',
  again: 'Run it again: files that are up to date stay as they are.',
  item: ({ external_space_id, space_id, status, error }) => {
    return { name: external_space_id ?? space_id, status, id: space_id, error, isUnfinished: status === 'left_out' };
  },
  json: toJson,
  counts: (results) => countByStatus(results, TONES),
};

export const exportManifests = () =>
  defineCommand('export', 'Write the spaces of the service as manifests', {
    description:
      'Writes a manifest for each space, with its agents, chats, and jobs, of which `plan` says that there is nothing to do. Sends only reads. A text that the service does not show is "(not shown)" in the file. The file of a space that is already described in the directory stays as it is; if it differs, --update brings it up to date, and keeps its comments, its order, and the variables whose values are right. Spaces that were made of rows get a file each, too: give them a directory without the file of --rows.',
    scopes: [OPERATIONS.listSpaces.scope, OPERATIONS.listAgents.scope, OPERATIONS.listCronJobs.scope],
    exits: ['partial'],
    json: `[${fieldsOf<ReturnType<typeof toJson>>()('file, external_space_id, space_id, agents, jobs, status, left_out?, error')}]`,
    examples: [
      'partnerctl export --out customers  # all spaces, each into a file of its own',
      'partnerctl export ext:acme-001 --out customers  # one space',
      "partnerctl export --only 'acme-*' --out customers  # some spaces",
      'partnerctl export --out customers --update  # what changed at the service, for a review in git',
    ],
    required: [{ oneOf: ['--out'] }],
  })
    .argument('[space...]', `${SPACE_HELP}; without it, all spaces`)
    .option('--out <dir>', 'the directory of the files')
    .option('--update', 'update existing files')
    .option(...ONLY)
    .option(...EXCLUDE)
    .option('--var <NAME=value>', 'a value for ${NAME} in existing files; repeatable', collect, [])
    .option(...VAR_FILE)
    .action(
      deferred(async (context, spaces, { out = '', update = false, only, exclude, ...options }) => {
        const { readVariables } = await import('../provision/variables.ts');
        const { exportSpaces } = await import('../provision/export.ts');
        const { lookup } = await readVariables(context, options);
        const results = exportSpaces(context, spaces, { out, update, lookup, only, exclude });
        return batchResult(results, SPACES, context.signals, (done) => context.progress.update(`Exported: ${done}`));
      }),
    );
