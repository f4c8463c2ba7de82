import type { Argument, CommandUnknownOpts, Option } from '@commander-js/extra-typings';
import { EXIT } from '../errors.ts';
import { COMMON_EXITS, EXIT_MEANINGS, type ExitName } from './exit-meanings.ts';
import { topicText } from './help-text.ts';
import { findTopic, HELP_TOPICS, type HelpTopic } from './help-topics.ts';
import { findCommand, leavesOf, metaOf, pathOf } from './leaf.ts';
import { isRepeatable, optionName, valueName } from './options.ts';
import { unknownTopic, usageOf } from './usage-error.ts';

/** The names of values that are paths. */
const PATHS: readonly string[] = ['path', 'file', 'dir', 'file|dir'];

function describeArgument(argument: Argument) {
  const { required, variadic, description, argChoices } = argument;
  const name = argument.name();
  const type = argChoices ? 'choice' : PATHS.includes(name) ? 'path' : 'string';
  return { name, required, repeatable: variadic, type, description, choices: argChoices ?? null };
}

function typeOf(option: Option): string {
  const { argChoices, parseArg } = option;
  const name = valueName(option);
  if (name === undefined) return 'boolean';
  if (argChoices) return 'choice';
  if (parseArg && 'type' in parseArg) return String(parseArg.type);
  return PATHS.includes(name) ? 'path' : 'string';
}

function optionJson(option: Option) {
  const { short, argChoices, description, defaultValue, defaultValueDescription } = option;
  const value = valueName(option);
  const isDefault = typeof defaultValue === 'string' || typeof defaultValue === 'number';
  return {
    flag: optionName(option),
    short: short ?? null,
    value: value ?? null,
    type: typeOf(option),
    choices: argChoices ?? null,
    default: value !== undefined && isDefault ? defaultValue : null,
    default_text: defaultValueDescription ?? null,
    repeatable: isRepeatable(option),
    description,
  };
}

function describeExits(isWanted: (exit: ExitName) => boolean) {
  const names = Object.keys(EXIT_MEANINGS).filter((name): name is ExitName => name in EXIT);
  return names.filter(isWanted).map((exit) => ({ code: EXIT[exit], meaning: EXIT_MEANINGS[exit] }));
}

function describeCommand(command: CommandUnknownOpts) {
  const path = pathOf(command);
  const { exits = [], required = [], inputs = [], scopes = [], examples = [] } = metaOf(command) ?? {};
  return {
    command: path,
    summary: command.summary(),
    description: command.description(),
    usage: usageOf(command),
    writes: command.options.some(({ long }) => long === '--confirm'),
    arguments: command.registeredArguments.map(describeArgument),
    flags: command.options.map(optionJson),
    required: required.map(({ oneOf, unless = [] }) => ({ one_of: oneOf, unless })),
    inputs: inputs.map(({ takenBy, format, example, schemaOption }) => ({
      taken_by: takenBy,
      format,
      example,
      schema_command: schemaOption === undefined ? null : `partnerctl ${path} ${schemaOption}`,
    })),
    scopes,
    exit_codes: describeExits((exit) => [...COMMON_EXITS, ...exits].includes(exit)),
    examples: examples.map(([line, does]) => ({ command: line, description: does })),
    topics: HELP_TOPICS.filter(({ commands }) => commands.includes(path.split(' ')[0] ?? '')).map(({ name }) => name),
  };
}

function describeTopic(topic: HelpTopic, program: CommandUnknownOpts) {
  return { ...topic, text: topicText(topic, program) };
}

/** What applies to the output of every command. */
const OUTPUT =
  'stdout has the result alone. -o json prints one document, and -o ndjson a line for each item of an array, or any other document on one line. --query \'<JMESPath>\' selects from the JSON. With -o json or ndjson, the last line on stderr is {"error":{…}} if the exit code is not 0.';

/**
 * Describes the whole program, a group, a command, or a help topic for programs.
 * @param words the arguments of `help`
 * @throws UsageError if they name no command, group, or topic
 */
export function describeProgram(words: readonly string[], program: CommandUnknownOpts): object {
  const found = findCommand(words, program);
  const topic = findTopic(words);
  if (!found) {
    if (topic) return describeTopic(topic, program);
    throw unknownTopic(words, program);
  }
  if (metaOf(found)) return describeCommand(found);
  const commands = leavesOf(found)
    .filter((leaf) => leaf.name() !== 'help')
    .map(describeCommand);
  if (found.parent) {
    const about = topic && { topic: describeTopic(topic, program) };
    return { group: pathOf(found), summary: found.summary(), ...about, commands };
  }
  return {
    name: 'partnerctl',
    version: program.version(),
    output: OUTPUT,
    global_flags: program.options.filter(({ long }) => long !== '--version').map(optionJson),
    exit_codes: describeExits(() => true),
    groups: program.commands
      .filter((each) => each.commands.length > 0)
      .map((each) => ({ group: each.name(), summary: each.summary() })),
    topics: HELP_TOPICS,
    commands,
  };
}
