import {
  CommanderError,
  type CommandUnknownOpts,
  InvalidArgumentError,
  type Option,
} from '@commander-js/extra-typings';
import { UsageError } from '../errors.ts';
import { type Invocation, lineageOf, metaOf, Program, pathOf, RejectedLine } from './command.ts';
import { markRequired, optionHelp, sectionsAfter } from './help.ts';
import { addGlobalOptions, type GlobalFlags, isRepeatable, optionName, valueName } from './options.ts';

/** Whether a value is empty, by itself or behind the prefix of a space or an agent, as an unset variable leaves it. */
function isEmpty(text: string, name: string | undefined): boolean {
  return text === '' || ((name === 'space' || name === 'agent') && /^(ext|name):$/.test(text));
}

/** Wraps the parser of an option, to refuse an empty value, an unknown choice, a second value, and the next option. */
function strictParser(option: Option, command: CommandUnknownOpts, onProblem: (problem: UsageError) => void) {
  const { parseArg, argChoices } = option;
  let isGiven = false;
  return (text: string, previous: unknown): unknown => {
    try {
      if (isGiven && !isRepeatable(option)) throw new InvalidArgumentError('is given twice');
      isGiven = true;
      if (isEmpty(text, valueName(option))) {
        throw new InvalidArgumentError('is empty. Check the shell variable it comes from');
      }
      if (lineageOf(command).some(({ options }) => options.some(({ long }) => long === text))) {
        throw new InvalidArgumentError(`has no value before ${text}. Check the shell variable it comes from`);
      }
      if (!argChoices) return parseArg ? parseArg(text, previous) : text;
      if (argChoices.includes(text)) return text;
      throw new InvalidArgumentError(`takes one of ${argChoices.join(', ')}, not ${JSON.stringify(text)}`);
    } catch (error) {
      if (!(error instanceof InvalidArgumentError)) throw error;
      onProblem(new UsageError(`${optionName(option)} ${error.message}.`));
      return previous;
    }
  };
}

/**
 * Makes the options of a command strict: commander would let a second value replace the first.
 * @param onProblem receives the UsageError; parsing goes on, so that -o is known when it is reported
 */
function checkOptionValues(command: CommandUnknownOpts, onProblem: (problem: UsageError) => void): void {
  for (const option of command.options) {
    if (valueName(option) !== undefined) option.argParser(strictParser(option, command, onProblem));
  }
}

function applySettings(command: CommandUnknownOpts, program: Program): void {
  command
    .copyInheritedSettings(program)
    .exitOverride((error) => {
      throw error.exitCode === 0 ? error : new RejectedLine(error, command);
    })
    .addHelpText('after', () => sectionsAfter(command));
  markRequired(command);
  checkOptionValues(command, (problem) => {
    program.problem ??= problem;
  });
  for (const each of command.commands) applySettings(each, program);
}

function refuseMissing(command: CommandUnknownOpts): void {
  const isGiven = (flag: string) => {
    const option = command.options.find(({ long }) => long === flag);
    const value: unknown = option && command.getOptionValue(option.attributeName());
    return Array.isArray(value) ? value.length > 0 : value !== undefined;
  };
  const missing = (metaOf(command)?.required ?? []).filter(
    ({ oneOf, unless = [], when }) => ![...oneOf, ...unless].some(isGiven) && (!when || when.some(isGiven)),
  );
  for (const { oneOf, when = [], hint } of missing) {
    const flag = when.find(isGiven);
    if (flag) throw new UsageError(`${flag} needs ${oneOf[0]}.`, { hint });
  }
  if (missing.length === 0) return;
  const names = missing.map(({ oneOf: [first = ''] }) => first);
  const hint = [...new Set(missing.flatMap((each) => each.hint ?? []))].join('\n') || undefined;
  const list = new Intl.ListFormat('en-US').format(names);
  throw new UsageError(`${list} ${names.length === 1 ? 'is' : 'are'} missing.`, { hint });
}

/** @throws UsageError for an empty argument; words of other programs may be empty */
function refuseEmpty(command: CommandUnknownOpts): void {
  const declared = command.registeredArguments;
  const argument = command.args
    .map((text, at) => ({ text, argument: declared[Math.min(at, declared.length - 1)] }))
    .find((each) => isEmpty(each.text, each.argument?.name()))?.argument;
  if (!argument || ['command', 'word'].includes(argument.name())) return;
  throw new UsageError(`The argument <${argument.name()}> is empty. Check the shell variable it comes from.`);
}

function refuseTokenAndInput(command: CommandUnknownOpts, { tokenFile }: GlobalFlags): void {
  const values: readonly unknown[] = [command.args, Object.values(command.opts())].flat(2);
  if (tokenFile !== '-' || !values.includes('-')) return;
  throw new UsageError('Standard input cannot be both the token and the input of the command.');
}

/** The tree of all commands, and what a command line says in it. */
export type CommandTree = ReturnType<typeof createCommandTree>;

/**
 * Builds the tree.
 * @param commands in the order of help; the program changes them, so they must be new
 * @param columns the width to wrap help at
 * @param print called with the text of help and --version
 */
export function createCommandTree(
  commands: readonly CommandUnknownOpts[],
  version: string,
  columns: number,
  print: (text: string) => void,
) {
  const program = new Program('partnerctl');
  program
    .configureOutput({ writeOut: print, writeErr: () => undefined, getOutHelpWidth: () => columns })
    .configureHelp({
      sortSubcommands: false,
      minWidthToWrap: 16,
      optionDescription: optionHelp,
      subcommandTerm: (each) => each.name(),
    })
    .showSuggestionAfterError(false)
    .helpOption('-h, --help', 'show this help')
    .helpCommand(false)
    .description(
      'Provision customer workspaces from YAML and talk to automation agents over the Partner Automation API.',
    )
    .version(version, '--version', 'show the version');
  const globals = addGlobalOptions(program);
  for (const command of commands) program.addCommand(command);
  applySettings(program, program);
  return {
    /** The global options, as far as they are parsed, also after an error. */
    globals: (): GlobalFlags => globals.opts(),
    /** The command that the line names; undefined before its arguments are parsed. */
    commandPath: () => program.invocation && pathOf(program.invocation.command),
    /**
     * Parses the command line, once.
     * @returns what to run; undefined if commander has printed help or the version
     * @throws RejectedLine; UsageError for an invalid value, or if a required option is missing
     */
    parse(argv: readonly string[]): Invocation | undefined {
      try {
        program.parse(argv.length === 0 ? ['--help'] : argv, { from: 'user' });
      } catch (error) {
        if (error instanceof CommanderError && error.exitCode === 0) return undefined;
        if (program.problem) throw program.problem;
        const isVersion = error instanceof RejectedLine && error.command === program && program.args[0] === 'version';
        if (!isVersion) throw error;
        print(`${version}\n`);
        return undefined;
      }
      if (program.problem) throw program.problem;
      const { invocation } = program;
      if (!invocation) return undefined;
      refuseEmpty(invocation.command);
      refuseMissing(invocation.command);
      refuseTokenAndInput(invocation.command, globals.opts());
      return invocation;
    },
  };
}
