import type { CommandUnknownOpts } from '@commander-js/extra-typings';
import { shouldUseColor } from '../output/color.ts';
import type { Context } from './context.ts';
import { optionHelp } from './help.ts';
import { findTopic, type HelpTopic } from './help-topics.ts';
import { findCommand } from './leaf.ts';
import { readAsset } from './read-asset.ts';
import { unknownTopic } from './usage-error.ts';

/** Matches a link from one topic to another. */
const TOPIC_LINK = /\[([^\][]+)\]\(([\w-]+)\.md\)/g;

/** Matches the first line of a code block with marks for the tests after its language: `exit=2`, `not-run="…"`. */
const BLOCK_MARKS = /^(```\w+) .*$/gm;

/** Returns a Markdown section that lists the commands of the group with the topic's name; '' if there is no such group. */
function listCommandsOf({ name }: HelpTopic, program: CommandUnknownOpts): string {
  const commands = findCommand([name], program)?.commands ?? [];
  if (commands.length === 0) return '';
  const lines = commands.map((each) => `- \`partnerctl ${name} ${each.name()}\`: ${each.summary()}`);
  return `\n\n## Commands\n\n${lines.join('\n')}\n\n\`partnerctl help ${name} <command>\` shows the arguments and options.`;
}

/** Returns a Markdown section that lists the global options for the topic `output`, else ''. */
function listOptionsOf({ name }: HelpTopic, { options }: CommandUnknownOpts): string {
  if (name !== 'output') return '';
  const lines = options
    .filter(({ long }) => long !== '--version')
    .map((option) => `- \`${option.flags}\`: ${optionHelp(option)}`);
  return `\n\n## Global options\n\n${lines.join('\n')}`;
}

/**
 * Returns a help topic as Markdown. The list of commands of the group with the topic's name follows the title;
 * the list of global options ends `output`.
 */
export function topicText(topic: HelpTopic, program: CommandUnknownOpts): string {
  const markdown = readAsset(`help/${topic.name}.md`)
    .replace(TOPIC_LINK, '$1 (`partnerctl help $2`)')
    .replaceAll(BLOCK_MARKS, '$1');
  const titleEnd = markdown.indexOf('\n');
  return `${markdown.slice(0, titleEnd)}${listCommandsOf(topic, program)}${markdown.slice(titleEnd).trimEnd()}${listOptionsOf(topic, program)}\n`;
}

/** Formats Markdown for `stdout`: rendered and wrapped in a terminal, unchanged elsewhere. */
async function formatMarkdown(
  text: string,
  { io: { stdout }, env, flags }: Pick<Context, 'io' | 'env' | 'flags'>,
): Promise<string> {
  if (!stdout.isTTY) return text;
  const { Chalk } = await import('chalk');
  const { renderMarkdown } = await import('../output/markdown.ts');
  const chalk = new Chalk({ level: shouldUseColor(flags.color, env, stdout) ? 1 : 0 });
  return `${await renderMarkdown(text, { chalk, width: stdout.columns })}\n`;
}

/** The help of a command, as `--help` prints it. */
function commandHelp(command: CommandUnknownOpts): string {
  let text = '';
  command.configureOutput({
    writeOut: (part) => {
      text += part;
    },
  });
  command.outputHelp();
  return text;
}

/**
 * Returns the help that `partnerctl help` shows people.
 * @param words a topic, or the path of a command or a group; the program without one
 * @throws UsageError if there is none of the name
 */
export async function formatHelp(
  words: readonly string[],
  program: CommandUnknownOpts,
  screen: Pick<Context, 'io' | 'env' | 'flags'>,
): Promise<string> {
  const topic = findTopic(words);
  if (topic) return formatMarkdown(topicText(topic, program), screen);
  const found = findCommand(words, program);
  if (!found) throw unknownTopic(words, program);
  return commandHelp(found);
}
