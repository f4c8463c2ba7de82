import type { CommandUnknownOpts, Option } from '@commander-js/extra-typings';
import { HELP_TOPICS } from './help-topics.ts';
import { findCommand, lineageOf } from './leaf.ts';
import { optionName, valueName } from './options.ts';

/** A word that may follow, and what it stands for. */
export interface Candidate {
  readonly value: string;
  readonly description: string;
}

/** What may stand at the cursor; `files` are completed by the shell itself. */
export type Offer = readonly Candidate[] | 'files';

/** What values are that only the service or the settings know, by the names that help shows for them: `<space>`. */
const LIVE_KINDS = new Map([
  ['space', 'space'],
  ['agent', 'agent'],
  ['cron_job_id', 'job'],
  ['key', 'key'],
  ['profile', 'profile'],
]);

const FILES = ['file', 'path', 'dir', 'file|dir', 'file|url', 'address', 'from', 'to', 'command'];

/** Finds live values of a kind. */
export type FindLive = (kind: string) => Promise<readonly Candidate[]>;

/** What the words before the cursor say. */
interface Line {
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

/** The options that a command accepts, its own first. */
function optionsOf(command: CommandUnknownOpts): readonly Option[] {
  const all = lineageOf(command)
    .toReversed()
    .flatMap(({ options }) => options);
  return command.parent ? all.filter(({ long }) => long !== '--version') : all;
}

/** Reads the words before the cursor. Accepts any words. */
export function readLine(program: CommandUnknownOpts, words: readonly string[]): Line {
  const line: Line = { command: program, operands: [], options: new Map(), awaiting: undefined, isPastDashes: false };
  const { operands, options } = line;
  for (const word of words) {
    const { awaiting } = line;
    line.awaiting = undefined;
    if (awaiting) options.set(optionName(awaiting), word);
    else if (line.isPastDashes || word === '-' || !word.startsWith('-')) {
      const child = operands.length === 0 ? findCommand([word], line.command) : undefined;
      if (child) line.command = child;
      else operands.push(word);
    } else if (word === '--') line.isPastDashes = true;
    else {
      const [name = word, ...value] = word.split('=');
      const option = optionsOf(line.command).find(({ long, short }) => long === name || short === name);
      if (option) options.set(optionName(option), value.join('='));
      if (option && valueName(option) !== undefined && value.length === 0) line.awaiting = option;
    }
  }
  return line;
}

/** Offers the values of an option or an argument. @param name as help shows it */
async function offerValues(name = '', choices: readonly string[] | undefined, find: FindLive): Promise<Offer> {
  if (choices) return choices.map((value) => ({ value, description: '' }));
  const kind = LIVE_KINDS.get(name);
  if (kind !== undefined) return find(kind);
  return FILES.includes(name) ? 'files' : [];
}

function commandsOf(command: CommandUnknownOpts | undefined): readonly Candidate[] {
  return (command?.commands ?? []).map((each) => ({ value: each.name(), description: each.summary() }));
}

async function offerOperand({ command, operands }: Line, find: FindLive): Promise<Offer> {
  if (command.commands.length > 0) return operands.length > 0 ? [] : commandsOf(command);
  if (command.name() === 'help' && command.parent) {
    const topics = HELP_TOPICS.map(({ name, summary }) => ({ value: name, description: summary }));
    return [...commandsOf(findCommand(operands, command.parent)), ...(operands.length > 0 ? [] : topics)];
  }
  const declared = command.registeredArguments;
  const argument = declared[operands.length] ?? declared.findLast(({ variadic }) => variadic);
  return argument ? await offerValues(argument.name(), argument.argChoices, find) : [];
}

/** Finds what may stand at the cursor. @param current the word at the cursor, up to it */
export async function complete(line: Line, current: string, find: FindLive): Promise<Offer> {
  const { command, awaiting, isPastDashes } = line;
  let offer: Offer;
  if (awaiting) offer = await offerValues(valueName(awaiting), awaiting.argChoices, find);
  else if (isPastDashes || !current.startsWith('-')) offer = await offerOperand(line, find);
  else {
    const words = optionsOf(command).map((option) => ({ value: optionName(option), description: option.description }));
    offer = [...words, { value: '--help', description: 'show this help' }];
  }
  if (offer === 'files') return offer;
  // An id and other words for it are not offered side by side.
  const isOther = (value: string) => current === '' && /^(?:ext|name):/.test(value);
  return offer.filter(({ value }) => value.startsWith(current) && !isOther(value));
}
