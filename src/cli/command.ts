import type { CommandResult } from '../output/command-result.ts';
import type { Context } from './context.ts';

interface ArgumentSpec {
  /** As in usage: `<space>`, `[file]`, `<file...>`. */
  readonly usage: string;
  readonly description: string;
  /** The hint for text that the shell split into several arguments. */
  readonly quoteHint?: string;
}

export interface FlagSpec {
  /** As in usage: `--dry-run`, `--concurrency <n>`, `-f, --file <path>`. */
  readonly usage: string;
  readonly description: string;
  /** Shown in help. The command itself applies it. */
  readonly default?: string;
  readonly choices?: readonly string[];
  /** Whether the flag can be given several times. */
  readonly repeatable?: boolean;
}

/** What a command was called with: positional arguments and flag values, still as text. */
export interface Args {
  readonly positionals: readonly string[];
  /** Whether a flag without a value was given. For `--no-x`, ask for `x`: false if negated. */
  isSet(flag: string): boolean;
  /** The value of a flag, or undefined. */
  value(flag: string): string | undefined;
  /** The value of a mandatory flag. @throws UsageError with `hint` if it is missing or empty */
  required(flag: string, hint?: string): string;
  /** Every value of a repeatable flag, in order. */
  values(flag: string): readonly string[];
  /** The value of a flag as a whole number. @throws UsageError if it is out of bounds or no number */
  count(flag: string, bounds: { min: number; max: number; fallback: number }): number;
  /** The value of a flag in milliseconds, more than 0; undefined if it is not given. @throws UsageError */
  duration(flag: string): number | undefined;
}

interface CommandHelp {
  readonly description: string;
  readonly args: readonly ArgumentSpec[];
  readonly flags: readonly FlagSpec[];
  /** Complete command lines that work as written, each with what it does. */
  readonly examples: readonly { readonly line: string; readonly does: string }[];
}

/** What a command file exports to `command()`. `Input` is the checked form of its arguments. */
export interface CommandSpec<Input>
  extends Pick<CommandHelp, 'description' | 'examples'>,
    Partial<Pick<CommandHelp, 'args' | 'flags'>> {
  /** Checks the arguments. Pure. @throws UsageError */
  parse(args: Args): Input;
  run(context: Context, input: Input): Promise<CommandResult>;
}

/** A command as the program runs it: first `prepare` checks the arguments, then the returned function acts. */
export interface Command extends CommandHelp {
  /** @throws UsageError */
  prepare(args: Args): (context: Context) => Promise<CommandResult>;
}

/** Declares a command. It parses, calls, and returns data; it never prints, exits, or asks for the output format. */
export function command<Input>(spec: CommandSpec<Input>): Command {
  const { description, args = [], flags = [], examples } = spec;
  return {
    description,
    args,
    flags,
    examples,
    prepare(typed) {
      const input = spec.parse(typed);
      return (context) => spec.run(context, input);
    },
  };
}
