import { type Args, command } from '../cli/command.ts';
import { refuseTokenOnStdin } from '../cli/input.ts';
import { UsageError } from '../errors.ts';
import type { CommandResult } from '../output/command-result.ts';

interface Input {
  readonly files: readonly string[];
  readonly variables: ReadonlyMap<string, string>;
  readonly mode: 'apply' | 'check' | 'dry-run' | 'schema';
  readonly concurrency: number;
  readonly failFast: boolean;
  readonly settleMs: number;
  readonly retryUnknown: boolean;
}

const SETTLE_MS = 10_000;

function parseVariable(text: string): [string, string] {
  const [, name, value] = /^([A-Za-z_]\w*)=(.*)$/s.exec(text) ?? [];
  if (name !== undefined && value !== undefined) return [name, value];
  throw new UsageError(`--var takes NAME=value, not ${JSON.stringify(text)}.`);
}

function parseMode(args: Args): Input['mode'] {
  const chosen = (['check', 'dry-run', 'schema'] as const).filter((flag) => args.isSet(flag));
  if (chosen.length > 1) throw new UsageError(`--${chosen.join(' and --')} cannot be combined.`);
  return chosen[0] ?? 'apply';
}

async function printSchema(): Promise<CommandResult> {
  const [{ jsonSchema }, { manifestSchema }] = await Promise.all([
    import('../yaml/json-schema.ts'),
    import('../provision/manifest-schema.ts'),
  ]);
  return { kind: 'text', text: `${JSON.stringify(jsonSchema(manifestSchema), null, 2)}\n` };
}

export default command<Input>({
  description:
    'Creates or reuses spaces, installs agents and creates their scheduled jobs, from YAML manifests. All input is checked before anything is sent. It reads what exists before it writes, so a repeated run installs nothing and creates no job twice. After a request of unknown outcome, it posts again only once it is certain that nothing was installed.',
  args: [{ usage: '[file...]', description: 'YAML files, directories of them, or - for standard input' }],
  flags: [
    { usage: '--check', description: 'check the manifests; send nothing' },
    { usage: '--dry-run', description: 'show what would be done; send only reads' },
    { usage: '--schema', description: 'print the JSON Schema of a manifest' },
    {
      usage: '--var <NAME=value>',
      description: 'a value for ${NAME} that wins over the environment; repeatable',
      repeatable: true,
    },
    { usage: '--concurrency <n>', description: 'how many documents at a time', default: '4' },
    { usage: '--fail-fast', description: 'start no further document after a failure' },
    {
      usage: '--settle <duration>',
      description: 'how long a lost request may still take effect: it reads that long before it posts again',
      default: '10s',
    },
    {
      usage: '--retry-unknown',
      description: 'post again, although an earlier run whose outcome is unknown may have installed the agents',
    },
  ],
  examples: [
    { line: 'partnerctl provision acme.yaml', does: 'one file' },
    { line: 'partnerctl provision customers/ --dry-run', does: 'what a directory of manifests would change' },
    { line: 'partnerctl provision customers.yaml --var REGION=eu -o json', does: 'with a variable, for a script' },
    { line: 'partnerctl provision --schema > manifest.schema.json', does: 'completion and checks in your editor' },
  ],
  parse(args) {
    const mode = parseMode(args);
    if (mode !== 'schema' && args.positionals.length === 0) {
      throw new UsageError('No manifest is given.', {
        hint: 'Give a YAML file, a directory, or - for standard input.',
      });
    }
    return {
      files: args.positionals,
      variables: new Map(args.values('var').map(parseVariable)),
      mode,
      concurrency: args.count('concurrency', { min: 1, max: 64, fallback: 4 }),
      failFast: args.isSet('fail-fast'),
      settleMs: args.duration('settle') ?? SETTLE_MS,
      retryUnknown: args.isSet('retry-unknown'),
    };
  },
  async run(context, input) {
    if (input.mode === 'schema') return printSchema();
    if (input.files.includes('-')) refuseTokenOnStdin(context.flags, 'manifest');
    const { applyManifests, checkManifests, loadManifests, previewManifests } = await import(
      '../provision/provision.ts'
    );
    const documents = await loadManifests(context, input.files, input.variables);
    if (input.mode === 'check') return checkManifests(context, documents);
    if (input.mode === 'dry-run') return previewManifests(context, documents, input.concurrency);
    return applyManifests(context, documents, input);
  },
});
