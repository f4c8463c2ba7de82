import { Argument, type CommandUnknownOpts, Option } from '@commander-js/extra-typings';
import api from '../commands/api.ts';
import completionBash from '../commands/completion/bash.ts';
import completionFish from '../commands/completion/fish.ts';
import completionInstall from '../commands/completion/install.ts';
import completionPowershell from '../commands/completion/powershell.ts';
import completionRefresh from '../commands/completion/refresh.ts';
import completionZsh from '../commands/completion/zsh.ts';
import contractCheck from '../commands/contract/check.ts';
import contractImport from '../commands/contract/import.ts';
import contractSet from '../commands/contract/set.ts';
import contractShow from '../commands/contract/show.ts';
import contractUnset from '../commands/contract/unset.ts';
import sandboxRun from '../commands/sandbox/run.ts';
import sandboxStart from '../commands/sandbox/start.ts';
import stateCopy from '../commands/state/copy.ts';
import stateInit from '../commands/state/init.ts';
import statePath from '../commands/state/path.ts';
import stateShow from '../commands/state/show.ts';
import stateVerify from '../commands/state/verify.ts';
import { createArgs } from './args.ts';
import { type Command, type FlagSpec, parseFlagUsage, type TypedValue } from './command.ts';
import { group, leaf, run } from './leaf.ts';
import { collect } from './options.ts';

/* Makes leaves of commands that are still declared in the dialect of command.ts. Goes with the last of them. */

function toOption({ usage, description, default: value, defaultText, choices, repeatable }: FlagSpec): Option {
  const option: Option = new Option(usage, description);
  if (choices) option.choices([...choices]);
  if (repeatable) option.argParser(collect).default([]);
  else if (value !== undefined || defaultText !== undefined) option.default(undefined, value ?? defaultText);
  return option;
}

/** A leaf that runs a command as it was declared before. */
function earlier(name: string, summary: string, spec: Command): CommandUnknownOpts {
  const { description, exits, scopes, required, inputs, args, flags, examples } = spec;
  const dashed = (names: readonly string[] = []) => names.map((each) => `--${each}`);
  const excessHint = args.at(-1)?.quoteHint;
  const command = leaf(name, summary, {
    description,
    exits,
    scopes,
    required: required.map(({ oneOf, unless, ...rest }) => ({ ...rest, oneOf: dashed(oneOf), unless: dashed(unless) })),
    inputs: inputs.map(({ schemaFlag, ...rest }) => ({ ...rest, ...(schemaFlag && { schemaOption: schemaFlag }) })),
    examples: examples.map(({ line, does }) => [line, does] as const),
    ...(excessHint !== undefined && { excessHint }),
  });
  for (const { usage, description: text, choices } of args) {
    const argument: Argument = new Argument(usage, text);
    // For completion only: these commands check their arguments themselves.
    if (choices) argument.argChoices = [...choices];
    command.addArgument(argument);
  }
  const typed: TypedValue[] = [];
  for (const flag of flags) {
    command.addOption(toOption(flag));
    const { name: long } = parseFlagUsage(flag.usage);
    if (flag.repeatable) {
      command.on(`option:${long.slice(2)}`, (value: string) => typed.push({ flag: long.slice(2), value }));
    }
  }
  return command.action(
    run(async (context) => {
      const positionals = command.processedArgs.flat().filter((text: unknown) => typeof text === 'string');
      return spec.prepare(createArgs(positionals, command.opts(), typed)).run(context);
    }),
  );
}

/** The commands that are not converted yet, in the order of help. */
export function earlierCommands() {
  return {
    api: earlier('api', 'Make any call of the service', api),
    state: group('state', 'The record of earlier runs', [
      earlier('path', 'Print the path or the address of the state', statePath),
      earlier('show', 'Show the records of the state', stateShow),
      earlier('verify', 'Check every line of the state', stateVerify),
      earlier('init', 'Prepare a database or a repository for the state', stateInit),
      earlier('copy', 'Copy the records of one place to another', stateCopy),
    ]),
    contract: group('contract', 'The wire format, where the specification leaves it open', [
      earlier('show', 'Show the wire format that the tool expects', contractShow),
      earlier('set', 'Set a part of the wire format', contractSet),
      earlier('import', "Read the wire format from the service's OpenAPI document", contractImport),
      earlier('check', 'Compare the wire format with the service, by reads only', contractCheck),
      earlier('unset', 'Remove a setting of the wire format', contractUnset),
    ]),
    sandbox: group('sandbox', 'A local copy of the service, no account needed', [
      earlier('start', 'Run the service on this machine', sandboxStart),
      earlier('run', 'Run a command against a temporary sandbox', sandboxRun),
    ]),
    completion: group('completion', 'Complete commands, flags, and ids with the Tab key', [
      earlier('install', 'Set up completion in your shell', completionInstall),
      earlier('refresh', 'Read the ids and names that completion offers', completionRefresh),
      earlier('bash', 'Print the completion script of bash', completionBash),
      earlier('zsh', 'Print the completion script of zsh', completionZsh),
      earlier('fish', 'Print the completion script of fish', completionFish),
      earlier('powershell', 'Print the completion script of PowerShell', completionPowershell),
    ]),
  };
}
