import type { CommandUnknownOpts, Option } from '@commander-js/extra-typings';
import { findCommand, lineageOf, RejectedLine } from './command.ts';
import { HELP_TOPICS } from './help.ts';
import { optionName, valueName } from './options.ts';

/** A word that may follow, and what it stands for. */
export interface Candidate {
  readonly value: string;
  readonly description: string;
}

/** What may stand at the cursor; `files` are completed by the shell itself. */
export type Offer = readonly Candidate[] | 'files';

/** The values that only the service or the settings know. */
export type LiveKind = 'space' | 'agent' | 'cron_job_id' | 'profile';

type Completed = 'files' | LiveKind | 'external_space_id' | 'leaf' | 'api-path' | 'zone';

/** What completes a value, by the name that help shows for it: the name is its type. A test holds every name to this. */
export const COMPLETED_BY: Readonly<Record<string, Completed | 'nothing'>> = {
  ...{ file: 'files', path: 'files', dir: 'files', 'file|dir': 'files', 'file|url': 'files', plan: 'files' },
  ...{ address: 'files', from: 'files', to: 'files', command: 'files' },
  ...{ space: 'space', agent: 'agent', profile: 'profile', cron_job_id: 'cron_job_id' },
  ...{ 'cron_job_id|key': 'cron_job_id', external_space_id: 'external_space_id', glob: 'external_space_id' },
  ...{ leaf: 'leaf', prefix: 'leaf', 'api-path': 'api-path', zone: 'zone' },
  ...{ source_id: 'nothing', session_id: 'nothing', message_id: 'nothing', id: 'nothing' },
  ...{ name: 'nothing', text: 'nothing', value: 'nothing', more: 'nothing', json: 'nothing', header: 'nothing' },
  ...{ n: 'nothing', duration: 'nothing', expression: 'nothing', pattern: 'nothing', template: 'nothing' },
  ...{ url: 'nothing', 'url-path': 'nothing', type: 'nothing', word: 'nothing', JMESPath: 'nothing' },
  'NAME=value': 'nothing',
};

/** Finds live values of a kind. */
export type FindLive = (kind: LiveKind) => Promise<readonly Candidate[]>;

function optionsOf(command: CommandUnknownOpts): readonly Option[] {
  const all = lineageOf(command)
    .toReversed()
    .flatMap(({ options }) => options);
  return command.parent ? all.filter(({ long }) => long !== '--version') : all;
}

/** Parses the words before the cursor. @throws RejectedLine if the last option lacks its value */
function parseWords(
  command: CommandUnknownOpts,
  words: readonly string[],
): { readonly command: CommandUnknownOpts; readonly operands: readonly string[] } {
  const { operands, unknown } = command.parseOptions([...words]);
  const [word = '', ...rest] = operands;
  const child = findCommand([word], command);
  return child ? parseWords(child, [...rest, ...unknown]) : { command, operands };
}

function plain(values: readonly string[]): readonly Candidate[] {
  return values.map((value) => ({ value, description: '' }));
}

/** The paths of the specification, up to what must be filled in. */
async function apiPaths(): Promise<readonly string[]> {
  const { DEFAULTS, kindOf, LEAF_NAMES } = await import('../contract/leaves.ts');
  const { parseOperation } = await import('../contract/leaf-values.ts');
  const operations = LEAF_NAMES.filter((name) => kindOf(name) === 'operation');
  const paths = operations.flatMap((name) => parseOperation(DEFAULTS[name])?.path.replace(/\{.*/, '') ?? []);
  return [...new Set(paths)];
}

async function offerValues(name = '', choices: readonly string[] | undefined, find: FindLive): Promise<Offer> {
  const completed = choices ?? COMPLETED_BY[name];
  switch (completed) {
    case undefined:
    case 'nothing':
      return [];
    case 'files':
      return completed;
    case 'external_space_id':
      return (await find('space')).flatMap(({ value, description }) =>
        value.startsWith('ext:') ? [{ value: value.slice(4), description }] : [],
      );
    case 'leaf':
      return plain((await import('../contract/leaves.ts')).LEAF_NAMES);
    case 'api-path':
      return plain(await apiPaths());
    case 'zone':
      return plain(Intl.supportedValuesOf('timeZone'));
    default:
      return typeof completed === 'string' ? find(completed) : plain(completed);
  }
}

function commandsOf(command: CommandUnknownOpts | undefined): readonly Candidate[] {
  return (command?.commands ?? []).map((each) => ({ value: each.name(), description: each.summary() }));
}

async function offerOperand(command: CommandUnknownOpts, operands: readonly string[], find: FindLive): Promise<Offer> {
  if (command.commands.length > 0) return operands.length > 0 ? [] : commandsOf(command);
  if (command.name() === 'help' && command.parent) {
    const topics = HELP_TOPICS.map(({ name, summary }) => ({ value: name, description: summary }));
    return [...commandsOf(findCommand(operands, command.parent)), ...(operands.length > 0 ? [] : topics)];
  }
  const declared = command.registeredArguments;
  const argument = declared[operands.length] ?? declared.findLast(({ variadic }) => variadic);
  return argument ? await offerValues(argument.name(), argument.argChoices, find) : [];
}

async function offerAfter(
  program: CommandUnknownOpts,
  before: readonly string[],
  isOption: boolean,
  find: FindLive,
): Promise<Offer> {
  try {
    const { command, operands } = parseWords(program, before);
    if (!isOption) return await offerOperand(command, operands, find);
    const words = optionsOf(command).map((option) => ({ value: optionName(option), description: option.description }));
    return [...words, { value: '--help', description: 'show this help' }];
  } catch (error) {
    if (!(error instanceof RejectedLine)) throw error;
    // The last option lacks its value.
    const option = optionsOf(error.command).find(({ long, short }) => [long, short].includes(before.at(-1)));
    return option ? await offerValues(valueName(option), option.argChoices, find) : [];
  }
}

/**
 * Finds what may stand at the cursor. The words before it set the options of the program.
 * @param current the word at the cursor, up to it
 */
export async function complete(
  program: CommandUnknownOpts,
  before: readonly string[],
  current: string,
  find: FindLive,
): Promise<Offer> {
  const offer = await offerAfter(program, before, current.startsWith('-') && !before.includes('--'), find);
  if (offer === 'files') return offer;
  // An id and other words for it are not offered side by side.
  const isOther = (value: string) => current === '' && /^(?:ext|name):/.test(value);
  return offer.filter(({ value }) => value.startsWith(current) && !isOther(value));
}
