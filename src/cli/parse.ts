import { Argument, Command as Commander, CommanderError, Option } from 'commander';
import { UsageError } from '../errors.ts';
import type { Args, Command, FlagSpec } from './command.ts';
import { findTopic, type HelpTopic, topicList, topicsOf } from './help-topics.ts';
import { COMMANDS, type CommandEntry, GLOBAL_FLAGS, GROUPS } from './registry.ts';

/** A command with what was given to it and to the program. */
export interface ParsedCommand {
  readonly kind: 'command';
  readonly commandPath: string;
  readonly command: Command;
  readonly args: Args;
  readonly globals: Args;
}

/** What was typed, understood: a command, a help topic, or help and the version, whose text is the answer. */
export type Parsed =
  | ParsedCommand
  | { readonly kind: 'topic'; readonly topic: HelpTopic }
  | { readonly kind: 'text'; readonly text: string };

type Values = Readonly<Record<string, unknown>>;

function camelCase(flag: string): string {
  return flag.replace(/-(\w)/g, (_, letter: string) => letter.toUpperCase());
}

function toOption({ usage, description, default: fallback, choices, repeatable }: FlagSpec): Option {
  const option = new Option(usage, fallback === undefined ? description : `${description} (default: ${fallback})`);
  if (choices) option.choices([...choices]);
  if (repeatable)
    option.argParser((value: string, previous: unknown) => [...(Array.isArray(previous) ? previous : []), value]);
  return option;
}

function wordsOf(positionals: readonly string[], values: Values): Args {
  const text = (flag: string): string | undefined => {
    const value = values[camelCase(flag)];
    return typeof value === 'string' ? value : undefined;
  };
  return {
    positionals,
    isSet: (flag) => values[camelCase(flag)] === true,
    value: text,
    required(flag) {
      const value = text(flag);
      if (value) return value;
      throw new UsageError(value === '' ? `--${flag} is empty.` : `--${flag} is missing.`);
    },
    values(flag) {
      const value = values[camelCase(flag)];
      return Array.isArray(value) ? value.filter((item) => typeof item === 'string') : [];
    },
    count(flag, { min, max, fallback }) {
      const value = text(flag);
      if (value === undefined) return fallback;
      const number = Number(value);
      if (/^\d+$/.test(value) && number >= min && number <= max) return number;
      throw new UsageError(`--${flag} takes a whole number from ${min} to ${max}, not ${JSON.stringify(value)}.`);
    },
  };
}

/** The parser, and what it made of the words. */
interface Reader {
  readonly root: Commander;
  /** Where help and version go. */
  readonly written: string[];
  result: { positionals: readonly string[]; values: Values; globals: Values } | undefined;
}

function configure(commander: Commander, written: string[], columns: number): Commander {
  return commander
    .exitOverride()
    .configureOutput({
      writeOut: (text) => written.push(text),
      writeErr: () => undefined,
      getOutHelpWidth: () => columns,
    })
    .configureHelp({ showGlobalOptions: true, sortSubcommands: false, minWidthToWrap: 16 })
    .helpOption('-h, --help', 'show this help');
}

function examplesText({ examples }: Command): string {
  const lines = examples.map(({ line, does }) => `  # ${does}\n  $ ${line}`);
  return lines.length === 0 ? '' : `\nExamples:\n${lines.join('\n\n')}\n`;
}

function fillLeaf(leaf: Commander, entry: CommandEntry, command: Command, reader: Reader): void {
  leaf.description(command.description);
  for (const { usage, description } of command.args) leaf.addArgument(new Argument(usage, description));
  for (const flag of command.flags) leaf.addOption(toOption(flag));
  leaf.addHelpText('after', examplesText(command) + topicsOf(entry.commandPath.split(' ')[0] ?? ''));
  leaf.action((...received: unknown[]) => {
    const positionals = received
      .slice(0, command.args.length)
      .flat()
      .filter((word) => typeof word === 'string');
    reader.result = { positionals, values: leaf.opts(), globals: reader.root.opts() };
  });
}

/** All commands for the list, with the arguments and flags of the one that is called. */
function buildTree(
  { version, columns }: ParseOptions,
  called: CommandEntry | undefined,
  command: Command | undefined,
  group: string | undefined,
): Reader {
  const written: string[] = [];
  const root = configure(new Commander('partnerctl'), written, columns);
  const reader: Reader = { root, written, result: undefined };
  root
    .description(
      'Provision customer workspaces from YAML and talk to automation agents over the Partner Automation API.',
    )
    .version(version, '--version', 'show the version')
    .helpCommand('help [topic|command]', 'Show the help of a command, or a help topic')
    .addHelpText(
      'after',
      `${topicList()}\nTry it with no account:\n  $ partnerctl sandbox run -- partnerctl spaces list\n`,
    );
  for (const flag of GLOBAL_FLAGS) root.addOption(toOption(flag));
  // What a command is called below inherits how the root is configured.
  const groups = new Map<string, Commander>();
  for (const entry of COMMANDS) {
    const [first = '', second] = entry.commandPath.split(' ');
    let parent = root;
    if (second !== undefined) {
      parent =
        groups.get(first) ??
        root
          .command(first)
          .description(GROUPS[first] ?? '')
          .helpCommand(false)
          .addHelpText('after', topicsOf(first));
      groups.set(first, parent);
      // Building commands takes time; those of a group that is not asked for are not seen.
      if (first !== group) continue;
    }
    const leaf = parent
      .command(second ?? first)
      .summary(entry.summary)
      .description(entry.summary);
    if (entry === called && command) fillLeaf(leaf, entry, command, reader);
  }
  return reader;
}

