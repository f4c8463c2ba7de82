import { type Args, type FlagSpec, type InputSpec, SUMMARY_FLAGS } from '../../cli/command.ts';
import { UsageError } from '../../errors.ts';

/** The flags of all commands that take manifests. */
export const MANIFEST_FLAGS: readonly FlagSpec[] = [
  {
    usage: '--var <NAME=value>',
    description: 'a value for ${NAME} that wins over the environment; repeatable',
    repeatable: true,
  },
  { usage: '--concurrency <n>', description: 'how many documents at a time', default: '4' },
  {
    usage: '--install-renamed',
    description: 'install an agent although the space has one of its template that the manifest does not name',
  },
  ...SUMMARY_FLAGS,
];

/** What a manifest looks like. */
export const MANIFEST_INPUT: InputSpec = {
  takenBy: '<file>',
  format: 'YAML',
  example: `external_space_id: acme-001
space: { name: Acme }
agents:
  - template_id: tmpl_support
    name: Support
    chat: {}
`,
};

/** The flag for scripts that plan. */
export const EXIT_CODE_FLAG: FlagSpec = {
  usage: '--detailed-exitcode',
  description:
    'exit with 0 if there is nothing to do, 12 if changes are pending, and 13 if only differences are left, which no call can change',
};

/** The manifests that a command line names. */
export interface ManifestArgs {
  readonly files: readonly string[];
  readonly variables: ReadonlyMap<string, string>;
  /** How many documents at a time. */
  readonly concurrency: number;
  /** Whether an agent that was probably renamed in the manifest is installed beside the old one. */
  readonly installRenamed: boolean;
}

function parseVariable(text: string): [string, string] {
  const [, name, value] = /^([A-Za-z_]\w*)=(.*)$/s.exec(text) ?? [];
  if (name !== undefined && value !== undefined) return [name, value];
  throw new UsageError(`--var takes NAME=value, not ${JSON.stringify(text)}.`);
}

function parseVariables(texts: readonly string[]): ReadonlyMap<string, string> {
  const variables = new Map<string, string>();
  for (const [name, value] of texts.map(parseVariable)) {
    if (variables.has(name)) throw new UsageError(`--var ${name} is given twice.`, { hint: 'Give it once.' });
    variables.set(name, value);
  }
  return variables;
}

/** Reads the arguments. @throws UsageError */
export function parseManifestArgs(args: Args): ManifestArgs {
  return {
    files: args.positionals,
    variables: parseVariables(args.values('var')),
    concurrency: args.count('concurrency', { min: 1, max: 64, fallback: 4 }),
    installRenamed: args.isSet('install-renamed'),
  };
}

/** @throws UsageError if no manifest is given */
export function requireFiles(args: Args): void {
  if (args.positionals.length > 0) return;
  throw new UsageError('No manifest is given.', { hint: 'Give a YAML file, a directory, or - for standard input.' });
}
