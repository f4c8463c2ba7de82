import { type Command, InvalidArgumentError, Option } from '@commander-js/extra-typings';
import { DEFAULT_RETRIES } from '../config/service-flags.ts';
import { OUTPUT_FORMATS } from '../output/command-result.ts';
import { parseDuration } from '../platform/clock.ts';

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

/** Adds the options that are accepted before and after every command. The topic `output` shows them. */
export function addGlobalOptions(program: Command) {
  const withOptions = program
    .option('--profile <profile>', 'use this profile (PARTNER_PROFILE)')
    .option('--base-url <url>', 'base URL of the service, ending in /v1 (PARTNER_BASE_URL)')
    .option('--token-file <path>', 'a file with the token, or - for standard input (PARTNER_TOKEN: the token itself)')
    .addOption(
      new Option('-o, --output <format>', 'format (PARTNER_OUTPUT); table, or tsv in a pipe').choices(OUTPUT_FORMATS),
    )
    .option('--query <JMESPath>', 'print only what this expression selects from the JSON output')
    .option('--wide', 'table: shorten nothing, and show exact times', false)
    .option('-q, --quiet', 'hide progress and notices', false)
    .option('-v, --verbose', 'log a line per request to stderr', false)
    .option('--debug', 'also log headers and bodies, with secrets redacted', false)
    .addOption(
      new Option('--color <when>', 'when to use colors (NO_COLOR, FORCE_COLOR)')
        .choices(['auto', 'always', 'never'])
        .default('auto'),
    )
    .option('--no-input', 'never ask questions')
    .option('--timeout <duration>', 'time limit of the whole command: 500ms, 30s, 2m, 1h', duration)
    // No value by default: without one, a tail that does not follow retries by time, not by number.
    .option('--retries <n>', `how often to repeat a failed safe call (default: ${DEFAULT_RETRIES})`, integer(0, 20))
    .option('--state <address>', 'the state: a file, postgres://…, or git+ssh://…#branch (PARTNER_STATE)');
  for (const option of program.options) if (option.long !== '--version') option.hideHelp();
  return withOptions;
}

/** The global options as commander parses them: one that is not set is absent, or has its default. */
export type GlobalFlags = Readonly<ReturnType<ReturnType<typeof addGlobalOptions>['opts']>>;

/** What `<space>` and `--space` take. */
export const SPACE_HELP = 'a space_id, ext:<external_space_id>, or name:<name>';

/** What `--agent` takes. */
export const AGENT_HELP = 'an agent_id, or name:<name> with --space';

/** Confirms a write through a protected profile: `context.prompts.confirmWrite` takes its value before anything is sent. */
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
