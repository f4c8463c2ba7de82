import { defineCommand, type Meta } from '../../cli/command.ts';
import { collect, EXCLUDE, integer, ONLY, ROWS, SUMMARY_FILE, VAR_FILE } from '../../cli/options.ts';
import { OPERATIONS } from '../../contract/operations.ts';
import type { CommandResult } from '../../output/command-result.ts';

/** What `provision` and `apply` print. */
export const RUN_JSON =
  '{results: [{source, external_space_id, space_id, status, agents: [{agent_id, name, template_id, status, source_id}], cron, differences, error?, errors?}], summary: {created, reused, unchanged, failed, skipped}}';

/** What `provision` and `apply` call. */
export const PROVISION_SCOPES = [
  OPERATIONS.listSpaces.scope,
  OPERATIONS.listAgents.scope,
  OPERATIONS.provisionSpace.scope,
  OPERATIONS.createChatSource.scope,
  OPERATIONS.createCronJob.scope,
  OPERATIONS.listCronJobs.scope,
];

/** Creates a command on manifests, with the options that `plan` and `provision` share. */
export function manifestCommand(name: string, summary: string, meta: Meta) {
  const exits = ['duplicate', 'unknown', 'partial'] as const;
  return defineCommand(name, summary, { ...meta, exits: [...exits, ...(meta.exits ?? [])] })
    .argument('[file...]', 'YAML files, directories of them, or - for standard input')
    .option('--schema', 'print the JSON Schema of a manifest')
    .option(
      '--var <NAME=value>',
      'a value for ${NAME} that wins over --rows, --var-file, and the environment; repeatable',
      collect,
      [],
    )
    .option(...VAR_FILE)
    .option(...ROWS)
    .option(...ONLY)
    .option(...EXCLUDE)
    .option('--concurrency <n>', 'how many documents at a time', integer(1, 64), 4)
    .option(
      '--create-beside <external_space_id>',
      'create an agent or a job of this space although it may be an edited one that stays; repeatable',
      collect,
      [],
    )
    .option(...SUMMARY_FILE);
}

/** Where a run ends, or does not begin: see `applyPlans` and `approver`. */
export const MAX_FAILURES = [
  '--max-failures <n>',
  'start no further space after n failures; there are never more',
  integer(1, 100_000),
] as const;

export const MAX_CREATES = [
  '--max-creates <n>',
  'refuse to create more than n spaces, or more than n agents',
  integer(0, 100_000),
] as const;

export const YES = ['--yes', 'confirm more than 20 new spaces in advance'] as const;

export async function printManifestSchema(): Promise<CommandResult> {
  const { jsonSchema } = await import('../../yaml/json-schema.ts');
  const { manifestSchema } = await import('../../provision/manifest.ts');
  return { kind: 'text', text: `${JSON.stringify(jsonSchema(manifestSchema), null, 2)}\n` };
}
