import { readFile } from 'node:fs/promises';
import { UsageError } from '../errors.ts';
import { suggest } from '../yaml/suggest.ts';
import { HELP_TOPICS, type HelpTopic } from './help-topics.ts';
import type { Sink } from './io.ts';
import { COMMANDS, GROUPS } from './registry.ts';

/** Matches a link from one topic to another. */
const TOPIC_LINK = /\[([^\]]+)\]\(([\w-]+)\.md\)/g;

/** The relative path also works from dist/chunks, because the build copies the topics to dist/help. */
function topicFile({ name }: HelpTopic): URL {
  return new URL(`../help/${name}.md`, import.meta.url);
}

/** Returns a Markdown section that lists the commands of the group named like the topic, or '' if no group is. */
function listCommandsOf({ name }: HelpTopic): string {
  const commands = COMMANDS.filter(({ commandPath }) => commandPath.startsWith(`${name} `));
  if (commands.length === 0) return '';
  const lines = commands.map(({ commandPath, summary }) => `- \`partnerctl ${commandPath}\`: ${summary}`);
  return `\n\n## Commands\n\n${lines.join('\n')}\n\n\`partnerctl help ${name} <command>\` shows the arguments and flags.`;
}

/**
 * Formats a help topic for `stdout`: rendered and wrapped in a terminal, plain Markdown elsewhere.
 * If a command group has the topic's name, the list of its commands follows the title.
 */
export async function formatTopic(topic: HelpTopic, stdout: Sink, color: boolean): Promise<string> {
  const markdown = (await readFile(topicFile(topic), 'utf8')).replace(TOPIC_LINK, '$1 (`partnerctl help $2`)');
  const titleEnd = markdown.indexOf('\n');
  const text = markdown.slice(0, titleEnd) + listCommandsOf(topic) + markdown.slice(titleEnd);
  if (!stdout.isTTY) return text;
  const [{ Chalk }, { renderMarkdown }] = await Promise.all([import('chalk'), import('../output/markdown.ts')]);
  const chalk = new Chalk({ level: color ? 1 : 0 });
  const style = { bold: chalk.bold, italic: chalk.italic, code: chalk.cyan, dim: chalk.dim, heading: chalk.bold };
  return `${await renderMarkdown(text, style, stdout.columns)}\n`;
}

/** Creates the error of `partnerctl help` for an unknown topic or command. It suggests the most similar name. */
export function unknownTopicError(args: readonly string[]): UsageError {
  const typed = args.join(' ');
  const names = [
    ...HELP_TOPICS.map(({ name }) => name),
    ...Object.keys(GROUPS),
    ...COMMANDS.map(({ commandPath }) => commandPath),
  ];
  // `exit` means exit-codes.
  const near = suggest(typed, names) ?? names.find((name) => typed.length > 2 && name.startsWith(typed));
  return new UsageError(`There is no command or help topic ${JSON.stringify(typed)}.`, {
    hint: `${near === undefined ? '' : `Did you mean ${near}? `}Run \`partnerctl help\` to list commands and topics.`,
  });
}
