import type { CommandUnknownOpts, Option } from '@commander-js/extra-typings';
import { formatExits } from './exit-meanings.ts';
import { formatTopicList, formatTopicsFor } from './help-topics.ts';
import { metaOf, pathOf } from './leaf.ts';
import { isRepeatable } from './options.ts';

const GLOBAL_OPTIONS_LINE = '\nGlobal options, such as -o json: partnerctl help output\n';

const WITHOUT_ACCOUNT = '\nTry it with no account:\n  $ partnerctl sandbox run -- partnerctl spaces list\n';

/** The default of an option as help shows it; undefined if it has none. */
function defaultText(option: Option): string | undefined {
  const { defaultValue, defaultValueDescription } = option;
  if (defaultValueDescription !== undefined) return defaultValueDescription;
  const isShown = typeof defaultValue === 'string' || typeof defaultValue === 'number';
  return isShown && !isRepeatable(option) ? String(defaultValue) : undefined;
}

/** Describes an option in help: what it does, its choices, and its default. */
export function optionHelp(option: Option): string {
  const { description, argChoices } = option;
  const fallback = defaultText(option);
  const notes = [
    ...(argChoices ? [`choices: ${argChoices.join(', ')}`] : []),
    ...(fallback === undefined ? [] : [`default: ${fallback}`]),
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

/** What follows the options in the help of a command. */
export function sectionsAfter(command: CommandUnknownOpts): string {
  if (!command.parent) return formatTopicList() + GLOBAL_OPTIONS_LINE + WITHOUT_ACCOUNT;
  const meta = metaOf(command);
  const topics = formatTopicsFor(pathOf(command).split(' ')[0] ?? '');
  if (!meta) return topics;
  const { scopes = [], exits = [], examples } = meta;
  const scopesText =
    scopes.length === 0 ? '' : `\nScopes of the token:\n${scopes.map((each) => `  ${each}\n`).join('')}`;
  const lines = examples.map(([line, does]) => `  # ${does}\n  $ ${line}`);
  return `${GLOBAL_OPTIONS_LINE}${scopesText}${formatExits(exits)}\nExamples:\n${lines.join('\n\n')}\n${topics}`;
}
