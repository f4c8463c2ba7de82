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
} from '../provision/manifest-args.ts';

interface Input extends ManifestArgs {
  readonly mode: 'apply' | 'check' | 'dry-run' | 'schema';
  readonly hasDetailedExitCode: boolean;
  readonly failFast: boolean;
  readonly settleMs: number;
  readonly retryUnknown: boolean;
}

const SETTLE_MS = 10_000;

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
    'Creates or reuses spaces, installs agents, and creates their scheduled jobs, from YAML manifests. All input is checked before anything is sent. It reads what exists before it writes, so a repeated run installs nothing and creates no job twice. After a request with an unknown outcome, it posts again only when it is certain that nothing was installed.',
  args: [{ usage: '[file...]', description: 'YAML files, directories of them, or - for standard input' }],
  flags: [
    { usage: '--check', description: 'check the manifests; send nothing' },
    { usage: '--dry-run', description: 'show what would be done; send only reads (the same as `partnerctl plan`)' },
    { usage: '--schema', description: 'print the JSON Schema of a manifest' },
    ...MANIFEST_FLAGS,
    { ...EXIT_CODE_FLAG, description: `with --dry-run: ${EXIT_CODE_FLAG.description}` },
    { usage: '--fail-fast', description: 'do not start further documents after a failure' },
    {
      usage: '--settle <duration>',
      description: 'how long to look for the effect of a lost request before posting again',
      default: '10s',
    },
    {
      usage: '--retry-unknown',
      description: 'post again, even if an earlier run with an unknown outcome may have installed the agents',
    },
  ],
  columns: HEADERS.map((header) => ({ header })),
  output: async () => (await import('../output-schemas/provisioning.ts')).PROVISION,
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
      settleMs: args.duration('settle') ?? SETTLE_MS,
      retryUnknown: args.isSet('retry-unknown'),
    };
  },
  noTableFlag: ({ mode }) => (mode === 'dry-run' || mode === 'schema' ? `--${mode}` : undefined),
  writes: ({ mode }) => mode === 'apply',
  async run(context, input) {
    if (input.mode === 'schema') return printSchema();
    if (input.files.includes('-')) refuseTokenOnStdin(context.flags, 'manifest');
    const { readManifests } = await import('../provision/read-manifests.ts');
    const documents = await readManifests(context, input);
    if (input.mode === 'dry-run') {
      const { planManifests } = await import('../provision/plan-manifests.ts');
      return planManifests(context, documents, input);
    }
    const { applyManifests, listValidManifests } = await import('../provision/apply-manifests.ts');
    return input.mode === 'check' ? listValidManifests(context, documents) : applyManifests(context, documents, input);
  },
});
