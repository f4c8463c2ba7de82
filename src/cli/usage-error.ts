import type { CommandUnknownOpts } from '@commander-js/extra-typings';
import { UsageError } from '../errors.ts';
import { suggest, toSentenceCase } from '../platform/text.ts';
import { commandsBelow, lineageOf, metaOf, pathOf, type RejectedLine } from './command.ts';
import { HELP_TOPICS } from './help.ts';
import { answerToOption, answerToWord } from './other-words.ts';

/** The start of a hint: the name that was probably meant; '' if none is close. */
function didYouMean(word: string, names: readonly string[]): string {
  const near = suggest(word, names);
  return near === undefined ? '' : `Did you mean ${near}? `;
}

function helpHint(command: CommandUnknownOpts): string {
  const what = metaOf(command) ? 'its arguments and flags' : 'the list of commands';
  return `Run \`${['partnerctl', pathOf(command), '--help'].filter(Boolean).join(' ')}\` for ${what}.`;
}

/** The error of `partnerctl help` for words that name no command and no topic. */
export function unknownTopic(words: readonly string[], program: CommandUnknownOpts): UsageError {
  const typed = words.join(' ');
  const names = [...HELP_TOPICS.map(({ name }) => name), ...commandsBelow(program).map(pathOf)];
  return new UsageError(`There is no command or help topic ${JSON.stringify(typed)}.`, {
    hint: `${didYouMean(typed, names)}Run \`partnerctl help\` to list commands and topics.`,
  });
}

/** The error for a group without a command: a line for each that it has. */
function missingCommand(group: CommandUnknownOpts): UsageError {
  const lines = group.commands.map((each) => `partnerctl ${pathOf(each)}: ${each.summary()}`);
  return new UsageError(`A command is missing after ${pathOf(group)}.`, { hint: ['Use one of:', ...lines].join('\n') });
}

function unknownCommand(parent: CommandUnknownOpts): UsageError {
  const [word = ''] = parent.args;
  if (word === '') return new UsageError('The command is empty. Check the shell variable it comes from.');
  const names = parent.commands.map((each) => each.name());
  const answer = answerToWord(word, parent);
  return new UsageError(`Unknown command ${JSON.stringify([pathOf(parent), word].filter(Boolean).join(' '))}.`, {
    hint: answer ?? didYouMean(word, names) + helpHint(parent),
  });
}

/** The error for an option that the command does not have. Its value is not repeated: it may be a token. */
function unknownOption(command: CommandUnknownOpts): UsageError {
  const typed = command.args.find((word) => /^-[^\d]/.test(word)) ?? '';
  const [start = ''] = typed.split('=');
  const flag = start.startsWith('--') ? start : start.slice(0, 2);
  const names = lineageOf(command).flatMap(({ options }) => options.flatMap(({ long }) => long ?? []));
  if (names.includes(flag)) return new UsageError(`${flag} takes no value.`, { hint: helpHint(command) });
  const operands = command.args.filter((word) => !/^-./.test(word));
  const hasRoom = command.registeredArguments.some(({ variadic }, at) => variadic || at >= operands.length);
  const isOperand = hasRoom && /^-[^-]|\s/.test(typed);
  const near = didYouMean(flag, names) || (isOperand ? 'Put -- before an argument that begins with a hyphen. ' : '');
  return new UsageError(`Unknown option ${flag}.`, { hint: answerToOption(flag, command) ?? near + helpHint(command) });
}

/** Converts commander's error about a command to ours, most in its own words: `Missing required argument 'space'.` */
export function toUsageError({ error: { code, message }, command }: RejectedLine): UsageError {
  if (code === 'commander.help') return missingCommand(command);
  if (code === 'commander.unknownCommand') return unknownCommand(command);
  if (code === 'commander.unknownOption') return unknownOption(command);
  const text = toSentenceCase(message.replace(/^error: /, '').replace(/\.$/, ''));
  const excessHint = code === 'commander.excessArguments' ? metaOf(command)?.excessHint : undefined;
  const emptyHint = code === 'commander.optionMissingArgument' ? 'Check the shell variable it comes from. ' : '';
  return new UsageError(`${text}.`, { hint: excessHint ?? emptyHint + helpHint(command) });
}
