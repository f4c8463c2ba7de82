import { Argument, Command as Commander, CommanderError, Option } from 'commander';
import type { Command, FlagSpec, Words } from './command.ts';
import { UsageError } from './errors.ts';
import { OUTPUT_FORMATS } from './output/format-names.ts';

interface Entry {
  /** The words typed, in order. */
  readonly words: string;
  readonly summary: string;
  readonly load: () => Promise<{ readonly default: Command }>;
}

/** Every command: the words, a line for the list, and where its code is. The code is loaded when it is called. */
export const COMMANDS: readonly Entry[] = [
  { words: 'login', summary: 'Store a service and its token in a profile', load: () => import('./commands/login.ts') },
  { words: 'logout', summary: 'Forget the token of a profile', load: () => import('./commands/logout.ts') },
  { words: 'profile list', summary: 'List the profiles', load: () => import('./commands/profile/list.ts') },
  { words: 'profile use', summary: 'Make a profile the current one', load: () => import('./commands/profile/use.ts') },
  {
    words: 'profile show',
    summary: 'Show a profile, without its token',
    load: () => import('./commands/profile/show.ts'),
  },
  { words: 'profile remove', summary: 'Remove a profile', load: () => import('./commands/profile/remove.ts') },
  {
    words: 'spaces list',
    summary: 'List the spaces that the token reaches',
    load: () => import('./commands/spaces/list.ts'),
  },
  { words: 'agents list', summary: 'List the agents of a space', load: () => import('./commands/agents/list.ts') },
  {
    words: 'provision',
    summary: 'Create or reuse spaces and install agents, from YAML',
    load: () => import('./commands/provision.ts'),
  },
  {
    words: 'chat setup',
    summary: "Create or reuse an agent's API chat source",
    load: () => import('./commands/chat/setup.ts'),
  },
  {
    words: 'chat open',
    summary: 'Talk: a prompt with the live tail above it',
    load: () => import('./commands/chat/open.ts'),
  },
  {
    words: 'chat send',
    summary: 'Send a message to an agent, and wait for its reply if asked to',
    load: () => import('./commands/chat/send.ts'),
  },
  {
    words: 'chat wait',
    summary: 'Wait for the reply to a message that was sent',
    load: () => import('./commands/chat/wait.ts'),
  },
  {
    words: 'chat tail',
    summary: 'Follow what is said in one session or several',
    load: () => import('./commands/chat/tail.ts'),
  },
  { words: 'state path', summary: 'Print where the state file is', load: () => import('./commands/state/path.ts') },
  {
    words: 'state show',
    summary: 'Show the records of the state file',
    load: () => import('./commands/state/show.ts'),
  },
  {
    words: 'state verify',
    summary: 'Check every line of the state file',
    load: () => import('./commands/state/verify.ts'),
  },
  {
    words: 'upload',
    summary: 'Upload files as attachments or documents, each once',
    load: () => import('./commands/upload.ts'),
  },
  {
    words: 'cron create',
    summary: 'Create scheduled jobs, each at most once',
    load: () => import('./commands/cron/create.ts'),
  },
  {
    words: 'cron list',
    summary: 'List the scheduled jobs, joined with the state file',
    load: () => import('./commands/cron/list.ts'),
  },
  {
    words: 'cron reconcile',
    summary: 'Settle jobs whose creation has an unknown outcome',
    load: () => import('./commands/cron/reconcile.ts'),
  },
  {
    words: 'cron adopt',
    summary: 'Record by hand that a job is there',
    load: () => import('./commands/cron/adopt.ts'),
  },
  {
    words: 'cron forget',
    summary: 'Let a job be created again',
    load: () => import('./commands/cron/forget.ts'),
  },
  {
    words: 'sandbox start',
    summary: 'Run the whole service on this machine',
    load: () => import('./commands/sandbox/start.ts'),
  },
  {
    words: 'sandbox run',
    summary: 'Run a command against a sandbox of its own',
    load: () => import('./commands/sandbox/run.ts'),
  },
];

const GROUPS: Readonly<Record<string, string>> = {
  profile: 'Services and tokens, stored under names',
  spaces: 'Customer workspaces',
  agents: 'The agents inside a space',
  chat: 'Talk to an agent: set up, send, follow',
  cron: 'Scheduled jobs, never created twice',
  state: 'What earlier runs did, kept in a file',
  sandbox: 'The service, on this machine, with no account',
};

