import { Argument, type CommandUnknownOpts, Option } from '@commander-js/extra-typings';
import chatOpen from '../commands/chat/open.ts';
import chatSend from '../commands/chat/send.ts';
import chatSetup from '../commands/chat/setup.ts';
import chatTail from '../commands/chat/tail.ts';
import chatWait from '../commands/chat/wait.ts';
import chatWatch from '../commands/chat/watch.ts';
import contractCheck from '../commands/contract/check.ts';
import contractImport from '../commands/contract/import.ts';
import contractSet from '../commands/contract/set.ts';
import contractShow from '../commands/contract/show.ts';
import contractUnset from '../commands/contract/unset.ts';
import webhookListen from '../commands/webhook/listen.ts';
import webhookReplay from '../commands/webhook/replay.ts';
import webhookTrigger from '../commands/webhook/trigger.ts';
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
    chat: group('chat', 'Send messages to agents and follow their replies', [
      earlier('setup', "Create or reuse an agent's API chat source", chatSetup),
      earlier('open', 'Chat with an agent interactively', chatOpen),
      earlier('send', 'Send a message to an agent, optionally waiting for the reply', chatSend),
      earlier('wait', 'Wait for the reply to a message', chatWait),
      earlier('tail', 'Follow the messages of one or more sessions', chatTail),
      earlier('watch', 'Watch every conversation of this machine', chatWatch),
    ]),
    webhook: group('webhook', 'Receive, verify, and forward webhooks', [
      earlier('listen', 'Receive, verify, and forward webhooks on this machine', webhookListen),
      earlier('replay', 'Send saved webhooks again', webhookReplay),
      earlier('trigger', 'Make the sandbox send a webhook', webhookTrigger),
    ]),
    contract: group('contract', 'The wire format, where the specification leaves it open', [
      earlier('show', 'Show the wire format that the tool expects', contractShow),
      earlier('set', 'Set a part of the wire format', contractSet),
      earlier('import', "Read the wire format from the service's OpenAPI document", contractImport),
      earlier('check', 'Compare the wire format with the service, by reads only', contractCheck),
      earlier('unset', 'Remove a setting of the wire format', contractUnset),
    ]),
  };
}
