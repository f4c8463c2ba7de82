import { readFileSync } from 'node:fs';
import type { CommandUnknownOpts, Option } from '@commander-js/extra-typings';
import { COMMON_EXITS, ERROR_TYPES, EXIT, type ExitName, UsageError } from '../errors.ts';
import { shouldUseColor } from '../output/color.ts';
import { commandsBelow, examplesOf, findCommand, metaOf, pathOf } from './command.ts';
import type { Context } from './context.ts';
import { exitTexts, HELP_TOPICS, optionHelp, sectionsAfter, topicsOf } from './help.ts';
import { isRepeatable, optionName, valueName } from './options.ts';
import { unknownTopic } from './usage-error.ts';

/* What `partnerctl help` shows: text for people, and JSON for programs. */

const TOPIC_LINK = /\[([^\][]+)\]\(([\w-]+)\.md\)/g;

/** Matches the first line of a code block with marks for the tests after its language: `exit=2`, `not-run="…"`. */
const BLOCK_MARKS = /^(```\w+) .*$/gm;

function globalOptions(program: CommandUnknownOpts): string {
  const options = program.options.filter(({ long }) => long !== '--version');
  const lines = options.map((option) => `- \`${option.flags}\`: ${optionHelp(option)}\n`);
  return `\n## Global options\n\n${lines.join('')}`;
}

function findTopic(words: readonly string[], program: CommandUnknownOpts) {
  const topic = HELP_TOPICS.find(({ name }) => name === words.join(' '));
  if (!topic) return undefined;
  // The path also works from dist/program: the build copies these files to dist.
  const markdown = readFileSync(new URL(`../help/${topic.name}.md`, import.meta.url), 'utf8')
    .replace(TOPIC_LINK, '$1 (`partnerctl help $2`)')
    .replaceAll(BLOCK_MARKS, '$1');
  return { ...topic, text: `${markdown.trimEnd()}\n${topic.name === 'output' ? globalOptions(program) : ''}` };
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
  const topic = findTopic(words, program);
  if (topic) {
    if (!stdout.isTTY) return topic.text;
    const { Chalk } = await import('chalk');
    const { renderMarkdown } = await import('../output/markdown.ts');
    const chalk = new Chalk({ level: shouldUseColor(flags.color, env, stdout) ? 1 : 0 });
    return `${renderMarkdown(topic.text, { chalk, width: stdout.columns })}\n`;
  }
  const found = findCommand(words, program);
  if (!found) throw unknownTopic(words, program);
  return `${found.helpInformation()}${sectionsAfter(found)}\n`;
}

/**
 * Returns the topic `skill` as a SKILL.md: its first paragraph is also the description, by which agents choose a skill.
 * @throws UsageError for other words
 */
export function formatSkill(words: readonly string[], program: CommandUnknownOpts): string {
  const topic = findTopic(words, program);
  if (topic?.name !== 'skill') {
    throw new UsageError('--file is an option of the topic skill.', { hint: 'Use: partnerctl help skill --file' });
  }
  const [, description = ''] = topic.text.split('\n\n');
  return `---\nname: partnerctl\ndescription: ${JSON.stringify(description.replaceAll('\n', ' '))}\n---\n\n${topic.text}`;
}

function optionJson(option: Option) {
  const { short, argChoices, description, defaultValue } = option;
  const isDefault = typeof defaultValue === 'string' || typeof defaultValue === 'number';
  return {
    flag: optionName(option),
    short: short ?? null,
    value: valueName(option) ?? null,
    choices: argChoices ?? null,
    default: isDefault ? defaultValue : null,
    repeatable: isRepeatable(option),
    description,
  };
}

/** A command in the index of all. `describeCommand` has the rest. */
function indexCommand(command: CommandUnknownOpts) {
  return {
    command: pathOf(command),
    summary: command.summary(),
    usage: `partnerctl ${pathOf(command)} ${command.usage()}`,
    writes: command.options.some(({ long }) => long === '--confirm'),
  };
}

function describeCommand(command: CommandUnknownOpts) {
  const { exits = [], required = [], scopes = [], json = null } = metaOf(command) ?? {};
  return {
    ...indexCommand(command),
    description: command.description(),
    arguments: command.registeredArguments.map((argument) => ({
      name: argument.name(),
      required: argument.required,
      repeatable: argument.variadic,
      description: argument.description,
      choices: argument.argChoices ?? null,
    })),
    flags: command.options.map(optionJson),
    required: required.map(({ oneOf, unless = [], when = [] }) => ({ one_of: oneOf, unless, when })),
    scopes,
    json,
    exit_codes: exitTexts([...COMMON_EXITS, ...exits]),
    examples: examplesOf(command),
    topics: topicsOf(command).map(({ name }) => name),
  };
}

const OUTPUT =
  'stdout has the result alone. -o json prints one document, and -o ndjson a line for each item of an array, or any other document on one line. --query \'<JMESPath>\' selects from the JSON. With -o json or ndjson, the last line on stderr is {"error":{…}} if the exit code is not 0. `partnerctl help <command> -o json` describes one command: its arguments, flags, exit codes, and examples.';

/**
 * Describes a group, a command, or a help topic for programs; of the whole program, the index of its commands.
 * @param words the arguments of `help`
 * @throws UsageError if they name no command, group, or topic
 */
export function describeProgram(words: readonly string[], program: CommandUnknownOpts): object {
  const found = findCommand(words, program);
  const topic = findTopic(words, program);
  if (!found) {
    if (topic) return topic;
    throw unknownTopic(words, program);
  }
  if (metaOf(found)) return describeCommand(found);
  const below = commandsBelow(found).filter((each) => each.name() !== 'help');
  if (found.parent) {
    const commands = below.map(describeCommand);
    return { group: pathOf(found), summary: found.summary(), ...(topic && { topic }), commands };
  }
  return {
    name: 'partnerctl',
    version: program.version(),
    output: OUTPUT,
    global_flags: program.options.filter(({ long }) => long !== '--version').map(optionJson),
    exit_codes: exitTexts(Object.keys(EXIT).filter((name): name is ExitName => name in EXIT)),
    groups: program.commands
      .filter((each) => each.commands.length > 0)
      .map((each) => ({ group: each.name(), summary: each.summary() })),
    error_types: ERROR_TYPES,
    topics: HELP_TOPICS,
    commands: below.map(indexCommand),
  };
}
