import type { CommandUnknownOpts, Option } from '@commander-js/extra-typings';
import { HELP_TOPICS } from './help-topics.ts';
import { lineageOf } from './leaf.ts';
import { isRepeatable, optionName, valueName } from './options.ts';

/** A word that may follow, and what it stands for. */
export interface Candidate {
  readonly value: string;
  readonly description: string;
  /** Other words for the same thing, such as `name:Acme`. Offered once their beginning is typed. */
  readonly aliases?: readonly string[];
  /** What it belongs to: the space of an agent, the source of a session. */
  readonly within?: string;
}

/** What may stand at the cursor: words, or files, which the shell completes itself. */
export interface Offer {
  readonly kind: 'words' | 'files';
  readonly words: readonly Candidate[];
  /** The part of the current word before a file: `--file=`, `@`. */
  readonly prefix: string;
}

/** Values that only the service, the state, or the settings know. */
type LiveKind = 'space' | 'agent' | 'job' | 'key' | 'source' | 'session' | 'profile' | 'leaf';

/** Finds live values. */
export type FindLive = (kind: LiveKind) => Promise<readonly Candidate[]>;

/** What is typed before the cursor. */
interface Line {
  readonly program: CommandUnknownOpts;
  /** The command or the group that the words name. */
  command: CommandUnknownOpts;
  /** The arguments of the command. */
  readonly operands: string[];
  /** The options by name, with the last value of each; '' for a flag. */
  readonly options: Map<string, string>;
  /** The option whose value the current word is. */
  awaiting: Option | undefined;
  isPastDashes: boolean;
}

/** What values are, by the names that help shows for them: `<space>`. */
const LIVE_KINDS: Readonly<Record<string, LiveKind>> = {
  space: 'space',
  agent: 'agent',
  cron_job_id: 'job',
  key: 'key',
  source_id: 'source',
  session_id: 'session',
  profile: 'profile',
  leaf: 'leaf',
};

const FILES = ['file', 'path', 'dir', 'file|dir', 'file|url', 'address', 'from', 'to', 'command'];

const NOTHING: Offer = { kind: 'words', words: [], prefix: '' };

function files(prefix = ''): Offer {
  return { kind: 'files', words: [], prefix };
}

function plain(values: Iterable<string>): readonly Candidate[] {
  return Array.from(values, (value) => ({ value, description: '' }));
}

/** The options that a command accepts, its own first. */
function optionsOf(command: CommandUnknownOpts): readonly Option[] {
  return lineageOf(command)
    .toReversed()
    .flatMap(({ options }) => options);
}

function takeOption(line: Line, word: string): void {
  const [name = word, ...value] = word.split('=');
  const option = optionsOf(line.command).find(({ long, short }) => long === name || short === name);
  if (!option) return;
  line.options.set(optionName(option), value.join('='));
  if (valueName(option) !== undefined && value.length === 0) line.awaiting = option;
}

function takeWord(line: Line, word: string): void {
  const { command, operands, options, awaiting, isPastDashes } = line;
  line.awaiting = undefined;
  if (awaiting) options.set(optionName(awaiting), word);
  else if (isPastDashes || word === '-' || !word.startsWith('-')) {
    const child = operands.length === 0 ? command.commands.find((each) => each.name() === word) : undefined;
    if (child) line.command = child;
    else operands.push(word);
  } else if (word === '--') line.isPastDashes = true;
  else takeOption(line, word);
}

/** Reads the words before the cursor. Accepts any words. */
export function readLine(program: CommandUnknownOpts, words: readonly string[]): Line {
  const options = new Map<string, string>();
  const line: Line = { program, command: program, operands: [], options, awaiting: undefined, isPastDashes: false };
  for (const word of words) takeWord(line, word);
  return line;
}

/** The values of a kind, as far as they belong to what is typed. An agent belongs to the space that was listed. */
async function findValues(kind: LiveKind, line: Line, find: FindLive): Promise<readonly Candidate[]> {
  const all = await find(kind);
  if (kind === 'session') return all.filter(({ within }) => within === (line.options.get('--source') ?? within));
  if (kind !== 'agent') return all;
  const isFirst = line.command.registeredArguments[0]?.name() === 'space';
  const space = line.options.get('--space') ?? (isFirst ? line.operands[0] : undefined);
  // Without its space, the name of an agent names none.
  if (space === undefined) return all.map(({ value, description }) => ({ value, description }));
  const names = (await find('space')).map(({ value, aliases = [] }) => [value, ...aliases]);
  const same = [space, ...names.filter((each) => each.includes(space)).flat()];
  return all.filter(({ within = '' }) => same.includes(within));
}

