import { type Args, command, SERVICE_EXITS } from '../cli/command.ts';
import { refuseTokenOnStdin } from '../cli/input.ts';
import { SCOPE } from '../contract/scopes.ts';
import { UsageError } from '../errors.ts';
import type { CommandResult } from '../output/command-result.ts';
import {
  EXIT_CODE_FLAG,
  MANIFEST_FLAGS,
  MANIFEST_INPUT,
  type ManifestArgs,
  parseManifestArgs,
  requireFiles,
} from './provisioning/args.ts';

interface Input extends ManifestArgs {
  readonly mode: 'apply' | 'check' | 'dry-run' | 'schema';
  readonly hasDetailedExitCode: boolean;
  readonly failFast: boolean;
}

function parseMode(args: Args): Input['mode'] {
  const chosen = (['check', 'dry-run', 'schema'] as const).filter((flag) => args.isSet(flag));
  if (chosen.length > 1) throw new UsageError(`--${chosen.join(' and --')} cannot be combined.`);
  const mode = chosen[0] ?? 'apply';
  if (mode !== 'dry-run' && args.isSet('detailed-exitcode')) {
    throw new UsageError('--detailed-exitcode needs --dry-run.', {
      hint: 'Or run: partnerctl plan --detailed-exitcode',
    });
  }
  return mode;
}

/** The headers of the result's columns. Loading the columns themselves would slow down --help. */
const HEADERS = ['SOURCE', 'EXTERNAL ID', 'SPACE', 'STATUS', 'AGENTS', 'NOTE', 'CHAT', 'JOBS'];

async function printSchema(): Promise<CommandResult> {
  const [{ jsonSchema }, { manifestSchema }] = await Promise.all([
    import('../yaml/json-schema.ts'),
    import('../provision/manifest.ts'),
  ]);
  return { kind: 'text', text: `${JSON.stringify(jsonSchema(manifestSchema), null, 2)}\n` };
}

export default command<Input>({
  description:
    'Creates or reuses spaces, installs agents, and creates their scheduled jobs, from YAML manifests. All input is checked before anything is sent. It reads what exists before it writes, so a repeated run installs nothing again and creates no job twice. After a lost response it reads again, and posts what is still missing.',
  args: [{ usage: '[file...]', description: 'YAML files, directories of them, or - for standard input' }],
  flags: [
    { usage: '--check', description: 'check the manifests; send nothing' },
    { usage: '--dry-run', description: 'show what would be done; send only reads (the same as `partnerctl plan`)' },
    { usage: '--schema', description: 'print the JSON Schema of a manifest' },
    ...MANIFEST_FLAGS,
    { ...EXIT_CODE_FLAG, description: `with --dry-run: ${EXIT_CODE_FLAG.description}` },
    { usage: '--fail-fast', description: 'do not start further documents after a failure' },
  ],
  columns: HEADERS.map((header) => ({ header })),
  inputs: [{ ...MANIFEST_INPUT, schemaFlag: '--schema' }],
  scopes: [SCOPE.readSpaces, SCOPE.readAgents, SCOPE.provision, SCOPE.setUpChat, SCOPE.createJobs, SCOPE.listJobs],
  exits: [...SERVICE_EXITS, 'duplicate', 'unknown', 'partial', 'changesPending', 'differences'],
  examples: [
    { line: 'partnerctl provision acme.yaml', does: 'one file' },
    { line: 'partnerctl provision customers/ --dry-run', does: 'what a directory of manifests would change' },
    { line: 'partnerctl provision customers.yaml --var REGION=eu -o json', does: 'with a variable, for a script' },
    { line: 'partnerctl provision --schema > manifest.schema.json', does: 'completion and checks in your editor' },
  ],
  parse(args) {
    const mode = parseMode(args);
    if (mode !== 'schema') requireFiles(args);
    return {
      ...parseManifestArgs(args),
      mode,
      hasDetailedExitCode: args.isSet('detailed-exitcode'),
      failFast: args.isSet('fail-fast'),
    };
  },
  writes: ({ mode }) => mode === 'apply',
  async run(context, input) {
    if (input.mode === 'schema') return printSchema();
    if (input.files.includes('-')) refuseTokenOnStdin(context.flags, 'manifest');
    const { readManifests } = await import('./provisioning/open.ts');
    const { checkDocuments, planDocuments, provisionDocuments } = await import('./provisioning/run.ts');
    const documents = await readManifests(context, input);
    if (input.mode === 'dry-run') return planDocuments(context, documents, input);
    return input.mode === 'check' ? checkDocuments(context, documents) : provisionDocuments(context, documents, input);
  },
});
