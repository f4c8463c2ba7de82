import type { HelpTopic } from './help-topics.ts';
import { readAsset } from './installation.ts';
import type { Sink } from './io.ts';
import { COMMANDS, GLOBAL_FLAGS } from './registry.ts';

/** Matches a link from one topic to another. */
const TOPIC_LINK = /\[([^\][]+)\]\(([\w-]+)\.md\)/g;

/** Matches the first line of a code block with marks for the tests after its language: `exit=2`, `not-run="…"`. */
const BLOCK_MARKS = /^(```\w+) .*$/gm;

/** Returns a Markdown section that lists the commands of the group with the topic's name; '' if there is no such group. */
function listCommandsOf({ name }: HelpTopic): string {
  const commands = COMMANDS.filter(({ commandPath }) => commandPath.startsWith(`${name} `));
  if (commands.length === 0) return '';
  const lines = commands.map(({ commandPath, summary }) => `- \`partnerctl ${commandPath}\`: ${summary}`);
  return `\n\n## Commands\n\n${lines.join('\n')}\n\n\`partnerctl help ${name} <command>\` shows the arguments and flags.`;
}

/** Returns a Markdown section that lists the global flags for the topic `output`, else ''. */
function listFlagsOf({ name }: HelpTopic): string {
  if (name !== 'output') return '';
  const lines = GLOBAL_FLAGS.map(({ usage, description, choices, default: value, defaultText }) => {
    const values = choices ? ` (${choices.map((choice) => `\`${choice}\``).join(', ')})` : '';
    const fallback = value ?? defaultText;
    return `- \`${usage}\`: ${description}${values}${fallback === undefined ? '' : ` (default: ${fallback})`}`;
  });
  return `\n\n## Global options\n\n${lines.join('\n')}`;
}

/**
 * Returns a help topic as Markdown. The list of commands of the group with the topic's name follows the title;
 * the list of global flags ends `output`.
 */
export function topicText(topic: HelpTopic): string {
  const markdown = readAsset(`help/${topic.name}.md`)
    .replace(TOPIC_LINK, '$1 (`partnerctl help $2`)')
    .replaceAll(BLOCK_MARKS, '$1');
  const titleEnd = markdown.indexOf('\n');
  return `${markdown.slice(0, titleEnd)}${listCommandsOf(topic)}${markdown.slice(titleEnd).trimEnd()}${listFlagsOf(topic)}\n`;
}

/** Formats a help topic for `stdout`: rendered and wrapped in a terminal, plain Markdown elsewhere. */
export async function formatTopic(topic: HelpTopic, stdout: Sink, color: boolean): Promise<string> {
  const text = topicText(topic);
  if (!stdout.isTTY) return text;
  const [{ Chalk }, { renderMarkdown }] = await Promise.all([import('chalk'), import('../output/markdown.ts')]);
  const chalk = new Chalk({ level: color ? 1 : 0 });
  const style = { bold: chalk.bold, italic: chalk.italic, code: chalk.cyan, dim: chalk.dim, heading: chalk.bold };
  return `${await renderMarkdown(text, style, stdout.columns)}\n`;
}
