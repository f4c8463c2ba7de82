import { readFileSync } from 'node:fs';
import type { CommandUnknownOpts } from '@commander-js/extra-typings';
import { shouldUseColor } from '../output/color.ts';
import type { Context } from './context.ts';
import { optionHelp, sectionsAfter } from './help.ts';
import { findTopic, type HelpTopic } from './help-topics.ts';
import { findCommand } from './leaf.ts';
import { unknownTopic } from './usage-error.ts';

/** Matches a link from one topic to another. */
const TOPIC_LINK = /\[([^\][]+)\]\(([\w-]+)\.md\)/g;

/** Matches the first line of a code block with marks for the tests after its language: `exit=2`, `not-run="…"`. */
const BLOCK_MARKS = /^(```\w+) .*$/gm;

/** The global options, which `output` lists at its end. */
function globalOptions(program: CommandUnknownOpts): string {
  const options = program.options.filter(({ long }) => long !== '--version');
  const lines = options.map((option) => `- \`${option.flags}\`: ${optionHelp(option)}\n`);
  return `\n## Global options\n\n${lines.join('')}`;
}

/** Returns a help topic as Markdown. */
export function topicText(topic: HelpTopic, program: CommandUnknownOpts): string {
  // The path also works from dist/program: the build copies these files to dist.
  const markdown = readFileSync(new URL(`../help/${topic.name}.md`, import.meta.url), 'utf8')
    .replace(TOPIC_LINK, '$1 (`partnerctl help $2`)')
    .replaceAll(BLOCK_MARKS, '$1');
  return `${markdown.trimEnd()}\n${topic.name === 'output' ? globalOptions(program) : ''}`;
}

/**
 * Returns the help that `partnerctl help` shows people. A topic is rendered in a terminal, and Markdown elsewhere.
 * @param words a topic, or the path of a command or a group; the program without one
 * @throws UsageError if there is none of the name
 */
export async function formatHelp(
  words: readonly string[],
  program: CommandUnknownOpts,
  { io: { stdout }, env, flags }: Context,
): Promise<string> {
  const topic = findTopic(words);
  if (topic) {
    const text = topicText(topic, program);
    if (!stdout.isTTY) return text;
    const { Chalk } = await import('chalk');
    const { renderMarkdown } = await import('../output/markdown.ts');
    const chalk = new Chalk({ level: shouldUseColor(flags.color, env, stdout) ? 1 : 0 });
    return `${renderMarkdown(text, { chalk, width: stdout.columns })}\n`;
  }
  const found = findCommand(words, program);
  if (!found) throw unknownTopic(words, program);
  return `${found.helpInformation()}${sectionsAfter(found)}\n`;
}