const GLOBAL_FLAGS: readonly FlagSpec[] = [
  { usage: '--profile <name>', description: 'use this profile (PARTNER_PROFILE)' },
  { usage: '--base-url <url>', description: 'address of the service, ending in /v1 (PARTNER_BASE_URL)' },
  {
    usage: '--token-file <path>',
    description: 'read the token from a file, or from standard input with - (PARTNER_TOKEN holds it as it is)',
  },
  {
    usage: '-o, --output <format>',
    description: 'how the answer is written: a table in a terminal, tsv elsewhere (PARTNER_OUTPUT)',
    choices: OUTPUT_FORMATS,
  },
  { usage: '--query <JMESPath>', description: 'answer with a part of the JSON form' },
  { usage: '-q, --quiet', description: 'no progress, no notices' },
  { usage: '-v, --verbose', description: 'a line on stderr for each request' },
  { usage: '--debug', description: 'headers and bodies too, without secrets' },
  { usage: '--color <when>', description: 'colours (NO_COLOR, FORCE_COLOR)', choices: ['auto', 'always', 'never'] },
  { usage: '--no-input', description: 'never ask anything' },
  { usage: '--timeout <duration>', description: 'deadline of the whole command: 500ms, 30s, 2m, 1h' },
  { usage: '--retries <n>', description: 'how often a call that may be repeated is repeated (default: 3)' },
  { usage: '--state <file>', description: 'the state file (PARTNER_STATE)' },
];

/** A command with what was given to it and to the program. */
export interface CommandLine {
  readonly kind: 'command';
  readonly words: string;
  readonly command: Command;
  readonly given: Words;
  readonly globals: Words;
}

/** What was typed, understood: a command, or help and the version, whose text is the answer. */
export type Parsed = CommandLine | { readonly kind: 'text'; readonly text: string };

type Values = Readonly<Record<string, unknown>>;

function takesValue(usage: string): boolean {
  return usage.includes('<');
}

function camelCase(flag: string): string {
  return flag.replace(/-(\w)/g, (_, letter: string) => letter.toUpperCase());
}

function toOption({ usage, description, default: fallback, choices, repeatable }: FlagSpec): Option {
  const option = new Option(usage, fallback === undefined ? description : `${description} (default: ${fallback})`);
  if (choices) option.choices([...choices]);
  if (repeatable)
    option.argParser((value: string, previous: unknown) => [...(Array.isArray(previous) ? previous : []), value]);
  return option;
}

function wordsOf(args: readonly string[], values: Values): Words {
  const text = (flag: string): string | undefined => {
    const value = values[camelCase(flag)];
    return typeof value === 'string' ? value : undefined;
  };
  return {
    args,
    on: (flag) => values[camelCase(flag)] === true,
    text,
    texts(flag) {
      const value = values[camelCase(flag)];
      return Array.isArray(value) ? value.filter((item) => typeof item === 'string') : [];
    },
    count(flag, { min, max, fallback }) {
      const value = text(flag);
      if (value === undefined) return fallback;
      const number = Number(value);
      if (/^\d+$/.test(value) && number >= min && number <= max) return number;
      throw new UsageError(`--${flag} takes a whole number from ${min} to ${max}, not ${JSON.stringify(value)}.`);
    },
  };
}

/** The global flags that take a value, in every spelling. */
const FLAGS_WITH_VALUE = new Set(
  GLOBAL_FLAGS.filter(({ usage }) => takesValue(usage)).flatMap(({ usage }) => usage.match(/--?[\w-]+/g) ?? []),
);

/** Whether the word after this one is its value: `--output`, `-o`, and `-qo`, but not `-ojson`. */
function takesNextWord(word: string): boolean {
  if (!/^-\w/.test(word)) return FLAGS_WITH_VALUE.has(word);
  const letters = [...word.slice(1)];
  return letters.findIndex((letter) => FLAGS_WITH_VALUE.has(`-${letter}`)) === letters.length - 1;
}

/** The words of argv that could be a command's, global flags and their values left out. */
function typedWords(argv: readonly string[]): string[] {
  const words: string[] = [];
  for (let index = 0; index < argv.length; index += 1) {
    const word = argv[index] ?? '';
    if (word === '--') break;
    if (takesNextWord(word)) index += 1;
    else if (!word.startsWith('-')) words.push(word);
  }
  return words;
}

/** Whether the words could be the beginning of a command. */
function isKnown(argv: readonly string[]): boolean {
  const words = typedWords(argv);
  return COMMANDS.some((entry) => entry.words.split(' ').every((word, index) => (words[index] ?? word) === word));
}

function findEntry(argv: readonly string[]): Entry | undefined {
  const words = typedWords(argv);
  return COMMANDS.find((entry) => entry.words.split(' ').every((word, index) => words[index] === word));
}

/** Refused by name before anything can repeat the value. */
function refuseTokenFlag(argv: readonly string[]): void {
  const end = argv.indexOf('--');
  const own = end === -1 ? argv : argv.slice(0, end);
  if (own.some((word) => word === '--token' || word.startsWith('--token='))) {
    throw new UsageError('There is no --token flag.', {
      why: 'Every user of this machine can read the arguments of a running command, and shells keep them in their history.',
      hint: 'Set PARTNER_TOKEN, give --token-file <path> (or - for standard input), or store it with `partnerctl login`.',
    });
  }
}

interface Reader {
  readonly root: Commander;
  /** Where help and version go. */
  readonly written: string[];
  result: { args: readonly string[]; values: Values; globals: Values } | undefined;
}

function configure(commander: Commander, written: string[], columns: number): Commander {
  return commander
    .exitOverride()
    .configureOutput({
      writeOut: (text) => written.push(text),
      writeErr: () => undefined,
      getOutHelpWidth: () => columns,
    })
    .configureHelp({ showGlobalOptions: true, sortSubcommands: false, minWidthToWrap: 16 })
    .helpOption('-h, --help', 'show this help');
}

