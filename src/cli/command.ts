import type { Scope } from '../contract/scopes.ts';
import type { ColumnLayout, CommandResult } from '../output/command-result.ts';
import type { Context } from './context.ts';
import type { ExitName } from './exit-meanings.ts';

interface ArgumentSpec {
  /** In usage notation: `<space>`, `[file]`, `<file...>`. */
  readonly usage: string;
  readonly description: string;
  /** For completion only: the command checks the argument itself. */
  readonly choices?: readonly string[];
  /** The hint if the shell has split unquoted text into several arguments. */
  readonly quoteHint?: string;
}

/** A file that a command reads, described for programs that write it. */
interface InputSpec {
  /** The argument or flag that takes it: `<file>`, `--rows`. */
  readonly takenBy: string;
  readonly format: 'YAML' | 'JSON' | 'JSON lines';
  /** The content of a valid file, except for ids in angle brackets. */
  readonly example: string;
  /** The flag that prints the JSON Schema of the file. */
  readonly schemaFlag?: string;
}

export interface FlagSpec {
  /** In usage notation: `--dry-run`, `--concurrency <n>`, `-f, --file <path>`. */
  readonly usage: string;
  readonly description: string;
  /** The default value, for help only: the command applies it itself. */
  readonly default?: string;
  /** Describes the default, if it is not a value: `a free one`. */
  readonly defaultText?: string;
  readonly choices?: readonly string[];
  /** Whether the flag may be given several times. */
  readonly repeatable?: boolean;
}

/** The parts of a flag's usage. */
interface FlagUsage {
  /** With its dashes, as is `short`. */
  readonly name: string;
  readonly short: string | undefined;
  /** Undefined for a flag without a value. */
  readonly placeholder: string | undefined;
  readonly isValueOptional: boolean;
}

/** Parses the usage notation of a flag: `-f, --file <path>`, `--summary [file]`. */
export function parseFlagUsage(usage: string): FlagUsage {
  const [, short, name = '', placeholder] = /^(?:(-\w), )?(--[\w-]+)(?: [<[](.+)[>\]])?$/.exec(usage) ?? [];
  return { name, short, placeholder, isValueOptional: usage.endsWith(']') };
}

/** A flag and its value, as typed. */
export interface TypedValue {
  /** Without the dashes. */
  readonly flag: string;
  readonly value: string;
}

/** A required flag, or several of which one is required. */
export interface RequiredFlag {
  /** The names without dashes. If all are missing, the error names the first one. */
  readonly oneOf: readonly string[];
  /** Flags that make these unnecessary. */
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
  /** The value of a flag that must not be empty, or undefined if the flag is not set. @throws UsageError */
  nonEmpty(flag: string): string | undefined;
  /** The value of a mandatory flag. @throws UsageError with `hint` if it is missing or empty */
  required(flag: string, hint?: string): string;
  /** Every value of a repeatable flag, in order. */
  values(flag: string): readonly string[];
  /** The values of several repeatable flags, in the order in which they were typed. */
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
  /** The files whose content the command interprets. */
  readonly inputs: readonly InputSpec[];
  /** All missing flags are reported together. */
  readonly required: readonly RequiredFlag[];
  /** The exit codes besides `COMMON_EXITS`. */
  readonly exits: readonly ExitName[];
  /** The columns of the command's table or object; none if it prints neither. */
  readonly columns: readonly Pick<ColumnLayout, 'header'>[];
  /** All token scopes that the command may need. */
  readonly scopes: readonly Scope[];
  /** Complete command lines that work as written, each with a description. */
  readonly examples: readonly { readonly line: string; readonly does: string }[];
}

/** The definition that a command file passes to `command()`. `Input` is the type of its validated arguments. */
export interface CommandSpec<Input>
  extends Pick<CommandHelp, 'description' | 'exits' | 'examples'>,
    Partial<Pick<CommandHelp, 'args' | 'flags' | 'inputs' | 'required' | 'columns' | 'scopes'>> {
  /** Validates the arguments. Pure. @throws UsageError */
  parse(args: Args): Input;
  /** Whether the command writes to the service. A command that defines this gets --confirm, for protected profiles. */
  writes?(input: Input): boolean;
  run(context: Context, input: Input): Promise<CommandResult>;
}

/** A command with validated arguments. */
interface PreparedCommand {
  readonly run: (context: Context) => Promise<CommandResult>;
}

/** A runnable command. */
export interface Command extends CommandHelp {
  /** Validates the arguments. @throws UsageError */
  prepare(args: Args): PreparedCommand;
}

const CONFIRM_FLAG: FlagSpec = {
  usage: '--confirm <profile>',
  description: 'confirm a write with the name of the protected profile, instead of at a prompt',
};

/** Defines a command. A command returns its result; it never prints it, exits, or checks the output format. */
export function command<Input>(spec: CommandSpec<Input>): Command {
  const { description, args = [], flags = [], inputs = [], required = [], columns = [] } = spec;
  const { scopes = [], exits, examples } = spec;
  return {
    description,
    args,
    flags: spec.writes ? [...flags, CONFIRM_FLAG] : flags,
    inputs,
    required,
    exits,
    columns,
    scopes,
    examples,
    prepare(typed) {
      const input = spec.parse(typed);
      const isWrite = spec.writes?.(input) ?? false;
      return {
        async run(context) {
          if (isWrite) await context.confirmWrite(typed.value('confirm'));
          return spec.run(context, input);
        },
      };
    },
  };
}

export { SERVICE_EXITS } from './leaf.ts';
