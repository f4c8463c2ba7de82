import { type CommandLine, flagsOf, HELP, type ParsedLine, parseLine, readFlagWord } from './parse-line.ts';
import type { CompletionTree, Described, TreeFlag, ValueKind } from './tree.ts';

/** What the service or the state knows by id. */
export type LiveKind = 'agent' | 'job' | 'key' | 'session' | 'source' | 'space';

const LIVE_KINDS: readonly string[] = ['agent', 'job', 'key', 'session', 'source', 'space'] satisfies LiveKind[];

/** What completes the current word. `prefix` is the part of the word before what is completed: `--output=`, `@`. */
export type Wanted = { readonly prefix: string } & (
  | { readonly kind: 'values'; readonly values: readonly Described[] }
  | { readonly kind: 'files' | 'directories' | 'commands' }
  | { readonly kind: 'profiles' }
  | {
      readonly kind: 'live';
      readonly resource: LiveKind;
      /** As typed: only its agents. */
      readonly space: string | undefined;
      /** As typed: only its sessions. */
      readonly source: string | undefined;
    }
);

const NOTHING: Wanted = { kind: 'values', prefix: '', values: [] };

/** Whether a kind of value is live. */
function isLive(kind: unknown): kind is LiveKind {
  return typeof kind === 'string' && LIVE_KINDS.includes(kind);
}

function startingWith(typed: string, values: readonly Described[]): readonly Described[] {
  return values.filter(([value]) => value.startsWith(typed));
}

function timeZones(): readonly Described[] {
  return ['UTC', ...Intl.supportedValuesOf('timeZone')].map((zone) => [zone, '']);
}

/** The place of a value: what it may be, and what was typed of it. */
interface Place {
  readonly tree: CompletionTree;
  readonly line: ParsedLine;
  /** The text before the value in its word. */
  readonly prefix: string;
  readonly text: string;
}

/** A list of columns: completes the last one, with those that are not there yet. */
function completeColumns({ line, prefix, text }: Place): Wanted {
  const start = text.lastIndexOf(',') + 1;
  const listed = text.slice(0, start).split(',');
  const names = (line.command?.columns ?? []).filter((name) => !listed.includes(name));
  const values = startingWith(
    text.slice(start),
    names.map((name) => [name, '']),
  );
  return { kind: 'values', prefix: prefix + text.slice(0, start), values };
}

/** A file after a mark such as the @ in `@notes.txt`; nothing before it. */
function completeFileAfter(mark: RegExp, { prefix, text }: Place): Wanted {
  const start = mark.exec(text)?.[0].length;
  return start === undefined ? NOTHING : { kind: 'files', prefix: prefix + text.slice(0, start) };
}

function completeLive(resource: LiveKind, { tree, line, prefix }: Place): Wanted {
  const { command, typed, positionals } = line;
  const spaceAt = command?.args.findIndex(({ value }) => value === 'space') ?? -1;
  const space = typed.get('--space')?.at(-1) ?? (spaceAt === -1 ? undefined : positionals[spaceAt]);
  const ofSource = [...(command?.flags ?? []), ...tree.globals].find(({ value }) => value === 'source');
  const source = ofSource && typed.get(ofSource.name)?.at(-1);
  return { kind: 'live', prefix, resource, space, source };
}

function completeValue(kind: ValueKind, place: Place): Wanted {
  const { tree, line, prefix, text } = place;
  const choose = (values: readonly Described[]): Wanted => {
    return { kind: 'values', prefix, values: startingWith(text, values) };
  };
  if (isLive(kind)) return completeLive(kind, place);
  switch (kind) {
    case 'column':
      return completeColumns(place);
    case 'sort':
      return choose((line.command?.columns ?? []).map((name) => [text.startsWith('-') ? `-${name}` : name, '']));
    case 'file':
      return { kind: 'files', prefix };
    case 'directory':
      return { kind: 'directories', prefix };
    case 'command':
      return { kind: 'commands', prefix };
    case 'text':
      return completeFileAfter(/^@/, place);
    case 'form':
      return completeFileAfter(/^[^=]*=@/, place);
    case 'leaf-or-value':
      return line.positionals.length % 2 === 0 ? choose(tree.leaves) : NOTHING;
    case 'leaf':
      return choose(tree.leaves);
    case 'profile':
      return { kind: 'profiles', prefix };
    case 'time-zone':
      return choose(timeZones());
    case 'topic':
      return choose(tree.topics);
    case 'free':
      return NOTHING;
    default:
      return choose(kind.map((choice) => [choice, '']));
  }
}

