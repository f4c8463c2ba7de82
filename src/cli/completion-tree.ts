import { completionScript, SCRIPT_FILES, SHELLS } from '../completion/scripts.ts';
import type { CompletionTree, TreeArgument, TreeCommand, TreeFlag, ValueKind } from '../completion/tree.ts';
import { LEAVES } from '../contract/leaves.ts';
import { type ArgumentSpec, type Command, type FlagSpec, parseFlagUsage } from './command.ts';
import { HELP_TOPICS } from './help-topics.ts';
import { COMMANDS, GLOBAL_FLAGS, GROUPS } from './registry.ts';

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

function toFlag(commandPath: string, { usage, description, choices, repeatable }: FlagSpec): TreeFlag {
  const { name, short, placeholder, isValueOptional } = parseFlagUsage(usage);
  const kind = BY_FLAG[`${commandPath} ${name}`] ?? BY_FLAG[name];
  const value = choices ?? kind ?? BY_PLACEHOLDER[placeholder ?? ''] ?? 'free';
  return {
    name,
    ...(short !== undefined && { short }),
    ...(placeholder !== undefined && { value }),
    ...(isValueOptional && { isOptional: true }),
    ...(repeatable && { isRepeatable: true }),
    description,
  };
}

function toArgument(commandPath: string, { usage, choices }: ArgumentSpec): TreeArgument {
  const name = usage.replace(/^[<[]|\.\.\.|[>\]]$/g, '');
  const profile = commandPath.startsWith('profile ') && name === 'name' ? 'profile' : undefined;
  const value = choices ?? profile ?? BY_ARGUMENT[`${commandPath} ${name}`] ?? BY_PLACEHOLDER[name] ?? 'free';
  return { value, ...(usage.includes('...') && { isRepeatable: true }) };
}

function toTreeCommand(commandPath: string, summary: string, { args, flags }: Command): TreeCommand {
  return {
    summary,
    args: args.map((argument) => toArgument(commandPath, argument)),
    flags: flags.map((flag) => toFlag(commandPath, flag)),
  };
}

/** Describes all commands for completion. The build stores the result. */
export async function describeCompletion(): Promise<CompletionTree> {
  const commands = await Promise.all(
    COMMANDS.map(async ({ commandPath, summary, load }) => {
      return [commandPath, toTreeCommand(commandPath, summary, (await load()).default)] as const;
    }),
  );
  const help = { summary: 'Show the help of a command, or a help topic', args: [], flags: [] };
  return {
    commands: Object.fromEntries([...commands, ['help', help]]),
    groups: GROUPS,
    globals: GLOBAL_FLAGS.map((flag) => toFlag('', flag)),
    topics: HELP_TOPICS.map(({ name, summary }) => [name, summary]),
    leaves: Object.entries(LEAVES).map(([name, { note }]) => [name, note]),
  };
}

/** Returns the content of each file in completions/, by file name. */
export function scriptFiles(): Readonly<Record<string, string>> {
  return Object.fromEntries(SHELLS.map((shell) => [SCRIPT_FILES[shell], completionScript(shell)]));
}