/** Offers the values of an option or an argument. @param name as help shows it */
async function offerValues(
  name: string,
  choices: readonly string[] | undefined,
  [line, text, find]: [Line, string, FindLive],
): Promise<Offer> {
  const kind = LIVE_KINDS[name];
  if (choices) return { ...NOTHING, words: plain(choices) };
  if (kind) return { ...NOTHING, words: await findValues(kind, line, find) };
  if (name === 'zone') return { ...NOTHING, words: plain(['UTC', ...Intl.supportedValuesOf('timeZone')]) };
  const mark = /^(?:[^=@]*=)?@/.exec(text)?.[0];
  return mark !== undefined || FILES.includes(name) ? files(mark) : NOTHING;
}

function commandsOf(command: CommandUnknownOpts): readonly Candidate[] {
  return command.commands.map((each) => ({ value: each.name(), description: each.summary() }));
}

async function offerOperand(line: Line, text: string, find: FindLive): Promise<Offer> {
  const { program, command, operands } = line;
  if (command.commands.length > 0) return { ...NOTHING, words: operands.length > 0 ? [] : commandsOf(command) };
  if (command.name() === 'help') {
    const topics = HELP_TOPICS.map(({ name, summary }) => ({ value: name, description: summary }));
    const { command: named, operands: unknown } = readLine(program, operands);
    const words = [...(unknown.length > 0 ? [] : commandsOf(named)), ...(operands.length > 0 ? [] : topics)];
    return { ...NOTHING, words };
  }
  const declared = command.registeredArguments;
  const argument = declared[operands.length] ?? declared.findLast(({ variadic }) => variadic);
  if (!argument) return NOTHING;
  if (argument.name() !== 'command' || operands[0] !== 'partnerctl') {
    // Commands of `profile` call it a name.
    const isProfile = argument.name() === 'name' && command.parent?.name() === 'profile';
    return await offerValues(isProfile ? 'profile' : argument.name(), argument.argChoices, [line, text, find]);
  }
  // The command that runs in a sandbox knows nothing of this service.
  return await complete(readLine(program, operands.slice(1)), text, async () => []);
}

/** Offers the options that may still be given. */
function offerOptions({ command, options }: Line): Offer {
  const all = optionsOf(command).filter((option) => isRepeatable(option) || !options.has(optionName(option)));
  // After a command, --version is of no use.
  const accepted = command.parent ? all.filter(({ long }) => long !== '--version') : all;
  const words = accepted.map((option) => ({ value: optionName(option), description: option.description }));
  return { ...NOTHING, words: [...words, { value: '--help', description: 'show this help' }] };
}

/** Offers the values of an option, which follow it in the same word or in the next. @param prefix `--output=`, or '' */
async function offerOptionValues(option: Option, prefix: string, given: [Line, string, FindLive]): Promise<Offer> {
  const isProfile = optionName(option) === '--profile';
  const offer = await offerValues(isProfile ? 'profile' : (valueName(option) ?? ''), option.argChoices, given);
  const words = offer.words.map(({ value, aliases = [], ...rest }) => ({
    ...rest,
    value: prefix + value,
    aliases: aliases.map((alias) => prefix + alias),
  }));
  return { ...offer, words, prefix: prefix + offer.prefix };
}

/** Keeps the words that begin as typed. */
function matching({ words, ...offer }: Offer, typed: string): Offer {
  const found = words.flatMap(({ value, description, aliases = [] }) => {
    const word = [value, ...aliases].find((each) => each.startsWith(typed));
    return word === undefined ? [] : [{ value: word, description }];
  });
  return { ...offer, words: found };
}

/** Finds what may stand at the cursor. @param current the word at the cursor, up to it */
export async function complete(line: Line, current: string, find: FindLive): Promise<Offer> {
  const { command, awaiting, isPastDashes } = line;
  if (awaiting) return matching(await offerOptionValues(awaiting, '', [line, current, find]), current);
  if (isPastDashes || !current.startsWith('-')) return matching(await offerOperand(line, current, find), current);
  const [, name, text = ''] = /^(--[^=]+)=(.*)$/s.exec(current) ?? [];
  if (name === undefined) return matching(offerOptions(line), current);
  const option = optionsOf(command).find(({ long }) => long === name);
  return option ? matching(await offerOptionValues(option, `${name}=`, [line, text, find]), current) : NOTHING;
}
