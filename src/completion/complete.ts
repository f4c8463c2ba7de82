import { type CommandLine, flagsOf, HELP, type ParsedLine, parseLine, readFlagWord } from './parse-line.ts';
import type { CompletionTree, Described, TreeFlag, ValueKind } from './tree.ts';

/** The kinds of values that come from the service or the state. */
export type CachedKind = 'agent' | 'job' | 'key' | 'session' | 'source' | 'space';

const CACHED_KINDS: readonly string[] = ['agent', 'job', 'key', 'session', 'source', 'space'] satisfies CachedKind[];

/** What completes the current word. `prefix` is the part of the word before the completed value: `--output=`, `@`. */
export type Wanted = { readonly prefix: string } & (
  | { readonly kind: 'values'; readonly values: readonly Described[] }
  | { readonly kind: 'files' | 'directories' | 'commands' }
  | { readonly kind: 'profiles' }
  | {
      readonly kind: 'cached';
      readonly resource: CachedKind;
      /** The space whose agents are wanted, as typed. */
      readonly space: string | undefined;
      /** The source whose sessions are wanted, as typed. */
      readonly source: string | undefined;
    }
);

const NOTHING: Wanted = { kind: 'values', prefix: '', values: [] };

function isCached(kind: unknown): kind is CachedKind {
  return typeof kind === 'string' && CACHED_KINDS.includes(kind);
}

function startingWith(typed: string, values: readonly Described[]): readonly Described[] {
  return values.filter(([value]) => value.startsWith(typed));
}

function timeZones(): readonly Described[] {
  return ['UTC', ...Intl.supportedValuesOf('timeZone')].map((zone) => [zone, '']);
}

/** A value to complete. */
interface PartialValue {
  readonly tree: CompletionTree;
  readonly line: ParsedLine;
  /** The text before the value in its word. */
  readonly prefix: string;
  /** The typed part of the value. */
  readonly text: string;
}

/** Completes a file after a mark, such as the @ in `@notes.txt`. Without the mark, offers nothing. */
function completeFileAfter(mark: RegExp, { prefix, text }: PartialValue): Wanted {
  const start = mark.exec(text)?.[0].length;
  return start === undefined ? NOTHING : { kind: 'files', prefix: prefix + text.slice(0, start) };
}

function completeCached(resource: CachedKind, { tree, line, prefix }: PartialValue): Wanted {
  const { command, typed, positionals } = line;
  const spaceAt = command?.args.findIndex(({ value }) => value === 'space') ?? -1;
  const space = typed.get('--space')?.at(-1) ?? (spaceAt === -1 ? undefined : positionals[spaceAt]);
  const sourceFlag = [...(command?.flags ?? []), ...tree.globals].find(({ value }) => value === 'source');
  const source = sourceFlag && typed.get(sourceFlag.name)?.at(-1);
  return { kind: 'cached', prefix, resource, space, source };
}

function completeValue(kind: ValueKind, partial: PartialValue): Wanted {
  const { tree, line, prefix, text } = partial;
  const choose = (values: readonly Described[]): Wanted => {
    return { kind: 'values', prefix, values: startingWith(text, values) };
  };
  if (isCached(kind)) return completeCached(kind, partial);
  switch (kind) {
    case 'file':
      return { kind: 'files', prefix };
    case 'directory':
      return { kind: 'directories', prefix };
    case 'command':
      return { kind: 'commands', prefix };
    case 'text':
      return completeFileAfter(/^@/, partial);
    case 'form':
      return completeFileAfter(/^[^=]*=@/, partial);
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

/** Offers the flags that may still be given. @param isGlobal whether to include the global flags */
function completeFlags(
  tree: CompletionTree,
  line: ParsedLine,
  { current, isGlobal }: { current: string; isGlobal: boolean },
) {
  const { path, command, typed } = line;
  const mayBeGiven = ({ name, isRepeatable }: TreeFlag): boolean => isRepeatable === true || !typed.has(name);
  const flags = isGlobal ? flagsOf(tree, path, command) : (command?.flags ?? []);
  const values = flags.filter(mayBeGiven).map(({ name, description }) => [name, description] as const);
  return { kind: 'values' as const, prefix: '', values: startingWith(current, values) };
}

/** The groups and commands that may follow a path. */
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

/** Completes an argument of `help`: a topic, a group, or a command. */
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
  // The inner command calls a sandbox, whose values are not in the cache.
  return wanted.kind === 'cached' ? NOTHING : wanted;
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
  // Without any other value, offer the flags of the command.
  return isEmpty && current === '' && !line.isPastDashes
    ? completeFlags(tree, line, { current, isGlobal: false })
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
  return completeFlags(tree, line, { current, isGlobal: true });
}

/** Finds what completes the current word. Pure, and accepts any words. */
export function complete(
  tree: CompletionTree,
  words: CommandLine,
): { readonly line: ParsedLine; readonly wanted: Wanted } {
  const line = parseLine(tree, words);
  // Nothing is useful after --help.
  const wanted = line.typed.has(HELP.name) ? NOTHING : completeWord(tree, line, words);
  return { line, wanted };
}
