import { Argument, Command as Commander, Option } from 'commander';
import { UsageError } from '../errors.ts';
import type { FlagValues } from './args.ts';
import type { Command, FlagSpec, TypedValue } from './command.ts';
import { formatExits } from './exit-meanings.ts';
import { formatTopicList, formatTopicsFor } from './help-topics.ts';
import { COMMANDS, type CommandEntry, GLOBAL_FLAGS, GROUPS } from './registry.ts';

/** The command that the arguments select. */
export interface SelectedCommand {
  readonly entry: CommandEntry;
  readonly command: Command;
  /** The section of its help about its output. */
  readonly outputHelp?: string;
}

/** The arguments of the selected command, as commander parsed them. */
interface GivenArgs {
  readonly positionals: readonly string[];
  readonly flags: FlagValues;
  /** The values of repeatable flags, in the order typed. */
  readonly typed: readonly TypedValue[];
  readonly globals: FlagValues;
}

export interface TreeOptions {
  readonly version: string;
  /** The width to wrap help at, in columns. */
  readonly columns: number;
  /** Called with the text of help and --version. */
  readonly print: (text: string) => void;
  /** Called with the arguments of the selected command once commander accepts them. */
  readonly onCommand: (given: GivenArgs) => void;
}

const GLOBAL_FLAGS_LINE = '\nGlobal options, such as -o json: partnerctl help output\n';

const GIVE_ONCE = { hint: 'Give it once.' };

function toOption({ usage, description, default: value, defaultText, choices, repeatable }: FlagSpec): Option {
  const fallback = value ?? defaultText;
  const option = new Option(usage, fallback === undefined ? description : `${description} (default: ${fallback})`);
  if (choices) option.choices([...choices]);
  if (repeatable)
    return option.argParser((value: string, previous: unknown) => [
      ...(Array.isArray(previous) ? previous : []),
      value,
    ]);
  return option.isBoolean() || option.negate ? option : refuseSecondValue(option);
}

/** Makes a second value of the flag an error. Commander would silently drop the first one. */
function refuseSecondValue(option: Option): Option {
  const parseValue = option.parseArg;
  return option.argParser((value: string, previous: unknown) => {
    if (previous !== undefined) throw new UsageError(`${option.long ?? option.flags} is given twice.`, GIVE_ONCE);
    return parseValue ? parseValue(value, previous) : value;
  });
}

function createProgram({ version, columns, print }: TreeOptions): Commander {
  const program = new Commander('partnerctl')
    .exitOverride()
    .configureOutput({ writeOut: print, writeErr: () => undefined, getOutHelpWidth: () => columns })
    .configureHelp({ sortSubcommands: false, minWidthToWrap: 16 })
    .showSuggestionAfterError(false)
    .helpOption('-h, --help', 'show this help')
    .description(
      'Provision customer workspaces from YAML and talk to automation agents over the Partner Automation API.',
    )
    .version(version, '--version', 'show the version')
    .helpCommand('help [topic|command]', 'Show the help of a command, or a help topic')
    .addHelpText(
      'after',
      `${formatTopicList()}${GLOBAL_FLAGS_LINE}\nTry it with no account:\n  $ partnerctl sandbox run -- partnerctl spaces list\n`,
    );
  for (const flag of GLOBAL_FLAGS) program.addOption(toOption(flag).hideHelp());
  return program;
}

function examplesText({ examples }: Command): string {
  const lines = examples.map(({ line, does }) => `  # ${does}\n  $ ${line}`);
  return lines.length === 0 ? '' : `\nExamples:\n${lines.join('\n\n')}\n`;
}

/** Adds to the description of a flag that it is required. The descriptions of its alternatives name it themselves. */
function markRequired(flag: FlagSpec, { required }: Command): FlagSpec {
  const requirement = required.find(({ oneOf: [first = ''] }) => flag.usage.includes(`--${first} `));
  if (!requirement) return flag;
  const [other] = requirement.unless ?? [];
  const note = other === undefined ? 'required' : `required without --${other}`;
  return { ...flag, description: `${flag.description} (${note})` };
}

function scopesText({ scopes }: Command): string {
  return scopes.length === 0 ? '' : `\nScopes of the token:\n${scopes.map((scope) => `  ${scope}\n`).join('')}`;
}

/** Adds a command's arguments, flags, and help. @returns an array that receives repeatable flags in the order typed */
function defineCommand(leaf: Commander, { entry, command, outputHelp = '' }: SelectedCommand): readonly TypedValue[] {
  const typed: TypedValue[] = [];
  leaf.description(command.description);
  for (const { usage, description } of command.args) leaf.addArgument(new Argument(usage, description));
  for (const flag of command.flags) {
    const option = toOption(markRequired(flag, command));
    leaf.addOption(option);
    const name = option.name();
    if (flag.repeatable) leaf.on(`option:${name}`, (value: string) => typed.push({ flag: name, value }));
  }
  const topics = formatTopicsFor(entry.commandPath.split(' ')[0] ?? '');
  const details = GLOBAL_FLAGS_LINE + outputHelp + scopesText(command) + formatExits(command.exits);
  leaf.addHelpText('after', details + examplesText(command) + topics);
  return typed;
}

/**
 * Builds commander's command tree. Only the selected command gets its arguments and flags, because the code of the
 * others is not loaded.
 * @param group the only group that gets its commands, to save time
 */
export function buildCommandTree(
  selected: SelectedCommand | undefined,
  group: string | undefined,
  options: TreeOptions,
): Commander {
  const program = createProgram(options);
  const groups = new Map<string, Commander>();
  for (const entry of new Set(selected ? [...COMMANDS, selected.entry] : COMMANDS)) {
    const [first = '', second] = entry.commandPath.split(' ');
    let parent = program;
    if (second !== undefined) {
      parent =
        groups.get(first) ??
        program
          .command(first)
          .description(GROUPS[first] ?? '')
          .helpCommand(false)
          .addHelpText('after', formatTopicsFor(first));
      groups.set(first, parent);
      if (first !== group) continue;
    }
    const leaf = parent.command(second ?? first);
    leaf.summary(entry.summary).description(entry.summary);
    if (entry !== selected?.entry) continue;
    const typed = defineCommand(leaf, selected);
    leaf.action((...received: unknown[]) => {
      const positionals = received.slice(0, selected.command.args.length).flat();
      options.onCommand({
        positionals: positionals.filter((text) => typeof text === 'string'),
        flags: leaf.opts(),
        typed,
        globals: program.opts(),
      });
    });
  }
  return program;
}
