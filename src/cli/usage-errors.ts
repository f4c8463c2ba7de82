import type { CommanderError } from 'commander';
import { type ErrorInfo, UsageError } from '../errors.ts';
import { suggest } from '../yaml/suggest.ts';
import { formatUsage, summaryTakenHint } from './command.ts';
import type { SelectedCommand } from './command-tree.ts';
import { HELP_TOPICS } from './help-topics.ts';
import { COMMANDS, GLOBAL_FLAGS, GROUPS } from './registry.ts';

/** Commands of other tools, and the command that does the same here. */
const SYNONYMS: Readonly<Record<string, string>> = {
  apply: 'provision',
  auth: 'login',
  call: 'api',
  'chat history': 'chat tail',
  'chat list': 'chat watch --no-follow',
  'chat ls': 'chat watch --no-follow',
  config: 'profile',
  'contract delete': 'contract unset',
  'contract remove': 'contract unset',
  'contract rm': 'contract unset',
  deploy: 'provision',
  describe: 'agents list',
  diff: 'plan',
  follow: 'chat tail',
  import: 'contract import',
  jobs: 'cron list',
  logs: 'chat tail',
  ls: 'spaces list',
  message: 'chat send',
  preview: 'plan',
  'profile add': 'login',
  'profile create': 'login',
  'profile delete': 'profile remove',
  'profile rm': 'profile remove',
  put: 'upload',
  schedule: 'cron create',
  'sign-in': 'login',
  signin: 'login',
  signout: 'logout',
  status: 'whoami',
  validate: 'provision --check',
  workspaces: 'spaces list',
};

/** Flags of other tools, and those that do the same here: the first one that the command has. */
const FLAG_SYNONYMS: Readonly<Record<string, string | readonly string[]>> = {
  '--auto-approve': '--yes',
  '--body': '--data',
  '--cron': '--schedule',
  '--endpoint': '--base-url',
  '--filter': '--query',
  '--format': '--output',
  '--host': '--base-url',
  '--jmespath': '--query',
  '--jq': '--query',
  '--json': '--output json',
  '--message': '--text',
  '--no-color': '--color never',
  '--output-format': '--output',
  '--parallel': '--concurrency',
  '--parallelism': '--concurrency',
  '--tz': '--timezone',
  '--url': ['--forward-to', '--to', '--base-url'],
};

/** Flags of other tools for what is an argument here, by a word in the usage of the argument. */
const ARGUMENT_FLAGS = [
  { arg: 'file', flags: ['-f', '--file', '--filename'], hint: 'Give files as arguments, without a flag.' },
  { arg: 'text', flags: ['-m', '--message', '--text'], hint: 'Give the text as an argument, without a flag.' },
] as const;

/** Commands of other tools that the service has no call for. */
const IMPOSSIBLE: Readonly<Record<string, string>> = {
  delete: 'The service has no call that deletes, and none that changes what exists.',
  destroy: 'The service has no call that deletes, and none that changes what exists.',
  remove: 'The service has no call that deletes, and none that changes what exists.',
  rm: 'The service has no call that deletes, and none that changes what exists.',
  update: 'The service has no call that changes what exists. `partnerctl plan` shows what differs.',
};

/** Returns the closest name: the only one that starts with the word, else one within a few edits. */
function closest(word: string, names: readonly string[]): string | undefined {
  const begins = names.filter((name) => word.length > 1 && name.startsWith(word.toLowerCase()));
  return begins.length === 1 ? begins[0] : (suggest(word, names) ?? begins[0]);
}

function helpHint(commandPath: string, what: string): string {
  return `Run \`${['partnerctl', commandPath, '--help'].filter((part) => part !== '').join(' ')}\` for ${what}.`;
}

function commandsOf(group: string): readonly string[] {
  const prefix = `${group} `;
  return COMMANDS.flatMap(({ commandPath }) =>
    commandPath.startsWith(prefix) ? [commandPath.slice(prefix.length)] : [],
  );
}

/** Returns what an unknown command may mean, or why there is no such command. */
function suggestCommand(word: string, group: string | undefined): string | undefined {
  const names = group === undefined ? COMMANDS.map(({ commandPath }) => commandPath.split(' ')[0] ?? '') : [];
  const commands = group === undefined ? [...new Set(names)] : commandsOf(group);
  const near = word === 'ls' && commands.includes('list') ? 'list' : closest(word, commands);
  if (near !== undefined) return `Did you mean ${near}?`;
  const typed = group === undefined ? word : `${group} ${word}`;
  if (Object.hasOwn(SYNONYMS, typed)) return `Did you mean \`partnerctl ${SYNONYMS[typed]}\`?`;
  return Object.hasOwn(IMPOSSIBLE, word) ? IMPOSSIBLE[word] : undefined;
}

/** The long names of the flags that a command accepts. */
function knownFlags(selected: SelectedCommand | undefined): readonly string[] {
  const own = selected?.command.flags ?? [];
  return [...own, ...GLOBAL_FLAGS, { usage: '--help' }, { usage: '--version' }].flatMap(
    ({ usage }) => usage.match(/--[\w-]+/g) ?? [],
  );
}

/** Whether a flag follows a command to run that -- does not precede. */
function followsInnerCommand(flag: string, argv: readonly string[]): boolean {
  const args = argv.slice(argv.indexOf('run') + 1);
  const before = args.slice(0, args.indexOf(flag));
  const isValue = (index: number) => before[index - 1]?.startsWith('-');
  return !before.includes('--') && before.some((arg, index) => !arg.startsWith('-') && !isValue(index));
}