/** The flags that may still be typed. @param isAll also those of every command */
function completeFlags(
  tree: CompletionTree,
  line: ParsedLine,
  { current, isAll }: { current: string; isAll: boolean },
) {
  const { path, command, typed } = line;
  const isOpen = ({ name, isRepeatable }: TreeFlag): boolean => isRepeatable === true || !typed.has(name);
  const flags = isAll ? flagsOf(tree, path, command) : (command?.flags ?? []);
  const values = flags.filter(isOpen).map(({ name, description }) => [name, description] as const);
  return { kind: 'values' as const, prefix: '', values: startingWith(current, values) };
}

/** The names that may follow those of a path. */
function namesAfter(tree: CompletionTree, path: readonly string[]): readonly Described[] {
  const start = path.map((name) => `${name} `).join('');
  const names = new Map<string, string>();
  for (const [name, { summary }] of Object.entries(tree.commands)) {
    if (!name.startsWith(start)) continue;
    const [first = ''] = name.slice(start.length).split(' ');
    names.set(first, path.length === 0 ? (tree.groups[first] ?? summary) : summary);
  }
  return [...names];
}

/** What `help` takes: a topic, or the names of a group and a command. */
function completeHelp(tree: CompletionTree, operands: readonly string[], current: string): Wanted {
  const names = operands.length < 2 ? namesAfter(tree, operands) : [];
  const topics = operands.length === 0 ? tree.topics.filter(([topic]) => !names.some(([name]) => name === topic)) : [];
  return { kind: 'values', prefix: '', values: startingWith(current, [...names, ...topics]) };
}

/** Completes the arguments of a command that runs another command, which may be partnerctl itself. */
function completeInner(tree: CompletionTree, { before, current, after }: CommandLine): Wanted {
  const [program, ...words] = before;
  if (program !== 'partnerctl') return { kind: 'files', prefix: '' };
  const wanted = complete(tree, { before: words, current, after }).wanted;
  // It talks to another service than what is typed here.
  return wanted.kind === 'live' ? NOTHING : wanted;
}

function completeArgument(tree: CompletionTree, line: ParsedLine, { current, after }: CommandLine): Wanted {
  const { command, positionals, path } = line;
  if (!command) return { kind: 'values', prefix: '', values: startingWith(current, namesAfter(tree, path)) };
  if (path[0] === 'help') return completeHelp(tree, positionals, current);
  const argument = command.args[positionals.length] ?? command.args.findLast(({ isRepeatable }) => isRepeatable);
  if (argument?.value === 'command' && positionals.length > 0) {
    return completeInner(tree, { before: positionals, current, after });
  }
  const wanted = argument ? completeValue(argument.value, { tree, line, prefix: '', text: current }) : NOTHING;
  const isEmpty = wanted.kind === 'values' && wanted.values.length === 0;
  // Where nothing else can be offered, the flags of the command tell what it takes.
  return isEmpty && current === '' && !line.isPastDashes
    ? completeFlags(tree, line, { current, isAll: false })
    : wanted;
}

function completeWord(tree: CompletionTree, line: ParsedLine, words: CommandLine): Wanted {
  const { current } = words;
  const { path, command, awaiting, isUnknown, isPastDashes } = line;
  if (isUnknown) return NOTHING;
  if (awaiting?.value && !(awaiting.isOptional && current.startsWith('-')))
    return completeValue(awaiting.value, { tree, line, prefix: '', text: current });
  if (isPastDashes || !current.startsWith('-')) return completeArgument(tree, line, words);
  const { flags, value, prefix } = readFlagWord(current, flagsOf(tree, path, command));
  const flag = flags.at(-1);
  if (flag?.value !== undefined && value !== undefined) {
    return completeValue(flag.value, { tree, line, prefix, text: value });
  }
  return completeFlags(tree, line, { current, isAll: true });
}

/** Finds what completes a word. Pure, and defined for any words. */
export function complete(
  tree: CompletionTree,
  words: CommandLine,
): { readonly line: ParsedLine; readonly wanted: Wanted } {
  const line = parseLine(tree, words);
  // Nobody who asks for help needs more.
  const wanted = line.typed.has(HELP.name) ? NOTHING : completeWord(tree, line, words);
  return { line, wanted };
}