function examplesText({ examples }: Command): string {
  const lines = examples.map(({ line, does }) => `  # ${does}\n  $ ${line}`);
  return lines.length === 0 ? '' : `\nExamples:\n${lines.join('\n\n')}\n`;
}

function fillLeaf(leaf: Commander, command: Command, reader: Reader): void {
  leaf.description(command.description);
  for (const { usage, description } of command.args) leaf.addArgument(new Argument(usage, description));
  for (const flag of command.flags) leaf.addOption(toOption(flag));
  leaf.addHelpText('after', examplesText(command));
  leaf.action((...received: unknown[]) => {
    const args = received
      .slice(0, command.args.length)
      .flat()
      .filter((word) => typeof word === 'string');
    reader.result = { args, values: leaf.opts(), globals: reader.root.opts() };
  });
}

function buildTree(
  { version, columns }: ParseOptions,
  called: Entry | undefined,
  command: Command | undefined,
  group: string | undefined,
): Reader {
  const written: string[] = [];
  const root = configure(new Commander('partnerctl'), written, columns);
  const reader: Reader = { root, written, result: undefined };
  root
    .description(
      'Provision customer workspaces from YAML and talk to automation agents over the Partner Automation API.',
    )
    .version(version, '--version', 'show the version')
    .addHelpText('after', '\nTry it with no account:\n  $ partnerctl sandbox run -- partnerctl spaces list\n');
  for (const flag of GLOBAL_FLAGS) root.addOption(toOption(flag));
  // What a command is called below inherits how the root is configured.
  const groups = new Map<string, Commander>();
  for (const entry of COMMANDS) {
    const [first = '', second] = entry.words.split(' ');
    let parent = root;
    if (second !== undefined) {
      parent =
        groups.get(first) ??
        root
          .command(first)
          .description(GROUPS[first] ?? '')
          .helpCommand(false);
      groups.set(first, parent);
      // Building commands takes time; those of a group that is not asked for are not seen.
      if (first !== group) continue;
    }
    const leaf = parent
      .command(second ?? first)
      .summary(entry.summary)
      .description(entry.summary);
    if (entry === called && command) fillLeaf(leaf, command, reader);
  }
  return reader;
}

/** Commander's complaint as one of ours. */
function usageError(error: CommanderError, argv: readonly string[], entry: Entry | undefined): UsageError {
  // What stands behind an unknown flag may be a token.
  const said = error.message
    .replace(/^error: /, '')
    .replace(/^(unknown option '[^=]*)=.*'/is, "$1'")
    .replace(/^(unknown option '-\w)\w+'/i, "$1'");
  const [first = '', ...rest] = said.split('\n');
  const suggestion = rest
    .join(' ')
    .trim()
    .replace(/^\(|\)$/g, '');
  const [group = ''] = typedWords(argv);
  const words = entry?.words ?? (Object.hasOwn(GROUPS, group) ? group : '');
  const help = `Run \`${['partnerctl', words, '--help'].filter((word) => word !== '').join(' ')}\` for what there is.`;
  const message = `${first.charAt(0).toUpperCase()}${first.slice(1)}${/[.?!]$/.test(first) ? '' : '.'}`;
  return new UsageError(message, { hint: suggestion === '' ? help : `${suggestion} ${help}` });
}

function commandMissing(argv: readonly string[]): UsageError {
  const help = ['partnerctl', ...typedWords(argv), '--help'].join(' ');
  return new UsageError('A command is missing.', { hint: `Run \`${help}\` for what there is.` });
}

export interface ParseOptions {
  readonly version: string;
  /** How wide help may be. */
  readonly columns: number;
}

/**
 * Reads the words typed.
 * @param typed the arguments, without node and the script
 * @throws UsageError for what is not understood, with a suggestion where one is near
 */
export async function parse(typed: readonly string[], options: ParseOptions): Promise<Parsed> {
  refuseTokenFlag(typed);
  // The parser's own `help` looks one word deep, and command lines here have two.
  const asked = typed[0] === 'help' ? [...typed.slice(1), '--help'] : typed;
  // Asked for help on what there is not, it should say so.
  const argv = isKnown(asked) ? asked : asked.filter((word) => word !== '--help' && word !== '-h');
  const entry = findEntry(argv);
  const command = entry ? (await entry.load()).default : undefined;
  const reader = buildTree(options, entry, command, typedWords(argv)[0] ?? argv[argv.indexOf('--') + 1]);
  try {
    await reader.root.parseAsync(argv.length === 0 ? ['--help'] : argv, { from: 'user' });
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    if (error.exitCode === 0) return { kind: 'text', text: reader.written.join('') };
    if (error.code === 'commander.help') throw commandMissing(argv);
    throw usageError(error, argv, entry);
  }
  if (!entry || !command || !reader.result) throw commandMissing(argv);
  const { args, values, globals } = reader.result;
  return { kind: 'command', words: entry.words, command, given: wordsOf(args, values), globals: wordsOf([], globals) };
}