/** Returns what an unknown flag may mean: a known one, or an argument. */
function suggestFlag(flag: string, selected: SelectedCommand | undefined, argv: readonly string[]): string | undefined {
  const known = knownFlags(selected);
  const [arg] = selected?.command.args ?? [];
  const isRun = arg?.usage === '<command...>';
  if (isRun && followsInnerCommand(flag, argv)) return 'Put -- before the command.';
  const argument = ARGUMENT_FLAGS.find(
    (each) => arg?.usage.includes(each.arg) && each.flags.some((name) => name === flag),
  );
  if (argument) return argument.hint;
  const synonyms = Object.hasOwn(FLAG_SYNONYMS, flag) ? [FLAG_SYNONYMS[flag] ?? []].flat() : [];
  const near = synonyms.find((each) => known.includes(each.split(' ')[0] ?? '')) ?? closest(flag, known);
  if (near !== undefined) return `Did you mean ${near}?`;
  if (isRun) return argv.includes('--') ? undefined : 'Put -- before the command.';
  const isLikeFlag = /^(--[\w-]+|-\w)$/.test(flag);
  return arg && !isLikeFlag ? 'Put -- before an argument that begins with a hyphen.' : undefined;
}

/** Suggests a choice for an invalid value of a flag. @param text commander's message about the value */
function suggestChoice(text: string): string | undefined {
  const [, value = '', choices = ''] = /argument '(.*)' is invalid\. Allowed choices are (.*)\.$/s.exec(text) ?? [];
  const near = closest(value, choices.split(', '));
  return near && `Did you mean ${near}?`;
}

/** Explains the usage of a command whose arguments are missing. */
function explainMissing({ entry: { commandPath }, command }: SelectedCommand, argv: readonly string[]): ErrorInfo {
  const [example] = command.examples;
  const next = argv.includes('--summary') ? argv[argv.indexOf('--summary') + 1] : undefined;
  const taken = next?.startsWith('-') ? undefined : next;
  const hints = [
    ...(taken === undefined ? [] : [summaryTakenHint(taken)]),
    ...(example ? [`For example: ${example.line}`] : []),
    helpHint(commandPath, 'its arguments and flags'),
  ];
  return { why: `Usage: ${formatUsage(commandPath, command.args)}`, hint: hints.join('\n') };
}

/**
 * Converts commander's error to a UsageError.
 * @param operands the arguments that are neither flags nor values of global flags
 */
export function toUsageError(
  error: CommanderError,
  operands: readonly string[],
  selected: SelectedCommand | undefined,
  argv: readonly string[],
): UsageError {
  // The value of an unknown flag may be a token.
  const text = error.message
    .replace(/^error: /, '')
    .replace(/^(unknown option '[^=]*)=.*'/is, "$1'")
    .replace(/^(unknown option '-\w)\w+'/i, "$1…'");
  const message = `${text.charAt(0).toUpperCase()}${text.slice(1)}${/[.?!]$/.test(text) ? '' : '.'}`;
  const quoteHint = selected?.command.args.at(-1)?.quoteHint;
  if (error.code === 'commander.excessArguments' && quoteHint) return new UsageError(message, { hint: quoteHint });
  const group = Object.hasOwn(GROUPS, operands[0] ?? '') ? operands[0] : undefined;
  const help = selected
    ? helpHint(selected.entry.commandPath, 'its arguments and flags')
    : helpHint(group ?? '', 'the list of commands');
  if (selected && error.code === 'commander.missingArgument')
    return new UsageError(message, explainMissing(selected, argv));
  const [, word = ''] = /'(.*)'/s.exec(text) ?? [];
  // Commander does not know a flag without a value by `--ensure=true`.
  if (error.code === 'commander.unknownOption' && knownFlags(selected).includes(word)) {
    return new UsageError(`${word} takes no value.`, { hint: help });
  }
  const suggestions: Readonly<Record<string, () => string | undefined>> = {
    'commander.unknownCommand': () => suggestCommand(word, group),
    'commander.invalidArgument': () => suggestChoice(text),
    'commander.unknownOption': () => suggestFlag(word, selected, argv),
  };
  const suggestion = suggestions[error.code]?.();
  return new UsageError(message, { hint: suggestion === undefined ? help : `${suggestion} ${help}` });
}

/** Creates the error for a group without a command, which lists the group's commands. */
export function commandMissing(operands: readonly string[]): UsageError {
  const [group = ''] = operands;
  const commands = COMMANDS.filter(({ commandPath }) => commandPath.startsWith(`${group} `));
  const width = Math.max(...commands.map(({ commandPath }) => commandPath.length));
  const lines = commands.map(({ commandPath, summary }) => `${commandPath.padEnd(width)}  ${summary}`);
  return new UsageError('A command is missing.', {
    ...(lines.length > 0 && { why: lines.join('\n') }),
    hint: helpHint(operands.join(' '), 'the list of commands'),
  });
}

/** Creates the error of `partnerctl help` for an unknown topic or command. It suggests the most similar name. */
export function unknownTopicError(operands: readonly string[]): UsageError {
  const typed = operands.join(' ');
  const names = [
    ...HELP_TOPICS.map(({ name }) => name),
    ...Object.keys(GROUPS),
    ...COMMANDS.map(({ commandPath }) => commandPath),
  ];
  const near = closest(typed, names);
  return new UsageError(`There is no command or help topic ${JSON.stringify(typed)}.`, {
    hint: `${near === undefined ? '' : `Did you mean ${near}? `}Run \`partnerctl help\` to list commands and topics.`,
  });
}