/** Commander's complaint as one of ours. */
function usageError(error: CommanderError, argv: readonly string[], entry: CommandEntry | undefined): UsageError {
  // What stands behind an unknown flag may be a token.
  const said = error.message
    .replace(/^error: /, '')
    .replace(/^(unknown option '[^=]*)=.*'/is, "$1'")
    .replace(/^(unknown option '-\w)\w+'/i, "$1'");
  const [first = '', ...rest] = said.split('\n');
  const suggestion = rest
    .join(' ')
    .trim()
    .replace(/^\(|\)$/g, '');
  const [group = ''] = commandArgs(argv);
  const words = entry?.commandPath ?? (Object.hasOwn(GROUPS, group) ? group : '');
  const help = `Run \`${['partnerctl', words, '--help'].filter((word) => word !== '').join(' ')}\` for what there is.`;
  const message = `${first.charAt(0).toUpperCase()}${first.slice(1)}${/[.?!]$/.test(first) ? '' : '.'}`;
  return new UsageError(message, { hint: suggestion === '' ? help : `${suggestion} ${help}` });
}

function commandMissing(argv: readonly string[]): UsageError {
  const help = ['partnerctl', ...commandArgs(argv), '--help'].join(' ');
  return new UsageError('A command is missing.', { hint: `Run \`${help}\` for what there is.` });
}

export interface ParseOptions {
  readonly version: string;
  /** How wide help may be. */
  readonly columns: number;
}

/**
 * Reads the words typed.
 * @param typed the arguments, without node and the script
 * @throws UsageError for what is not understood, with a suggestion where one is near
 */
export async function parse(typed: readonly string[], options: ParseOptions): Promise<Parsed> {
  refuseTokenFlag(typed);
  if (typed[0] === 'help') {
    const topicOrCommand = commandArgs(typed.slice(1));
    const topic = findTopic(topicOrCommand);
    if (topic) return { kind: 'topic', topic };
    if (!isKnown(topicOrCommand)) throw (await import('./help-text.ts')).unknownTopic(topicOrCommand);
  }
  // The parser's own `help` looks one word deep, and command lines here have two.
  const asked = typed[0] === 'help' ? [...typed.slice(1), '--help'] : typed;
  // Asked for help on what there is not, it should say so.
  const argv = isKnown(asked) ? asked : asked.filter((word) => word !== '--help' && word !== '-h');
  const entry = findEntry(argv);
  const command = entry ? (await entry.load()).default : undefined;
  const reader = buildTree(options, entry, command, commandArgs(argv)[0] ?? argv[argv.indexOf('--') + 1]);
  try {
    await reader.root.parseAsync(argv.length === 0 ? ['--help'] : argv, { from: 'user' });
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    if (error.exitCode === 0) return { kind: 'text', text: reader.written.join('') };
    if (error.code === 'commander.help') throw commandMissing(argv);
    throw usageError(error, argv, entry);
  }
  if (!entry || !command || !reader.result) throw commandMissing(argv);
  const { positionals, values, globals } = reader.result;
  return {
    kind: 'command',
    commandPath: entry.commandPath,
    command,
    args: wordsOf(positionals, values),
    globals: wordsOf([], globals),
  };
}

/** The global flags that take a value, in every spelling. */
const FLAGS_WITH_VALUE = new Set(
  GLOBAL_FLAGS.filter(({ usage }) => usage.includes('<')).flatMap(({ usage }) => usage.match(/--?[\w-]+/g) ?? []),
);

/** Whether the word after this one is its value: `--output`, `-o`, and `-qo`, but not `-ojson`. */
function takesNextWord(word: string): boolean {
  if (!/^-\w/.test(word)) return FLAGS_WITH_VALUE.has(word);
  const letters = [...word.slice(1)];
  return letters.findIndex((letter) => FLAGS_WITH_VALUE.has(`-${letter}`)) === letters.length - 1;
}

/** The words of argv that could be a command's, global flags and their values left out. */
export function commandArgs(argv: readonly string[]): string[] {
  const words: string[] = [];
  for (let index = 0; index < argv.length; index += 1) {
    const word = argv[index] ?? '';
    if (word === '--') break;
    if (takesNextWord(word)) index += 1;
    else if (!word.startsWith('-')) words.push(word);
  }
  return words;
}

/** Whether the words could be the beginning of a command. */
export function isKnown(argv: readonly string[]): boolean {
  const words = commandArgs(argv);
  return COMMANDS.some((entry) => entry.commandPath.split(' ').every((word, index) => (words[index] ?? word) === word));
}

/** The command that is called, where the words begin with all of its own. */
export function findEntry(argv: readonly string[]): CommandEntry | undefined {
  const words = commandArgs(argv);
  return COMMANDS.find((entry) => entry.commandPath.split(' ').every((word, index) => words[index] === word));
}

/** Refuses a token on the command line by the flag's name, before anything can repeat its value. @throws UsageError */
export function refuseTokenFlag(argv: readonly string[]): void {
  const end = argv.indexOf('--');
  const own = end === -1 ? argv : argv.slice(0, end);
  if (own.some((word) => word === '--token' || word.startsWith('--token='))) {
    throw new UsageError('There is no --token flag.', {
      why: 'Every user of this machine can read the arguments of a running command, and shells keep them in their history.',
      hint: 'Set PARTNER_TOKEN, give --token-file <path> (or - for standard input), or store it with `partnerctl login`.',
    });
  }
}
