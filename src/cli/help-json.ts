import pkg from '../../package.json' with { type: 'json' };
import { EXIT } from '../errors.ts';
import { objectResult } from '../output/command-result.ts';
import type { CommandOutput } from '../output/output-schema.ts';
import { type ArgumentSpec, type Command, command, type FlagSpec, formatUsage, parseFlagUsage } from './command.ts';
import { COMMON_EXITS, EXIT_MEANINGS, type ExitName } from './exit-meanings.ts';
import { topicText } from './help-text.ts';
import { findTopic, HELP_TOPICS, type HelpTopic } from './help-topics.ts';
import { COMMANDS, type CommandEntry, GLOBAL_FLAGS, GROUPS } from './registry.ts';
import { unknownTopicError } from './usage-errors.ts';

/** The types of values by placeholder. All others are strings. */
const TYPES: Readonly<Record<string, string>> = {
  n: 'integer',
  port: 'integer',
  duration: 'duration',
  path: 'path',
  dir: 'path',
  file: 'path',
  url: 'url',
};

/** The arguments that are paths. */
const FILE_ARGUMENTS: readonly string[] = ['file', 'file|dir', 'trace'];

/** The field of other commands' output that provides a value, by placeholder. */
const FIELDS: Readonly<Record<string, string>> = {
  space: 'space_id',
  agent: 'agent_id',
  source_id: 'source_id',
  session_id: 'session_id',
  message_id: 'message_id',
  cron_job_id: 'cron_job_id',
  profile: 'profile',
  key: 'key',
  leaf: 'leaf',
};

/** The environment variables that people set, as `partnerctl help output` explains them. */
const ENVIRONMENT_VARIABLES: readonly {
  readonly name: string;
  /** The global flag that wins over it. */
  readonly flag?: string;
  readonly description: string;
}[] = [
  { name: 'PARTNER_BASE_URL', flag: '--base-url', description: 'base URL of the service, ending in /v1' },
  { name: 'PARTNER_TOKEN', flag: '--token-file', description: 'the token itself' },
  { name: 'PARTNER_PROFILE', flag: '--profile', description: 'the profile to use' },
  { name: 'PARTNER_STATE', flag: '--state', description: 'the state: a file, postgres://…, or git+ssh://…#branch' },
  { name: 'PARTNER_CONFIG_DIR', description: 'directory of the profiles' },
  { name: 'PARTNER_OUTPUT', flag: '--output', description: 'output format' },
  { name: 'PARTNER_WEBHOOK_SECRET', description: 'the secret that webhooks are signed with, one per line' },
  { name: 'CI', description: 'any value: nothing is asked, and no progress is shown' },
  { name: 'HTTPS_PROXY', description: 'proxy for https services' },
  { name: 'NO_PROXY', description: 'hosts that are reached without the proxy' },
  { name: 'NODE_EXTRA_CA_CERTS', description: 'a file of additional certificate authorities (PEM)' },
];

function fieldOf(placeholder = ''): { readonly field?: string } {
  const field = FIELDS[placeholder];
  return field === undefined ? {} : { field };
}

function describeArgument({ usage, description, choices }: ArgumentSpec) {
  const name = usage.replace(/[<>[\].]/g, '');
  return {
    name,
    required: usage.startsWith('<'),
    repeatable: usage.includes('...'),
    type: FILE_ARGUMENTS.includes(name) ? 'path' : 'string',
    description,
    ...(choices && { choices }),
    ...fieldOf(name),
  };
}

function describeFlag({ usage, description, default: value, defaultText, choices, repeatable }: FlagSpec) {
  const { name, short, placeholder, isValueOptional } = parseFlagUsage(usage);
  const type = placeholder === undefined ? 'boolean' : choices ? 'choice' : (TYPES[placeholder] ?? 'string');
  return {
    flag: name,
    short: short ?? null,
    value: placeholder ?? null,
    value_optional: isValueOptional,
    type,
    choices: choices ?? null,
    default: value !== undefined && type === 'integer' ? Number(value) : (value ?? null),
    repeatable: repeatable ?? false,
    description,
    ...(defaultText !== undefined && { default_text: defaultText }),
    ...fieldOf(placeholder),
  };
}

function describeExits(isWanted: (exit: ExitName) => boolean) {
  const names = Object.keys(EXIT_MEANINGS).filter((name): name is ExitName => name in EXIT);
  return names.filter(isWanted).map((exit) => ({ code: EXIT[exit], meaning: EXIT_MEANINGS[exit] }));
}

