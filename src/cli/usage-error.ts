import type { CommandUnknownOpts } from '@commander-js/extra-typings';
import { UsageError } from '../errors.ts';
import { suggest, toSentenceCase } from '../platform/text.ts';
import { HELP_TOPICS } from './help.ts';
import { leavesOf, lineageOf, metaOf, pathOf, type RejectedLine } from './leaf.ts';

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
  const names = [...HELP_TOPICS.map(({ name }) => name), ...leavesOf(program).map(pathOf)];
  return new UsageError(`There is no command or help topic ${JSON.stringify(typed)}.`, {
    hint: `${didYouMean(typed, names)}Run \`partnerctl help\` to list commands and topics.`,
  });
}

function unknownCommand(parent: CommandUnknownOpts): UsageError {
  const [word = ''] = parent.args;
  const names = parent.commands.map((each) => each.name());
  return new UsageError(`Unknown command ${JSON.stringify(word)}.`, {
    hint: didYouMean(word, names) + helpHint(parent),
  });
}

/** The error for an option that the command does not have. Its value is not repeated: it may be a token. */
function unknownOption(command: CommandUnknownOpts): UsageError {
  const typed = command.args.find((word) => /^-[^\d]/.test(word)) ?? '';
  const [flag = ''] = typed.split('=');
  const names = lineageOf(command).flatMap(({ options }) => options.flatMap(({ long }) => long ?? []));
  if (names.includes(flag)) return new UsageError(`${flag} takes no value.`, { hint: helpHint(command) });
  const own = metaOf(command)?.optionHints?.[flag];
  const near = didYouMean(flag, names) || 'Put -- before an argument that begins with a hyphen. ';
  return new UsageError(`Unknown option ${flag.startsWith('--') ? flag : flag.slice(0, 2)}.`, {
    hint: own ?? near + helpHint(command),
  });
}

/** Converts commander's error about a command to ours, most in its own words: `Missing required argument 'space'.` */
export function toUsageError({ error: { code, message }, command }: RejectedLine): UsageError {
  if (code === 'commander.help') return new UsageError('A command is missing.', { hint: helpHint(command) });
  if (code === 'commander.unknownCommand') return unknownCommand(command);
  if (code === 'commander.unknownOption') return unknownOption(command);
  const text = toSentenceCase(message.replace(/^error: /, '').replace(/\.$/, ''));
  const excessHint = code === 'commander.excessArguments' ? metaOf(command)?.excessHint : undefined;
  return new UsageError(`${text}.`, { hint: excessHint ?? helpHint(command) });
}
