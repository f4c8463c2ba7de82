import type { Scope } from '../contract/scopes.ts';
import { UsageError } from '../errors.ts';
import type { ColumnLayout, CommandResult } from '../output/command-result.ts';
import type { CommandOutput } from '../output/output-schema.ts';
import type { Context } from './context.ts';
import type { ExitName } from './exit-meanings.ts';

export interface ArgumentSpec {
  /** In usage notation: `<space>`, `[file]`, `<file...>`. */
  readonly usage: string;
  readonly description: string;
  /** What completion offers. The command checks the argument itself. */
  readonly choices?: readonly string[];
  /** The hint when the shell splits unquoted text into several arguments. */
  readonly quoteHint?: string;
}

/** A kind of file that a command reads, for programs that write one. */
export interface InputSpec {
  /** The argument or flag that takes it: `<file>`, `--rows`. */
  readonly takenBy: string;
  readonly format: 'YAML' | 'JSON' | 'JSON lines';
  /** The content of a file that works as it is, but for ids in angle brackets. */
  readonly example: string;
  /** The flag with which the command prints the JSON Schema of the file. */
  readonly schemaFlag?: string;
}

export interface FlagSpec {
  /** In usage notation: `--dry-run`, `--concurrency <n>`, `-f, --file <path>`. */
  readonly usage: string;
  readonly description: string;
  /** A value that changes nothing. Only shown in help; the command applies the default itself. */
  readonly default?: string;
  /** What happens without the flag, in a few words, where no value says it. */
  readonly defaultText?: string;
  readonly choices?: readonly string[];
  /** Whether the flag can be repeated. */
  readonly repeatable?: boolean;
}

/** A flag and its value, as typed. */
export interface TypedValue {
  /** Without the dashes. */
  readonly flag: string;
  readonly value: string;
}

/** A flag that must be given, or one of several. */
export interface RequiredFlag {
  /** The names without dashes; one of them is enough. The first one is named if all are missing. */
  readonly oneOf: readonly string[];
  /** Flags that make it unnecessary. */
  readonly unless?: readonly string[];
  readonly hint?: string;
}

/** The positional arguments and flag values of a command line, as text. */
export interface Args {
  readonly positionals: readonly string[];
  /** Whether a boolean flag is set. For `--no-x`, pass `x`; the result is false if the flag is negated. */
  isSet(flag: string): boolean;
  /** The value of a flag, or undefined if the flag is not set. */
  value(flag: string): string | undefined;
  /** The value of a mandatory flag. @throws UsageError with `hint` if it is missing or empty */
  required(flag: string, hint?: string): string;
  /** Every value of a repeatable flag, in order. */
  values(flag: string): readonly string[];
  /** The values of several repeatable flags, in the order typed. */
  inOrder(flags: readonly string[]): readonly TypedValue[];
  /** The value of a flag as a whole number. @throws UsageError if it is not a number or is out of bounds */
  count(flag: string, bounds: { min: number; max: number; fallback: number }): number;
  /** The value of a duration flag in milliseconds (more than 0), or undefined if not set. @throws UsageError */
  duration(flag: string): number | undefined;
}

interface CommandHelp {
  readonly description: string;
  readonly args: readonly ArgumentSpec[];
  readonly flags: readonly FlagSpec[];
  /** The files that it reads, besides those whose content means nothing to it. */
  readonly inputs: readonly InputSpec[];
  /** What must be given. All that is missing is reported at once. */
  readonly required: readonly RequiredFlag[];
  /** What it may exit with besides `COMMON_EXITS`. */
  readonly exits: readonly ExitName[];
  /** The columns of the command's table or object; none if it prints neither. */
  readonly columns: readonly Pick<ColumnLayout, 'header'>[];
  /** Loads what the command prints with `-o json` and `-o ndjson`. Only help needs it: keep it in src/output-schemas/. */
  readonly output: () => Promise<CommandOutput>;
  /** The scopes of the token that the command needs, in whatever way it is used. */
  readonly scopes: readonly Scope[];
  /** Complete command lines that work as written, each with a description. */
  readonly examples: readonly { readonly line: string; readonly does: string }[];
}

