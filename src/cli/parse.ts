import { CommanderError } from 'commander';
import { UsageError } from '../errors.ts';
import { createArgs } from './args.ts';
import type { Args, Command } from './command.ts';
import { buildCommandTree, type SelectedCommand } from './command-tree.ts';
import { findTopic, type HelpTopic } from './help-topics.ts';
import { COMMANDS, type CommandEntry, GLOBAL_FLAGS } from './registry.ts';

/** A command with its arguments and the global flags. */
export interface ParsedCommand {
  readonly kind: 'command';
  readonly commandPath: string;
  readonly command: Command;
  readonly args: Args;
  readonly globals: Args;
}

/** A parsed command line: a command to run, a help topic to show, or a text to print (help or the version). */
export type ParseResult =
  | ParsedCommand
  | { readonly kind: 'topic'; readonly topic: HelpTopic }
  | { readonly kind: 'text'; readonly text: string };

export interface ParseOptions {
  readonly version: string;
  /** The width to wrap help at, in columns. */
  readonly columns: number;
}

/** The global flags that take a value, in both long and short form. */
const FLAGS_WITH_VALUE = new Set(
  GLOBAL_FLAGS.filter(({ usage }) => usage.includes('<')).flatMap(({ usage }) => usage.match(/--?[\w-]+/g) ?? []),
);

/** Returns the arguments before `--`. */
function beforeDashes(argv: readonly string[]): readonly string[] {
  const end = argv.indexOf('--');
  return end === -1 ? argv : argv.slice(0, end);
}

/** Whether the next argument is the flag's value: true for `--output`, `-o`, and `-qo`, false for `-ojson`. */
function takesNextArgument(flag: string): boolean {
  if (!/^-\w/.test(flag)) return FLAGS_WITH_VALUE.has(flag);
  const letters = [...flag.slice(1)];
  return letters.findIndex((letter) => FLAGS_WITH_VALUE.has(`-${letter}`)) === letters.length - 1;
}

/** Returns the arguments before `--` that are not flags or values of global flags. They start with the command path. */
function operandsOf(argv: readonly string[]): string[] {
  const operands: string[] = [];
  const own = beforeDashes(argv);
  for (let index = 0; index < own.length; index += 1) {
    const argument = own[index] ?? '';
    if (takesNextArgument(argument)) index += 1;
    else if (!argument.startsWith('-')) operands.push(argument);
  }
  return operands;
}

/** Whether the arguments start with a command or a group: `spaces` as well as `spaces list`. */
function beginsCommand(argv: readonly string[]): boolean {
  const operands = operandsOf(argv);
  return COMMANDS.some(({ commandPath }) =>
    commandPath.split(' ').every((name, index) => (operands[index] ?? name) === name),
  );
}

/** Returns the value of the last --output. Also works if other arguments are invalid. */
export function typedOutputFormat(argv: readonly string[]): string | undefined {
  const own = beforeDashes(argv);
  const formats = own.flatMap((argument, index) => {
    if (/^(--output|-[qv]*o)$/.test(argument)) return [own[index + 1] ?? ''];
    return /^(?:--output=|-[qv]*o)(\w+)$/.exec(argument)?.slice(1) ?? [];
  });
  return formats.at(-1);
}

/** Whether help is requested as data: in a format for programs, or with a query. */
function wantsData(argv: readonly string[]): boolean {
  const isQuery = argv.some((argument) => argument === '--query' || argument.startsWith('--query='));
  return isQuery || /^(?:(?:nd)?json|yaml)$/.test(typedOutputFormat(argv) ?? '');
}

/** Finds the command that a command line names, if there is one. */
export function findCommand(argv: readonly string[]): CommandEntry | undefined {
  const operands = operandsOf(argv);
  return COMMANDS.find(({ commandPath }) => commandPath.split(' ').every((name, index) => operands[index] === name));
}

async function selectCommand(argv: readonly string[]): Promise<SelectedCommand | undefined> {
  if (argv[0] === 'help') {
    const { helpCommand: command } = await import('./help-json.ts');
    return { entry: { commandPath: 'help', summary: '', load: async () => ({ default: command }) }, command };
  }
  const entry = findCommand(argv);
  if (!entry) return undefined;
  const { default: command } = await entry.load();
  return { entry, command };
}

/** Rejects --token before commander does, because commander's message could repeat the token. @throws UsageError */
function refuseTokenFlag(argv: readonly string[]): void {
  if (beforeDashes(argv).some((argument) => argument === '--token' || argument.startsWith('--token='))) {
    throw new UsageError('There is no --token flag.', {
      why: 'Every user of this machine can read the arguments of a running command, and shells keep them in their history.',
      hint: 'Set PARTNER_TOKEN, give --token-file <path> (or - for standard input), or store it with `partnerctl login`.',
    });
  }
}

/**
 * Parses the command line.
 * @param typed the arguments, without node and the script
 * @throws UsageError for invalid arguments, with a suggestion if an existing name is similar
 */
export async function parse(typed: readonly string[], { version, columns }: ParseOptions): Promise<ParseResult> {
  refuseTokenFlag(typed);
  let requested = typed;
  if (typed[0] === 'help' && !wantsData(typed)) {
    const operands = operandsOf(typed.slice(1));
    const topic = findTopic(operands);
    if (topic) return { kind: 'topic', topic };
    if (!beginsCommand(operands)) throw (await import('./usage-errors.ts')).unknownTopicError(operands);
    // Commander's own `help` command finds only top-level commands.
    requested = [...typed.slice(1), '--help'];
  }
  // For an unknown command, commander reports the error only without --help.
  const argv =
    requested[0] === 'help' || beginsCommand(requested)
      ? requested
      : requested.filter((argument) => argument !== '--help' && argument !== '-h');
  const selected = await selectCommand(argv);
  const printed: string[] = [];
  const found: ParsedCommand[] = [];
  const program = buildCommandTree(selected, operandsOf(argv)[0] ?? argv[argv.indexOf('--') + 1], {
    version,
    columns,
    print: (text) => printed.push(text),
    onCommand({ positionals, flags, typed: inOrder, globals }) {
      if (!selected) return;
      found.push({
        kind: 'command',
        commandPath: selected.entry.commandPath,
        command: selected.command,
        args: createArgs(positionals, flags, inOrder),
        globals: createArgs([], globals),
      });
    },
  });
  try {
    await program.parseAsync(argv.length === 0 ? ['--help'] : argv, { from: 'user' });
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    if (error.exitCode === 0) return { kind: 'text', text: printed.join('') };
    const { commandMissing, toUsageError } = await import('./usage-errors.ts');
    if (error.code === 'commander.help') throw commandMissing(operandsOf(argv));
    throw toUsageError(error, operandsOf(argv), selected, argv);
  }
  const [parsed] = found;
  if (!parsed) throw (await import('./usage-errors.ts')).commandMissing(operandsOf(argv));
  return parsed;
}
