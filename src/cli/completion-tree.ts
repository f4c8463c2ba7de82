import type { Argument, CommandUnknownOpts, Option } from '@commander-js/extra-typings';
import { completionScript, SCRIPT_FILES, SHELLS } from '../completion/scripts.ts';
import type { CompletionTree, TreeArgument, TreeCommand, TreeFlag, ValueKind } from '../completion/tree.ts';
import { LEAVES } from '../contract/leaves.ts';
import { HELP_TOPICS } from './help-topics.ts';
import { leavesOf, pathOf } from './leaf.ts';
import { isRepeatable, optionName, valueName } from './options.ts';
import { createCommandTree } from './program.ts';

/** The kinds of flag values that the placeholder does not determine, by flag, or by command and flag. */
const BY_FLAG: Readonly<Record<string, ValueKind>> = {
  '--profile': 'profile',
  '--source': 'source',
  '--session': 'session',
  '--timezone': 'time-zone',
  '--key': 'key',
  'state show --key': 'free',
  // A URL path, not a file.
  'webhook listen --path': 'free',
};

/** The kinds of arguments that the placeholder does not determine. */
const BY_ARGUMENT: Readonly<Record<string, ValueKind>> = {
  'contract set more': 'leaf-or-value',
  'contract set value': 'free',
  'sandbox run command': 'command',
  'contract show prefix': 'leaf',
  'api path': 'free',
};

/** The kinds of values by placeholder. All others are free text. */
const BY_PLACEHOLDER: Readonly<Record<string, ValueKind>> = {
  agent: 'agent',
  address: 'file',
  cron_job_id: 'job',
  dir: 'directory',
  file: 'file',
  'file|dir': 'file',
  'file|url': 'file',
  from: 'file',
  json: 'text',
  key: 'key',
  leaf: 'leaf',
  name: 'free',
  'name=value': 'form',
  path: 'file',
  profile: 'profile',
  session_id: 'session',
  source_id: 'source',
  space: 'space',
  'text|@file|-': 'text',
  to: 'file',
  trace: 'file',
};

function toFlag(commandPath: string, option: Option): TreeFlag {
  const { short, argChoices, description } = option;
  const name = optionName(option);
  const placeholder = valueName(option);
  const kind = BY_FLAG[`${commandPath} ${name}`] ?? BY_FLAG[name];
  const value = argChoices ?? kind ?? BY_PLACEHOLDER[placeholder ?? ''] ?? 'free';
  return {
    name,
    ...(short !== undefined && { short }),
    ...(placeholder !== undefined && { value }),
    ...(isRepeatable(option) && { isRepeatable: true }),
    description,
  };
}

function toArgument(commandPath: string, argument: Argument): TreeArgument {
  const { argChoices, variadic } = argument;
  const name = argument.name();
  const profile = commandPath.startsWith('profile ') && name === 'name' ? 'profile' : undefined;
  const value = argChoices ?? profile ?? BY_ARGUMENT[`${commandPath} ${name}`] ?? BY_PLACEHOLDER[name] ?? 'free';
  return { value, ...(variadic && { isRepeatable: true }) };
}

function toTreeCommand(command: CommandUnknownOpts): TreeCommand {
  const path = pathOf(command);
  return {
    summary: command.summary(),
    args: command.registeredArguments.map((argument) => toArgument(path, argument)),
    flags: command.options.map((option) => toFlag(path, option)),
  };
}

/** Describes all commands for completion. The build stores the result. */
export function describeCompletion(): CompletionTree {
  const { program } = createCommandTree({ version: '', columns: 80, print: () => undefined });
  const groups = program.commands.filter(({ commands }) => commands.length > 0);
  return {
    commands: Object.fromEntries(leavesOf(program).map((leaf) => [pathOf(leaf), toTreeCommand(leaf)])),
    groups: Object.fromEntries(groups.map((each) => [each.name(), each.summary()])),
    globals: program.options.filter(({ long }) => long !== '--version').map((option) => toFlag('', option)),
    topics: HELP_TOPICS.map(({ name, summary }) => [name, summary]),
    leaves: Object.entries(LEAVES).map(([name, { note }]) => [name, note]),
  };
}

/** Returns the content of each file in completions/, by file name. */
export function scriptFiles(): Readonly<Record<string, string>> {
  return Object.fromEntries(SHELLS.map((shell) => [SCRIPT_FILES[shell], completionScript(shell)]));
}