/** The definition that a command file passes to `command()`. `Input` is the type of its validated arguments. */
export interface CommandSpec<Input>
  extends Pick<CommandHelp, 'description' | 'output' | 'exits' | 'examples'>,
    Partial<Pick<CommandHelp, 'args' | 'flags' | 'inputs' | 'required' | 'columns' | 'scopes'>> {
  /** Validates the arguments. Pure. @throws UsageError */
  parse(args: Args): Input;
  /** The flag with which a command that has columns prints no table, if it is set. */
  noTableFlag?(input: Input): string | undefined;
  /** Whether the command writes to the service. A command that may do so gets --confirm, for protected profiles. */
  writes?(input: Input): boolean;
  run(context: Context, input: Input): Promise<CommandResult>;
}

/** A command with validated arguments. */
interface PreparedCommand {
  readonly run: (context: Context) => Promise<CommandResult>;
  /** The flag because of which the command prints no table. */
  readonly noTableFlag: string | undefined;
}

/** A runnable command. */
export interface Command extends CommandHelp {
  /** Validates the arguments. @throws UsageError */
  prepare(args: Args): PreparedCommand;
}

/** What any call of the service may end with. */
export const SERVICE_EXITS: readonly ExitName[] = ['credentials', 'notFound', 'balance', 'rateLimited', 'service'];

/** What reading a state that machines share may end with. */
export const STATE_EXITS: readonly ExitName[] = ['credentials', 'service'];

/** Writes what a command did for the page of a CI run. */
export const SUMMARY_FLAG: FlagSpec = {
  usage: '--summary [file]',
  description: 'write a summary in Markdown, in GitHub Actions to the page of the run',
};

/** Writes what failed for merge requests of GitLab. */
export const CODE_QUALITY_FLAG: FlagSpec = {
  usage: '--code-quality <file>',
  description: 'write what failed, with file and line, as a Code Quality report of GitLab',
};

const CONFIRM_FLAG: FlagSpec = {
  usage: '--confirm <profile>',
  description: 'the name of the profile, if it is protected, in place of a question',
};

/** @throws UsageError that names every required flag that is missing */
function refuseMissing(required: readonly RequiredFlag[], args: Args): void {
  const isGiven = (flag: string) => args.value(flag) !== undefined || args.isSet(flag) || args.values(flag).length > 0;
  const missing = required.filter(({ oneOf, unless = [] }) => ![...oneOf, ...unless].some(isGiven));
  if (missing.length === 0) return;
  const names = missing.map(({ oneOf: [first] }) => `--${first}`);
  const list = names.length < 3 ? names.join(' and ') : `${names.slice(0, -1).join(', ')}, and ${names.at(-1)}`;
  const hints = new Set(missing.flatMap(({ hint }) => hint ?? []));
  throw new UsageError(`${list} ${names.length === 1 ? 'is' : 'are'} missing.`, {
    hint: [...hints].join('\n') || undefined,
  });
}

/** Declares a command. A command returns its result; it never prints the result, exits, or checks the output format. */
export function command<Input>(spec: CommandSpec<Input>): Command {
  const { description, args = [], flags = [], inputs = [], required = [], columns = [] } = spec;
  const { scopes = [], output, exits, examples } = spec;
  return {
    description,
    args,
    flags: spec.writes ? [...flags, CONFIRM_FLAG] : flags,
    inputs,
    required,
    exits,
    columns,
    output,
    scopes,
    examples,
    prepare(typed) {
      refuseMissing(required, typed);
      const input = spec.parse(typed);
      const isWrite = spec.writes?.(input) ?? false;
      return {
        noTableFlag: spec.noTableFlag?.(input),
        async run(context) {
          if (isWrite) {
            const { confirmWrite } = await import('./confirm-write.ts');
            await confirmWrite(context, typed.value('confirm'));
          }
          return spec.run(context, input);
        },
      };
    },
  };
}
