import { type CommandUnknownOpts, InvalidArgumentError, type Option } from '@commander-js/extra-typings';
import { UsageError } from '../errors.ts';
import { parseDuration } from '../platform/clock.ts';
import { lineageOf } from './leaf.ts';

/* A parser throws `InvalidArgumentError` with what follows the option's name in the message. */

/** Parses a whole number within bounds. */
export function integer(min: number, max: number): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (/^\d+$/.test(text) && value >= min && value <= max) return value;
    throw new InvalidArgumentError(`takes a whole number from ${min} to ${max}, not ${JSON.stringify(text)}`);
  };
}

/** Parses a duration of more than 0 such as `500ms`, `30s`, `2m`, `1.5h` to milliseconds. */
export function duration(text: string): number {
  const value = parseDuration(text);
  if (value !== undefined) return value;
  throw new InvalidArgumentError(`takes a duration such as 500ms, 30s, 2m, or 1h, not ${JSON.stringify(text)}`);
}

/** Keeps all values of an option that may be given several times. Its default is `[]`. */
export function collect(text: string, previous: readonly string[]): string[] {
  return [...previous, text];
}

/** What `<space>` and `--space` take. */
export const SPACE_HELP = 'a space_id, ext:<external_space_id>, or name:<name>';

/** What `--agent` takes. */
export const AGENT_HELP = 'an agent_id, or name:<name> with --space';

/** Confirms a write through a protected profile: pass its value to `context.prompts.confirmWrite` before anything is sent. */
export const CONFIRM = ['--confirm <profile>', 'confirm a write with the name of the protected profile'] as const;

/** The spaces that a command is about: `spaceSelector` has the rule. */
export const ONLY = [
  '--only <glob>',
  'only these external_space_ids, such as acme-*; repeatable',
  collect,
  [] as string[],
] as const;

/** The spaces that `ONLY`, or else all, do not include. */
export const EXCLUDE = [
  '--exclude <glob>',
  'none of these external_space_ids; repeatable',
  collect,
  [] as string[],
] as const;

/** Where the summary goes; in GitHub Actions, by default to the page of the run. `runCommand` writes it. */
export const SUMMARY_FILE = ['--summary-file <path>', 'write a summary in Markdown to this file'] as const;

/** A file of values. */
export const VAR_FILE = [
  '--var-file <path>',
  'a YAML file of values, NAME: text; with service: <base URL>, for this one only. It wins over the environment, and --rows over it',
] as const;

/** Rows, with which manifests are read. */
export const ROWS = [
  '--rows <path>',
  'read the manifests once for each row of a CSV or .ndjson file, or of standard input (-): its columns are variables. --var wins over it',
] as const;

/** Whether an option may be given several times. */
export function isRepeatable(option: Option): boolean {
  return Array.isArray(option.defaultValue);
}

/** The name of an option's value, `n` of `--retries <n>`; undefined for a flag. */
export function valueName({ flags }: Option): string | undefined {
  return /[<[](.+)[>\]]/.exec(flags)?.[1];
}

/** The option as messages name it. */
export function optionName({ long, flags }: Option): string {
  return long ?? flags;
}

/** Wraps the parser of an option, to refuse an empty value, an unknown choice, a second value, and the next option. */
function strictParser(option: Option, command: CommandUnknownOpts, onProblem: (problem: UsageError) => void) {
  const { parseArg, argChoices } = option;
  let isGiven = false;
  return (text: string, previous: unknown): unknown => {
    try {
      if (isGiven && !isRepeatable(option)) throw new InvalidArgumentError('is given twice');
      isGiven = true;
      if (text === '') throw new InvalidArgumentError('is empty. Check the shell variable it comes from');
      if (lineageOf(command).some(({ options }) => options.some(({ long }) => long === text))) {
        throw new InvalidArgumentError(`has no value before ${text}. Check the shell variable it comes from`);
      }
      if (!argChoices) return parseArg ? parseArg(text, previous) : text;
      if (argChoices.includes(text)) return text;
      throw new InvalidArgumentError(`takes one of ${argChoices.join(', ')}, not ${JSON.stringify(text)}`);
    } catch (error) {
      if (!(error instanceof InvalidArgumentError)) throw error;
      onProblem(new UsageError(`${optionName(option)} ${error.message}.`));
      return previous;
    }
  };
}

/**
 * Makes the options of a command strict: commander would let a second value replace the first.
 * @param onProblem receives the UsageError; parsing goes on, so that -o is known when it is reported
 */
export function checkOptionValues(command: CommandUnknownOpts, onProblem: (problem: UsageError) => void): void {
  for (const option of command.options) {
    if (valueName(option) !== undefined) option.argParser(strictParser(option, command, onProblem));
  }
}
