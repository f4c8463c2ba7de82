import { readFile } from 'node:fs/promises';
import { UsageError } from '../errors.ts';
import { suggest } from '../yaml/suggest.ts';
import { HELP_TOPICS, type HelpTopic } from './help-topics.ts';
import type { Sink } from './io.ts';
import { COMMANDS, GROUPS } from './registry.ts';

/** A link from one topic to another. */
const TOPIC_LINK = /\[([^\]]+)\]\(([\w-]+)\.md\)/g;

/** The built program has its chunks in dist/chunks and the topics in dist/help: the same step as in the source tree. */
function topicFile({ name }: HelpTopic): URL {
  return new URL(`../help/${name}.md`, import.meta.url);
}

/** The commands of the group that has the topic's name, as a Markdown list; empty where there is no such group. */
function commandList({ name }: HelpTopic): string {
  const commands = COMMANDS.filter(({ commandPath }) => commandPath.startsWith(`${name} `));
  if (commands.length === 0) return '';
  const lines = commands.map(({ commandPath, summary }) => `- \`partnerctl ${commandPath}\`: ${summary}`);
  return `\n\n## Commands\n\n${lines.join('\n')}\n\n\`partnerctl help ${name} <command>\` shows the arguments and flags.`;
}

/**
 * A help topic as it is shown on `stdout`: laid out for the width of a terminal, plain Markdown elsewhere.
 * A topic named after a group of commands lists these behind its title.
 */
export async function topicText(topic: HelpTopic, stdout: Sink, color: boolean): Promise<string> {
  const markdown = (await readFile(topicFile(topic), 'utf8')).replace(TOPIC_LINK, '$1 (`partnerctl help $2`)');
  const titleEnd = markdown.indexOf('\n');
  const text = markdown.slice(0, titleEnd) + commandList(topic) + markdown.slice(titleEnd);
  if (!stdout.isTTY) return text;
  const [{ Chalk }, { renderMarkdown }] = await Promise.all([import('chalk'), import('../output/markdown.ts')]);
  const chalk = new Chalk({ level: color ? 1 : 0 });
  const style = { bold: chalk.bold, italic: chalk.italic, code: chalk.cyan, dim: chalk.dim, heading: chalk.bold };
  return `${await renderMarkdown(text, style, stdout.columns)}\n`;
}

/** The error for `partnerctl help` with a word that is neither a topic nor a command. */
export function unknownTopic(args: readonly string[]): UsageError {
  const typed = args.join(' ');
  const names = [
    ...HELP_TOPICS.map(({ name }) => name),
    ...Object.keys(GROUPS),
    ...COMMANDS.map(({ commandPath }) => commandPath),
  ];
  const near = suggest(typed, names);
  return new UsageError(`There is no command or help topic ${JSON.stringify(typed)}.`, {
    hint: `${near === undefined ? '' : `Did you mean ${near}? `}Run \`partnerctl help\` to list commands and topics.`,
  });
}
