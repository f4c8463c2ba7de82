import { Command, type CommanderError, type CommandUnknownOpts } from '@commander-js/extra-typings';
import { type ExitName, SERVICE_EXITS } from '../errors.ts';
import type { CommandResult } from '../output/command-result.ts';
import type { Context } from './context.ts';

interface Requirement {
  /** With their dashes. If all are missing, the error names the first one. */
  readonly oneOf: readonly string[];
  readonly unless?: readonly string[];
  /** The flags that need it; without them, the command does. */
  readonly when?: readonly string[];
  readonly hint?: string;
}

/** What commander does not know of a command. */
export interface Meta {
  /** What the command does, if the summary does not say all of it. */
  readonly description?: string;
  /** Complete command lines that work as written, each with what it does: `partnerctl cron list  # all jobs`. */
  readonly examples: readonly string[];
  /** What `-o json` prints, by the names of its fields: `[{cron_job_id, name, error?}]`. A stream prints it for each event. */
  readonly json?: string;
  /** With scopes, those besides the exit codes of any call to the service. */
  readonly exits?: readonly ExitName[];
  /** All token scopes that the command may need. */
  readonly scopes?: readonly string[];
  readonly required?: readonly Requirement[];
  /** The hint for more arguments than there are, such as a text without quotes. */
  readonly excessHint?: string;
}

type NamesIn<Text extends string> = Text extends `${infer One}, ${infer Rest}`
  ? NamesIn<One> | NamesIn<Rest>
  : Text extends `${infer Name}?`
    ? Name
    : Text;

/** Names the fields of an object for `Meta.json`: does not compile if they are not those of its type. */
export function fieldsOf<Value>() {
  return <const Text extends string>(
    names: [NamesIn<Text>, keyof Value] extends [keyof Value, NamesIn<Text>] ? Text : never,
  ): string => `{${names}}`;
}

class DeclaredCommand extends Command {
  readonly meta: Meta;

  constructor(name: string, summary: string, meta: Meta) {
    super(name);
    this.meta = { ...meta, exits: [...(meta.scopes ? SERVICE_EXITS : []), ...(meta.exits ?? [])] };
    this.summary(summary).description(meta.description ?? `${summary}.`);
  }
}

export interface Invocation {
  readonly command: CommandUnknownOpts;
  readonly run: (context: Context) => Promise<CommandResult>;
}

/** The error of commander about a command line. `toUsageError` says it in our words. */
export class RejectedLine extends Error {
  readonly error: CommanderError;
  readonly command: CommandUnknownOpts;

  constructor(error: CommanderError, command: CommandUnknownOpts) {
    super(error.message);
    this.error = error;
    this.command = command;
  }
}

/** The root of the tree. Its commands do not run while commander parses: they leave here what is to be run. */
export class Program extends Command {
  invocation: Invocation | undefined;
  /** The first problem of an option's value. Reported after parsing, when -o is known. */
  problem: unknown;
}

/** Creates a command. Its arguments, options, and action follow in commander's own words. */
export function defineCommand(name: string, summary: string, meta: Meta): Command {
  return new DeclaredCommand(name, summary, meta);
}

/** Creates a command that has only commands. */
export function group(name: string, summary: string, commands: readonly CommandUnknownOpts[]): Command {
  const command = new Command(name).summary(summary).description(`${summary}.`).helpCommand(false);
  for (const each of commands) command.addCommand(each);
  return command;
}

/** What `defineCommand` was given. @returns undefined for a group */
export function metaOf(command: CommandUnknownOpts): Meta | undefined {
  return command instanceof DeclaredCommand ? command.meta : undefined;
}

/** The examples of a command, split into the line and what it does. */
export function examplesOf(command: CommandUnknownOpts) {
  return (metaOf(command)?.examples ?? []).map((example) => {
    const [line = '', does = ''] = example.split('  # ');
    return { command: line, description: does };
  });
}

/** The commands from the program to this one. */
export function lineageOf(command: CommandUnknownOpts): readonly CommandUnknownOpts[] {
  return command.parent ? [...lineageOf(command.parent), command] : [command];
}

/** The program that a command belongs to. */
export function programOf(command: CommandUnknownOpts): CommandUnknownOpts {
  return lineageOf(command)[0] ?? command;
}

/** The words that name a command: `cron create`; '' for the program. */
export function pathOf(command: CommandUnknownOpts): string {
  return lineageOf(command)
    .slice(1)
    .map((each) => each.name())
    .join(' ');
}

/** The commands below a group, in the order of help; of a command, itself. */
export function commandsBelow(command: CommandUnknownOpts): readonly CommandUnknownOpts[] {
  return metaOf(command) ? [command] : command.commands.flatMap(commandsBelow);
}

/** Finds the command or the group that words name. @returns undefined if there is none */
export function findCommand(words: readonly string[], from: CommandUnknownOpts): CommandUnknownOpts | undefined {
  const [word, ...rest] = words;
  if (word === undefined) return from;
  const found = from.commands.find((each) => each.name() === word);
  return found && findCommand(rest, found);
}

/** Makes a command's action, which is called once all of the command line is checked. */
export function deferred<Given extends unknown[]>(
  action: (context: Context, ...given: Given) => Promise<CommandResult>,
): (...given: Given) => void {
  return (...given) => {
    const command = given.at(-1);
    if (!(command instanceof Command)) return;
    const program = programOf(command);
    if (program instanceof Program) program.invocation = { command, run: (context) => action(context, ...given) };
  };
}
