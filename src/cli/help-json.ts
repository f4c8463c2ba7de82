import pkg from '../../package.json' with { type: 'json' };
import { EXIT } from '../errors.ts';
import type { ArgumentSpec, Command, FlagSpec } from './command.ts';
import { COMMON_EXITS, EXIT_MEANINGS, type ExitName } from './exit-meanings.ts';
import { findTopic, HELP_TOPICS } from './help-topics.ts';
import { COMMANDS, type CommandEntry, GLOBAL_FLAGS, GROUPS } from './registry.ts';
import { unknownTopicError } from './usage-errors.ts';

/** The types of flag values, by the placeholder in the usage; any other value is a string. */
const TYPES: Readonly<Record<string, string>> = {
  n: 'integer',
  duration: 'duration',
  path: 'path',
  dir: 'path',
  file: 'path',
  url: 'url',
};

function describeArgument({ usage, description }: ArgumentSpec) {
  return {
    name: usage.replace(/[<>[\].]/g, ''),
    required: usage.startsWith('<'),
    repeatable: usage.includes('...'),
    description,
  };
}

function describeFlag({ usage, description, default: fallback, choices, repeatable }: FlagSpec) {
  const [, short, long = '', placeholder] = /^(?:(-\w), )?(--[\w-]+)(?: [<[](.+)[>\]])?$/.exec(usage) ?? [];
  return {
    flag: long,
    short: short ?? null,
    value: placeholder ?? null,
    /** Whether the flag may stand without its value. */
    value_optional: usage.endsWith(']'),
    type: placeholder === undefined ? 'boolean' : choices ? 'choice' : (TYPES[placeholder] ?? 'string'),
    choices: choices ?? null,
    default: fallback ?? null,
    repeatable: repeatable ?? false,
    description,
  };
}

function describeExits(isMeant: (exit: ExitName) => boolean) {
  const names = Object.keys(EXIT_MEANINGS).filter((name): name is ExitName => name in EXIT);
  return names.filter(isMeant).map((exit) => ({ code: EXIT[exit], meaning: EXIT_MEANINGS[exit] }));
}

async function describeCommand({ commandPath, summary }: CommandEntry, command: Command) {
  return {
    command: commandPath,
    summary,
    description: command.description,
    usage: ['partnerctl', commandPath, '[options]', ...command.args.map(({ usage }) => usage)].join(' '),
    writes: command.flags.some(({ usage }) => usage.startsWith('--confirm ')),
    arguments: command.args.map(describeArgument),
    flags: command.flags.map(describeFlag),
    required: command.required.map(({ oneOf, unless = [] }) => ({
      one_of: oneOf.map((flag) => `--${flag}`),
      unless: unless.map((flag) => `--${flag}`),
    })),
    output: await command.output(),
    scopes: command.scopes,
    exit_codes: describeExits((exit) => [...COMMON_EXITS, ...command.exits].includes(exit)),
    examples: command.examples.map(({ line, does }) => ({ command: line, description: does })),
    topics: HELP_TOPICS.filter(({ commands }) => commands.includes(commandPath.split(' ')[0] ?? '')).map(
      ({ name }) => name,
    ),
  };
}

async function loadAndDescribe(entry: CommandEntry) {
  return describeCommand(entry, (await entry.load()).default);
}

/**
 * Describes the whole program, a group, or one command for programs.
 * @param words the words after `help`
 * @throws UsageError if they name neither a command nor a group
 */
export async function describeProgram(words: readonly string[]): Promise<unknown> {
  const path = words.join(' ');
  const commands = COMMANDS.filter(({ commandPath }) => `${commandPath} `.startsWith(path === '' ? '' : `${path} `));
  const topic = findTopic(words);
  if (commands.length === 0) {
    if (topic) return topic;
    throw unknownTopicError(words);
  }
  const described = await Promise.all(commands.map(loadAndDescribe));
  const [only] = described;
  if (only?.command === path) return only;
  if (path !== '') return { group: path, summary: GROUPS[path], commands: described };
  return {
    name: 'partnerctl',
    version: pkg.version,
    global_flags: GLOBAL_FLAGS.map(describeFlag),
    exit_codes: describeExits(() => true),
    groups: Object.entries(GROUPS).map(([group, summary]) => ({ group, summary })),
    topics: HELP_TOPICS,
    commands: described,
  };
}
