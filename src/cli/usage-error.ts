import type { CommanderError, CommandUnknownOpts } from '@commander-js/extra-typings';
import { UsageError } from '../errors.ts';
import { suggest } from '../platform/suggest.ts';
import { toSentenceCase } from '../platform/to-sentence-case.ts';
import { HELP_TOPICS } from './help-topics.ts';
import { leavesOf, lineageOf, metaOf, pathOf } from './leaf.ts';
import { alternatives } from './options.ts';

/** Returns the closest name: the only one that starts with the word, else one within a few edits. */
function closest(word: string, names: readonly string[]): string | undefined {
  const begins = names.filter((name) => word.length > 1 && name.startsWith(word.toLowerCase()));
  return begins.length === 1 ? begins[0] : (suggest(word, names) ?? begins[0]);
}

/** What precedes a hint that helps: the name that was probably meant. */
function didYouMean(word: string, names: readonly string[]): string {
  const near = closest(word, names);
  return near === undefined ? '' : `Did you mean ${near}? `;
}

function helpHint(command: CommandUnknownOpts): string {
  const what = metaOf(command) ? 'its arguments and flags' : 'the list of commands';
  return `Run \`${['partnerctl', pathOf(command), '--help'].filter(Boolean).join(' ')}\` for ${what}.`;
}

/** The usage line of a command: `partnerctl agents list [options] <space>`. */
export function usageOf(command: CommandUnknownOpts): string {
  return ['partnerctl', pathOf(command), command.usage()].filter(Boolean).join(' ');
}

/** The error for a word that is no command of the program or the group. */
export function unknownCommand(word: string, parent: CommandUnknownOpts): UsageError {
  const names = parent.commands.map((each) => each.name());
  const near = word === 'ls' && names.includes('list') ? 'Did you mean list? ' : didYouMean(word, names);
  return new UsageError(`Unknown command ${JSON.stringify(word)}.`, { hint: near + helpHint(parent) });
}

/** The error for a group without a command, which lists the group's commands. */
function commandMissing(group: CommandUnknownOpts): UsageError {
  const width = Math.max(...group.commands.map((each) => pathOf(each).length));
  const lines = group.commands.map((each) => `${pathOf(each).padEnd(width)}  ${each.summary()}`);
  return new UsageError('A command is missing.', { why: lines.join('\n'), hint: helpHint(group) });
}

/** The error of `partnerctl help` for words that name no command and no topic. */
export function unknownTopic(words: readonly string[], program: CommandUnknownOpts): UsageError {
  const typed = words.join(' ');
  const groups = program.commands.map((each) => each.name());
  const names = [...HELP_TOPICS.map(({ name }) => name), ...groups, ...leavesOf(program).map(pathOf)];
  return new UsageError(`There is no command or help topic ${JSON.stringify(typed)}.`, {
    hint: `${didYouMean(typed, names)}Run \`partnerctl help\` to list commands and topics.`,
  });
}

/** The long names of the options that a command accepts, with those of the program. */
function acceptedNames(command: CommandUnknownOpts): readonly string[] {
  return [...lineageOf(command).flatMap(({ options }) => options.flatMap(({ long }) => long ?? [])), '--help'];
}

/** What an unknown option may mean. */
function unknownOptionHint(flag: string, command: CommandUnknownOpts): string {
  const [argument] = command.registeredArguments;
  if (argument?.name() === 'command' && !command.args.includes('--')) return 'Put -- before the command. ';
  const near = didYouMean(flag, acceptedNames(command));
  const isLikeOption = /^(--[\w-]+|-\w)$/.test(flag);
  if (near !== '' || isLikeOption || !argument) return near;
  return 'Put -- before an argument that begins with a hyphen. ';
}

/** The error for an option that the command does not have. Its value is not repeated: it may be a token. */
function unknownOption(command: CommandUnknownOpts): UsageError {
  const typed = command.args.find((word) => /^-[^\d]/.test(word)) ?? '';
  const [flag = ''] = typed.split('=');
  if (flag !== typed && acceptedNames(command).includes(flag)) {
    return new UsageError(`${flag} takes no value.`, { hint: helpHint(command) });
  }
  const shown = flag.startsWith('--') ? flag : flag.length > 2 ? `${flag.slice(0, 2)}…` : flag;
  return new UsageError(`Unknown option ${shown}.`, { hint: unknownOptionHint(flag, command) + helpHint(command) });
}

/** The error for missing arguments, with the usage and an example. */
function argumentMissing(command: CommandUnknownOpts): UsageError {
  const missing = command.registeredArguments.find(({ required }, index) => required && command.args.length <= index);
  const [example] = metaOf(command)?.examples ?? [];
  return new UsageError(`Missing argument <${missing?.name()}>.`, {
    why: `Usage: ${usageOf(command)}`,
    hint: [...(example ? [`For example: ${example[0]}`] : []), helpHint(command)].join('\n'),
  });
}

/** The error for an argument that is none of its choices. */
function invalidArgument(command: CommandUnknownOpts): UsageError | undefined {
  for (const [index, argument] of command.registeredArguments.entries()) {
    const { argChoices: choices } = argument;
    const typed = command.args[index];
    if (choices === undefined || typed === undefined || choices.includes(typed)) continue;
    return new UsageError(`<${argument.name()}> takes ${alternatives(choices)}, not ${JSON.stringify(typed)}.`, {
      hint: didYouMean(typed, choices) + helpHint(command),
    });
  }
  return undefined;
}

/** The error in commander's own words, such as `Option '--profile <name>' argument missing.` */
function otherError({ message }: CommanderError, command: CommandUnknownOpts): UsageError {
  const text = message.replace(/^error: /, '').replace(/\.$/, '');
  return new UsageError(`${toSentenceCase(text)}.`, { hint: helpHint(command) });
}

/** Converts commander's error about a command to ours. It may not repeat what was typed, which may be a token. */
export function toUsageError(error: CommanderError, command: CommandUnknownOpts): UsageError {
  switch (error.code) {
    case 'commander.help':
      return commandMissing(command);
    case 'commander.unknownOption':
      return unknownOption(command);
    case 'commander.missingArgument':
      return argumentMissing(command);
    case 'commander.excessArguments': {
      const { length } = command.registeredArguments;
      return new UsageError(
        `Too many arguments: ${pathOf(command)} takes ${length === 0 ? 'none' : length}, not ${command.args.length}.`,
        { hint: metaOf(command)?.excessHint ?? helpHint(command) },
      );
    }
    case 'commander.invalidArgument':
      return invalidArgument(command) ?? otherError(error, command);
    default:
      return otherError(error, command);
  }
}

/** @throws UsageError that names every required option that is missing */
export function refuseMissing(command: CommandUnknownOpts): void {
  const isGiven = (flag: string) =>
    command.options.some((option) => {
      if (option.long !== flag) return false;
      const value = command.getOptionValue(option.attributeName());
      return Array.isArray(value) ? value.length > 0 : value !== undefined;
    });
  const missing = (metaOf(command)?.required ?? []).filter(
    ({ oneOf, unless = [] }) => ![...oneOf, ...unless].some(isGiven),
  );
  if (missing.length === 0) return;
  const names = missing.map(({ oneOf: [first = ''] }) => first);
  const list = new Intl.ListFormat('en-US').format(names);
  const hints = new Set(missing.flatMap(({ hint }) => hint ?? []));
  throw new UsageError(`${list} ${names.length === 1 ? 'is' : 'are'} missing.`, {
    hint: [...hints].join('\n') || undefined,
  });
}