function describeOutput({ variants = [], ...byDefault }: CommandOutput) {
  return {
    ...byDefault,
    variants: variants.map(({ flags, ...shape }) => ({ flags: flags.map((flag) => `--${flag}`), ...shape })),
  };
}

async function describeCommand({ commandPath, summary }: CommandEntry, command: Command) {
  return {
    command: commandPath,
    summary,
    description: command.description,
    usage: formatUsage(commandPath, command.args),
    writes: command.flags.some(({ usage }) => usage.startsWith('--confirm ')),
    arguments: command.args.map(describeArgument),
    flags: command.flags.map(describeFlag),
    required: command.required.map(({ oneOf, unless = [] }) => ({
      one_of: oneOf.map((flag) => `--${flag}`),
      unless: unless.map((flag) => `--${flag}`),
    })),
    inputs: command.inputs.map(({ takenBy, format, example, schemaFlag }) => ({
      taken_by: takenBy,
      format,
      example,
      schema_command: schemaFlag === undefined ? null : `partnerctl ${commandPath} ${schemaFlag}`,
    })),
    output: describeOutput(await command.output()),
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

function describeTopic(topic: HelpTopic) {
  return { ...topic, text: topicText(topic) };
}

/** Describes what applies to every command. */
async function describeConventions() {
  const { ERROR } = await import('../output-schemas/common.ts');
  const { object } = await import('../output/output-schema.ts');
  return {
    output: {
      description:
        "stdout has the result alone. -o json prints one document, which fits output.json of the command; if that is null, the lines of output.ndjson, or output.text. -o ndjson prints a line for each item of an array, and any other document on one line, unless output.ndjson says otherwise. If output.variants has a flag that is set, the first such variant applies instead. Fields may be added. --query '<JMESPath>' selects from the JSON.",
      error: {
        description: 'With -o json or ndjson, the last line on stderr if the exit code is not 0.',
        json: object({ error: ERROR }),
      },
    },
    environment: ENVIRONMENT_VARIABLES.map(({ name, flag = null, description }) => ({ name, flag, description })),
    without_account: [
      {
        command: 'partnerctl sandbox start -o json',
        description:
          'runs the whole service on this machine until it is interrupted, and prints the environment variables for other commands',
      },
      {
        command: 'partnerctl sandbox run -- partnerctl spaces list',
        description: 'runs one command, after --, against a temporary sandbox',
      },
    ],
  };
}

/**
 * Describes the whole program, a group, a command, or a help topic for programs. Deterministic, because the build stores the
 * description of the whole program.
 * @param operands the arguments of `help`
 * @throws UsageError if they name no command, group, or topic
 */
export async function describeProgram(operands: readonly string[]): Promise<unknown> {
  const path = operands.join(' ');
  const commands = COMMANDS.filter(({ commandPath }) => `${commandPath} `.startsWith(path === '' ? '' : `${path} `));
  const topic = findTopic(operands);
  if (commands.length === 0) {
    if (topic) return describeTopic(topic);
    throw unknownTopicError(operands);
  }
  const described = await Promise.all(commands.map(loadAndDescribe));
  const [only] = described;
  if (only?.command === path) return only;
  if (path !== '') {
    const about = topic && { topic: describeTopic(topic) };
    return { group: path, summary: GROUPS[path], ...about, commands: described };
  }
  return {
    name: 'partnerctl',
    version: pkg.version,
    ...(await describeConventions()),
    global_flags: GLOBAL_FLAGS.map(describeFlag),
    exit_codes: describeExits(() => true),
    groups: Object.entries(GROUPS).map(([group, summary]) => ({ group, summary })),
    topics: HELP_TOPICS,
    commands: described,
  };
}

/** `partnerctl help -o json`. Help for people is the text of commander and of the topics. */
export const helpCommand = command<readonly string[]>({
  description: 'Describes the commands, or one of them, a group, or a topic, as JSON or YAML.',
  args: [{ usage: '[command...]', description: 'a command, a group, or a topic; all commands without one' }],
  output: async () => ({ json: (await import('../output/output-schema.ts')).openObject({}) }),
  exits: [],
  examples: [
    { line: 'partnerctl help -o json', does: 'all commands with their arguments, flags, output schemas, and examples' },
    { line: "partnerctl help cron create -o json --query 'flags[].flag'", does: 'the flags of one command' },
  ],
  parse: ({ positionals }) => positionals,
  run: async (_context, operands) => objectResult(await describeProgram(operands), []),
});
