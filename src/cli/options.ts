import { type CommandUnknownOpts, InvalidArgumentError, Option } from '@commander-js/extra-typings';
import ms, { type StringValue } from 'ms';
import { UsageError } from '../errors.ts';
import { suggest } from '../platform/suggest.ts';

/** A parser of an option's value. It throws `InvalidArgumentError` with what the option takes: `takes a whole number`. */
export interface ValueParser<Value> {
  (text: string): Value;
  /** For `help -o json`. */
  readonly type: 'integer' | 'duration';
}

/** A whole number within bounds. */
export function integer(min: number, max: number): ValueParser<number> {
  const parse = (text: string): number => {
    const value = Number(text);
    if (/^\d+$/.test(text) && value >= min && value <= max) return value;
    throw new InvalidArgumentError(`takes a whole number from ${min} to ${max}`);
  };
  return Object.assign(parse, { type: 'integer' as const });
}

function isDuration(text: string): text is StringValue {
  return /^\d+(\.\d+)?(ms|s|m|h)$/.test(text);
}

/**
 * Parses a duration such as `500ms`, `30s`, `2m`, `1.5h`.
 * @returns milliseconds, or undefined if the text is not a duration
 */
export function parseDuration(text: string): number | undefined {
  return isDuration(text) ? ms(text) : undefined;
}

/** A duration of more than 0, in milliseconds. */
export const duration: ValueParser<number> = Object.assign(
  (text: string): number => {
    const value = parseDuration(text);
    if (value !== undefined && value > 0) return value;
    throw new InvalidArgumentError('takes a duration such as 500ms, 30s, 2m, or 1h');
  },
  { type: 'duration' as const },
);

/** Keeps all values of an option that may be given several times. Its default is `[]`. */
export function collect(text: string, previous: readonly string[]): string[] {
  return [...previous, text];
}

/** What `<space>` and `--space` take. */
export const SPACE_HELP = 'a space_id, ext:<external_space_id>, or name:<name>';

/** What `--agent` takes. */
export const AGENT_HELP = 'an agent_id, or name:<name> with --space';

/** Confirms a write through a protected profile: pass its value to `context.confirmWrite` before anything is sent. */
export function confirmOption() {
  return new Option(
    '--confirm <profile>',
    'confirm a write with the name of the protected profile, instead of at a prompt',
  );
}

/** Writes a report for the page of a CI run; `runCommand` does it. */
export function summaryOption() {
  return new Option('--summary', 'write a summary in Markdown to the page of the run; the default in GitHub Actions');
}

/** Where the report goes instead; for other systems than GitHub Actions. */
export function summaryFileOption() {
  return new Option('--summary-file <path>', 'write the summary to this file');
}

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

/** Formats names as alternatives: `table, json, or tsv`. */
export function alternatives(names: readonly string[]): string {
  return new Intl.ListFormat('en-US', { type: 'disjunction' }).format(names);
}

/** @throws UsageError if the value is empty or not one of the choices */
function refuseValue(option: Option, text: string): void {
  const name = optionName(option);
  if (text === '') {
    throw new UsageError(`${name} is empty.`, { hint: 'Check the shell variable it comes from.' });
  }
  const { argChoices } = option;
  if (argChoices === undefined || argChoices.includes(text)) return;
  const near = suggest(text, argChoices);
  throw new UsageError(`${name} takes ${alternatives(argChoices)}, not ${JSON.stringify(text)}.`, {
    hint: near && `Did you mean ${near}?`,
  });
}

/**
 * Makes the option refuse an empty value, an unknown choice, and a second value, which commander would let replace the first.
 * @param onProblem receives the first problem, a UsageError that names the option; parsing goes on
 */
function checkValues(option: Option, onProblem: (problem: unknown) => void): void {
  if (valueName(option) === undefined) return;
  const { parseArg } = option;
  const name = optionName(option);
  let isGiven = false;
  const parse = (text: string, previous: unknown): unknown => {
    if (isGiven && !isRepeatable(option)) {
      throw new UsageError(`${name} is given twice.`, { hint: 'Give it once.' });
    }
    isGiven = true;
    refuseValue(option, text);
    return parseArg && !option.argChoices ? parseArg(text, previous) : text;
  };
  const type = parseArg && 'type' in parseArg ? { type: parseArg.type } : {};
  const checked = (text: string, previous: unknown): unknown => {
    try {
      return parse(text, previous);
    } catch (error) {
      const isInvalid = error instanceof InvalidArgumentError;
      onProblem(isInvalid ? new UsageError(`${name} ${error.message}, not ${JSON.stringify(text)}.`) : error);
      return previous;
    }
  };
  option.argParser(Object.assign(checked, type));
}

/** Makes all options of a command check their values. Call it once for each parsing. */
export function checkOptionValues(command: CommandUnknownOpts, onProblem: (problem: unknown) => void): void {
  for (const option of command.options) checkValues(option, onProblem);
}
