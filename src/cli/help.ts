import type { CommandUnknownOpts, Option } from '@commander-js/extra-typings';
import { EXIT } from '../errors.ts';
import { EXIT_MEANINGS } from './exit-meanings.ts';
import { HELP_TOPICS, topicsOf } from './help-topics.ts';
import { examplesOf, metaOf } from './leaf.ts';

/** Describes an option in help: what it does, its choices, and its default. */
export function optionHelp({ description, argChoices, defaultValue }: Option): string {
  const isShown = typeof defaultValue === 'string' || typeof defaultValue === 'number';
  const notes = [
    ...(argChoices ? [`choices: ${argChoices.join(', ')}`] : []),
    ...(isShown ? [`default: ${defaultValue}`] : []),
  ];
  return notes.length === 0 ? description : `${description} (${notes.join('; ')})`;
}

/** Adds `(required)` to the descriptions of required options. An alternative says itself what it replaces. */
export function markRequired(command: CommandUnknownOpts): void {
  for (const { oneOf, unless = [] } of metaOf(command)?.required ?? []) {
    const option = command.options.find(({ long }) => long === oneOf[0]);
    const note = unless[0] === undefined ? 'required' : `required without ${unless[0]}`;
    if (option) option.description += ` (${note})`;
  }
}

/** Formats a section of help; '' without lines. */
function section(title: string, lines: readonly string[], separator = '\n'): string {
  return lines.length === 0 ? '' : `\n${title}:\n${lines.join(separator)}\n`;
}

const GLOBAL_OPTIONS_LINE = '\nGlobal options, such as -o json: partnerctl help output\n';

/** What follows the options in the help of a command. */
export function sectionsAfter(command: CommandUnknownOpts): string {
  if (!command.parent) {
    const width = Math.max(...HELP_TOPICS.map(({ name }) => name.length));
    const topics = HELP_TOPICS.map(({ name, summary }) => `  ${name.padEnd(width)}  ${summary}`);
    const trial = section('Try it with no account', ['  $ partnerctl sandbox run -- partnerctl spaces list']);
    return section('Help topics (partnerctl help <topic>)', topics) + GLOBAL_OPTIONS_LINE + trial;
  }
  const topics = section(
    'Learn more',
    topicsOf(command).map(({ name }) => `  $ partnerctl help ${name}`),
  );
  const { scopes = [], exits = [] } = metaOf(command) ?? {};
  if (!metaOf(command)) return topics;
  const codes = exits
    .toSorted((one, other) => EXIT[one] - EXIT[other])
    .map((exit) => `  ${String(EXIT[exit]).padEnd(4)}${EXIT_MEANINGS[exit]}`);
  const examples = examplesOf(command).map((example) => `  # ${example.description}\n  $ ${example.command}`);
  const scopesSection = section(
    'Scopes of the token',
    scopes.map((scope) => `  ${scope}`),
  );
  const codesSection = section('Exit codes, besides 0, 1, and 2', codes);
  return `${GLOBAL_OPTIONS_LINE}${scopesSection}${codesSection}${section('Examples', examples, '\n\n')}${topics}`;
}
