import type { CommandResult } from '../output/command-result.ts';
import type { Context } from './context.ts';

interface ArgumentSpec {
  /** As in usage: `<space>`, `[file]`, `<file...>`. */
  readonly usage: string;
  readonly description: string;
}

export interface FlagSpec {
  /** As in usage: `--dry-run`, `--concurrency <n>`, `-f, --file <path>`. */
  readonly usage: string;
  readonly description: string;
  /** Shown in help; the command applies it itself where the value is absent. */
  readonly default?: string;
  readonly choices?: readonly string[];
  /** May be given several times; all values count. */
  readonly repeatable?: boolean;
}

/** What the parser hands to a command: positional words and flag values, still as text. */
export interface Args {
  readonly positionals: readonly string[];
  /** Whether a flag without a value was given. For `--no-x`, ask for `x`: false when negated. */
  isSet(flag: string): boolean;
  /** The value of a flag, or undefined when it was not given. */
  value(flag: string): string | undefined;
  /** The value of a flag that has to be given. A UsageError names the flag where it is missing or empty. */
  required(flag: string): string;
  /** Every value of a repeatable flag, in order. */
  values(flag: string): readonly string[];
  /** A flag's value as a whole number within bounds. Anything else is a UsageError that names the flag. */
  count(flag: string, bounds: { min: number; max: number; fallback: number }): number;
}

/** How a command is written: its input has a type of its own. */
export interface CommandSpec<Input> {
  readonly description: string;
  readonly args?: readonly ArgumentSpec[];
  readonly flags?: readonly FlagSpec[];
  /** Whole command lines that work as written, each with what it does. */
  readonly examples: readonly { readonly line: string; readonly does: string }[];
  /** Turns words into input. Pure; throws UsageError. */
  parse(words: Args): Input;
  run(context: Context, input: Input): Promise<CommandResult>;
}

/** How the program sees a command: first the words are checked, then it runs. */
export interface Command {
  readonly description: string;
  readonly args: readonly ArgumentSpec[];
  readonly flags: readonly FlagSpec[];
  readonly examples: readonly { readonly line: string; readonly does: string }[];
  /** @throws UsageError */
  prepare(words: Args): (context: Context) => Promise<CommandResult>;
}

/**
 * Declares a command: how it is typed, what it does, what it answers. It parses, calls, and returns data;
 * it never prints, exits, or asks which output format is on.
 */
export function command<Input>(spec: CommandSpec<Input>): Command {
  const { description, args = [], flags = [], examples } = spec;
  return {
    description,
    args,
    flags,
    examples,
    prepare(words) {
      const input = spec.parse(words);
      return (context) => spec.run(context, input);
    },
  };
}
